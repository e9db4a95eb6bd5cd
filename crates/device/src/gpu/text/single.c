/* The functions of the engine in float, over those of the GPU's own library. They agree with the
   definitions in double to a few units in the last place of float, which a test holds; unlike those
   they promise no bits. A function calls only what stands above it; blank lines part functions. */

FUNCTION float s_exp(float x)
{
    return expf(x);
}

FUNCTION float s_log(float x)
{
    return logf(x);
}

FUNCTION float s_log1p(float x)
{
    return log1pf(x);
}

FUNCTION float s_expm1(float x)
{
    return expm1f(x);
}

FUNCTION float s_sin(float x)
{
    return sinf(x);
}

FUNCTION float s_cos(float x)
{
    return cosf(x);
}

FUNCTION float s_tan(float x)
{
    return tanf(x);
}

FUNCTION float s_asin(float x)
{
    return asinf(x);
}

FUNCTION float s_acos(float x)
{
    return acosf(x);
}

FUNCTION float s_atan(float x)
{
    return atanf(x);
}

FUNCTION float s_sinh(float x)
{
    return sinhf(x);
}

FUNCTION float s_cosh(float x)
{
    return coshf(x);
}

FUNCTION float s_tanh(float x)
{
    return tanhf(x);
}

FUNCTION float s_erf(float x)
{
    return erff(x);
}

FUNCTION float s_erfc(float x)
{
    return erfcf(x);
}

FUNCTION float s_erfcx(float x)
{
    return erfcxf(x);
}

/* Slope of log Phi: by erfcx below 0, where both density and Phi vanish. */
FUNCTION float s_ndtrslope(float x)
{
    const float z = x * 0.70710678f;
    if (x < 0.0f)
        return 0.79788456f / erfcxf(-z);
    return 0.39894228f * expf(-0.5f * x * x) / (1.0f - 0.5f * erfcf(z));
}

FUNCTION float s_logndtr(float x)
{
    const float z = x * 0.70710678f;
    if (x < 0.0f)
        return logf(0.5f * erfcxf(-z)) - 0.5f * x * x;
    return log1pf(-0.5f * erfcf(z));
}

FUNCTION float s_logndtr_pair(float x, float *second)
{
    *second = s_ndtrslope(x);
    return s_logndtr(x);
}

FUNCTION float s_lgamma(float x)
{
    return lgammaf(x);
}

/* Up to 6 by recurrence, then by Stirling's series; by reflection below 0. */
FUNCTION float s_digamma(float x)
{
    float s = 0.0f;
    if (x <= 0.0f) {
        s = -3.14159265f / tanf(3.14159265f * (x - rintf(x)));
        x = 1.0f - x;
    }
    for (; x < 6.0f; x = x + 1.0f)
        s = s - 1.0f / x;
    const float z = 1.0f / (x * x);
    return s + (logf(x) - 0.5f / x - z * (0.083333333f - z * (0.0083333333f - z * 0.003968254f)));
}

FUNCTION float s_trigamma(float x)
{
    float s = 0.0f, sign = 1.0f;
    if (x <= 0.0f) {
        const float t = sinf(3.14159265f * (x - rintf(x)));
        s = 9.8696044f / (t * t);
        sign = -1.0f;
        x = 1.0f - x;
    }
    float t = 0.0f;
    for (; x < 6.0f; x = x + 1.0f)
        t = t + 1.0f / (x * x);
    const float z = 1.0f / (x * x);
    const float tail = 0.16666667f - z * (0.033333333f - z * 0.023809524f);
    return s + sign * (t + (1.0f / x + 0.5f * z + z / x * tail));
}

FUNCTION float s_lgamma_pair(float x, float *second)
{
    *second = s_digamma(x);
    return lgammaf(x);
}

/* Abramowitz and Stegun 9.8.1 and 9.8.2. */
FUNCTION float s_logi0(float x)
{
    const float a = fabsf(x);
    if (a < 3.75f) {
        const float t = a / 3.75f * (a / 3.75f);
        return log1pf(t * (3.5156229f + t * (3.0899424f + t * (1.2067492f + t * (0.2659732f
            + t * (0.0360768f + t * 0.0045813f))))));
    }
    const float t = 3.75f / a;
    const float p = 0.39894228f + t * (0.01328592f + t * (0.00225319f + t * (-0.00157565f
        + t * (0.00916281f + t * (-0.02057706f + t * (0.02635537f + t * (-0.01647633f
        + t * 0.00392377f)))))));
    return a - 0.5f * logf(a) + logf(p);
}

/* Abramowitz and Stegun 9.8.1 to 9.8.4. */
FUNCTION float s_i1overi0(float x)
{
    const float a = fabsf(x);
    float r;
    if (a < 3.75f) {
        const float t = a / 3.75f * (a / 3.75f);
        const float p = 1.0f + t * (3.5156229f + t * (3.0899424f + t * (1.2067492f
            + t * (0.2659732f + t * (0.0360768f + t * 0.0045813f)))));
        r = a * (0.5f + t * (0.87890594f + t * (0.51498869f + t * (0.15084934f
            + t * (0.02658733f + t * (0.00301532f + t * 0.00032411f)))))) / p;
    } else {
        const float t = 3.75f / a;
        const float p = 0.39894228f + t * (0.01328592f + t * (0.00225319f + t * (-0.00157565f
            + t * (0.00916281f + t * (-0.02057706f + t * (0.02635537f + t * (-0.01647633f
            + t * 0.00392377f)))))));
        r = (0.39894228f + t * (-0.03988024f + t * (-0.00362018f + t * (0.00163801f
            + t * (-0.01031555f + t * (0.02282967f + t * (-0.02895312f + t * (0.01787654f
            - t * 0.00420059f)))))))) / p;
    }
    return x < 0.0f ? -r : r;
}

FUNCTION float s_invlogit(float x)
{
    const float e = expf(-fabsf(x));
    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

/* NaN if either is. */
FUNCTION float s_min(float x, float y)
{
    return x != x || x < y ? x : y;
}

FUNCTION float s_max(float x, float y)
{
    return x != x || x > y ? x : y;
}

FUNCTION float s_softplus(float x)
{
    return s_max(x, 0.0f) + log1pf(expf(-fabsf(x)));
}

FUNCTION float s_softplus_pair(float x, float *second)
{
    *second = s_invlogit(x);
    return s_softplus(x);
}

FUNCTION float s_pow(float x, float y)
{
    return powf(x, y);
}

/* Equal infinities have no difference. */
FUNCTION float s_logaddexp(float x, float y)
{
    if (x == y)
        return x + 0.69314718f;
    return s_max(x, y) + log1pf(expf(-fabsf(x - y)));
}

FUNCTION float s_logaddexp_pair(float x, float y, float *second)
{
    *second = x == y ? 0.5f : s_invlogit(x - y);
    return s_logaddexp(x, y);
}

FUNCTION float s_sincos_pair(float x, float *second)
{
    *second = cosf(x);
    return sinf(x);
}
