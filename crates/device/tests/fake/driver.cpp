// A CUDA driver that is none: memory is this process's, a module is a library of this process. What
// it says of itself is chosen when it is compiled.

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <malloc.h>
#include <ctime>

#ifndef INIT
#define INIT 0
#endif
#ifndef RETAIN
#define RETAIN 0
#endif
#ifndef LAUNCH
#define LAUNCH 0
#endif
#ifndef COUNT
#define COUNT 1
#endif
#ifndef VERSION
#define VERSION 12040
#endif
#ifndef CAPABILITY
#define CAPABILITY 90
#endif
/* Threads that stand for a team where there are many, for speed; 0 for as many as it has. */
#ifndef TEAM_NOW
#define TEAM_NOW 0
#endif
#ifndef MEMORY
#define MEMORY (1ull << 30)
#endif

typedef unsigned long long address;
static unsigned long long used;

extern "C" {
int cuInit(unsigned) { return INIT; }
int cuDriverGetVersion(int *v) { return *v = VERSION, 0; }
int cuGetErrorName(int, const char **name) { return *name = "CUDA_ERROR_FAKE", 0; }
int cuDeviceGetCount(int *n) { return *n = COUNT, 0; }
int cuDeviceGet(int *device, int i) { return *device = i, 0; }
int cuDeviceGetName(char *name, int n, int) { return strncpy(name, "NVIDIA H200", n), 0; }
int cuDeviceGetAttribute(int *value, int which, int)
{
    switch (which) {
    case 75: return *value = CAPABILITY / 10, 0;
    case 76: return *value = CAPABILITY % 10, 0;
    case 16: return *value = 2, 0;
    case 13: return *value = 1980000, 0;
    case 36: return *value = 3201000, 0;
    case 32: return *value = 1, 0;
    default: return *value = 0, 0;
    }
}
int cuDeviceTotalMem_v2(size_t *bytes, int) { return *bytes = MEMORY, 0; }
int cuDeviceGetPCIBusId(char *text, int n, int) { return strncpy(text, "0000:41:00.0", n), 0; }
int cuDevicePrimaryCtxRetain(void **context, int) { return *context = (void *)1, RETAIN; }
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxSetCurrent(void *) { return 0; }
int cuCtxSynchronize() { return 0; }
int cuMemGetInfo_v2(size_t *free, size_t *total)
{
    *free = MEMORY - used;
    *total = MEMORY;
    return 0;
}
int cuMemAlloc_v2(address *at, size_t bytes)
{
    if (used + bytes > MEMORY)
        return 2;
    *at = (address)malloc(bytes);
    used += malloc_usable_size((void *)*at);
    return 0;
}
int cuMemFree_v2(address at)
{
    used -= malloc_usable_size((void *)at);
    free((void *)at);
    return 0;
}
int cuMemcpyHtoD_v2(address to, const void *from, size_t n) { return memcpy((void *)to, from, n), 0; }
int cuMemcpyDtoH_v2(void *to, address from, size_t n) { return memcpy(to, (void *)from, n), 0; }
int cuModuleLoadData(void **module, const void *cubin)
{
    *module = dlopen((const char *)cubin, RTLD_NOW | RTLD_LOCAL);
    return *module ? 0 : 209;
}
int cuModuleUnload(void *module) { return dlclose(module), 0; }
int cuModuleGetFunction(void **function, void *module, const char *)
{
    *function = module;
    return 0;
}
int cuFuncGetAttribute(int *value, int, void *) { return *value = 0, 0; }
int cuLaunchKernel(void *module, unsigned grid, unsigned, unsigned, unsigned block, unsigned, unsigned,
    unsigned, void *, void **arguments, void **)
{
    if (LAUNCH)
        return LAUNCH;
    auto run = (int (*)(int, unsigned, const void *, int))dlsym(module, "host_launch");
    const int team = *(int *)dlsym(module, "team_of_text");
    const int now = TEAM_NOW && grid > 1 ? TEAM_NOW : team;
    return run(now, 7, *(void **)arguments[0], grid * (block / team)) ? 719 : 0;
}
int cuEventCreate(void **event, unsigned) { return *event = calloc(1, sizeof(timespec)), 0; }
int cuEventRecord(void *event, void *) { return clock_gettime(CLOCK_MONOTONIC, (timespec *)event), 0; }
int cuEventSynchronize(void *) { return 0; }
int cuEventElapsedTime(float *ms, void *from, void *to)
{
    const timespec &a = *(timespec *)from, &b = *(timespec *)to;
    *ms = 1e3 * (b.tv_sec - a.tv_sec) + 1e-6 * (b.tv_nsec - a.tv_nsec) + 1e-3;
    return 0;
}
#ifndef OLD
int cuEventDestroy_v2(void *event) { return free(event), 0; }
#endif
}
