/* What kernel texts share on every machine. */

#define LEAST(a, b) ((a) < (b) ? (a) : (b))

/* x / d by multiplications, for a constant d and its reciprocal r, rounded like the quotient (Markstein 1990)
   wherever x is of a usual size: no step comes near what is too large or too small then. */
#define QUOTIENT(x, d, r) corrected((x) * (r), x, d, r)
#define IS_USUAL(x) (((unsigned)(TO_BITS(x) >> 52) & 0x7ff) - 223u < 1600u)

FUNCTION double corrected(double near, double x, double d, double r)
{
    return fma(fma(-d, near, x), r, near);
}

/* The elements i < n of a thread of the team; where there is one at most, the compiler sees no loop. */
#define SHARE(i, n) ROLLED for (int i = THREAD; i < (n); i = (n) <= TEAM ? (n) : i + TEAM)

/* 32 partial sums joined by halves. */
APART double join_lanes(const double *p)
{
    double s[16];
    for (int i = 0; i < 16; ++i)
        s[i] = p[i] + p[i + 16];
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; ++i)
            s[i] = s[i] + s[i + half];
    return s[0];
}

/* Sums of tiles joined in a pairwise tree, as binary counting carries. */
APART double join_tiles(const double *s, int n)
{
    double tree[22];
    for (int tile = 0; tile < n; ++tile) {
        double x = s[tile];
        int level = 0;
        for (; tile >> level & 1; ++level)
            x = x + tree[level];
        tree[level] = x;
    }
    double total = 0.0;
    for (int level = 0; level < 22; ++level)
        if (n >> level & 1)
            total = total + tree[level];
    return total;
}
