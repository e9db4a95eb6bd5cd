/* The words that kernel texts are written in, for NVIDIA GPUs. TEAM is the number of threads that
   share one chain: a warp, or a whole block. */

typedef unsigned long long bits_t;
typedef unsigned long long wide_t;

#define FUNCTION static __device__
#define APART static __device__ __noinline__
#define ENTRY extern "C" __global__
#define TO_BITS(x) ((bits_t)__double_as_longlong(x))
#define FROM_BITS(b) __longlong_as_double((long long)(b))
#define THREAD ((int)(threadIdx.x % TEAM))
#define TEAM_INDEX ((int)(blockIdx.x * (blockDim.x / TEAM) + threadIdx.x / TEAM))
#if TEAM == 32
#define SYNC() __syncwarp()
#else
#define SYNC() __syncthreads()
#endif
