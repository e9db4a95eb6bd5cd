/* The words that kernel texts are written in, for this machine: a team's threads are fibers that
   run one at a time, from barrier to barrier, in an order that is shuffled every time. */

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>

typedef uint64_t bits_t;
typedef uint64_t wide_t;

static int team_size = 1, thread_now = 0, team_now = 0;

#define FUNCTION static inline
#define APART static inline
#define ENTRY static
#define TEAM team_size
#define THREAD thread_now
#define TEAM_INDEX team_now
#define SYNC() fibers_meet(__LINE__)

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

enum { MOST_FIBERS = 256, STACK = 256 * 1024 };

static ucontext_t fibers_main, fibers[MOST_FIBERS];
static int fiber_line[MOST_FIBERS]; /* where each stands; 0 once it is done */
static char *fiber_stack;
static void (*fiber_work)(void *);
static void *fiber_argument;

/* The line of a barrier to pass by, for tests of the tests. */
extern "C" {
int barrier_left_out = 0;
}

static void fibers_meet(int line)
{
    if (team_size == 1 || line == barrier_left_out)
        return;
    const int me = thread_now;
    fiber_line[me] = line;
    swapcontext(&fibers[me], &fibers_main);
    thread_now = me;
}

static void fiber_begin()
{
    const int me = thread_now;
    fiber_work(fiber_argument);
    fiber_line[me] = 0;
    swapcontext(&fibers[me], &fibers_main);
}

/* Runs the work of a team. 1 if its threads stopped at different places. */
static int fibers_run(int n_threads, unsigned seed, void (*work)(void *), void *argument)
{
    team_size = n_threads;
    thread_now = 0;
    if (n_threads == 1) {
        work(argument);
        return 0;
    }
    fiber_work = work;
    fiber_argument = argument;
    if (!fiber_stack)
        fiber_stack = (char *)malloc((size_t)MOST_FIBERS * STACK);
    int order[MOST_FIBERS];
    for (int i = 0; i < n_threads; ++i) {
        order[i] = i;
        getcontext(&fibers[i]);
        fibers[i].uc_stack.ss_sp = fiber_stack + (size_t)i * STACK;
        fibers[i].uc_stack.ss_size = STACK;
        fibers[i].uc_link = 0;
        makecontext(&fibers[i], fiber_begin, 0);
    }
    uint64_t state = seed * 0x9E3779B97F4A7C15ull + 1;
    for (;;) {
        for (int i = n_threads - 1; i > 0; --i) {
            state = state * 6364136223846793005ull + 1442695040888963407ull;
            const int j = (int)((state >> 33) % (uint64_t)(i + 1));
            const int swapped = order[i];
            order[i] = order[j];
            order[j] = swapped;
        }
        for (int i = 0; i < n_threads; ++i) {
            thread_now = order[i];
            swapcontext(&fibers_main, &fibers[order[i]]);
        }
        for (int i = 1; i < n_threads; ++i)
            if (fiber_line[i] != fiber_line[0])
                return 1;
        if (fiber_line[0] == 0)
            return 0;
    }
}
