/* Factors of matrices and triangular solves, by all threads of the team: each element is one number from
   which products are taken away in a fixed order. What one of these functions reads must have been written
   before a barrier; what it wrote last is there for all after one. */

/* Lower factor by columns, of the lower triangle; NaN from the first pivot that is not positive. Thread i
   has row i, and finds the pivot for itself. */
APART void cholesky(int n, const double *a, double *l)
{
    ROLLED for (int j = 0; j < n; ++j) {
        if (j > 0)
            SYNC(); /* matrix: the row of the pivot */
        double pivot = a[j * n + j];
        FOUR for (int k = 0; k < j; ++k)
            pivot = fma(-l[j * n + k], l[j * n + k], pivot);
        pivot = pivot > 0.0 ? sqrt(pivot) : FROM_BITS(0x7ff8000000000000ull);
        SHARE(i, n) {
            double rest = i == j ? pivot : 0.0;
            if (i > j) {
                rest = a[i * n + j];
                FOUR for (int k = 0; k < j; ++k)
                    rest = fma(-l[i * n + k], l[j * n + k], rest);
                rest = rest / pivot;
            }
            l[i * n + j] = rest;
        }
    }
}

/* Solves L x = b or L' x = b, m columns. What is known is taken away from all rows that are not, as they
   stand before their division. */
APART void tri_solve(int n, int m, const double *l, const double *b, bool transpose, double *x)
{
    SHARE(e, n * m)
        x[e] = b[e];
    ROLLED for (int step = 0; step + 1 < n; ++step) {
        const int k = transpose ? n - 1 - step : step;
        SYNC(); /* matrix: the row that is known */
        SHARE(e, n * m) {
            const int i = e / m;
            if (transpose ? i < k : i > k)
                x[e] = fma(-(transpose ? l[k * n + i] : l[i * n + k]), x[k * m + e % m] / l[k * n + k], x[e]);
        }
    }
    SYNC(); /* matrix: all rows before their division */
    SHARE(e, n * m)
        x[e] = x[e] / l[e / m * (n + 1)];
}

/* The steps of the factor backwards, column by column: S in the upper triangle and its mirror image. */
APART void cholesky_adjoint(int n, const double *l, const double *bar, double *out)
{
    ROLLED for (int k = n - 1; k >= 0; --k) {
        SHARE(i, n)
            if (i > k) {
                double rest = bar[i * n + k];
                FOUR for (int m = n - 1; m > k; --m)
                    rest = fma(-l[m * n + k], out[i * n + m], rest);
                rest = rest / l[k * n + k];
                out[i * n + k] = rest;
                out[k * n + i] = rest;
            }
        SYNC(); /* matrix: the column above its diagonal */
        if (THREAD == 0) {
            double parts[8] = {};
            ROLLED for (int first = k + 1; first < n; first += 8)
                for (int p = 0; p < 8; ++p)
                    if (first + p < n)
                        parts[p] = fma(out[k * n + first + p], l[(first + p) * n + k], parts[p]);
            for (int half = 4; half > 0; half /= 2)
                for (int p = 0; p < half; ++p)
                    parts[p] = parts[p] + parts[p + half];
            out[k * n + k] = (bar[k * n + k] - parts[0]) / l[k * n + k];
        }
        SYNC(); /* matrix: its diagonal */
    }
    SHARE(e, n * n)
        out[e] = 0.5 * out[e];
}
