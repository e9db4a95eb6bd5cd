/* The log density at q, which every thread returns, and its slopes into g. */
APART double value_and_gradient(const double *q, double *g, double *w,
    const double *fixed, const unsigned *table)
{
    const double q_0 = q[0];
    const double q_1 = q[1];
    const double t1 = q_0 - q_1;
    const double t2 = -q_1;
    const double t3 = m_exp(t2);
    const double t4 = t1 * t3;
    const double t5 = t4 * t4;
    const double t6 = fma(t5, (-0.5), -q_1);
    const double t7 = t4 * 2.0;
    const double t8 = (-0.5) * t7;
    const double t9 = t3 * t8;
    const double t10 = t1 * t8;
    const double t11 = fma(-t3, t10, (-1.0));
    const double t12 = t11 - t9;
    SHARE(i, 1) {
        g[i] = t9;
        g[1 + i] = t12;
    }
    return t6;
}
