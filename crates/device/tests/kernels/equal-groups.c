/* The log density at q, which every thread returns, and its slopes into g. */
APART double value_and_gradient(const double *q, double *g, double *w,
    const double *fixed, const unsigned *table)
{
    const double q_0 = q[0];
    const double fixed_1288 = fixed[1288];
    const double t1 = -q_0;
    const double t2 = m_exp(t1);
    const double t3 = t2 * t2;
    const double t4 = t3 * (-0.5);
    const double t5 = t4 * 2.0;
    const double t6 = -t5;
    SHARE(i, 1200) {
        const double t7 = q[1 + i % 100];
        const double t8 = fixed[i] - t7;
        w[207 + i] = t8;
    }
    if (THREAD == 0) {
        w[0] = t2;
        w[1] = t4;
        w[2] = t6;
    }
    SYNC();
    SHARE(g, 100) {
        double s = 0.0;
        FULL for (int j = g; j < 1200; j += 100)
            s = s + w[207 + j];
        w[3 + g] = s;
    }
    SHARE(k, 96) {
        double s = 0.0;
        if (k < 64) {
            FOUR for (int j = k / 32 * 1024 + k % 32; j < LEAST(1200, (k / 32 + 1) * 1024); j += 32)
                s = fma(w[207 + j], w[207 + j], s);
        } else {
            const int l = k % 32;
            FULL for (int from = 0; from < 100; from += 32) {
                const int j = from < 96 ? from + l : LEAST(from + l, 99);
                const double next = fma(q[1 + j], q[1 + j], s);
                s = from < 96 || from + l < 100 ? next : s;
            }
        }
        w[1407 + k] = s;
    }
    SYNC();
    SHARE(k, 24) {
        const double s = JOIN_EIGHT(w + 1407 + k / 8 * 32, k % 8);
        if (k % 8 == 0)
            w[1503 + k / 8] = s;
    }
    SYNC();
    const double t9 = JOIN_TILES(w + 1503, 2);
    const double t10 = 0.0 + w[1505];
    const double t11 = q_0 * 1200.0;
    const double t12 = fma(t4, t9, -t11);
    const double t13 = fma((-0.5), t10, t12);
    const double t14 = (-0.5) * t9;
    const double t15 = t2 * 2.0;
    const double t16 = t14 * t15;
    const double t17 = fma(-t2, t16, fixed_1288);
    SHARE(i, 100) {
        const double t18 = t6 * w[3 + i];
        const double t19 = fma((-1.0), q[1 + i], t18);
        w[107 + i] = t19;
        g[1 + i] = t19;
    }
    SHARE(i, 1) {
        g[i] = t17;
    }
    return t13;
}
