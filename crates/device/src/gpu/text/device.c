/* The words that kernel texts are written in, for NVIDIA GPUs. TEAM is the number of threads that
   share one chain: a warp, a whole block, or several blocks, each on a multiprocessor. */

typedef unsigned long long bits_t;
typedef unsigned long long wide_t;

#define FUNCTION static __device__
#define APART static __device__ __noinline__
#define ENTRY extern "C" __global__
/* In front of the name of a kernel that has few blocks and waits for its own steps: registers are there to
   have more loads under way. Warps are many, and leave some to each other; for architectures from 100 on the
   compiler then takes more than there are. */
#if TEAM == 32 || __CUDA_ARCH__ >= 1000
#define IN_HASTE
#else
#define IN_HASTE __launch_bounds__(MEMBERS, 1)
#endif
/* The clock of the GPU, the same for all multiprocessors. */
FUNCTION wide_t nanoseconds()
{
    wide_t now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}
#define NANOSECONDS() nanoseconds()
/* Sets a word that is 0, whoever comes first; what it was before. */
#define SET_ONCE(word, value) atomicCAS(word, 0ull, value)
/* What a pointer is to is in memory there, and not in registers. */
#define IN_MEMORY(pointer) asm volatile("" : : "l"(pointer) : "memory")
#define TO_BITS(x) ((bits_t)__double_as_longlong(x))
#define FROM_BITS(b) __longlong_as_double((long long)(b))
/* The body of the loop that follows stands in the code once; or up to four times, for sums, whose
   loads need not wait for each other. Where a turn stores what the next may load it would not gain,
   and code that stands four times takes as much longer to compile. */
#define ROLLED _Pragma("unroll 1")
#define FOUR _Pragma("unroll 4")
/* Likewise up to sixteen times: for few sums that everything waits for. */
#define FULL _Pragma("unroll 16")

/* a / b by multiplications, as the compiler has it without the branch for what is not of a usual size: for
   b between 1 and 4, and for a that neither is tiny nor makes the quotient so, but 0. */
FUNCTION double mild_quotient(double a, double b)
{
    double near;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(near) : "d"(b));
    near = FROM_BITS(TO_BITS(near) | 1);
    double error = fma(-b, near, 1.0);
    error = fma(error, error, error);
    near = fma(near, error, near);
    near = fma(near, fma(-b, near, 1.0), near);
    const double quotient = a * near;
    return fma(near, fma(-b, quotient, a), quotient);
}
#define MILD_QUOTIENT(a, b) mild_quotient(a, b)

/* Numbers in two arrays of which each thread of a warp holds HOLDS, from number HOLDER on; number `at` of one
   of them, for all. */
#define HOLDS 1
#define HOLDER ((int)(threadIdx.x % 32))
#define HELD(first, second, of_second, at) __shfl_sync(0xffffffffu, (of_second) ? (second)[0] : (first)[0], at)

/* Sets bit i of `bits` where the condition holds, for the 32 numbers i < n from `from` on: every warp finds
   out for itself, each of its threads for another i. Threads without one look at the first, whatever comes out:
   no branch, and no memory that the others do not read. */
#define WHICH(bits, i, from, n, condition)                                                       \
    {                                                                                            \
        const int own = (from) + (int)(threadIdx.x % 32), i = own < (n) ? own : (from);          \
        bits |= (bits_t)__ballot_sync(0xffffffffu, (own < (n)) & (condition)) << (from);         \
    }

/* 32 partial sums joined by halves, by eight threads that stand side by side in a warp: all of them have the
   sum. `all` are the threads of the warp that do so. */
FUNCTION double join_eight(const double *p, int thread, unsigned all)
{
    double s = (p[thread] + p[thread + 16]) + (p[thread + 8] + p[thread + 24]);
    s = s + __shfl_xor_sync(all, s, 4);
    s = s + __shfl_xor_sync(all, s, 2);
    return s + __shfl_xor_sync(all, s, 1);
}

#define JOIN_EIGHT(p, thread) join_eight(p, thread, 0xffu << (threadIdx.x & 24))
/* One such sum, or up to four at once, of which JOINED() is one: every warp joins them for itself. */
#define JOIN_ONE(p) join_eight(p, (int)(threadIdx.x % 8), 0xffffffffu)
#define JOIN_FOUR(p, n)                                                                           \
    join_eight((p) + 32 * LEAST((int)(threadIdx.x % 32 / 8), (n) - 1), (int)(threadIdx.x % 8), 0xffffffffu)
#define JOINED(four, p, which) __shfl_sync(0xffffffffu, four, 8 * (which))

/* `join_tiles` by the threads of a warp, all of which have the sum: 32 tiles at a time by pairs, as the tree has
   them, and what these come to by the tree. One thread alone would wait for its own memory at every tile. */
APART double join_by_warp(const double *s, int n)
{
    const unsigned all = 0xffffffffu;
    const int lane = (int)(threadIdx.x % 32), whole = n / 32, rest = n % 32;
    const int last = 32 * whole + lane;
    double tree[17], total = 0.0, x = s[last < n ? last : n - 1];
    for (int level = 0; level < 5; ++level) {
        const double part = __shfl_sync(all, x, (rest >> level & ~1) << level);
        total = rest >> level & 1 ? total + part : total;
        x = x + __shfl_xor_sync(all, x, 1 << level);
    }
    for (int some = 0; some < whole; ++some) {
        x = s[32 * some + lane];
        for (int level = 0; level < 5; ++level)
            x = x + __shfl_xor_sync(all, x, 1 << level);
        int level = 0;
        for (; some >> level & 1; ++level)
            x = x + tree[level];
        tree[level] = x;
    }
    for (int level = 0; level < 17; ++level)
        if (whole >> level & 1)
            total = total + tree[level];
    return total;
}

#define JOIN_TILES(s, n) join_by_warp(s, n)

/* All threads of a team, THREAD of TEAM, meet with SYNC(), those of one block, MEMBER of MEMBERS, with
   MEET(). */
#if TEAM > 256
#define MEMBERS 256
#define N_BLOCKS (TEAM / MEMBERS)
#define BLOCK ((int)(blockIdx.x % N_BLOCKS))
#define TEAM_INDEX ((int)(blockIdx.x / N_BLOCKS))
#define MEMBER ((int)threadIdx.x)
#define THREAD (BLOCK * MEMBERS + MEMBER)
#define MEET() __syncthreads()
#define SYNC() blocks_meet()

/* Blocks of a team that have come to the barrier, a cache line to each team; all of them run at
   the same time, for the launch is a cooperative one. The first block of a team adds what flips
   the highest bit once all have added theirs. Fences make what was written before the barrier seen
   after it: those of one thread stand for its block, which __syncthreads() joins to it. */
enum { MOST_TEAMS = 1024, LINE_WORDS = 32 };
static __device__ unsigned arrived[MOST_TEAMS * LINE_WORDS];

APART void blocks_meet()
{
    __syncthreads();
    if (MEMBER == 0) {
        unsigned *count = arrived + TEAM_INDEX * LINE_WORDS;
        const unsigned own = BLOCK == 0 ? 0x80000000u - (unsigned)(N_BLOCKS - 1) : 1u;
        __threadfence();
        const unsigned before = atomicAdd(count, own);
        while (((before ^ *(volatile unsigned *)count) & 0x80000000u) == 0) {
        }
        __threadfence();
    }
    __syncthreads();
}
#else
#define MEMBERS TEAM
#define N_BLOCKS 1
#define BLOCK 0
#define TEAM_INDEX ((int)(blockIdx.x * (blockDim.x / TEAM) + threadIdx.x / TEAM))
#define MEMBER ((int)(threadIdx.x % TEAM))
#define THREAD MEMBER
#if TEAM == 32
#define MEET() __syncwarp()
#else
#define MEET() __syncthreads()
#endif
#define SYNC() MEET()
#endif
