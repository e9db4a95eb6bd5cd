/* Numbers of networks in memory: in f32, or in the type of work, bf16 (WORK16) or f32; one by one, or as many
   as 16 bytes hold of the type of work, for memory gives most to those who ask for 16 bytes at a time. */

FUNCTION float float_of(unsigned bits)
{
    union {
        unsigned bits;
        float x;
    } both;
    both.bits = bits;
    return both.x;
}

FUNCTION unsigned bits_of(float x)
{
    union {
        unsigned bits;
        float x;
    } both;
    both.x = x;
    return both.bits;
}

#if WORK16
typedef unsigned short work_t;
#define WIDE 8
FUNCTION float get(work_t x) { return float_of((unsigned)x << 16); }
/* The nearest of bf16, ties to even; NaN stays NaN. */
FUNCTION float nearest(float x)
{
    const unsigned bits = bits_of(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return float_of((bits | 0x400000u) & 0xffff0000u);
    return float_of((bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u);
}
FUNCTION work_t put(float x) { return (work_t)(bits_of(nearest(x)) >> 16); }
#else
typedef float work_t;
#define WIDE 4
FUNCTION float get(work_t x) { return x; }
FUNCTION float nearest(float x) { return x; }
FUNCTION work_t put(float x) { return x; }
#endif

struct alignas(16) Quad {
    unsigned w[4];
};

FUNCTION Quad quad_at(const void *p)
{
#ifdef __CUDACC__
    return *(const Quad *)p;
#else
    Quad quad;
    memcpy(&quad, p, sizeof quad);
    return quad;
#endif
}

FUNCTION void set_quad(void *p, const Quad &quad)
{
#ifdef __CUDACC__
    *(Quad *)p = quad;
#else
    memcpy(p, &quad, sizeof quad);
#endif
}

/* P numbers, 1 or WIDE. */
template <int P> FUNCTION void read(const float *from, float *x)
{
    if (P == 1)
        x[0] = from[0];
    for (int k = 0; k < P / 4; ++k) {
        const Quad quad = quad_at(from + 4 * k);
        for (int j = 0; j < 4; ++j)
            x[4 * k + j] = float_of(quad.w[j]);
    }
}

/* Those of a vector of parameters, which may start anywhere. */
template <int P> FUNCTION void read_vector(const float *from, float *x)
{
    if ((wide_t)from % 16 == 0)
        return read<P>(from, x);
    for (int p = 0; p < P; ++p)
        x[p] = from[p];
}

template <int P> FUNCTION void write(float *to, const float *x)
{
    if (P == 1)
        to[0] = x[0];
    for (int k = 0; k < P / 4; ++k) {
        Quad quad;
        for (int j = 0; j < 4; ++j)
            quad.w[j] = bits_of(x[4 * k + j]);
        set_quad(to + 4 * k, quad);
    }
}

#if WORK16
template <int P> FUNCTION void read(const work_t *from, float *x)
{
    if (P == 1)
        x[0] = get(from[0]);
    for (int k = 0; k < P / 8; ++k) {
        const Quad quad = quad_at(from + 8 * k);
        for (int j = 0; j < 4; ++j) {
            x[8 * k + 2 * j] = float_of(quad.w[j] << 16);
            x[8 * k + 2 * j + 1] = float_of(quad.w[j] & 0xffff0000u);
        }
    }
}

/* Numbers that are of bf16 already. */
template <int P> FUNCTION void write(work_t *to, const float *x)
{
    if (P == 1)
        to[0] = (work_t)(bits_of(x[0]) >> 16);
    for (int k = 0; k < P / 8; ++k) {
        Quad quad;
        for (int j = 0; j < 4; ++j)
            quad.w[j] = bits_of(x[8 * k + 2 * j]) >> 16 | bits_of(x[8 * k + 2 * j + 1]);
        set_quad(to + 8 * k, quad);
    }
}
#endif

