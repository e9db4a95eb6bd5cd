// A stand-in for a Stan program that BridgeStan compiled, with its interface and no more:
//   data { vector[N] y; } parameters { real mu; real<lower=0> sigma; }
//   model { mu ~ normal(0, 10); sigma ~ exponential(1); y ~ normal(mu, sigma); }
//   generated quantities { matrix[2, 3] at; real u = uniform_rng(0, 1); }   // at[i, j] = mu + 10 i + j
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    double y[100];
    int n;
} bs_model;
typedef struct {
    unsigned long long state;
} bs_rng;

int bs_major_version = 2;
#ifdef ALONE
static atomic_int inside;
#endif

static void complain(char **to, const char *words) {
    if (to) *to = strdup(words);
}

bs_model *bs_model_construct(const char *data, unsigned int seed, char **error) {
    (void)seed;
    const char *at = data ? strstr(data, "\"y\"") : NULL;
    if (!at) {
        complain(error, "variable does not exist; processing stage=data initialization; variable name=y\n");
        return NULL;
    }
    bs_model *model = calloc(1, sizeof *model);
    at = strchr(at, '[') + 1;
    for (char *end; model->n < 100; at = end + 1) {
        model->y[model->n++] = strtod(at, &end);
        if (*end != ',') break;
    }
    return model;
}
void bs_model_destruct(bs_model *model) { free(model); }
void bs_free_error_msg(char *words) { free(words); }
const char *bs_name(const bs_model *model) { return (void)model, "program"; }
const char *bs_model_info(const bs_model *model) {
    (void)model;
#ifdef ALONE
    return "Stan C++ Defines:\n\tSTAN_THREADS=false\n";
#else
    return "Stan C++ Defines:\n\tSTAN_THREADS=true\n";
#endif
}
int bs_param_unc_num(const bs_model *model) { return (void)model, 2; }
const char *bs_param_names(const bs_model *model, bool tp, bool gq) {
    (void)model, (void)tp;
    return gq ? "mu,sigma,at.1.1,at.2.1,at.1.2,at.2.2,at.1.3,at.2.3,u" : "mu,sigma";
}
bs_rng *bs_rng_construct(unsigned int seed, char **error) {
    (void)error;
    bs_rng *rng = malloc(sizeof *rng);
    rng->state = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return rng;
}
void bs_rng_destruct(bs_rng *rng) { free(rng); }

// Without threads, two calls at once are an error.
static bool crowded(char **error) {
#ifdef ALONE
    if (atomic_fetch_add(&inside, 1) > 0) {
        atomic_fetch_sub(&inside, 1);
        complain(error, "two calls at once");
        return true;
    }
#endif
    (void)error;
    return false;
}
static void leave(void) {
#ifdef ALONE
    atomic_fetch_sub(&inside, 1);
#endif
}

int bs_log_density_gradient(const bs_model *model, bool propto, bool jacobian, const double *x,
                            double *value, double *gradient, char **error) {
    if (crowded(error)) return 1;
    (void)propto;
    double mu = x[0], sigma = exp(x[1]), lp = -0.5 * mu * mu / 100 - sigma, by_mu = -mu / 100;
    double by_log = -sigma;
    for (int i = 0; i < model->n; i++) {
        double z = (model->y[i] - mu) / sigma;
        lp -= 0.5 * z * z + x[1];
        by_mu += z / sigma;
        by_log += z * z - 1;
    }
    leave();
    if (x[1] > 50) {
        complain(error, "normal_lpdf: Scale parameter is inf, but must be positive finite!");
        return -1;
    }
    *value = lp + (jacobian ? x[1] : 0);
    gradient[0] = by_mu;
    gradient[1] = by_log + (jacobian ? 1 : 0);
    return 0;
}
int bs_param_constrain(const bs_model *model, bool tp, bool gq, const double *x, double *out, bs_rng *rng,
                       char **error) {
    (void)model, (void)tp;
    if (crowded(error)) return 1;
    out[0] = x[0];
    out[1] = exp(x[1]);
    for (int k = 0; gq && k < 6; k++) out[2 + k] = x[0] + 10 * (k % 2 + 1) + (k / 2 + 1);
    if (gq) out[8] = (double)(rng->state >> 11) / (double)(1ULL << 53);
    leave();
    return 0;
}
