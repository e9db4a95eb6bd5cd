/* NUTS for a team of threads, one team to a chain: the same operations in the same order as the
   CPU's sampler, so that in f64 the draws have the same bits. A member of a block owns the elements
   i = MEMBER, MEMBER + MEMBERS, ... of every vector; all threads compute the same control scalars.
   MEET() stands where a thread reads what another of its block wrote. `vector_t` is `double`, or
   `float` where a chain's vectors are kept in f32; sums over them are in `double` either way.

   A team of several blocks shares the density alone, which is where the work is: its memory and its
   slopes are common, and SYNC() stands where they are ready. Everything else each block does for
   itself, with vectors of its own, since that takes no longer and spares the blocks most of their
   meetings; as they do the same with the same numbers, they never part. Slopes have two places, used
   in turn, so that no block writes what another still reads. */

/* What the host and the kernel agree on: 8-byte words. */
struct Job {
    const double *fixed;     /* the density's numbers */
    const unsigned *table;   /* and its positions */
    double *states;          /* STATE numbers a chain */
    double *memory;          /* MEMORY numbers a chain: COMMON, then OWN for each block */
    const double *metric;    /* S of a chain: its kind, its number of directions, how many rotations make
                                a step, their centre if there are any, the numbers of S */
    const double *forgetting; /* t^-0.75 by count, for the averaged step size */
    double *rows;            /* n_transitions rows of ROW numbers a chain */
    wide_t metric_stride;    /* numbers from one chain's metric to the next; 0 if shared */
    wide_t n_chains;
    wide_t n_transitions;
    wide_t is_warmup;
    wide_t max_depth;
    wide_t past_turn;        /* whether what has turned is doubled once more */
    wide_t seed;
    wide_t stream;
    wide_t fresh;            /* whether the density at the start must be evaluated again */
    double target_accept;
};

enum { PADDED = (DIM + 7) / 8 * 8 };

/* Kinds of S: scales; the rows of a lower triangle, and those of its inverse if there is a centre; scales s, then for each direction u its weight
   w, that of the inverse, the directions and s u, for diag(s)(I + U diag(w) U'); the directions with
   what S makes of them, then how many numbers S and S' have without their zeros, and of each where every row
   starts, the places in it, its numbers. */
enum { DIAGONAL = 0, DENSE = 1, LOW_RANK = 2, BLOCKS = 3, MOST_DIRECTIONS = 16 };

/* A chain's state between launches: its point and slope, then these. */
enum {
    S_LOG_DENSITY,
    S_ITERATION,
    S_CHAIN,
    S_MU,
    S_ERROR,
    S_LOG_STEP,
    S_LOG_AVERAGE,
    S_COUNT,
    S_LOG_MOST,
    S_STEP_SIZE,
    N_SCALARS,
    STATE = 2 * DIM + N_SCALARS
};

/* What is written of a transition, then the point and its slope. */
enum {
    R_STOP,
    R_DEPTH,
    R_STEPS,
    R_ENERGY,
    R_ENERGY_START,
    R_MAX_ENERGY_ERROR,
    R_ACCEPTANCE_SUM,
    R_STEP_SIZE,
    R_LOG_DENSITY,
    R_OFFSET,
    R_NONFINITE,
    R_POINT,
    ROW = R_POINT + 2 * DIM
};

enum { TURNED = 0, DIVERGED = 1, AT_DEPTH = 2 };

/* Vectors of a chain, DIM numbers each: both ends, proposal and candidate, one to work in, remembered
   leaves. The place of an end is where it lies from the centre of rotations, whitened. */
enum { POSITION, MOMENTUM, FORCE, PATH, PLACE, END };
enum { POINTS = 2 * END, SCRATCH = POINTS + 4, MARKS = SCRATCH + 1, SUMS_AT = MARKS + 4 * (MAX_DEPTH + 1) };
/* Words of all vectors, of a block, of two slopes, and of what blocks have in common. */
enum { VECTORS = (SUMS_AT * DIM * sizeof(vector_t) + 7) / 8 };
enum { N_SUMS = 32 + 8 * MOST_DIRECTIONS, OWN = VECTORS + N_SUMS };
enum { SLOPES = (2 * DIM * sizeof(vector_t) + 7) / 8, COMMON = SLOPES + N_WORK };
#define MEMORY (COMMON + N_BLOCKS * OWN)

#define MAX_ENERGY_ERROR 1000.0
#define REBASE 300.0
#define EACH(i) ROLLED for (int i = MEMBER; i < DIM; i += MEMBERS)

/* e^x by the same steps as the library function of the CPU's sampler (FreeBSD, e_exp.c; copyright
   1993 Sun Microsystems, whose notice allows use, copying and change while it is kept). */
FUNCTION double k_scale(double x, int n)
{
    double y = x;
    if (n > 1023) {
        y = y * FROM_BITS(0x7fe0000000000000ull);
        n -= 1023;
    } else if (n < -1022) {
        y = y * (FROM_BITS(0x0010000000000000ull) * 9007199254740992.0);
        n += 1022 - 53;
    }
    return y * FROM_BITS((bits_t)(1023 + n) << 52);
}

APART double k_exp(double x)
{
    if (x != x)
        return x;
    if (x > 709.782712893383973096)
        return x * FROM_BITS(0x7fe0000000000000ull);
    if (x < -745.13321910194110842)
        return 0.0;
    const unsigned high = (unsigned)(TO_BITS(x) >> 32) & 0x7fffffffu;
    const int sign = x < 0.0;
    int k = 0;
    double hi = x, lo = 0.0;
    if (high > 0x3fd62e42u) {
        if (high >= 0x3ff0a2b2u)
            k = (int)(1.44269504088896338700e+00 * x + (sign ? -0.5 : 0.5));
        else
            k = 1 - sign - sign;
        hi = x - (double)k * 6.93147180369123816490e-01;
        lo = (double)k * 1.90821492927058770002e-10;
        x = hi - lo;
    } else if (high <= 0x3e300000u) {
        return 1.0 + x;
    }
    const double xx = x * x;
    const double p = 4.13813679705723846039e-08;
    const double c = x
        - xx
            * (1.66666666666666019037e-01
                + xx
                    * (-2.77777777770155933842e-03
                        + xx
                            * (6.61375632143793436117e-05
                                + xx * (-1.65339022054652515390e-06 + xx * p))));
    const double y = 1.0 + (x * c / (2.0 - c) - lo + hi);
    return k == 0 ? y : k_scale(y, k);
}

/* Philox4x32-10. */
struct Words {
    unsigned w[4];
};

APART Words philox(unsigned c0, unsigned c1, unsigned c2, unsigned c3, unsigned k0, unsigned k1)
{
    for (int round = 0; round < 10; ++round) {
        if (round > 0) {
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
        const wide_t p0 = (wide_t)c0 * 0xD2511F53u;
        const wide_t p1 = (wide_t)c2 * 0xCD9E8D57u;
        c0 = (unsigned)(p1 >> 32) ^ c1 ^ k0;
        c2 = (unsigned)(p0 >> 32) ^ c3 ^ k1;
        c1 = (unsigned)p1;
        c3 = (unsigned)p0;
    }
    Words words;
    words.w[0] = c0;
    words.w[1] = c1;
    words.w[2] = c2;
    words.w[3] = c3;
    return words;
}

/* 52 bits as a number in (0, 1). */
FUNCTION double open_unit(unsigned low, unsigned high)
{
    const bits_t bits = ((bits_t)high << 32 | low) >> 12;
    return FROM_BITS(0x3FF0000000000000ull | bits) - (1.0 - 1.0 / 9007199254740992.0);
}

FUNCTION double k_log(double x)
{
    const bits_t shifted = TO_BITS(x) - 0x3FE6A09E667F3BCDull + 0x3FF0000000000000ull;
    const bits_t m_bits = (shifted & 0x000FFFFFFFFFFFFFull) + 0x3FE6A09E667F3BCDull;
    const double k = FROM_BITS(0x4330000000000000ull | (shifted >> 52)) - 4503599627371519.0;
    const double f = FROM_BITS(m_bits) - 1.0;
    const double s = f / (2.0 + f);
    const double z = s * s;
    double tail = 2.0 / 21.0;
    tail = tail * z + 2.0 / 19.0;
    tail = tail * z + 2.0 / 17.0;
    tail = tail * z + 2.0 / 15.0;
    tail = tail * z + 2.0 / 13.0;
    tail = tail * z + 2.0 / 11.0;
    tail = tail * z + 2.0 / 9.0;
    tail = tail * z + 2.0 / 7.0;
    tail = tail * z + 2.0 / 5.0;
    tail = tail * z + 2.0 / 3.0;
    const double ln_m = f - s * (f - z * tail);
    return k * 6.93147180369123816490e-01 + (ln_m + k * 1.90821492927058770002e-10);
}

/* Sine and cosine of 2 pi u. */
struct Turn {
    double sine, cosine;
};

APART Turn k_turn(double u)
{
    const double round = 6755399441055744.0;
    const double quarters = 4.0 * u;
    const double rounded = quarters + round;
    const bits_t quadrant = TO_BITS(rounded);
    const double x = (quarters - (rounded - round)) * 1.5707963267948966;
    const double z = x * x;
    double s = 0.0, c = 0.0;
    s = s * z + -1.0 / 121645100408832000.0;
    s = s * z + 1.0 / 355687428096000.0;
    s = s * z + -1.0 / 1307674368000.0;
    s = s * z + 1.0 / 6227020800.0;
    s = s * z + -1.0 / 39916800.0;
    s = s * z + 1.0 / 362880.0;
    s = s * z + -1.0 / 5040.0;
    s = s * z + 1.0 / 120.0;
    s = s * z + -1.0 / 6.0;
    c = c * z + -1.0 / 6402373705728000.0;
    c = c * z + 1.0 / 20922789888000.0;
    c = c * z + -1.0 / 87178291200.0;
    c = c * z + 1.0 / 479001600.0;
    c = c * z + -1.0 / 3628800.0;
    c = c * z + 1.0 / 40320.0;
    c = c * z + -1.0 / 720.0;
    c = c * z + 1.0 / 24.0;
    c = c * z + -1.0 / 2.0;
    const double sine = x + x * (z * s);
    const double one_less = 1.0 + z * c;
    const double a = quadrant & 1 ? one_less : sine;
    const double b = quadrant & 1 ? sine : one_less;
    Turn turn;
    turn.sine = FROM_BITS(TO_BITS(a) ^ ((quadrant & 2) << 62));
    turn.cosine = FROM_BITS(TO_BITS(b) ^ (((quadrant + 1) & 2) << 62));
    return turn;
}

/* The directions and acceptances of one transition. */
struct Dice {
    unsigned key[2], iteration, chain, block, directions;
    double spare;
    bool has_spare;
};

FUNCTION Words next_words(Dice *dice)
{
    const Words words
        = philox(dice->iteration, dice->block, dice->chain, PURPOSE_TREE, dice->key[0], dice->key[1]);
    dice->block += 1;
    return words;
}

FUNCTION double unit(unsigned a, unsigned b)
{
    return (double)(((bits_t)a << 32 | b) >> 11) * (1.0 / 9007199254740992.0);
}

FUNCTION bool accept(Dice *dice, double probability)
{
    if (probability >= 1.0)
        return true;
    double u;
    if (dice->has_spare) {
        u = dice->spare;
        dice->has_spare = false;
    } else {
        const Words words = next_words(dice);
        u = unit(words.w[0], words.w[1]);
        dice->spare = unit(words.w[2], words.w[3]);
        dice->has_spare = true;
    }
    return u < probability;
}

/* A chain at work. */
struct Chain {
    const Job *job;
    const double *metric, *weights, *undoing, *plain, *scaled;
    const double *centre;  /* of rotations; null where steps are leapfrogs */
    const double *inverse; /* of a dense S, where there is a centre */
    vector_t *m;   /* its vectors */
    vector_t *g, *next_g; /* the slope of the last evaluation, and of the next */
    double *sums;  /* two sets of 16 partial sums, used in turn */
    double *along; /* eight partial sums for each direction of the metric */
    double *w;    /* memory of the density */
    int kind, rank, parts, n_numbers, turn, side, candidate, offset[2];
    double step_size, sine, cosine, outer, inner, energy_start, energy, log_density;
    double point_energy[2], point_log_density[2];
    int point_offset[2];
};

FUNCTION vector_t *vector_of(const Chain *chain, int k)
{
    return chain->m + k * DIM;
}

FUNCTION vector_t *point_of(const Chain *chain, int which)
{
    return vector_of(chain, POINTS + 2 * which);
}

FUNCTION double fold_eight(const double *p)
{
    return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

/* The next set of partial sums: while some threads read one, others may write the other. */
FUNCTION double *next_sums(Chain *chain)
{
    chain->turn ^= 1;
    return chain->sums + 16 * chain->turn;
}

/* Log density at q, and its slope into chain->g. */
FUNCTION double evaluate(Chain *chain, const vector_t *q)
{
    vector_t *g = chain->next_g;
    chain->next_g = chain->g;
    chain->g = g;
    MEET();
    const double value
        = value_and_gradient(q, g, chain->w, chain->job->fixed, chain->job->table);
    SYNC();
    return value;
}

/* The sum of a_i b_i in eight lanes; what it reads must have been shared before. */
FUNCTION double dot(Chain *chain, const vector_t *a, const vector_t *b)
{
    double *p = next_sums(chain);
    ROLLED for (int k = MEMBER; k < 8; k += MEMBERS) {
        double s = 0.0;
        FOUR for (int i = k; i < DIM; i += 8)
            s = s + (double)a[i] * (double)b[i];
        p[k] = s;
    }
    MEET();
    return fold_eight(p);
}

/* Whether a span turns: with s = h + k or h - k, whether s.p or s.r is not positive. */
APART bool span_turns(double *sums, const vector_t *h, const vector_t *k, bool across,
    const vector_t *p, const vector_t *r)
{
    ROLLED for (int item = MEMBER; item < 16; item += MEMBERS) {
        const vector_t *x = item < 8 ? p : r;
        vector_t s = 0.0;
        FOUR for (int i = item % 8; i < DIM; i += 8) {
            const vector_t along = across ? h[i] + k[i] : h[i] - k[i];
            s = s + along * x[i];
        }
        sums[item] = s;
    }
    MEET();
    return fold_eight(sums) <= 0.0 || fold_eight(sums + 8) <= 0.0;
}

/* What works on memory alone stands apart, in the code once. It is not given the chain, which would
   then have to lie in memory, too. */

/* Eight partial sums of each of `rows` times x, which must have been shared before. */
APART void project_on(double *along, int rank, const double *rows, const vector_t *x)
{
    ROLLED for (int item = MEMBER; item < 8 * rank; item += MEMBERS) {
        const double *row = rows + item / 8 * DIM;
        double s = 0.0;
        FOUR for (int i = item % 8; i < DIM; i += 8)
            s = s + row[i] * (double)x[i];
        along[item] = s;
    }
}

FUNCTION void project(const Chain *chain, const double *rows, const vector_t *x)
{
    project_on(chain->along, chain->rank, rows, x);
}

/* y + a sum_r w_r (projection r) rows_ri. */
APART double add_directions(const double *along, int rank, double a, const double *weights,
    const double *rows, double y)
{
    ROLLED for (int r = 0; r < rank; ++r) {
        const double c = a * weights[r] * fold_eight(along + 8 * r);
        y = y + c * rows[r * DIM];
    }
    return y;
}

FUNCTION double add_along(
    const Chain *chain, double a, const double *weights, const double *rows, int i, double y)
{
    return add_directions(chain->along, chain->rank, a, weights, rows + i, y);
}

/* What `pulled` needs of a gradient that has been shared. */
FUNCTION void before_pull(const Chain *chain, const vector_t *gradient)
{
    if (chain->rank > 0) {
        project(chain, chain->scaled, gradient);
        MEET(); /* low-rank */
    }
}

/* Row i times x of a matrix without its zeros. */
APART double sparse_row_times(const double *matrix, int n_numbers, const vector_t *x, int i)
{
    const double *places = matrix + DIM + 1, *numbers = places + n_numbers;
    const int end = (int)matrix[i + 1];
    double s = 0.0;
    FOUR for (int at = (int)matrix[i]; at < end; ++at)
        s = s + numbers[at] * (double)x[(int)places[at]];
    return s;
}

FUNCTION double sparse_times(const Chain *chain, const double *matrix, const vector_t *x, int i)
{
    return sparse_row_times(matrix, chain->n_numbers, x, i);
}

/* Column i of a lower triangle times x. */
APART double column_times(const double *rows, const vector_t *x, int i)
{
    double s = 0.0;
    FOUR for (int r = i / 8 * 8; r < DIM; ++r)
        s = s + x[r] * rows[r * PADDED + i];
    return s;
}

/* force <- S' gradient; both the gradient and, for a dense metric, the rows are read whole. */
FUNCTION double pulled(const Chain *chain, const vector_t *gradient, int i)
{
    if (chain->kind == DIAGONAL)
        return chain->metric[i] * gradient[i];
    if (chain->kind == LOW_RANK)
        return add_along(
            chain, 1.0, chain->weights, chain->plain, i, chain->metric[i] * gradient[i]);
    if (chain->kind == BLOCKS)
        return add_along(chain, 1.0, chain->weights, chain->plain, i,
            sparse_times(chain, chain->metric + DIM + 1 + 2 * chain->n_numbers, gradient, i));
    return column_times(chain->metric, gradient, i);
}

/* Row i of a lower triangle times x, in eight lanes. */
APART double row_times(const double *rows, const vector_t *x, int i)
{
    const double *row = rows + i * PADDED;
    const int end = LEAST(DIM, (i / 8 + 1) * 8);
    double s[8];
    for (int lane = 0; lane < 8; ++lane)
        s[lane] = 0.0;
    ROLLED for (int block = 0; block < end; block += 8)
        for (int lane = 0; lane < 8; ++lane)
            if (block + lane < end)
                s[lane] = s[lane] + row[block + lane] * x[block + lane];
    return fold_eight(s);
}

/* Standard normal momenta, two to a block of random words. */
FUNCTION void draw_momentum(const Chain *chain, vector_t *p, unsigned iteration, const Dice *dice)
{
    ROLLED for (int e = MEMBER; e < (DIM + 1) / 2; e += MEMBERS) {
        const Words words = philox(
            iteration, (unsigned)e, dice->chain, PURPOSE_MOMENTUM, dice->key[0], dice->key[1]);
        const double radius = sqrt(-2.0 * k_log(open_unit(words.w[0], words.w[1])));
        const Turn turn = k_turn(open_unit(words.w[2], words.w[3]));
        p[2 * e] = radius * turn.cosine;
        if (2 * e + 1 < DIM)
            p[2 * e + 1] = radius * turn.sine;
    }
}

/* Where an end lies from the centre, S^-1 (q - m). */
FUNCTION void locate(Chain *chain, const vector_t *q, vector_t *place)
{
    vector_t *x = vector_of(chain, SCRATCH);
    EACH(i)
    {
        const vector_t away = q[i] + -1.0 * chain->centre[i];
        x[i] = chain->kind == DENSE ? away : (vector_t)(away / chain->metric[i]);
        place[i] = x[i];
    }
    if (chain->kind == DENSE) {
        MEET(); /* rotation, dense */
        EACH(i)
        place[i] = row_times(chain->inverse, x, i);
    }
    if (chain->rank > 0) {
        MEET(); /* rotation, directions */
        project(chain, chain->plain, x);
        MEET(); /* rotation, directions */
        EACH(i)
        place[i] = add_along(chain, 1.0, chain->undoing, chain->plain, i, place[i]);
    }
}

/* What a step of rotations is: their angle, and what forces are multiplied by at the ends of the step
   and between its two rotations. */
FUNCTION void set_turn(Chain *chain)
{
    const double angle = chain->step_size / (double)chain->parts;
    const Turn turn = k_turn(angle / 6.283185307179586);
    const double sine = turn.sine, cosine = turn.cosine, square = cosine * cosine;
    chain->sine = sine;
    chain->cosine = cosine;
    chain->outer = chain->parts == 1
        ? sine * square / (1.0 - 2.0 * cosine + 3.0 * (square * cosine))
        : sine / (3.0 * cosine);
    chain->inner = 4.0 * sine / 3.0;
}

/* Starts a trajectory at the candidate. */
FUNCTION void start(Chain *chain, const Dice *dice)
{
    vector_t *back = vector_of(chain, 0), *front = vector_of(chain, END);
    const vector_t *q = point_of(chain, chain->candidate), *g = q + DIM;
    draw_momentum(chain, back + MOMENTUM * DIM, dice->iteration, dice);
    MEET();
    if (chain->centre) {
        locate(chain, q, back + PLACE * DIM);
        set_turn(chain);
        if (chain->rank > 0)
            MEET(); /* rotation, directions */
    }
    before_pull(chain, g);
    EACH(i)
    {
        vector_t force = pulled(chain, g, i);
        if (chain->centre) {
            force = force + back[PLACE * DIM + i];
            front[PLACE * DIM + i] = back[PLACE * DIM + i];
        }
        back[POSITION * DIM + i] = q[i];
        back[FORCE * DIM + i] = force;
        back[PATH * DIM + i] = 0.0;
        front[POSITION * DIM + i] = q[i];
        front[MOMENTUM * DIM + i] = back[MOMENTUM * DIM + i];
        front[FORCE * DIM + i] = force;
        front[PATH * DIM + i] = 0.0;
    }
    const vector_t *p = back + MOMENTUM * DIM;
    const double kinetic = 0.5 * dot(chain, p, p);
    const int at = chain->candidate;
    chain->offset[0] = 0;
    chain->offset[1] = 0;
    chain->log_density = chain->point_log_density[at];
    chain->energy_start = kinetic - chain->log_density;
    chain->energy = chain->energy_start;
    chain->point_energy[at] = chain->energy_start;
    chain->point_offset[at] = 0;
}

/* Half a kick and the drift of an end. */
FUNCTION void drift(Chain *chain, vector_t *end, double half)
{
    const double step = 2.0 * half;
    const vector_t kick = (vector_t)half;
    vector_t *q = end + POSITION * DIM, *p = end + MOMENTUM * DIM;
    const vector_t *f = end + FORCE * DIM;
    vector_t *h = end + PATH * DIM;
    EACH(i)
    {
        const vector_t before = p[i];
        const vector_t after = before + kick * f[i];
        if (chain->kind == DIAGONAL || chain->kind == LOW_RANK)
            q[i] = q[i] + (vector_t)(step * chain->metric[i]) * after;
        h[i] = h[i] + before;
        p[i] = after;
    }
    if (chain->kind == DENSE) {
        MEET(); /* dense */
        EACH(i)
        q[i] = q[i] + step * row_times(chain->metric, p, i);
    }
    if (chain->kind == BLOCKS) {
        MEET(); /* blocks */
        EACH(i)
        q[i] = q[i] + step * sparse_times(chain, chain->metric, p, i);
    }
    if (chain->rank > 0) {
        MEET(); /* low-rank */
        project(chain, chain->plain, p);
        MEET(); /* low-rank */
        EACH(i)
        q[i] = add_along(chain, step, chain->weights, chain->scaled, i, q[i]);
    }
}

/* A kick and a rotation of an end, the first of its step or the second. This and what follows the
   density stand apart though they are given the chain: less is kept in registers across the density, of
   which a large model then spills none. */
APART void rotate(Chain *chain, vector_t *end, double sign, int part)
{
    const vector_t kick = (vector_t)(sign * (part == 0 ? chain->outer : chain->inner));
    const vector_t sine = (vector_t)(sign * chain->sine), cosine = (vector_t)chain->cosine;
    const vector_t less = (vector_t)(chain->cosine - 1.0);
    vector_t *q = end + POSITION * DIM, *p = end + MOMENTUM * DIM, *x = end + PLACE * DIM;
    const vector_t *f = end + FORCE * DIM;
    vector_t *h = end + PATH * DIM, *by = vector_of(chain, SCRATCH);
    EACH(i)
    {
        const vector_t before = p[i];
        const vector_t after = before + kick * f[i];
        const vector_t place = x[i];
        const vector_t moved = place * less + after * sine;
        if (part == 0)
            h[i] = h[i] + before;
        p[i] = after * cosine - place * sine;
        x[i] = place + moved;
        by[i] = moved;
        if (chain->kind != DENSE)
            q[i] = q[i] + (vector_t)chain->metric[i] * moved;
    }
    if (chain->kind == DENSE) {
        MEET(); /* rotation, dense */
        EACH(i)
        q[i] = q[i] + row_times(chain->metric, by, i);
    }
    if (chain->rank > 0) {
        MEET(); /* rotation, directions */
        project(chain, chain->plain, by);
        MEET(); /* rotation, directions */
        EACH(i)
        q[i] = add_along(chain, 1.0, chain->weights, chain->scaled, i, q[i]);
    }
}

/* The force where an end has come to; after the last part of a step the kick. */
APART void take_force(Chain *chain, bool last)
{
    const double sign = chain->side == 1 ? 1.0 : -1.0;
    const vector_t kick = (vector_t)(sign * (chain->centre ? chain->outer : 0.5 * chain->step_size));
    vector_t *end = vector_of(chain, chain->side * END);
    vector_t *p = end + MOMENTUM * DIM, *f = end + FORCE * DIM, *h = end + PATH * DIM;
    const vector_t *g = chain->g;
    before_pull(chain, g);
    EACH(i)
    {
        vector_t force = pulled(chain, g, i);
        if (chain->centre)
            force = force + end[PLACE * DIM + i];
        f[i] = force;
        if (!last)
            continue;
        const vector_t after = p[i] + kick * force;
        h[i] = h[i] + after;
        p[i] = after;
    }
}

/* One step of the side that grows, or a part of it; after the last the log weight of the leaf. */
FUNCTION double step(Chain *chain, int part)
{
    const double sign = chain->side == 1 ? 1.0 : -1.0;
    vector_t *end = vector_of(chain, chain->side * END);
    const bool last = part + 1 >= chain->parts;
    if (chain->centre)
        rotate(chain, end, sign, part);
    else
        drift(chain, end, 0.5 * sign * chain->step_size);
    chain->log_density = evaluate(chain, end + POSITION * DIM);
    take_force(chain, last);
    if (!last)
        return 0.0;
    MEET();
    const vector_t *p = vector_of(chain, chain->side * END + MOMENTUM);
    const double square = dot(chain, p, p);
    chain->offset[chain->side] += chain->side == 1 ? 1 : -1;
    chain->energy = 0.5 * square - chain->log_density;
    return chain->energy_start - chain->energy;
}

/* The leaf just reached becomes the candidate of the subtree. */
FUNCTION void propose(Chain *chain)
{
    const int to = 1 - chain->candidate;
    const vector_t *q = vector_of(chain, chain->side * END + POSITION);
    const vector_t *g = chain->g;
    vector_t *point = point_of(chain, to);
    EACH(i)
    {
        point[i] = q[i];
        point[DIM + i] = g[i];
    }
    chain->point_energy[to] = chain->energy;
    chain->point_log_density[to] = chain->log_density;
    chain->point_offset[to] = chain->offset[chain->side];
}

/* Remembered leaves: slot s holds momentum and path of its first leaf and of the leaf before. */
FUNCTION vector_t *mark_of(const Chain *chain, int slot, int before)
{
    return vector_of(chain, MARKS + 4 * slot + 2 * before);
}

FUNCTION void mark(const Chain *chain, int slot, int before)
{
    const vector_t *end = vector_of(chain, chain->side * END);
    vector_t *to = mark_of(chain, slot, before);
    EACH(i)
    {
        to[i] = end[MOMENTUM * DIM + i];
        to[DIM + i] = end[PATH * DIM + i];
    }
}

/* From a remembered leaf to the leaf just reached. */
FUNCTION bool turns_since(Chain *chain, int slot, int before)
{
    const vector_t *end = vector_of(chain, chain->side * END);
    const vector_t *a = mark_of(chain, slot, before);
    return span_turns(next_sums(chain), end + PATH * DIM, a + DIM, false, end + MOMENTUM * DIM, a);
}

FUNCTION bool turns_between(Chain *chain, int first, int last)
{
    const vector_t *a = mark_of(chain, first, 0), *b = mark_of(chain, last, 0);
    return span_turns(next_sums(chain), b + DIM, a + DIM, false, b, a);
}

FUNCTION bool turns_far_to(Chain *chain, int slot)
{
    const vector_t *far = vector_of(chain, (1 - chain->side) * END);
    const vector_t *b = mark_of(chain, slot, 0);
    return span_turns(next_sums(chain), b + DIM, far + PATH * DIM, true, b, far + MOMENTUM * DIM);
}

FUNCTION bool turns_whole(Chain *chain)
{
    const int states = chain->offset[1] - chain->offset[0] + 1;
    if (chain->centre && (states / 2) * chain->step_size >= FAR)
        return true;
    const vector_t *near = vector_of(chain, chain->side * END);
    const vector_t *far = vector_of(chain, (1 - chain->side) * END);
    return span_turns(next_sums(chain), near + PATH * DIM, far + PATH * DIM, true, near + MOMENTUM * DIM,
        far + MOMENTUM * DIM);
}

FUNCTION int ones(unsigned x)
{
    int n = 0;
    for (; x; x &= x - 1)
        ++n;
    return n;
}

/* Sums of weights, of the trajectory and of the growing subtree, and what is recorded. */
struct Tree {
    double base, total, subtree, acceptance_sum, max_energy_error;
    int depth, n_steps, stop;
    bool nonfinite, past_turn, subtree_turns;
};

FUNCTION bool leaf_turns(Chain *chain, int slot, unsigned size)
{
    if (turns_since(chain, slot, 0))
        return true;
    return size >= 8 && (turns_between(chain, slot, slot + 1) || turns_since(chain, slot + 1, 1));
}

/* Grows one subtree; true when it must be discarded, tree->stop says why. */
FUNCTION bool grow_subtree(Chain *chain, Tree *tree, Dice *dice, unsigned leaves, int joint)
{
    /* A span below this length that turns ends it: with past_turn any but the whole. */
    const unsigned limit = leaves << (1 - tree->past_turn);
    tree->subtree = 0.0;
    tree->subtree_turns = false;
    /* Parts of a step share this loop, so that the density stands in the code once. */
    int part = 0;
    for (unsigned leaf = 0; leaf < leaves; leaf += part == 0) {
        const double log_weight = step(chain, part);
        part += 1;
        if (part < chain->parts)
            continue;
        part = 0;
        tree->n_steps += 1;
        if (fabs(log_weight) > fabs(tree->max_energy_error))
            tree->max_energy_error = -log_weight;
        if (!(fabs(log_weight) < FROM_BITS(0x7ff0000000000000ull))) {
            tree->nonfinite = true;
            tree->max_energy_error = FROM_BITS(0x7ff0000000000000ull);
            tree->stop = DIVERGED;
            return true;
        }
        if (log_weight - tree->base > REBASE) {
            const double factor = k_exp(tree->base - log_weight);
            tree->total = tree->total * factor;
            tree->subtree = tree->subtree * factor;
            tree->base = log_weight;
        }
        const double weight = k_exp(log_weight - tree->base);
        tree->acceptance_sum = tree->acceptance_sum
            + (tree->base == 0.0 ? LEAST(weight, 1.0) : k_exp(LEAST(log_weight, 0.0)));
        if (log_weight < -MAX_ENERGY_ERROR) {
            tree->stop = DIVERGED;
            return true;
        }
        tree->subtree = tree->subtree + weight;
        if (leaf == 0 || accept(dice, weight / tree->subtree))
            propose(chain);
        if (leaf == 0 && joint >= 0)
            mark(chain, joint, 0);
        const int slot = ones(leaf >> 1);
        if ((leaf & 1) == 0) {
            if (leaves > 1)
                mark(chain, slot, 0);
            continue;
        }
        int k = 0;
        while (leaf >> k & 1 && !leaf_turns(chain, slot - k, 2u << k))
            ++k;
        if (leaf >> k & 1) {
            tree->stop = TURNED;
            if (2u << k < limit)
                return true;
            tree->subtree_turns = true;
        }
        const unsigned next = leaf + 1;
        if (next < leaves && next % 4 == 0)
            mark(chain, ones(next >> 1), 1);
    }
    return false;
}

/* One transition; the candidate is the draw. */
FUNCTION void grow(Chain *chain, Tree *tree, Dice *dice, int max_depth)
{
    tree->base = 0.0;
    tree->total = 1.0;
    tree->acceptance_sum = 0.0;
    tree->max_energy_error = 0.0;
    tree->depth = 0;
    tree->n_steps = 0;
    tree->stop = AT_DEPTH;
    tree->nonfinite = false;
    bool has_turned = false;
    while (tree->depth < max_depth) {
        chain->side = dice->directions & 1 ? 1 : 0;
        dice->directions >>= 1;
        const unsigned leaves = 1u << tree->depth;
        tree->depth += 1;
        const int joint = 2 * leaves >= 8 ? MAX_DEPTH : -1;
        if (joint >= 0)
            mark(chain, joint, 1);
        if (grow_subtree(chain, tree, dice, leaves, joint))
            return;
        const double ratio = tree->subtree / tree->total;
        if (accept(dice, ratio < 1.0 ? ratio : 1.0))
            chain->candidate = 1 - chain->candidate;
        tree->total = tree->total + tree->subtree;
        const bool half_turns = has_turned || tree->subtree_turns;
        has_turned = turns_whole(chain)
            || (joint >= 0 && (turns_far_to(chain, joint) || turns_since(chain, joint, 1)));
        if (tree->past_turn ? half_turns : has_turned) {
            tree->stop = TURNED;
            return;
        }
    }
}

/* Dual averaging of the step size. */
FUNCTION void learn(double *state, double acceptance, double target, const double *forgetting)
{
    state[S_COUNT] = state[S_COUNT] + 1.0;
    const double weight = 1.0 / (state[S_COUNT] + 10.0);
    state[S_ERROR] = (1.0 - weight) * state[S_ERROR] + weight * (target - acceptance);
    const double log_step = state[S_MU] - sqrt(state[S_COUNT]) / 0.05 * state[S_ERROR];
    const double log_most = state[S_LOG_MOST];
    state[S_LOG_STEP] = log_step < -60.0 ? -60.0 : log_step > log_most ? log_most : log_step;
    const double forget = forgetting[(int)state[S_COUNT]];
    state[S_LOG_AVERAGE] = forget * state[S_LOG_STEP] + (1.0 - forget) * state[S_LOG_AVERAGE];
}

FUNCTION void write_row(
    const Chain *chain, const Tree *tree, double step_size, double *row)
{
    const int at = chain->candidate;
    if (BLOCK != 0)
        return;
    if (MEMBER == 0) {
        row[R_STOP] = tree->stop;
        row[R_DEPTH] = tree->depth;
        row[R_STEPS] = tree->n_steps;
        row[R_ENERGY] = chain->point_energy[at];
        row[R_ENERGY_START] = chain->energy_start;
        row[R_MAX_ENERGY_ERROR] = tree->max_energy_error;
        row[R_ACCEPTANCE_SUM] = tree->acceptance_sum;
        row[R_STEP_SIZE] = step_size;
        row[R_LOG_DENSITY] = chain->point_log_density[at];
        row[R_OFFSET] = chain->point_offset[at];
        row[R_NONFINITE] = tree->nonfinite ? 1.0 : 0.0;
    }
    const vector_t *q = point_of(chain, at);
    EACH(i)
    {
        row[R_POINT + i] = q[i];
        row[R_POINT + DIM + i] = q[DIM + i];
    }
}

ENTRY void advance(const Job *job)
{
    const int index = TEAM_INDEX;
    if (index >= (int)job->n_chains)
        return;
    double *saved = job->states + (wide_t)index * STATE;
    Chain chain;
    chain.job = job;
    const double *metric = job->metric + (wide_t)index * job->metric_stride;
    chain.kind = (int)metric[0];
    chain.rank = (int)metric[1];
    chain.parts = (int)metric[2];
    chain.centre = chain.parts == 0 ? 0 : metric + 3;
    chain.metric = chain.centre ? chain.centre + DIM : metric + 3;
    chain.inverse = chain.metric + DIM * PADDED;
    chain.weights = chain.kind == BLOCKS ? chain.metric : chain.metric + DIM;
    chain.undoing = chain.weights + chain.rank;
    chain.plain = chain.undoing + chain.rank;
    chain.scaled = chain.plain + chain.rank * DIM;
    chain.n_numbers = 0;
    if (chain.kind == BLOCKS) {
        chain.metric = chain.scaled + chain.rank * DIM;
        chain.n_numbers = (int)chain.metric[0];
        chain.metric += 1;
    }
    double *memory = job->memory + (wide_t)index * MEMORY;
    chain.g = (vector_t *)memory;
    chain.next_g = chain.g + DIM;
    chain.w = memory + SLOPES;
    memory += COMMON + BLOCK * OWN;
    chain.m = (vector_t *)memory;
    chain.sums = memory + VECTORS;
    chain.along = chain.sums + 32;
    chain.turn = 0;
    chain.candidate = 0;
    double scalar[N_SCALARS];
    for (int i = 0; i < N_SCALARS; ++i)
        scalar[i] = saved[2 * DIM + i];
    vector_t *point = point_of(&chain, 0);
    EACH(i)
    {
        point[i] = saved[i];
        point[DIM + i] = saved[DIM + i];
    }
    if (job->fresh) {
        scalar[S_LOG_DENSITY] = evaluate(&chain, point);
        EACH(i)
        point[DIM + i] = chain.g[i];
    }
    chain.point_log_density[0] = scalar[S_LOG_DENSITY];
    Dice dice;
    dice.key[0] = (unsigned)job->seed;
    dice.key[1] = (unsigned)job->stream ^ (unsigned)(job->seed >> 32);
    dice.chain = (unsigned)scalar[S_CHAIN];
    double *row = job->rows + (wide_t)index * job->n_transitions * ROW;
    for (wide_t n = 0; n < job->n_transitions; ++n, row += ROW) {
        const double step_size
            = job->is_warmup ? k_exp(scalar[S_LOG_STEP]) : scalar[S_STEP_SIZE];
        chain.step_size = step_size;
        dice.iteration = (unsigned)scalar[S_ITERATION];
        dice.block = 0;
        dice.has_spare = false;
        dice.directions = next_words(&dice).w[0];
        start(&chain, &dice);
        Tree tree;
        tree.past_turn = job->past_turn != 0;
        grow(&chain, &tree, &dice, (int)job->max_depth);
        scalar[S_ITERATION] = scalar[S_ITERATION] + 1.0;
        if (job->is_warmup)
            learn(scalar, tree.acceptance_sum / tree.n_steps, job->target_accept, job->forgetting);
        write_row(&chain, &tree, step_size, row);
    }
    /* All blocks have read what was saved: there was an evaluation in between. */
    if (BLOCK != 0)
        return;
    const int at = chain.candidate;
    const vector_t *q = point_of(&chain, at);
    EACH(i)
    {
        saved[i] = q[i];
        saved[DIM + i] = q[DIM + i];
    }
    scalar[S_LOG_DENSITY] = chain.point_log_density[at];
    if (MEMBER == 0)
        for (int i = 0; i < N_SCALARS; ++i)
            saved[2 * DIM + i] = scalar[i];
}
