/* The words that kernel texts are written in, for this machine: a team's threads are fibers that
   run one at a time, from barrier to barrier, in an order that is shuffled every time; blocks of a
   team run ahead of each other as far as their common barriers let them. */

#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>

typedef uint64_t bits_t;
typedef uint64_t wide_t;

static int team_size = 1, block_size = 1, thread_now = 0, team_now = 0;

static wide_t ticks = 0;

static inline wide_t set_once(wide_t *word, wide_t value)
{
    const wide_t before = *word;
    if (before == 0)
        *word = value;
    return before;
}

/* Blocks of a team. */
extern "C" {
int blocks_of_team = 1;
}

#define FUNCTION static inline
#define APART static inline
#define ENTRY static
#define IN_HASTE
#define IN_MEMORY(pointer)
/* A clock that goes on by one each time somebody looks, so that a test knows when a launch is late. */
#define NANOSECONDS() (++ticks)
#define SET_ONCE(word, value) set_once(word, value)
#define ROLLED
#define FOUR
#define FULL
#define WHICH(bits, i, from, n, condition)                                                       \
    for (int i = (from); i < (n) && i < (from) + 32; ++i)                                        \
        bits |= (bits_t)(condition) << i;
#define MILD_QUOTIENT(a, b) ((a) / (b))
#define HOLDS 32
#define HOLDER 0
#define HELD(first, second, of_second, at) ((of_second) ? (second)[at] : (first)[at])
#define TEAM team_size
#define THREAD thread_now
#define TEAM_INDEX team_now
#define MEMBERS block_size
#define MEMBER (thread_now % block_size)
#define N_BLOCKS (team_size / block_size)
#define BLOCK (thread_now / block_size)
#define JOIN_EIGHT(p, thread) ((thread) == 0 ? join_lanes(p) : 0.0)
#define JOIN_ONE(p) join_lanes(p)
#define JOIN_FOUR(p, n) 0.0
#define JOINED(four, p, which) join_lanes((p) + 32 * (which))
#define JOIN_TILES(s, n) join_tiles(s, n)
/* All threads of a team meet, or those of one block. */
#define SYNC() fibers_meet(__LINE__, true)
#define MEET() fibers_meet(__LINE__, false)

static inline bits_t TO_BITS(double x)
{
    bits_t b;
    memcpy(&b, &x, 8);
    return b;
}

static inline double FROM_BITS(bits_t b)
{
    double x;
    memcpy(&x, &b, 8);
    return x;
}

/* What the GPU's library has and that of C has not: by the complement, then by its series. */
static inline float erfcxf(float x)
{
    const double z = x, t = 0.5 / (z * z);
    if (z < 12.0)
        return (float)(exp(z * z) * erfc(z));
    return (float)((1.0 - t * (1.0 - 3.0 * t * (1.0 - 5.0 * t))) / (z * 1.7724538509055160));
}

enum { MOST_FIBERS = 1024, STACK = 256 * 1024 };

/* Where a fiber or a block stands: a line of the text, negative where all blocks meet there. */
enum { RUNS = 0, ENDED = INT_MIN };

static ucontext_t fibers_main, fibers[MOST_FIBERS];
static int fiber_line[MOST_FIBERS];
static char *fiber_stack;
static void (*fiber_work)(void *);
static void *fiber_argument;

/* The line of a barrier to pass by, for tests of the tests. */
extern "C" {
int barrier_left_out = 0;
}

static void fibers_meet(int line, bool all)
{
    if (team_size == 1 || line == barrier_left_out)
        return;
    const int me = thread_now;
    fiber_line[me] = all ? -line : line;
    swapcontext(&fibers[me], &fibers_main);
    thread_now = me;
}

static void fiber_begin()
{
    const int me = thread_now;
    fiber_work(fiber_argument);
    fiber_line[me] = ENDED;
    swapcontext(&fibers[me], &fibers_main);
}

static uint64_t fiber_dice;

static int fibers_draw(int n)
{
    fiber_dice = fiber_dice * 6364136223846793005ull + 1442695040888963407ull;
    return (int)((fiber_dice >> 33) % (uint64_t)n);
}

/* Runs the threads of a block to their next barrier, in an order that is drawn. Where they stand,
   or 0 if they stopped at different places. */
static int fibers_step(int block)
{
    int order[MOST_FIBERS];
    for (int i = 0; i < block_size; ++i)
        order[i] = block * block_size + i;
    for (int i = block_size - 1; i > 0; --i) {
        const int j = fibers_draw(i + 1), swapped = order[i];
        order[i] = order[j];
        order[j] = swapped;
    }
    for (int i = 0; i < block_size; ++i) {
        thread_now = order[i];
        swapcontext(&fibers_main, &fibers[order[i]]);
    }
    const int line = fiber_line[order[0]];
    for (int i = 1; i < block_size; ++i)
        if (fiber_line[order[i]] != line)
            return 0;
    return line;
}

/* The next block to run: mostly the last one again, so that blocks get far apart. */
static int fibers_next(const int *stands, int n_blocks, int last)
{
    if (stands[last] == RUNS && fibers_draw(4) > 0)
        return last;
    int next = -1, n = 0;
    for (int b = 0; b < n_blocks; ++b)
        if (stands[b] == RUNS && fibers_draw(++n) == 0)
            next = b;
    return next;
}

/* Runs the work of a team whose blocks have so many threads. 1 if they stopped at different places. */
static int fibers_run(int n_threads, unsigned seed, void (*work)(void *), void *argument)
{
    const int n_blocks = blocks_of_team;
    block_size = n_threads;
    team_size = n_threads * n_blocks;
    thread_now = 0;
    if (team_size == 1) {
        work(argument);
        return 0;
    }
    fiber_work = work;
    fiber_argument = argument;
    if (team_size > MOST_FIBERS)
        return 1;
    if (!fiber_stack)
        fiber_stack = (char *)malloc((size_t)MOST_FIBERS * STACK);
    for (int i = 0; i < team_size; ++i) {
        getcontext(&fibers[i]);
        fibers[i].uc_stack.ss_sp = fiber_stack + (size_t)i * STACK;
        fibers[i].uc_stack.ss_size = STACK;
        fibers[i].uc_link = 0;
        makecontext(&fibers[i], fiber_begin, 0);
    }
    fiber_dice = seed * 0x9E3779B97F4A7C15ull + 1;
    int stands[MOST_FIBERS] = {RUNS};
    for (int block = 0;;) {
        const int next = fibers_next(stands, n_blocks, block);
        if (next >= 0) {
            const int line = fibers_step(block = next);
            if (line == 0)
                return 1;
            stands[block] = line < 0 ? line : RUNS;
            continue;
        }
        for (int b = 1; b < n_blocks; ++b)
            if (stands[b] != stands[0])
                return 1;
        if (stands[0] == ENDED)
            return 0;
        for (int b = 0; b < n_blocks; ++b)
            stands[b] = RUNS;
    }
}
