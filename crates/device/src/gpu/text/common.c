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

/* Lower factor by rows; NaN from the first pivot that is not positive. */
APART void cholesky(int n, const double *a, double *l)
{
    ROLLED for (int i = 0; i < n * n; ++i)
        l[i] = 0.0;
    ROLLED for (int i = 0; i < n; ++i)
        ROLLED for (int j = 0; j <= i; ++j) {
            double dot = -0.0;
            FOUR for (int k = 0; k < j; ++k)
                dot = dot + l[i * n + k] * l[j * n + k];
            const double rest = a[i * n + j] - dot;
            if (i != j)
                l[i * n + j] = rest / l[j * n + j];
            else
                l[i * n + j] = rest > 0.0 ? sqrt(rest) : FROM_BITS(0x7ff8000000000000ull);
        }
}

/* Solves L x = b or L' x = b in place, m columns. */
APART void tri_solve(int n, int m, const double *l, bool transpose, double *x)
{
    /* From one element of a row of L, or of L', to the next. */
    const int next = transpose ? n : 1;
    ROLLED for (int step = 0; step < n; ++step) {
        const int i = transpose ? n - 1 - step : step;
        const double *row = l + i * (transpose ? 1 : n);
        const int first = transpose ? i + 1 : 0, end = transpose ? n : i;
        ROLLED for (int c = 0; c < m; ++c) {
            double s = x[i * m + c];
            FOUR for (int k = first; k < end; ++k)
                s = s - row[k * next] * x[k * m + c];
            x[i * m + c] = s / l[i * n + i];
        }
    }
}

FUNCTION void tri_solve_into(int n, int m, const double *l, const double *b, bool transpose, double *x)
{
    ROLLED for (int i = 0; i < n * m; ++i)
        x[i] = b[i];
    tri_solve(n, m, l, transpose, x);
}

/* (L^-T (P + P') L^-1)/2, P the lower triangle of L'Lbar with its diagonal halved. */
APART void cholesky_adjoint(int n, const double *l, const double *bar, double *out)
{
    ROLLED for (int i = 0; i < n * n; ++i)
        out[i] = 0.0;
    ROLLED for (int i = 0; i < n; ++i)
        ROLLED for (int j = 0; j <= i; ++j) {
            double dot = -0.0;
            FOUR for (int k = i; k < n; ++k)
                dot = dot + l[k * n + i] * bar[k * n + j];
            const double value = i == j ? 0.5 * dot : dot;
            out[i * n + j] = out[i * n + j] + value;
            out[j * n + i] = out[j * n + i] + value;
        }
    tri_solve(n, n, l, true, out);
    ROLLED for (int i = 0; i < n; ++i)
        ROLLED for (int j = 0; j < i; ++j) {
            const double swapped = out[i * n + j];
            out[i * n + j] = out[j * n + i];
            out[j * n + i] = swapped;
        }
    tri_solve(n, n, l, true, out);
    ROLLED for (int i = 0; i < n; ++i)
        ROLLED for (int j = 0; j <= i; ++j) {
            const double mean = 0.25 * (out[i * n + j] + out[j * n + i]);
            out[i * n + j] = mean;
            out[j * n + i] = mean;
        }
}
