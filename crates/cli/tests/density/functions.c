// Functions of C that can be sampled: a normal number of sd 2 about 1, and a gamma number of shape 3 by its
// logarithm.
#include <math.h>
#include <stddef.h>

size_t log_density_dim(void) { return 2; }

#ifndef NO_NAMES
const char *log_density_names(void) { return "x,g"; }

int log_density_expand(size_t dim, size_t n, const double *x, double *out, const void *user) {
    (void)user;
    if (dim != 2 || n != 2) return -1;
    out[0] = x[0];
    out[1] = exp(x[1]);
    return 0;
}
#endif

int log_density(size_t dim, const double *x, double *gradient, double *logp, const void *user) {
    (void)dim, (void)user;
#ifdef BROKEN
    return -7;
#endif
    double z = (x[0] - 1) / 2, g = exp(x[1]);
    if (!isfinite(g)) return 1;
    *logp = -0.5 * z * z + 3 * x[1] - g;
    gradient[0] = -z / 2;
    gradient[1] = 3 - g;
    return 0;
}
