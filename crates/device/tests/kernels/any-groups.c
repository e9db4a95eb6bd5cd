/* The log density at q, which every thread returns, and its slopes into g. */
APART double value_and_gradient(const double *q, double *g, double *w,
    const double *fixed, const unsigned *table)
{
    const double t1 = -q[0];
    const double t2 = m_exp(t1);
    const double t3 = t2 * t2;
    const double t4 = t3 * (-0.5);
    const double t5 = t4 * 2.0;
    const double t6 = -t5;
    SHARE(i, 300) {
        const double t7 = q[1 + table[i]];
        const double t8 = fixed[i] - t7;
        w[41 + i] = t8;
    }
    if (THREAD == 0) {
        w[0] = t2;
        w[1] = t4;
        w[2] = t6;
    }
    SYNC();
    SHARE(k, 136) {
        const int g = k / 8;
        const bool is_short = table[301 + g] - table[300 + g] < 16;
        double s = 0.0;
        FOUR for (int j = table[300 + g] + (is_short ? 0 : k % 8); j < table[301 + g]; j += is_short ? 1 : 8)
            s = s + w[41 + j];
        w[341 + k] = s;
    }
    SYNC();
    SHARE(g, 17) {
        const double *p = w + 341 + 8 * g;
        w[3 + g] = table[301 + g] - table[300 + g] < 16 ? p[0]
            : ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
    }
    SHARE(k, 64) {
        double s = 0.0;
        if (k < 32) {
            FOUR for (int j = k; j < k + 288; j += 32)
                s = fma(w[41 + j], w[41 + j], s);
            if (k < 12) {
                const int j = 288 + k;
                s = fma(w[41 + j], w[41 + j], s);
            }
        } else {
            const int l = k - 32;
            if (l < 17) {
                const int j = 0 + l;
                s = fma(q[1 + j], q[1 + j], s);
            }
        }
        w[477 + k] = s;
    }
    SYNC();
    SHARE(k, 2)
        w[541 + k] = join_lanes(w + 477 + k * 32);
    SYNC();
    const double t9 = 0.0 + w[541];
    const double t10 = 0.0 + w[542];
    const double t11 = q[0] * 300.0;
    const double t12 = fma(t4, t9, -t11);
    const double t13 = fma((-0.5), t10, t12);
    const double t14 = (-0.5) * t9;
    const double t15 = t2 * 2.0;
    const double t16 = t14 * t15;
    const double t17 = fma(-t2, t16, fixed[392]);
    SHARE(i, 17) {
        const double t18 = t6 * w[3 + i];
        const double t19 = fma((-1.0), q[1 + i], t18);
        w[24 + i] = t19;
        g[1 + i] = w[24 + i];
    }
    SHARE(i, 1) {
        g[i] = t17;
    }
    return t13;
}
