/* The log density at q, which every thread returns, and its slopes into g. */
APART double value_and_gradient(const double *q, double *g, double *w,
    const double *fixed, const unsigned *table)
{
    const double q_0 = q[0];
    const double fixed_392 = fixed[392];
    const double t1 = -q_0;
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
        FULL for (int j = table[300 + g] + (is_short ? 0 : k % 8); j < table[301 + g]; j += is_short ? 1 : 8)
            s = s + w[41 + j];
        w[341 + k] = s;
    }
    SHARE(k, 64) {
        double s = 0.0;
        if (k < 32) {
            FULL for (int from = 0; from < 300; from += 32) {
                const int j = from < 288 ? from + k : LEAST(from + k, 299);
                const double next = fma(w[41 + j], w[41 + j], s);
                s = from < 288 || from + k < 300 ? next : s;
            }
        } else {
            const int l = k % 32;
            FULL for (int from = 0; from < 17; from += 32) {
                const int j = from < 0 ? from + l : LEAST(from + l, 16);
                const double next = fma(q[1 + j], q[1 + j], s);
                s = from < 0 || from + l < 17 ? next : s;
            }
        }
        w[477 + k] = s;
    }
    SYNC();
    const double t9 = JOIN_FOUR(w + 477, 2);
    const double t10 = 0.0 + JOINED(t9, w + 477, 0);
    const double t11 = 0.0 + JOINED(t9, w + 477, 1);
    const double t12 = q_0 * 300.0;
    const double t13 = fma(t4, t10, -t12);
    const double t14 = fma((-0.5), t11, t13);
    const double t15 = (-0.5) * t10;
    const double t16 = t2 * 2.0;
    const double t17 = t15 * t16;
    const double t18 = fma(-t2, t17, fixed_392);
    SHARE(g, 17) {
        const double *p = w + 341 + 8 * g;
        w[3 + g] = table[301 + g] - table[300 + g] < 16 ? p[0]
            : ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
    }
    SHARE(i, 17) {
        const double t19 = t6 * w[3 + i];
        const double t20 = fma((-1.0), q[1 + i], t19);
        w[24 + i] = t20;
        g[1 + i] = t20;
    }
    SHARE(i, 1) {
        g[i] = t18;
    }
    return t14;
}
