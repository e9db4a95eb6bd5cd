/* Kernels of message-passing networks: all that stands between products of matrices. A team is a
   warp; word 0 of every kernel is the number of teams. WORK16 says whether what products read is in
   bf16 (else in f32), NORM is the width of rows that are normalised. */

struct Words {
    wide_t w[20];
};

#define KERNEL(name) ENTRY void name(const Words words)
#define AT(type, k) ((type *)words.w[k])
#define COUNT(k) ((long long)words.w[k])
#define NUMBER(k) FROM_BITS(words.w[k])
#define TEAM_OR_LEAVE()                \
    const long long team = TEAM_INDEX; \
    if (team >= COUNT(0))              \
    return
#define EACH(i, n) (long long i = team * TEAM + THREAD; i < (n); i += COUNT(0) * TEAM)
#define EACH_ROW(row, n) (long long row = team; row < (n); row += COUNT(0))
/* Numbers of a row of NORM that one thread holds. */
#define MINE ((NORM + TEAM - 1) / TEAM)

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

FUNCTION float from_bf16(unsigned short x)
{
    return float_of((unsigned)x << 16);
}

/* To the nearest, ties to even; NaN stays NaN. */
FUNCTION unsigned short to_bf16(float x)
{
    const unsigned bits = bits_of(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (unsigned short)(bits >> 16 | 64u);
    return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

#if WORK16
typedef unsigned short work_t;
FUNCTION float get(work_t x) { return from_bf16(x); }
FUNCTION work_t put(float x) { return to_bf16(x); }
#else
typedef float work_t;
FUNCTION float get(work_t x) { return x; }
FUNCTION work_t put(float x) { return x; }
#endif

/* The sum over a team's threads, the same for all of them: by an xor butterfly. */
#ifdef __CUDACC__
template <class T> FUNCTION T team_sum(T x)
{
    for (int half = 16; half > 0; half /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, half);
    return x;
}
#else
static double team_numbers[256];

template <class T> FUNCTION T team_sum(T x)
{
    if (TEAM == 1)
        return x;
    team_numbers[THREAD] = x;
    SYNC();
    T all[256];
    for (int i = 0; i < TEAM; ++i)
        all[i] = (T)team_numbers[i];
    for (int half = TEAM / 2; half > 0; half /= 2) {
        T before[256];
        for (int i = 0; i < TEAM; ++i)
            before[i] = all[i];
        for (int i = 0; i < TEAM; ++i)
            all[i] = before[i] + before[i ^ half];
    }
    SYNC();
    return all[THREAD];
}
#endif

FUNCTION float sigmoid(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

/* to 1, count 2. */
KERNEL(zero)
{
    TEAM_OR_LEAVE();
    for EACH (i, COUNT(2))
        AT(float, 1)[i] = 0.0f;
}

/* from 1 (f32), to 2 (work), count 3. */
KERNEL(cast)
{
    TEAM_OR_LEAVE();
    for EACH (i, COUNT(3))
        AT(work_t, 2)[i] = put(AT(const float, 1)[i]);
}

/* z 1 += bias 2; rows 3, width 4. */
KERNEL(add_bias)
{
    TEAM_OR_LEAVE();
    for EACH_ROW (row, COUNT(3))
        for (int c = THREAD; c < COUNT(4); c += TEAM)
            AT(float, 1)[row * COUNT(4) + c] += AT(const float, 2)[c];
}

/* z 1 += bias 3 and what is looked up; a 2 = SiLU(z). Rows 4, width 5, rows of a sample 6; 7 says
   that nothing is in z yet. Three look-ups from 8 on: table (0 ends them), index (0: the row's own
   number), rows of a sample in the table (0: the same for all samples). */
KERNEL(gather_rows)
{
    TEAM_OR_LEAVE();
    const int width = (int)COUNT(5);
    for EACH_ROW (row, COUNT(4)) {
        const long long sample = row / COUNT(6), own = row % COUNT(6);
        const float *line[3] = {0, 0, 0};
        for (int k = 0; k < 3; ++k) {
            const float *table = AT(const float, 8 + 3 * k);
            const unsigned *index = AT(const unsigned, 9 + 3 * k);
            if (table)
                line[k] = table + ((index ? index[own] : own) + sample * COUNT(10 + 3 * k)) * width;
        }
        for (int c = THREAD; c < width; c += TEAM) {
            const long long i = row * width + c;
            float z = AT(const float, 3)[c];
            if (!COUNT(7))
                z += get(AT(work_t, 1)[i]);
            for (int k = 0; k < 3; ++k)
                if (line[k])
                    z += line[k][c];
            const work_t kept = put(z);
            z = get(kept);
            AT(work_t, 1)[i] = kept;
            AT(work_t, 2)[i] = put(z * sigmoid(z));
        }
    }
}

/* LayerNorm, residual and sums by receiver. z 1 + bias 3 becomes x; 1/sd 2, scale 4, shift 5; base
   6 (0: none) with 7 rows a sample (0: the same for all), result 8 (0: not wanted), sums 9 (0: none)
   over the rows from starts 10 (0: every row for itself); groups of a sample 11, rows of a sample 12,
   samples 13. */
KERNEL(norm_rows)
{
    TEAM_OR_LEAVE();
    const unsigned *starts = AT(const unsigned, 10);
    const float *bias = AT(const float, 3), *scale = AT(const float, 4), *shift = AT(const float, 5);
    const float *base = AT(const float, 6);
    float *out = AT(float, 8), *to = AT(float, 9);
    for EACH_ROW (t, COUNT(11) * COUNT(13)) {
        const long long sample = t / COUNT(11), group = t % COUNT(11);
        const long long first = starts ? starts[group] : group;
        const long long end = starts ? starts[group + 1] : group + 1;
        float sum[MINE];
        for (int j = 0; j < MINE; ++j)
            sum[j] = 0.0f;
        for (long long row = first; row < end; ++row) {
            work_t *z = AT(work_t, 1) + (sample * COUNT(12) + row) * NORM;
            const long long base_row = row + sample * COUNT(7);
            float v[MINE], total = 0.0f, square = 0.0f;
            for (int j = 0; j < MINE; ++j) {
                const int c = THREAD + j * TEAM;
                v[j] = c < NORM ? get(z[c]) + bias[c] : 0.0f;
                total += v[j];
            }
            const float mean = team_sum(total) / NORM;
            for (int j = 0; j < MINE; ++j) {
                v[j] = THREAD + j * TEAM < NORM ? v[j] - mean : 0.0f;
                square = fmaf(v[j], v[j], square);
            }
            const float rstd = 1.0f / sqrtf(team_sum(square) / NORM + 1e-5f);
            if (THREAD == 0)
                AT(float, 2)[sample * COUNT(12) + row] = rstd;
            for (int j = 0; j < MINE; ++j) {
                const int c = THREAD + j * TEAM;
                if (c >= NORM)
                    continue;
                const work_t x = put(v[j] * rstd);
                z[c] = x;
                const float y = fmaf(get(x), scale[c], shift[c]);
                if (out)
                    out[(sample * COUNT(12) + row) * NORM + c] = base ? base[base_row * NORM + c] + y : y;
                sum[j] += y;
            }
        }
        for (int j = 0; to && j < MINE; ++j)
            if (THREAD + j * TEAM < NORM)
                to[t * NORM + THREAD + j * TEAM] = sum[j];
    }
}

/* Backward through it. Slope 1 (0: none) and that of the receivers' sums: table 2 (0: none), receivers
   3, groups of a sample 4; x 5, 1/sd 6, scale 7; slope by z to 8, its sums over the rows of a team, those
   of slope times x, and of the slope, to 9. Rows 10, rows of a sample 11, rows of a team 12. */
KERNEL(norm_back)
{
    TEAM_OR_LEAVE();
    const float *slope = AT(const float, 1), *table = AT(const float, 2), *scale = AT(const float, 7);
    const long long first = team * COUNT(12), end = LEAST(first + COUNT(12), COUNT(10));
    float by_bias[MINE], by_scale[MINE], by_shift[MINE];
    for (int j = 0; j < MINE; ++j)
        by_bias[j] = by_scale[j] = by_shift[j] = 0.0f;
    for (long long row = first; row < end; ++row) {
        const long long sample = row / COUNT(11), own = row % COUNT(11);
        const long long group = table ? AT(const unsigned, 3)[own] + sample * COUNT(4) : 0;
        float g[MINE], x[MINE], mean = 0.0f, along = 0.0f;
        for (int j = 0; j < MINE; ++j) {
            const int c = THREAD + j * TEAM;
            g[j] = x[j] = 0.0f;
            if (c >= NORM)
                continue;
            x[j] = get(AT(const work_t, 5)[row * NORM + c]);
            g[j] = slope ? slope[row * NORM + c] : 0.0f;
            if (table)
                g[j] += table[group * NORM + c];
            by_scale[j] = fmaf(g[j], x[j], by_scale[j]);
            by_shift[j] += g[j];
            g[j] *= scale[c];
            mean += g[j];
            along = fmaf(g[j], x[j], along);
        }
        mean = team_sum(mean) / NORM;
        along = team_sum(along) / NORM;
        const float rstd = AT(const float, 6)[row];
        for (int j = 0; j < MINE; ++j) {
            const int c = THREAD + j * TEAM;
            if (c >= NORM)
                continue;
            const work_t d = put((g[j] - mean - x[j] * along) * rstd);
            AT(work_t, 8)[row * NORM + c] = d;
            by_bias[j] += get(d);
        }
    }
    float *sums = AT(float, 9) + team * 3 * NORM;
    for (int j = 0; j < MINE; ++j) {
        const int c = THREAD + j * TEAM;
        if (c >= NORM)
            continue;
        sums[c] = by_bias[j];
        sums[NORM + c] = by_scale[j];
        sums[2 * NORM + c] = by_shift[j];
    }
}

/* g 1 *= SiLU'(z 2), a 3 = SiLU(z); without z (0) neither. Sums of g over the rows of a team to 4. Rows
   5, width 6, rows of a team 7; teams share a row by 32 columns. */
KERNEL(silu_back)
{
    TEAM_OR_LEAVE();
    const long long width = COUNT(6), parts = (width + 31) / 32;
    const long long piece = team / parts, start = team % parts * 32;
    const long long first = piece * COUNT(7), end = LEAST(first + COUNT(7), COUNT(5));
    const work_t *z = AT(const work_t, 2);
    for (long long c = start + THREAD; c < LEAST(width, start + 32); c += TEAM) {
        float sum = 0.0f;
        for (long long row = first; row < end; ++row) {
            const long long i = row * width + c;
            float g = get(AT(work_t, 1)[i]);
            if (z) {
                const float x = get(z[i]), s = sigmoid(x);
                AT(work_t, 3)[i] = put(x * s);
                const work_t d = put(g * (s * (1.0f + x * (1.0f - s))));
                AT(work_t, 1)[i] = d;
                g = get(d);
            }
            sum += g;
        }
        AT(float, 4)[piece * width + c] = sum;
    }
}

/* to 4 += sums of the columns of 1: pieces 2, width 3; a team to a column. */
KERNEL(reduce)
{
    TEAM_OR_LEAVE();
    float sum = 0.0f;
    for (long long piece = THREAD; piece < COUNT(2); piece += TEAM)
        sum += AT(const float, 1)[piece * COUNT(3) + team];
    sum = team_sum(sum);
    if (THREAD == 0)
        AT(float, 4)[team] += sum;
}

/* to 4 = sums of the rows of g 1 that look a row up: starts 2 and ids 3 (both 0: its own number; ids
   0: consecutive). Rows of a sample looked up 5, width 6, rows of a sample in g 7, samples 8, samples
   that are summed 9. */
KERNEL(gather_back)
{
    TEAM_OR_LEAVE();
    const int width = (int)COUNT(6);
    const unsigned *starts = AT(const unsigned, 2), *ids = AT(const unsigned, 3);
    for EACH_ROW (t, COUNT(5) * COUNT(8)) {
        const long long row = t % COUNT(5);
        const long long first = starts ? starts[row] : row, end = starts ? starts[row + 1] : row + 1;
        for (int c = THREAD; c < width; c += TEAM) {
            float sum = 0.0f;
            for (long long k = 0; k < COUNT(9); ++k) {
                const work_t *g = AT(const work_t, 1) + (t / COUNT(5) + k) * COUNT(7) * width;
                for (long long e = first; e < end; ++e)
                    sum += get(g[(ids ? ids[e] : e) * width + c]);
            }
            AT(work_t, 4)[t * width + c] = put(sum);
        }
    }
}

/* to 1 += sums over samples of 2; numbers of a sample 3, samples 4. */
KERNEL(add_samples)
{
    TEAM_OR_LEAVE();
    for EACH (i, COUNT(3)) {
        float sum = AT(float, 1)[i];
        for (long long sample = 0; sample < COUNT(4); ++sample)
            sum += AT(const float, 2)[sample * COUNT(3) + i];
        AT(float, 1)[i] = sum;
    }
}

/* Where there is no library of products: c 3 = (9: += ) a 1 times b 2, m 4 x n 5 over k 6; 7 and 8 say
   that a and b are stored turned round, 10 that c is in the type of work. A team makes 8 x 32. */
KERNEL(product)
{
    TEAM_OR_LEAVE();
    const long long m = COUNT(4), n = COUNT(5), k = COUNT(6), columns = (n + 31) / 32;
    const long long top = team / columns * 8, left = team % columns * 32;
    const long long a_row = COUNT(7) ? 1 : k, a_step = COUNT(7) ? m : 1;
    const long long b_step = COUNT(8) ? 1 : n, b_column = COUNT(8) ? k : 1;
    const int rows = (int)LEAST(m - top, 8);
    for (long long c = left + THREAD; c < LEAST(n, left + 32); c += TEAM) {
        float sum[8] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
        const work_t *a = AT(const work_t, 1) + top * a_row, *b = AT(const work_t, 2) + c * b_column;
        for (long long i = 0; i < k; ++i, a += a_step, b += b_step) {
            const float x = get(*b);
#pragma unroll
            for (int r = 0; r < 8; ++r)
                if (r < rows)
                    sum[r] = fmaf(get(a[r * a_row]), x, sum[r]);
        }
#pragma unroll
        for (int r = 0; r < 8; ++r) {
            const long long at = (top + r) * n + c;
            if (r >= rows)
                continue;
            if (COUNT(10))
                AT(work_t, 3)[at] = put(COUNT(9) ? get(AT(work_t, 3)[at]) + sum[r] : sum[r]);
            else
                AT(float, 3)[at] = COUNT(9) ? AT(float, 3)[at] + sum[r] : sum[r];
        }
    }
}

/* What a run knows of itself, in f64; the order of `Status` in nn/gpu/mod.rs. */
enum {
    TICK, UPDATES, SKIPPED, IN_A_ROW, LOSSES, N_LOSSES, LAST_LOSS, LAST_NORM, FACTOR, CORRECT_M, CORRECT_V,
    RATE, PAST, SKIP, LOSS, VALIDATION, N_VALIDATION
};

/* Sums of squares of 1, of 2 numbers, one for each team to 3. */
KERNEL(square_sums)
{
    TEAM_OR_LEAVE();
    double sum = 0.0;
    for EACH (i, COUNT(2)) {
        const double g = AT(const float, 1)[i];
        sum += g * g;
    }
    sum = team_sum(sum);
    if (THREAD == 0)
        AT(double, 3)[team] = sum;
}

/* What the update will be: sums of squares 1, of 2 teams; status 3; longest gradient 4, micro-batches
   5, largest weight of the past 6, betas 7 and 8. A gradient that is not finite skips the update; after
   three in a row no other is made. */
KERNEL(decide)
{
    TEAM_OR_LEAVE();
    double sum = 0.0;
    for (long long i = THREAD; i < COUNT(2); i += TEAM)
        sum += AT(const double, 1)[i];
    sum = team_sum(sum);
    if (THREAD != 0)
        return;
    double *s = AT(double, 3);
    const double count = (double)COUNT(5), norm = sqrt(sum) / count;
    s[LAST_LOSS] = s[LOSS] / count;
    s[LAST_NORM] = norm;
    s[LOSS] = 0.0;
    s[SKIP] = !(norm - norm == 0.0) || s[IN_A_ROW] >= 3.0;
    if (s[SKIP] != 0.0) {
        s[SKIPPED] += 1.0;
        s[IN_A_ROW] += 1.0;
        return;
    }
    s[IN_A_ROW] = 0.0;
    s[LOSSES] += s[LAST_LOSS];
    s[N_LOSSES] += 1.0;
    const double t = s[UPDATES] += 1.0;
    s[FACTOR] = LEAST(NUMBER(4) / norm, 1.0) / count;
    s[CORRECT_M] = 1.0 / (1.0 - pow(NUMBER(7), t));
    s[CORRECT_V] = 1.0 / (1.0 - pow(NUMBER(8), t));
    s[PAST] = LEAST(NUMBER(6), (1.0 + t) / (10.0 + t));
}

/* AdamW: parameters 1, gradient 2, m 3, v 4, average 5 (0: none), status 6, count 7; betas 8 and 9,
   epsilon 10, decay 11. */
KERNEL(adamw)
{
    TEAM_OR_LEAVE();
    const double *s = AT(const double, 6);
    if (s[SKIP] != 0.0)
        return;
    const float b1 = (float)NUMBER(8), c1 = (float)(1.0 - NUMBER(8)), b2 = (float)NUMBER(9);
    const float c2 = (float)(1.0 - NUMBER(9)), epsilon = (float)NUMBER(10), decay = (float)NUMBER(11);
    const float hat1 = (float)s[CORRECT_M], hat2 = (float)s[CORRECT_V], rate = (float)-s[RATE];
    const float factor = (float)s[FACTOR], past = (float)s[PAST];
    for EACH (i, COUNT(7)) {
        const float g = AT(const float, 2)[i] * factor;
        const float m = AT(float, 3)[i] * b1 + g * c1, v = AT(float, 4)[i] * b2 + g * g * c2;
        const float x = AT(float, 1)[i];
        const float step = m * hat1 / (sqrtf(v * hat2) + epsilon) + x * decay;
        const float moved = fmaf(step, rate, x);
        AT(float, 3)[i] = m;
        AT(float, 4)[i] = v;
        AT(float, 1)[i] = moved;
        if (words.w[5])
            AT(float, 5)[i] = past * AT(float, 5)[i] + (1.0f - past) * moved;
    }
}

/* 1 and 2 change places; count 3. */
KERNEL(swap)
{
    TEAM_OR_LEAVE();
    for EACH (i, COUNT(3)) {
        const float x = AT(float, 1)[i];
        AT(float, 1)[i] = AT(float, 2)[i];
        AT(float, 2)[i] = x;
    }
}
