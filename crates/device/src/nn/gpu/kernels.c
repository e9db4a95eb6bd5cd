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
/* A row of NORM is held by a team: each thread has MINE times PACK numbers that lie side by side, the j-th of
   them from number PLACE(j) on. */
#define PACK (NORM % WIDE == 0 ? WIDE : 1)
#define MINE ((NORM / PACK + TEAM - 1) / TEAM)
#define PLACE(j) ((THREAD + (j) * TEAM) * PACK)

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

/* The sum of what `n` teams have summed. */
FUNCTION double sum_of_teams(const double *sums, long long n)
{
    double sum = 0.0;
    for (long long i = THREAD; i < n; i += TEAM)
        sum += sums[i];
    return team_sum(sum);
}

FUNCTION float sigmoid(float x)
{
#if WORK16 && defined(__CUDACC__)
    // Two last places of f32 are nothing beside one of bf16.
    return __fdividef(1.0f, 1.0f + __expf(-x));
#else
    return 1.0f / (1.0f + expf(-x));
#endif
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
    const long long packs = COUNT(3) / WIDE, rest = packs * WIDE;
    for EACH (i, packs) {
        float x[WIDE];
        read<WIDE>(AT(const float, 1) + i * WIDE, x);
        for (int p = 0; p < WIDE; ++p)
            x[p] = nearest(x[p]);
        write<WIDE>(AT(work_t, 2) + i * WIDE, x);
    }
    for EACH (i, COUNT(3) - rest)
        AT(work_t, 2)[rest + i] = put(AT(const float, 1)[rest + i]);
}

/* z 1 += bias 2; rows 3, width 4. */
KERNEL(add_bias)
{
    TEAM_OR_LEAVE();
    for EACH_ROW (row, COUNT(3))
        for (int c = THREAD; c < COUNT(4); c += TEAM)
            AT(float, 1)[row * COUNT(4) + c] += AT(const float, 2)[c];
}

/* a 2 = SiLU(z 1 + bias 3 + what is looked up). Rows 4, width 5, rows of a sample 6; 7 says that nothing is in
   z yet. Three look-ups from 8 on: table (0 ends them), index (0: the row's own number), rows of a sample in
   the table (0: the same for all samples). 17 says that z stays as it is; else the sum takes its place. A thread takes
   18 numbers at a time, 1 or WIDE. */
template <int P> FUNCTION void gather(const Words &words, long long team)
{
    const int width = (int)COUNT(5);
    for (int c = THREAD * P; c < width; c += TEAM * P) {
        float bias[P];
        read<P>(AT(const float, 3) + c, bias);
        for EACH_ROW (row, COUNT(4)) {
            const unsigned of_sample = (unsigned)COUNT(6);
            const unsigned sample = (unsigned)row / of_sample, own = (unsigned)row - sample * of_sample;
            work_t *at = AT(work_t, 1) + row * width + c;
            float z[P], more[3][P];
            for (int k = 0; k < 3; ++k) {
                const work_t *table = AT(const work_t, 8 + 3 * k);
                const unsigned *index = AT(const unsigned, 9 + 3 * k);
                for (int p = 0; p < P; ++p)
                    more[k][p] = 0.0f;
                if (table)
                    read<P>(table + ((index ? index[own] : own) + sample * COUNT(10 + 3 * k)) * width + c, more[k]);
            }
            for (int p = 0; p < P; ++p)
                z[p] = 0.0f;
            if (!COUNT(7))
                read<P>(at, z);
            for (int p = 0; p < P; ++p)
                z[p] = bias[p] + z[p] + more[0][p] + more[1][p] + more[2][p];
            if (!COUNT(17)) {
                for (int p = 0; p < P; ++p)
                    z[p] = nearest(z[p]);
                write<P>(at, z);
            }
            for (int p = 0; p < P; ++p)
                z[p] = nearest(z[p] * sigmoid(z[p]));
            write<P>(AT(work_t, 2) + row * width + c, z);
        }
    }
}

KERNEL(gather_rows)
{
    TEAM_OR_LEAVE();
    if (COUNT(18) == WIDE)
        gather<WIDE>(words, team);
    else
        gather<1>(words, team);
}

/* LayerNorm, residual and sums by receiver. z 1 + bias 3 becomes x; 1/sd 2, scale 4, shift 5; base
   6 (0: none) with 7 rows a sample (0: the same for all), result 8 (0: not wanted) and once more as products
   read it 14 (0: not wanted), sums as they read them 9 (0: none) over the rows from starts 10 (0: every row for
   itself); groups of a sample 11, rows of a sample 12, samples 13. */
KERNEL(norm_rows)
{
    TEAM_OR_LEAVE();
    const unsigned *starts = AT(const unsigned, 10), groups = (unsigned)COUNT(11);
    const float *bias = AT(const float, 3), *scale = AT(const float, 4), *shift = AT(const float, 5);
    const float *base = AT(const float, 6);
    float *out = AT(float, 8);
    work_t *to = AT(work_t, 9), *again = AT(work_t, 14);
    for EACH_ROW (t, COUNT(11) * COUNT(13)) {
        const unsigned sample = (unsigned)t / groups, group = (unsigned)t - sample * groups;
        const unsigned first = starts ? starts[group] : group;
        const unsigned end = starts ? starts[group + 1] : group + 1;
        float sum[MINE][PACK];
        for (int j = 0; j < MINE; ++j)
            for (int p = 0; p < PACK; ++p)
                sum[j][p] = 0.0f;
        for (long long row = first; row < end; ++row) {
            const long long at = (sample * COUNT(12) + row) * NORM;
            const float *base_at = base + (row + sample * COUNT(7)) * NORM;
            work_t *z = AT(work_t, 1) + at;
            float v[MINE][PACK], total = 0.0f, square = 0.0f;
            for (int j = 0; j < MINE; ++j) {
                const int c = PLACE(j);
                for (int p = 0; p < PACK; ++p)
                    v[j][p] = 0.0f;
                if (c >= NORM)
                    continue;
                float of_column[PACK];
                read<PACK>(z + c, v[j]);
                read_vector<PACK>(bias + c, of_column);
                for (int p = 0; p < PACK; ++p) {
                    v[j][p] += of_column[p];
                    total += v[j][p];
                }
            }
            const float mean = team_sum(total) / NORM;
            for (int j = 0; j < MINE; ++j)
                for (int p = 0; p < PACK; ++p) {
                    v[j][p] = PLACE(j) < NORM ? v[j][p] - mean : 0.0f;
                    square = fmaf(v[j][p], v[j][p], square);
                }
            const float rstd = 1.0f / sqrtf(team_sum(square) / NORM + 1e-5f);
            if (THREAD == 0)
                AT(float, 2)[sample * COUNT(12) + row] = rstd;
            for (int j = 0; j < MINE; ++j) {
                const int c = PLACE(j);
                if (c >= NORM)
                    continue;
                float *y = v[j], below[PACK], factor[PACK], offset[PACK];
                read_vector<PACK>(scale + c, factor);
                read_vector<PACK>(shift + c, offset);
                for (int p = 0; p < PACK; ++p) {
                    y[p] = nearest(y[p] * rstd);
                    below[p] = 0.0f;
                }
                if (out && base)
                    read<PACK>(base_at + c, below);
                write<PACK>(z + c, y);
                for (int p = 0; p < PACK; ++p) {
                    y[p] = fmaf(y[p], factor[p], offset[p]);
                    sum[j][p] += y[p];
                    y[p] += below[p];
                }
                if (out)
                    write<PACK>(out + at + c, y);
                for (int p = 0; p < PACK; ++p)
                    y[p] = nearest(y[p]);
                if (again)
                    write<PACK>(again + at + c, y);
            }
        }
        for (int j = 0; to && j < MINE; ++j) {
            for (int p = 0; p < PACK; ++p)
                sum[j][p] = nearest(sum[j][p]);
            if (PLACE(j) < NORM)
                write<PACK>(to + t * NORM + PLACE(j), sum[j]);
        }
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
    const unsigned of_sample = (unsigned)COUNT(11);
    float by_bias[MINE][PACK], by_scale[MINE][PACK], by_shift[MINE][PACK];
    for (int j = 0; j < MINE; ++j)
        for (int p = 0; p < PACK; ++p)
            by_bias[j][p] = by_scale[j][p] = by_shift[j][p] = 0.0f;
    for (long long row = first; row < end; ++row) {
        const unsigned sample = (unsigned)row / of_sample, own = (unsigned)row - sample * of_sample;
        const long long group = table ? AT(const unsigned, 3)[own] + sample * COUNT(4) : 0;
        float g[MINE][PACK], x[MINE][PACK], mean = 0.0f, along = 0.0f;
        for (int j = 0; j < MINE; ++j) {
            const int c = PLACE(j);
            float more[PACK], factor[PACK];
            for (int p = 0; p < PACK; ++p)
                g[j][p] = x[j][p] = more[p] = 0.0f;
            if (c >= NORM)
                continue;
            read<PACK>(AT(const work_t, 5) + row * NORM + c, x[j]);
            if (slope)
                read<PACK>(slope + row * NORM + c, g[j]);
            if (table)
                read<PACK>(table + group * NORM + c, more);
            read_vector<PACK>(scale + c, factor);
            for (int p = 0; p < PACK; ++p) {
                g[j][p] += more[p];
                by_scale[j][p] = fmaf(g[j][p], x[j][p], by_scale[j][p]);
                by_shift[j][p] += g[j][p];
                g[j][p] *= factor[p];
                mean += g[j][p];
                along = fmaf(g[j][p], x[j][p], along);
            }
        }
        mean = team_sum(mean) / NORM;
        along = team_sum(along) / NORM;
        const float rstd = AT(const float, 6)[row];
        for (int j = 0; j < MINE; ++j) {
            const int c = PLACE(j);
            if (c >= NORM)
                continue;
            for (int p = 0; p < PACK; ++p) {
                g[j][p] = nearest((g[j][p] - mean - x[j][p] * along) * rstd);
                by_bias[j][p] += g[j][p];
            }
            write<PACK>(AT(work_t, 8) + row * NORM + c, g[j]);
        }
    }
    float *sums = AT(float, 9) + team * 3 * NORM;
    for (int j = 0; j < MINE; ++j) {
        const int c = PLACE(j);
        if (c >= NORM)
            continue;
        write<PACK>(sums + c, by_bias[j]);
        write<PACK>(sums + NORM + c, by_scale[j]);
        write<PACK>(sums + 2 * NORM + c, by_shift[j]);
    }
}

/* g 1 *= SiLU'(z 2 + bias 8 (0: none)), a 3 = SiLU(z + bias); without z (0) neither. Sums of g over the rows of
   a team to 4. Rows 5, width 6, rows of a team 7; a thread takes 9 numbers at a time, 1 or WIDE, and teams share
   a row by those of 32. */
template <int P> FUNCTION void silu_slopes(const Words &words, long long team)
{
    const long long width = COUNT(6), parts = (width + 32 * P - 1) / (32 * P);
    const long long piece = team / parts, start = team % parts * 32 * P;
    const long long first = piece * COUNT(7), end = LEAST(first + COUNT(7), COUNT(5));
    for (long long c = start + THREAD * P; c < LEAST(width, start + 32 * P); c += TEAM * P) {
        work_t *g = AT(work_t, 1) + c, *a = AT(work_t, 3) + c;
        const work_t *z = AT(const work_t, 2);
        float sum[P], bias[P];
        for (int p = 0; p < P; ++p)
            sum[p] = bias[p] = 0.0f;
        if (words.w[8])
            read<P>(AT(const float, 8) + c, bias);
        for (long long row = first; row < end; ++row) {
            float slope[P], x[P];
            read<P>(g + row * width, slope);
            if (z) {
                read<P>(z + c + row * width, x);
                for (int p = 0; p < P; ++p) {
                    x[p] += bias[p];
                    const float s = sigmoid(x[p]);
                    slope[p] = nearest(slope[p] * (s * (1.0f + x[p] * (1.0f - s))));
                    x[p] = nearest(x[p] * s);
                }
                write<P>(a + row * width, x);
                write<P>(g + row * width, slope);
            }
            for (int p = 0; p < P; ++p)
                sum[p] += slope[p];
        }
        write<P>(AT(float, 4) + piece * width + c, sum);
    }
}

KERNEL(silu_back)
{
    TEAM_OR_LEAVE();
    if (COUNT(9) == WIDE)
        silu_slopes<WIDE>(words, team);
    else
        silu_slopes<1>(words, team);
}

/* Sums of columns, added to what stands there, of up to six arrays with 1 rows: from 2 on array, width (0 ends
   them) and where the sums are added; a team to a column. */
KERNEL(reduce)
{
    TEAM_OR_LEAVE();
    const float *from = 0;
    float *to = 0;
    long long column = team, width = 0;
#pragma unroll
    for (int k = 2; k < 20; k += 3) {
        if (column >= 0 && column < COUNT(k + 1)) {
            width = COUNT(k + 1);
            from = AT(const float, k) + column;
            to = AT(float, k + 2) + column;
        }
        column -= COUNT(k + 1);
    }
    float sum = 0.0f;
#pragma unroll 8
    for (long long piece = THREAD; piece < COUNT(1); piece += TEAM)
        sum += from[piece * width];
    sum = team_sum(sum);
    if (THREAD == 0)
        *to += sum;
}

/* to 4 = sums of the rows of g 1 that look a row up: starts 2 and ids 3 (both 0: its own number; ids
   0: consecutive). Rows of a sample looked up 5, width 6, rows of a sample in g 7, samples 8, samples
   that are summed 9; a thread takes 10 numbers at a time, 1 or WIDE. */
template <int P> FUNCTION void slopes_of_looked_up(const Words &words, long long team)
{
    const int width = (int)COUNT(6);
    const unsigned *starts = AT(const unsigned, 2), *ids = AT(const unsigned, 3);
    for EACH_ROW (t, COUNT(5) * COUNT(8)) {
        const unsigned sample = (unsigned)t / (unsigned)COUNT(5), row = (unsigned)t - sample * (unsigned)COUNT(5);
        const unsigned first = starts ? starts[row] : row, end = starts ? starts[row + 1] : row + 1;
        for (int c = THREAD * P; c < width; c += TEAM * P) {
            float sum[P];
            for (int p = 0; p < P; ++p)
                sum[p] = 0.0f;
            for (long long k = 0; k < COUNT(9); ++k) {
                const work_t *g = AT(const work_t, 1) + (sample + k) * COUNT(7) * width + c;
#pragma unroll 4
                for (unsigned e = first; e < end; ++e) {
                    float x[P];
                    read<P>(g + (long long)(ids ? ids[e] : e) * width, x);
                    for (int p = 0; p < P; ++p)
                        sum[p] += x[p];
                }
            }
            for (int p = 0; p < P; ++p)
                sum[p] = nearest(sum[p]);
            write<P>(AT(work_t, 4) + t * width + c, sum);
        }
    }
}

KERNEL(gather_back)
{
    TEAM_OR_LEAVE();
    if (COUNT(10) == WIDE)
        slopes_of_looked_up<WIDE>(words, team);
    else
        slopes_of_looked_up<1>(words, team);
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
