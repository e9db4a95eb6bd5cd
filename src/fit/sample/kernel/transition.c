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

/* A short density leaves registers for the chain. Across a long one, of which a large model has some, all
   that the transition knows lies in memory, and what is given the chain stands apart. */
#if LONG_DENSITY
#define NEAR APART
#define LEAVE(x) IN_MEMORY(x)
#else
#define NEAR FUNCTION
#define LEAVE(x)
#endif

/* What the host and the kernel agree on: 8-byte words. */
struct Job {
    const double *fixed;     /* the density's numbers */
    const unsigned *table;   /* and its positions */
    double *states;          /* STATE numbers a chain */
    double *memory;          /* MEMORY numbers a chain: COMMON, then OWN for each block */
    const double *metric;    /* S of a chain: its kind, its number of directions, how many rotations make
                                a step, their centre if there are any, the numbers of S */
    const double *forgetting; /* t^-0.75 by count, for the averaged step size */
    double *rows;            /* n_transitions rows of n_row numbers a chain */
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
    wide_t budget_ns;        /* how long transitions may begin, from the first team's start on; 0 if always */
    wide_t *progress;        /* when the first team started, then transitions that each chain has made */
    wide_t n_row;            /* R_POINT + DIM, or DIM more if rows have slopes */
};

enum { PADDED = (DIM + 7) / 8 * 8 };

/* Kinds of S: scales; the rows of a lower triangle, and those of its inverse if there is a centre; scales s, then for each direction u its weight
   w, that of the inverse, the directions and s u, for diag(s)(I + U diag(w) U'); the directions with
   what S makes of them, then how many numbers S and S' have without their zeros, and of each where every row
   starts, the places in it, its numbers. */
enum { DIAGONAL = 0, DENSE = 1, LOW_RANK = 2, BLOCKS = 3, MOST_DIRECTIONS = 16 };

/* METRICS has a bit for each kind of S that the run may come to, and ROTATES says whether its steps may be
   rotations. Code for anything else would only be compiled, which takes time, and branched around. */
#define MAY_BE(k) (METRICS >> (k) & 1)
#define IS(chain, k) (MAY_BE(k) && (METRICS == 1 << (k) || (chain)->kind == (k)))
#define HAS_DIRECTIONS(chain) ((MAY_BE(LOW_RANK) || MAY_BE(BLOCKS)) && (chain)->rank > 0)
#define HAS_CENTRE(chain) (ROTATES && (chain)->centre)

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

/* What is written of a transition, then the point, and its slope if the host learns from it. */
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
    R_POINT
};

enum { TURNED = 0, DIVERGED = 1, AT_DEPTH = 2 };

/* Vectors of a chain, DIM numbers each: both ends, four points of which three may become the draw, one to
   work in, remembered leaves: the first of a span and the leaf before it. The path of a leaf stands behind
   its momentum. The place of an end is where it lies from the centre of rotations, whitened. */
enum { POSITION, MOMENTUM, PATH, FORCE, PLACE, END };
enum { POINTS = 2 * END, SCRATCH = POINTS + 8, MARKS = SCRATCH + 1, SUMS_AT = MARKS + 4 * MAX_DEPTH };
#define MARK(slot, before) (MARKS + 4 * (slot) + 2 * (before))
/* Numbers from one vector of a chain to the next: as many for each member of a block. */
#define STRIDE ((DIM + MEMBERS - 1) / MEMBERS * MEMBERS)
/* Words of all vectors, of a block, of two slopes, and of what blocks have in common. */
#define WORDS_OF(n_vectors) ((int)(((n_vectors) * STRIDE * sizeof(vector_t) + 7) / 8))
#define VECTORS WORDS_OF(SUMS_AT)
enum { MOST_SPANS = 3 * MAX_DEPTH, LEAF_SUMS = 16 * (1 + MOST_SPANS) };
/* Behind the sums: the weight of a leaf, the energy at the start, and what is known of each point but its
   vectors. */
enum { WEIGHT = LEAF_SUMS + 8 * MOST_DIRECTIONS, ENERGY_START, KNOWN };
enum { ENERGY_OF, LOG_DENSITY_OF, OFFSET_OF, ACCEPTANCE_OF, N_KNOWN, N_SUMS = KNOWN + 4 * N_KNOWN };
#define OWN (VECTORS + N_SUMS)
#define SLOPES WORDS_OF(2)
#define COMMON (SLOPES + N_WORK)
#define MEMORY (COMMON + N_BLOCKS * OWN)

#define MAX_ENERGY_ERROR 1000.0
/* The bits of 256: a smaller number, of either sign, is neither an error nor a reason to rebase. */
#define ORDINARY 0x4070000000000000ull
#define REBASE 300.0
#define EACH(i) ROLLED for (int i = MEMBER; i < DIM; i += MEMBERS)
/* All elements of a vector of a chain: every member has as many, and needs no branch that what comes next would
   wait for. What lies from DIM on is never looked at. */
#define EVERY(i) ROLLED for (int i = MEMBER; i < STRIDE; i = STRIDE <= MEMBERS ? STRIDE : i + MEMBERS)
/* The same of an array that ends with element DIM - 1. */
#define WITHIN(i) LEAST(i, DIM - 1)

/* What is seldom divided is divided in one place, for a division is long. */
APART double quotient_of(double a, double b)
{
    return a / b;
}

/* e^x by the same steps as the library function of the CPU's sampler (FreeBSD, e_exp.c; copyright
   1993 Sun Microsystems, whose notice allows use, copying and change while it is kept). */
/* There is no branch in it, for numbers that are waited for. This for x up to 709. */
FUNCTION double k_exp_of_weight(double x)
{
    const unsigned high = (unsigned)(TO_BITS(x) >> 32) & 0x7fffffffu;
    const double nearest = trunc(1.44269504088896338700e+00 * x + (x < 0.0 ? -0.5 : 0.5));
    const double k = high > 0x3fd62e42u ? nearest : 0.0;
    const double hi = x - k * 6.93147180369123816490e-01;
    const double lo = k * 1.90821492927058770002e-10;
    const double r = hi - lo;
    const double rr = r * r;
    const double p = 4.13813679705723846039e-08;
    const double c = r
        - rr
            * (1.66666666666666019037e-01
                + rr
                    * (-2.77777777770155933842e-03
                        + rr
                            * (6.61375632143793436117e-05
                                + rr * (-1.65339022054652515390e-06 + rr * p))));
    const double y = 1.0 + (MILD_QUOTIENT(r * c, 2.0 - c) - lo + hi);
    /* Times 2^k in two steps, as it may be too small for one. */
    const double half = floor(0.5 * k), rest = k - half;
    const double result = y * FROM_BITS(TO_BITS(half + 4503599627371519.0) << 52)
        * FROM_BITS(TO_BITS(rest + 4503599627371519.0) << 52);
    const double usual = high <= 0x3e300000u ? 1.0 + x : result;
    return x < -745.13321910194110842 ? 0.0 : usual;
}

APART double k_exp(double x)
{
    const double e = k_exp_of_weight(x);
    return x <= 709.782712893383973096 ? e : x * FROM_BITS(0x7fe0000000000000ull);
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
    const double s = quotient_of(f, 2.0 + f);
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

/* The directions and acceptances of one transition. Numbers are drawn in blocks of random words, two from
   each; those from `first` on, which is even, are held by the threads of a warp, one block each. */
enum { BLOCKS_HELD = 32 };
struct Dice {
    unsigned key[2], iteration, chain, directions;
    int first, next;
    double even[HOLDS], odd[HOLDS];
};

FUNCTION Words words_of(const Dice *dice, unsigned block)
{
    return philox(dice->iteration, block, dice->chain, PURPOSE_TREE, dice->key[0], dice->key[1]);
}

FUNCTION double unit(unsigned a, unsigned b)
{
    return (double)(((bits_t)a << 32 | b) >> 11) * (1.0 / 9007199254740992.0);
}

/* Makes the numbers from the next on; the first block is that of the directions. */
FUNCTION void deal(Dice *dice)
{
    dice->first = dice->next & ~1;
    ROLLED for (int k = 0; k < HOLDS; ++k) {
        const Words words = words_of(dice, (unsigned)(1 + dice->first / 2 + HOLDER + k));
        dice->even[k] = unit(words.w[0], words.w[1]);
        dice->odd[k] = unit(words.w[2], words.w[3]);
    }
}

/* Whether there may be too few for two leaves, of which either takes two at most, where this one was the last
   of a subtree. */
FUNCTION bool runs_out(const Dice *dice)
{
    return dice->next + 4 > dice->first + 2 * BLOCKS_HELD;
}

/* Whether a / b, of numbers that are not negative, is 1 or more, or above the next number that is drawn. */
struct Comparison {
    bool is_more, is_above, is_clear;
    double number;
};

#define IS_MODERATE(x) (((unsigned)(TO_BITS(x) >> 52) & 0x7ff) - 523u < 1000u)

/* By products, which leave it open where that is not clear: the quotient takes long. */
FUNCTION Comparison compared(const Dice *dice, double a, double b)
{
    const int at = dice->next - dice->first;
    Comparison comparison;
    comparison.number = HELD(dice->even, dice->odd, at & 1, at / 2);
    const double product = comparison.number * b;
    comparison.is_more = a >= b;
    comparison.is_above = product < a;
    comparison.is_clear = IS_MODERATE(a) & IS_MODERATE(b) & (fabs(product - a) > 1e-14 * a);
    return comparison;
}

/* By the quotient, where it is not clear. */
FUNCTION Comparison cleared(Comparison comparison, double a, double b)
{
    if (!comparison.is_clear) {
        const double quotient = quotient_of(a, b);
        comparison.is_more = quotient >= 1.0;
        comparison.is_above = comparison.number < quotient;
    }
    return comparison;
}

/* Whether what has been compared is accepted, or is so anyway. Where the quotient is 1 or more it is above any
   number, too, and none has been used. */
FUNCTION bool accept(Dice *dice, bool anyway, Comparison comparison)
{
    dice->next += anyway | comparison.is_more ? 0 : 1;
    return anyway | comparison.is_above;
}

FUNCTION int ones(unsigned x)
{
    int n = 0;
    for (; x; x &= x - 1)
        ++n;
    return n;
}

FUNCTION int lowest_of(bits_t bits)
{
    int n = 0;
    for (; !(bits & 1); bits >>= 1)
        ++n;
    return n;
}

/* The levels of subtrees that end with this leaf of a subtree, or with it and all that was before. */
FUNCTION int levels_ended(unsigned leaf, unsigned leaves)
{
    return ones(leaf & ~(leaf + 1)) + (leaf + 1 == leaves);
}

/* How many spans are looked at of so many levels: of the first two the whole; then also the first half
   with the next leaf, and the second half with the leaf before. */
FUNCTION int spans_of(int n_levels)
{
    return n_levels <= 2 ? n_levels : 3 * n_levels - 4;
}

FUNCTION int level_of(int span)
{
    return span < 2 ? span : (span + 4) / 3;
}

/* What a thread adds up when a leaf has been reached: a span of which level, or its energy. */
enum { SPAN, FIRST_HALF, SECOND_HALF, ENERGY };
struct Share {
    int kind, level;
};

FUNCTION Share share_of(int item)
{
    const int span = item / 16 - 1;
    Share share;
    share.level = level_of(span);
    share.kind = span < 0 ? ENERGY : span < 2 ? SPAN : (span + 1) % 3;
    return share;
}

/* A chain at work. */
struct Chain {
    const double *fixed; /* numbers of the density */
    const unsigned *table;
    const double *metric, *weights, *undoing, *plain, *scaled;
    const double *centre;  /* of rotations; null where steps are leapfrogs */
    const double *inverse; /* of a dense S, where there is a centre */
    vector_t *m;   /* its vectors */
    vector_t *g, *next_g; /* the slope of the last evaluation, and of the next */
    double *sums;  /* partial sums of a leaf */
    double *along; /* eight partial sums for each direction of the metric */
    double *w;    /* memory of the density */
    Share share; /* of the sums of a leaf */
    int kind, rank, parts, n_numbers, side;
    int first, last; /* leaves of the trajectory, from its start on */
    int candidate, proposal; /* points of the trajectory and of the growing subtree */
    int spare; /* the point that the next leaf is written to before it is known whether it is taken */
    double step_size, sine, cosine, outer, inner, log_density;
    double sign, kick; /* of the side that grows; what forces are multiplied by at the ends of a step */
};

FUNCTION vector_t *vector_of(const Chain *chain, int k)
{
    return chain->m + k * STRIDE;
}

FUNCTION vector_t *point_of(const Chain *chain, int which)
{
    return vector_of(chain, POINTS + 2 * which);
}

/* What is known of a point: written by every thread, so that each may read it without meeting. */
FUNCTION double *known_of(const Chain *chain, int which)
{
    return chain->sums + KNOWN + N_KNOWN * which;
}

FUNCTION double fold_eight(const double *p)
{
    return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

/* Log density at q, and its slope into chain->g. */
FUNCTION double evaluate(Chain *chain, const vector_t *q)
{
    vector_t *g = chain->next_g;
    chain->next_g = chain->g;
    chain->g = g;
    MEET();
    LEAVE(chain);
    const double value = value_and_gradient(q, g, chain->w, chain->fixed, chain->table);
    LEAVE(chain);
    SYNC();
    return value;
}

FUNCTION double add_times(double h, double c, double k)
{
    return fma(c, k, h);
}

FUNCTION float add_times(float h, float c, float k)
{
    return fmaf(c, k, h);
}

/* One of eight lanes of the sum of (h + c k) x, c being 1, 0 or -1. With a fixed number of turns all loads
   are under way at once. */
FUNCTION double lane_of(const vector_t *h, vector_t c, const vector_t *k, const vector_t *x, int lane)
{
    double s = 0.0;
    FULL for (int from = 0; from < DIM; from += 8)
        if (from + lane < DIM) {
            const int i = from + lane;
            s = s + (double)add_times(h[i], c, k[i]) * (double)x[i];
        }
    return s;
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
    if (HAS_DIRECTIONS(chain)) {
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
    if (IS(chain, DIAGONAL))
        return chain->metric[i] * gradient[i];
    if (IS(chain, LOW_RANK))
        return add_along(
            chain, 1.0, chain->weights, chain->plain, i, chain->metric[i] * gradient[i]);
    if (IS(chain, BLOCKS))
        return add_along(chain, 1.0, chain->weights, chain->plain, i,
            sparse_times(chain, chain->metric + DIM + 1 + 2 * chain->n_numbers, gradient, i));
    return MAY_BE(DENSE) ? column_times(chain->metric, gradient, i) : 0.0;
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
        x[i] = IS(chain, DENSE) ? away : (vector_t)quotient_of(away, chain->metric[i]);
        place[i] = x[i];
    }
    if (IS(chain, DENSE)) {
        MEET(); /* rotation, dense */
        EACH(i)
        place[i] = row_times(chain->inverse, x, i);
    }
    if (HAS_DIRECTIONS(chain)) {
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
    const double angle = quotient_of(chain->step_size, (double)chain->parts);
    const Turn turn = k_turn(quotient_of(angle, 6.283185307179586));
    const double sine = turn.sine, cosine = turn.cosine, square = cosine * cosine;
    chain->sine = sine;
    chain->cosine = cosine;
    chain->outer = chain->parts == 1
        ? quotient_of(sine * square, 1.0 - 2.0 * cosine + 3.0 * (square * cosine))
        : quotient_of(sine, 3.0 * cosine);
    chain->inner = quotient_of(4.0 * sine, 3.0);
}

/* Starts a trajectory at the candidate. */
FUNCTION void start(Chain *chain, const Dice *dice)
{
    vector_t *back = vector_of(chain, 0), *front = vector_of(chain, END);
    const vector_t *q = point_of(chain, chain->candidate), *g = q + STRIDE;
    draw_momentum(chain, back + MOMENTUM * STRIDE, dice->iteration, dice);
    MEET();
    if (HAS_CENTRE(chain)) {
        locate(chain, q, back + PLACE * STRIDE);
        set_turn(chain);
        if (HAS_DIRECTIONS(chain))
            MEET(); /* rotation, directions */
    }
    before_pull(chain, g);
    EACH(i)
    {
        vector_t force = pulled(chain, g, i);
        if (HAS_CENTRE(chain)) {
            force = force + back[PLACE * STRIDE + i];
            front[PLACE * STRIDE + i] = back[PLACE * STRIDE + i];
        }
        back[POSITION * STRIDE + i] = q[i];
        back[FORCE * STRIDE + i] = force;
        back[PATH * STRIDE + i] = 0.0;
        front[POSITION * STRIDE + i] = q[i];
        front[MOMENTUM * STRIDE + i] = back[MOMENTUM * STRIDE + i];
        front[FORCE * STRIDE + i] = force;
        front[PATH * STRIDE + i] = 0.0;
    }
    const vector_t *p = back + MOMENTUM * STRIDE;
    for (int k = MEMBER; k < 8; k += MEMBERS)
        chain->sums[k] = lane_of(p, 0.0, p, p, k);
    MEET();
    chain->first = 0;
    chain->last = 0;
    double *known = known_of(chain, chain->candidate);
    chain->log_density = known[LOG_DENSITY_OF];
    const double energy = 0.5 * fold_eight(chain->sums) - chain->log_density;
    chain->sums[ENERGY_START] = energy;
    known[ENERGY_OF] = energy;
    known[OFFSET_OF] = 0.0;
}

/* The leaf before this one of a subtree is remembered where a half of four and more begins, and this one
   where any half does. */
FUNCTION bool marks_before(unsigned leaf, unsigned leaves)
{
    return leaves >= 4 && leaf % 4 == 0;
}

FUNCTION bool marks_after(unsigned leaf, unsigned leaves)
{
    return leaves >= 2 && leaf % 2 == 0;
}

/* Half a kick and the drift of an end to a leaf of a subtree. */
FUNCTION void drift(const Chain *chain, vector_t *end, unsigned leaf, unsigned leaves)
{
    const double step = 2.0 * chain->kick;
    const vector_t kick = (vector_t)chain->kick;
    vector_t *q = end + POSITION * STRIDE, *p = end + MOMENTUM * STRIDE;
    const vector_t *f = end + FORCE * STRIDE;
    vector_t *h = end + PATH * STRIDE, *mark = vector_of(chain, MARK(ones(leaf), 1));
    const bool marks = marks_before(leaf, leaves);
    const bool is_scaled = IS(chain, DIAGONAL) || IS(chain, LOW_RANK);
    EVERY(i)
    {
        /* All loads before the first store, which they would wait for. */
        const vector_t before = p[i], path = h[i], position = q[i];
        const vector_t scale = (vector_t)(is_scaled ? step * chain->metric[WITHIN(i)] : 0.0);
        const vector_t after = before + kick * f[i];
        if (is_scaled)
            q[i] = position + scale * after;
        h[i] = path + before;
        p[i] = after;
        if (marks) {
            mark[i] = before;
            mark[STRIDE + i] = path;
        }
    }
    if (IS(chain, DENSE)) {
        MEET(); /* dense */
        EACH(i)
        q[i] = q[i] + step * row_times(chain->metric, p, i);
    }
    if (IS(chain, BLOCKS)) {
        MEET(); /* blocks */
        EACH(i)
        q[i] = q[i] + step * sparse_times(chain, chain->metric, p, i);
    }
    if (HAS_DIRECTIONS(chain)) {
        MEET(); /* low-rank */
        project(chain, chain->plain, p);
        MEET(); /* low-rank */
        EACH(i)
        q[i] = add_along(chain, step, chain->weights, chain->scaled, i, q[i]);
    }
}

/* A kick and a rotation of an end, the first of its step or the second. */
NEAR void rotate(const Chain *chain, vector_t *end, int part, unsigned leaf, unsigned leaves)
{
    const vector_t kick = (vector_t)(part == 0 ? chain->kick : chain->sign * chain->inner);
    const vector_t sine = (vector_t)(chain->sign * chain->sine), cosine = (vector_t)chain->cosine;
    const vector_t less = (vector_t)(chain->cosine - 1.0);
    vector_t *q = end + POSITION * STRIDE, *p = end + MOMENTUM * STRIDE, *x = end + PLACE * STRIDE;
    const vector_t *f = end + FORCE * STRIDE;
    vector_t *h = end + PATH * STRIDE, *by = vector_of(chain, SCRATCH);
    EACH(i)
    {
        /* All loads before the first store, which they would wait for. */
        const vector_t before = p[i], place = x[i], path = h[i], position = q[i];
        const vector_t scale = (vector_t)chain->metric[i];
        const vector_t after = before + kick * f[i];
        const vector_t moved = place * less + after * sine;
        if (part == 0) {
            h[i] = path + before;
            if (marks_before(leaf, leaves)) {
                vector_t *mark = vector_of(chain, MARK(ones(leaf), 1));
                mark[i] = before;
                mark[STRIDE + i] = path;
            }
        }
        p[i] = after * cosine - place * sine;
        x[i] = place + moved;
        by[i] = moved;
        if (!IS(chain, DENSE))
            q[i] = position + scale * moved;
    }
    if (IS(chain, DENSE)) {
        MEET(); /* rotation, dense */
        EACH(i)
        q[i] = q[i] + row_times(chain->metric, by, i);
    }
    if (HAS_DIRECTIONS(chain)) {
        MEET(); /* rotation, directions */
        project(chain, chain->plain, by);
        MEET(); /* rotation, directions */
        EACH(i)
        q[i] = add_along(chain, 1.0, chain->weights, chain->scaled, i, q[i]);
    }
}

/* The force where an end has come to; after the last part of a step to a leaf of a subtree the kick. Then
   the leaf is remembered, and its point is written to where it can become the proposal. */
NEAR void take_force(const Chain *chain, vector_t *end, bool last, unsigned leaf, unsigned leaves)
{
    const vector_t kick = (vector_t)chain->kick;
    vector_t *p = end + MOMENTUM * STRIDE, *f = end + FORCE * STRIDE, *h = end + PATH * STRIDE;
    const vector_t *q = end + POSITION * STRIDE, *g = chain->g;
    vector_t *point = point_of(chain, chain->spare), *mark = vector_of(chain, MARK(ones(leaf), 0));
    const bool marks = marks_after(leaf, leaves);
    before_pull(chain, g);
    EVERY(i)
    {
        /* All loads before the first store, which they would wait for. */
        const vector_t slope = g[i], position = q[i], before = p[i], way = h[i];
        vector_t force = pulled(chain, g, WITHIN(i));
        if (HAS_CENTRE(chain))
            force = force + end[PLACE * STRIDE + i];
        const vector_t after = before + kick * force, path = way + after;
        f[i] = force;
        if (!last)
            continue;
        point[i] = position;
        point[STRIDE + i] = slope;
        h[i] = path;
        p[i] = after;
        if (marks) {
            mark[i] = after;
            mark[STRIDE + i] = path;
        }
    }
}

/* One step of the side that grows to a leaf of a subtree, or a part of it. */
FUNCTION void step(Chain *chain, int part, unsigned leaf, unsigned leaves)
{
    vector_t *end = vector_of(chain, chain->side * END);
    if (HAS_CENTRE(chain))
        rotate(chain, end, part, leaf, leaves);
    else
        drift(chain, end, leaf, leaves);
    chain->log_density = evaluate(chain, end + POSITION * STRIDE);
    take_force(chain, end, part + 1 >= chain->parts, leaf, leaves);
}

/* Whether a span whose partial sums these are turns. */
FUNCTION bool turns(const double *sums)
{
    return (fold_eight(sums) <= 0.0) | (fold_eight(sums + 8) <= 0.0);
}

/* Whether a trajectory of rotations is so long that it comes back. */
FUNCTION bool is_round(const Chain *chain)
{
    const int states = chain->last - chain->first + 1;
    return HAS_CENTRE(chain) && (states / 2) * chain->step_size >= FAR;
}

/* A leaf that has been reached and not been weighed: its weight is e^exponent. */
struct Leaf {
    int point;
    double exponent;
    int waits, is_first, is_last; /* whether there is one; of its subtree, unless that was discarded */
};

/* Sums of weights, of the trajectory and of the growing subtree, and what is recorded. */
struct Tree {
    double base, total, subtree, acceptance_sum, max_energy_error;
    int depth, n_steps, stop;
    bool nonfinite, past_turn, subtree_turns, whole_turns;
    Leaf leaf;
};

/* What the subtree of the leaf that waits weighs with it. */
FUNCTION void weigh(Tree *tree, double weight)
{
    tree->subtree = (tree->leaf.is_first ? 0.0 : tree->subtree) + weight;
}

FUNCTION void add_acceptance(Tree *tree, double acceptance)
{
    tree->acceptance_sum = tree->acceptance_sum + (tree->leaf.waits ? acceptance : 0.0);
}

/* The leaf that waits may become the proposal of its subtree. The point that is not needed any more is its
   place then. */
FUNCTION void propose(Chain *chain, Tree *tree, Dice *dice, Comparison comparison)
{
    Leaf *leaf = &tree->leaf;
    const bool is_taken = accept(dice, leaf->is_first, comparison) & (leaf->waits != 0);
    const int left = is_taken ? chain->proposal : leaf->point;
    chain->proposal = is_taken ? leaf->point : chain->proposal;
    leaf->point = left;
}

/* As `propose`, where there may be anything out of the ordinary. With the last of a subtree its proposal may
   become the candidate of the trajectory. */
FUNCTION void settle(Chain *chain, Tree *tree, Dice *dice, double weight, Comparison comparison)
{
    add_acceptance(tree,
        tree->base == 0.0 ? LEAST(weight, 1.0) : known_of(chain, tree->leaf.point)[ACCEPTANCE_OF]);
    propose(chain, tree, dice, cleared(comparison, weight, tree->subtree));
    if (tree->leaf.is_last) {
        /* What weighs nothing is replaced by anything. */
        const bool anyway = tree->total + tree->subtree == 0.0;
        comparison = cleared(
            compared(dice, tree->subtree, tree->total), tree->subtree, tree->total);
        if (accept(dice, anyway, comparison)) {
            const int old = chain->candidate;
            chain->candidate = chain->proposal;
            chain->proposal = old;
        }
        tree->total = tree->total + tree->subtree;
    }
    tree->leaf.waits = 0;
    tree->leaf.is_last = 0;
}

/* The leaf just reached waits. */
FUNCTION void await(Chain *chain, Tree *tree, unsigned leaf, double energy, double log_weight)
{
    double *known = known_of(chain, chain->spare);
    known[ENERGY_OF] = energy;
    known[LOG_DENSITY_OF] = chain->log_density;
    known[OFFSET_OF] = chain->side == 1 ? chain->last : chain->first;
    const int spare = tree->leaf.point;
    tree->leaf.point = chain->spare;
    chain->spare = spare;
    tree->leaf.exponent = log_weight - tree->base;
    tree->leaf.waits = 1;
    tree->leaf.is_first = leaf == 0;
    tree->leaf.is_last = 0;
}

/* All sums of a leaf, in eight lanes each: p.p, from which the next eight are left alone, then s.p and s.r
   of every span, s being the difference of the paths at its ends, or their sum across the start. */
FUNCTION void sum_leaf(const Chain *chain, int ones_of_leaf, int n_spans)
{
    const int near = chain->side * END + MOMENTUM, far = END + 2 * MOMENTUM - near;
    Share share = chain->share;
    ROLLED for (int item = MEMBER; item < 16 * (1 + n_spans);) {
        const int slot = ones_of_leaf - 1 - share.level;
        /* A level that is all of the subtree and what was before begins at the other end. */
        const int first = slot < 0 ? far : MARK(slot, 0);
        const int a = share.kind == FIRST_HALF ? MARK(slot + 1, 0) : near;
        const int b = share.kind == SECOND_HALF ? MARK(slot + 1, 1) : share.kind == ENERGY ? near : first;
        const vector_t c = share.kind == ENERGY ? 0.0 : b == far ? 1.0 : -1.0;
        const vector_t *h = vector_of(chain, share.kind == ENERGY ? a : a + 1);
        const vector_t *k = vector_of(chain, b + 1), *x = vector_of(chain, item & 8 ? b : a);
        chain->sums[item] = lane_of(h, c, k, x, item & 7);
        item += MEMBERS;
        share = share_of(item);
    }
}

/* Grows one subtree; true when it must be discarded, tree->stop says why. Whether it goes on is known as soon
   as a leaf has been reached; its weight is left to the next evaluation, for it takes long. */
FUNCTION bool grow_subtree(Chain *chain, Tree *tree, Dice *dice, unsigned leaves)
{
    /* A span below this length that turns ends it: with past_turn any but the whole. */
    const unsigned limit = leaves << (1 - tree->past_turn);
    tree->subtree_turns = false;
    tree->whole_turns = false;
    const double infinity = FROM_BITS(0x7ff0000000000000ull);
    /* Parts of a step share this loop, so that the density stands in the code once. */
    int part = 0;
    for (unsigned leaf = 0; leaf < leaves; leaf += part == 0) {
        LEAVE(tree);
        LEAVE(dice);
        step(chain, part, leaf, leaves);
        part += 1;
        if (part < chain->parts)
            continue;
        part = 0;
        tree->n_steps += 1;
        chain->first -= chain->side == 0;
        chain->last += chain->side == 1;
        /* Whether anything turns is known as soon as the energy is: all sums are taken together. */
        const int n_levels = levels_ended(leaf, leaves), n_spans = spans_of(n_levels);
        MEET();
        /* Sums are seldom so many that the last warp has any. */
        sum_leaf(chain, ones(leaf), n_spans);
        if (MEMBER >= MEMBERS - 32)
            chain->sums[WEIGHT] = k_exp_of_weight(tree->leaf.exponent);
        MEET();
        const double weight = chain->sums[WEIGHT];
        const double energy = 0.5 * fold_eight(chain->sums) - chain->log_density;
        const double log_weight = chain->sums[ENERGY_START] - energy;
        bits_t turned = 0;
        WHICH(turned, i, 0, n_spans, turns(chain->sums + 16 + 16 * i));
        if (MOST_SPANS > 32)
            WHICH(turned, i, 32, n_spans, turns(chain->sums + 16 + 16 * i));
        if (fabs(log_weight) > fabs(tree->max_energy_error))
            tree->max_energy_error = -log_weight;
        weigh(tree, weight);
        const Comparison comparison = compared(dice, weight, tree->subtree);
        const bits_t size = TO_BITS(log_weight) & 0x7fffffffffffffffull;
        /* Most leaves go this way. */
        const bits_t other = TO_BITS(tree->base) | turned | (bits_t)tree->leaf.is_last;
        if (comparison.is_clear & (size < ORDINARY) & (other == 0) & !runs_out(dice)) {
            add_acceptance(tree, LEAST(weight, 1.0));
            propose(chain, tree, dice, comparison);
            await(chain, tree, leaf, energy, log_weight);
            continue;
        }
        settle(chain, tree, dice, weight, comparison);
        if (runs_out(dice))
            deal(dice);
        if (!(fabs(log_weight) < infinity)) {
            tree->nonfinite = true;
            tree->max_energy_error = infinity;
            tree->stop = DIVERGED;
            return true;
        }
        if (log_weight - tree->base > REBASE) {
            const double factor = k_exp(tree->base - log_weight);
            tree->total = tree->total * factor;
            tree->subtree = tree->subtree * factor;
            tree->base = log_weight;
        }
        await(chain, tree, leaf, energy, log_weight);
        if (tree->base != 0.0)
            known_of(chain, tree->leaf.point)[ACCEPTANCE_OF] = k_exp(LEAST(log_weight, 0.0));
        if (log_weight < -MAX_ENERGY_ERROR) {
            tree->stop = DIVERGED;
            return true;
        }
        if (turned == 0)
            continue;
        const int whole = leaf + 1 == leaves ? n_levels - 1 : n_levels;
        const int level = level_of(lowest_of(turned));
        tree->whole_turns = turned >> spans_of(whole) != 0;
        if (level < whole) {
            tree->stop = TURNED;
            if (2u << level < limit)
                return true;
            tree->subtree_turns = true;
        }
    }
    tree->leaf.is_last = 1;
    return false;
}

/* One transition; the candidate is the draw. */
FUNCTION void grow(Chain *chain, Tree *tree, Dice *dice, int max_depth)
{
    tree->base = 0.0;
    tree->total = 1.0;
    tree->subtree = 0.0;
    tree->acceptance_sum = 0.0;
    tree->max_energy_error = 0.0;
    tree->depth = 0;
    tree->n_steps = 0;
    tree->stop = AT_DEPTH;
    tree->nonfinite = false;
    tree->leaf.exponent = 0.0;
    tree->leaf.waits = 0;
    tree->leaf.is_first = 1;
    tree->leaf.is_last = 0;
    bool has_turned = false;
    while (tree->depth < max_depth) {
        chain->side = dice->directions & 1 ? 1 : 0;
        chain->sign = chain->side == 1 ? 1.0 : -1.0;
        chain->kick = chain->sign * (HAS_CENTRE(chain) ? chain->outer : 0.5 * chain->step_size);
        dice->directions >>= 1;
        const unsigned leaves = 1u << tree->depth;
        tree->depth += 1;
        if (grow_subtree(chain, tree, dice, leaves))
            break;
        const bool half_turns = has_turned || tree->subtree_turns;
        has_turned = is_round(chain) || tree->whole_turns;
        if (tree->past_turn ? half_turns : has_turned) {
            tree->stop = TURNED;
            break;
        }
    }
    const double weight = k_exp(tree->leaf.exponent);
    weigh(tree, weight);
    settle(chain, tree, dice, weight, compared(dice, weight, tree->subtree));
}

/* Dual averaging of the step size. */
FUNCTION void learn(double *state, double acceptance, double target, const double *forgetting)
{
    state[S_COUNT] = state[S_COUNT] + 1.0;
    const double weight = quotient_of(1.0, state[S_COUNT] + 10.0);
    state[S_ERROR] = (1.0 - weight) * state[S_ERROR] + weight * (target - acceptance);
    const double log_step = state[S_MU] - quotient_of(sqrt(state[S_COUNT]), 0.05) * state[S_ERROR];
    const double log_most = state[S_LOG_MOST];
    state[S_LOG_STEP] = log_step < -60.0 ? -60.0 : log_step > log_most ? log_most : log_step;
    const double forget = forgetting[(int)state[S_COUNT]];
    state[S_LOG_AVERAGE] = forget * state[S_LOG_STEP] + (1.0 - forget) * state[S_LOG_AVERAGE];
}

FUNCTION void write_row(
    const Chain *chain, const Tree *tree, double step_size, double *row, bool has_slope)
{
    const double *known = known_of(chain, chain->candidate);
    if (BLOCK != 0)
        return;
    if (MEMBER == 0) {
        row[R_STOP] = tree->stop;
        row[R_DEPTH] = tree->depth;
        row[R_STEPS] = tree->n_steps;
        row[R_ENERGY] = known[ENERGY_OF];
        row[R_ENERGY_START] = chain->sums[ENERGY_START];
        row[R_MAX_ENERGY_ERROR] = tree->max_energy_error;
        row[R_ACCEPTANCE_SUM] = tree->acceptance_sum;
        row[R_STEP_SIZE] = step_size;
        row[R_LOG_DENSITY] = known[LOG_DENSITY_OF];
        row[R_OFFSET] = known[OFFSET_OF];
        row[R_NONFINITE] = tree->nonfinite ? 1.0 : 0.0;
    }
    const vector_t *q = point_of(chain, chain->candidate);
    EACH(i)
    {
        row[R_POINT + i] = q[i];
        if (has_slope)
            row[R_POINT + DIM + i] = q[STRIDE + i];
    }
}

#if DEADLINE
/* A word of `progress` has this bit while its chain is late. */
#define LATE (1ull << 63)

/* Whether no further transition may begin: all threads of a team are told the same. */
FUNCTION bool is_late(const Job *job, int index, wide_t made)
{
    if (job->budget_ns == 0)
        return false;
    wide_t *own = job->progress + 1 + index;
    if (THREAD == 0) {
        const wide_t now = NANOSECONDS();
        const wide_t first = SET_ONCE(job->progress, now);
        *own = made | (first != 0 && now - first > job->budget_ns ? LATE : 0);
    }
    SYNC();
    return (*(volatile wide_t *)own & LATE) != 0;
}
#endif

ENTRY void IN_HASTE advance(const Job *job)
{
    const int index = TEAM_INDEX;
    if (index >= (int)job->n_chains)
        return;
    double *saved = job->states + (wide_t)index * STATE;
    Chain chain;
    Tree tree;
    tree.past_turn = job->past_turn != 0;
    chain.fixed = job->fixed;
    chain.table = job->table;
    const double *metric = job->metric + (wide_t)index * job->metric_stride;
    chain.kind = (int)metric[0];
    chain.rank = (int)metric[1];
    chain.parts = (int)metric[2];
    chain.centre = !ROTATES || chain.parts == 0 ? 0 : metric + 3;
    chain.metric = chain.centre ? chain.centre + DIM : metric + 3;
    chain.inverse = chain.metric + DIM * PADDED;
    chain.weights = IS(&chain, BLOCKS) ? chain.metric : chain.metric + DIM;
    chain.undoing = chain.weights + chain.rank;
    chain.plain = chain.undoing + chain.rank;
    chain.scaled = chain.plain + chain.rank * DIM;
    chain.n_numbers = 0;
    if (IS(&chain, BLOCKS)) {
        chain.metric = chain.scaled + chain.rank * DIM;
        chain.n_numbers = (int)chain.metric[0];
        chain.metric += 1;
    }
    double *memory = job->memory + (wide_t)index * MEMORY;
    chain.g = (vector_t *)memory;
    chain.next_g = chain.g + STRIDE;
    chain.w = memory + SLOPES;
    memory += COMMON + BLOCK * OWN;
    chain.m = (vector_t *)memory;
    chain.sums = memory + VECTORS;
    chain.along = chain.sums + LEAF_SUMS;
    chain.candidate = 0;
    chain.proposal = 1;
    chain.spare = 2;
    tree.leaf.point = 3;
    chain.share = share_of(MEMBER);
    double scalar[N_SCALARS];
    for (int i = 0; i < N_SCALARS; ++i)
        scalar[i] = saved[2 * DIM + i];
    vector_t *point = point_of(&chain, 0);
    EACH(i)
    {
        point[i] = saved[i];
        point[STRIDE + i] = saved[DIM + i];
    }
    if (job->fresh) {
        scalar[S_LOG_DENSITY] = evaluate(&chain, point);
        EACH(i)
        point[STRIDE + i] = chain.g[i];
    }
    known_of(&chain, 0)[LOG_DENSITY_OF] = scalar[S_LOG_DENSITY];
    Dice dice;
    dice.key[0] = (unsigned)job->seed;
    dice.key[1] = (unsigned)job->stream ^ (unsigned)(job->seed >> 32);
    dice.chain = (unsigned)scalar[S_CHAIN];
    const wide_t n_row = job->n_row;
    const bool has_slope = n_row > R_POINT + DIM;
    double *row = job->rows + (wide_t)index * job->n_transitions * n_row;
    wide_t n = 0;
#if DEADLINE
    /* An earlier launch may have made the first of them. */
    if (job->budget_ns != 0)
        n = job->progress[1 + index] & ~LATE;
    row += n * n_row;
#endif
    for (; n < job->n_transitions; ++n, row += n_row) {
#if DEADLINE
        if (is_late(job, index, n))
            break;
#endif
        const double step_size
            = job->is_warmup ? k_exp(scalar[S_LOG_STEP]) : scalar[S_STEP_SIZE];
        chain.step_size = step_size;
        dice.iteration = (unsigned)scalar[S_ITERATION];
        dice.directions = words_of(&dice, 0).w[0];
        dice.next = 0;
        deal(&dice);
        start(&chain, &dice);
        grow(&chain, &tree, &dice, (int)job->max_depth);
        scalar[S_ITERATION] = scalar[S_ITERATION] + 1.0;
        if (job->is_warmup)
            learn(scalar, quotient_of(tree.acceptance_sum, tree.n_steps), job->target_accept,
                job->forgetting);
        write_row(&chain, &tree, step_size, row, has_slope);
    }
#if DEADLINE
    if (job->budget_ns != 0 && THREAD == 0 && n == job->n_transitions)
        job->progress[1 + index] = n;
#endif
    /* All blocks have read what was saved: they met in between. */
    if (BLOCK != 0)
        return;
    const vector_t *q = point_of(&chain, chain.candidate);
    EACH(i)
    {
        saved[i] = q[i];
        saved[DIM + i] = q[STRIDE + i];
    }
    scalar[S_LOG_DENSITY] = known_of(&chain, chain.candidate)[LOG_DENSITY_OF];
    if (MEMBER == 0)
        for (int i = 0; i < N_SCALARS; ++i)
            saved[2 * DIM + i] = scalar[i];
}
