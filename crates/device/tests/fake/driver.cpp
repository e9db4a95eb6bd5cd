// A CUDA driver that is none: memory is this process's, a module is a library of this process. What
// it says of itself is chosen when it is compiled. Streams put off what they are asked for as long as
// they may, so that whoever does not wait for them finds old numbers; so does the null stream, which
// streams that do not block never wait for. Under the name of cuBLASLt the
// same file makes products, and refuses sizes that do not fit together.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <malloc.h>
#include <ctime>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "card.h"

#ifndef INIT
#define INIT 0
#endif
#ifndef RETAIN
#define RETAIN 0
#endif
#ifndef LAUNCH
#define LAUNCH 0
#endif
#ifndef VERSION
#define VERSION 12040
#endif
#ifndef NAME
#define NAME "NVIDIA H200"
#endif
#ifndef CAPABILITY
#define CAPABILITY 90
#endif
/* Threads that stand for a team where there are many, for speed; 0 for as many as it has. */
#ifndef TEAM_NOW
#define TEAM_NOW 0
#endif
#ifndef PROCESSORS
#define PROCESSORS 2
#endif
/* Those of the first GPU, where it differs. */
#ifndef PROCESSORS_0
#define PROCESSORS_0 PROCESSORS
#endif

typedef unsigned long long address;
static unsigned long long used;
/* The context in use: one more than the number of its GPU. */
static size_t current;

typedef std::function<void()> Deed;

struct Stream {
    std::deque<Deed> waiting;
    size_t asked = 0, done = 0;
    std::vector<Deed> *captured = nullptr;

    void ask(Deed deed)
    {
        if (captured)
            return captured->push_back(deed);
        waiting.push_back(deed);
        ++asked;
    }
    void until(size_t position)
    {
        while (done < position && !waiting.empty()) {
            Deed deed = waiting.front();
            waiting.pop_front();
            deed();
            ++done;
        }
    }
};

struct Event {
    timespec time = {0, 0};
    Stream *stream = nullptr;
    size_t position = 0;
};

typedef int (*Kernel)(int, unsigned, const void *, int);

struct Words {
    unsigned long long w[20];
};

static std::set<Stream *> streams;
/* Where copies without a stream go: they have left the host's memory when the call returns, and need not
   have arrived. */
static Stream null_stream;
static std::set<const void *> pinned;
/* Kernels of lists, as opposed to modules with one entry. */
static std::set<void *> kernels;
/* How often each was done, for whoever asks. */
static long n_products, n_captured, n_graphs, n_copies;

/* What went wrong in a kernel, for whoever waits for it. */
static int gone_wrong = 0;

/* What happened in which order, if a file is named. */
static void note(const char *what, size_t bytes)
{
    static FILE *file = getenv("FAKE_TIMELINE") ? fopen(getenv("FAKE_TIMELINE"), "a") : nullptr;
    if (file)
        fprintf(file, "%s %zu\n", what, bytes), fflush(file);
}

/* Asks for a kernel with one entry, whose teams have so many blocks. */
static int launched(void *module, int grid, unsigned block, Stream *stream, const void *job, int blocks)
{
    auto run = (int (*)(int, unsigned, const void *, int))dlsym(module, "host_launch");
    const int team = *(int *)dlsym(module, "team_of_text") / blocks;
    const int now = TEAM_NOW && grid > blocks ? TEAM_NOW : team, n_teams = grid * (block / team) / blocks;
    const Deed deed = [=] {
        *(int *)dlsym(module, "blocks_of_team") = blocks;
        if (run(now, 7, job, n_teams))
            gone_wrong = 719;
    };
    note("launch", n_teams);
    if (stream)
        stream->ask(deed);
    else
        deed();
    return gone_wrong;
}

extern "C" {
int cuInit(unsigned) { return INIT; }
int cuDriverGetVersion(int *v) { return *v = VERSION, 0; }
int cuGetErrorName(int, const char **name) { return *name = "CUDA_ERROR_FAKE", 0; }
int cuDeviceGetCount(int *n) { return *n = COUNT, 0; }
int cuDeviceGet(int *device, int i) { return *device = i, 0; }
int cuDeviceGetName(char *name, int n, int) { return strncpy(name, NAME, n), 0; }
int cuDeviceGetAttribute(int *value, int which, int device)
{
    switch (which) {
    case 75: return *value = CAPABILITY / 10, 0;
    case 76: return *value = CAPABILITY % 10, 0;
    case 16: return *value = device ? PROCESSORS : PROCESSORS_0, 0;
    case 95: return *value = 1, 0;
    case 13: return *value = 1980000, 0;
    case 36: return *value = 3201000, 0;
    case 32: return *value = 1, 0;
    default: return *value = 0, 0;
    }
}
int cuDeviceTotalMem_v2(size_t *bytes, int) { return *bytes = MEMORY, 0; }
int cuDeviceGetPCIBusId(char *text, int n, int device) { return snprintf(text, n, "0000:%x:00.0", 0x41 + device), 0; }
int cuDevicePrimaryCtxRetain(void **context, int device)
{
    note("retained", device);
    return *context = (void *)(1 + (size_t)device), RETAIN;
}
int cuDevicePrimaryCtxSetFlags_v2(int, unsigned flags) { return flags == 4 ? 0 : 1; }
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxSetCurrent(void *context) { return current = (size_t)context, 0; }
int cuCtxSynchronize()
{
    null_stream.until(null_stream.asked);
    for (Stream *s : streams)
        s->until(s->asked);
    return 0;
}
int cuMemGetInfo_v2(size_t *free, size_t *total)
{
    *free = MEMORY - used - (current == 1 ? TAKEN_0 : 0);
    *total = MEMORY;
    return 0;
}
int cuMemAlloc_v2(address *at, size_t bytes)
{
    if (used + bytes > MEMORY)
        return 2;
    *at = (address)malloc(bytes);
    used += malloc_usable_size((void *)*at);
    note("allocated", used);
    return 0;
}
int cuMemFree_v2(address at)
{
    null_stream.until(null_stream.asked);
    used -= malloc_usable_size((void *)at);
    free((void *)at);
    return 0;
}
/* Copies to the GPU: from pinned memory when the stream comes to it, from other memory at once to where the
   driver keeps it, and from there when the stream comes to it. */
static void send(Stream *stream, address to, const void *from, size_t n)
{
    if (pinned.count(from))
        return stream->ask([=] { memcpy((void *)to, from, n); });
    const std::string staged((const char *)from, n);
    stream->ask([=] { memcpy((void *)to, staged.data(), n); });
}
int cuMemcpyHtoD_v2(address to, const void *from, size_t n) { return send(&null_stream, to, from, n), 0; }
int cuMemcpyDtoH_v2(void *to, address from, size_t n)
{
    null_stream.until(null_stream.asked);
    return note("read", n), memcpy(to, (void *)from, n), 0;
}
int cuMemcpyDtoHAsync_v2(void *to, address from, size_t n, void *stream)
{
    note("read", n);
    ((Stream *)stream)->ask([=] { memcpy(to, (void *)from, n); });
    return 0;
}
int cuModuleLoadData(void **module, const void *cubin)
{
    *module = dlopen((const char *)cubin, RTLD_NOW | RTLD_LOCAL);
    return *module ? 0 : 209;
}
int cuModuleUnload(void *module) { return dlclose(module), 0; }
int cuModuleGetFunction(void **function, void *module, const char *name)
{
    *function = module;
    if (strcmp(name, "advance")) {
        *function = dlsym(module, (std::string("run_") + name).c_str());
        kernels.insert(*function);
    }
    return *function ? 0 : 500;
}
int cuFuncGetAttribute(int *value, int, void *) { return *value = 0, 0; }
int cuLaunchKernel(void *module, unsigned grid, unsigned, unsigned, unsigned block, unsigned, unsigned,
    unsigned, void *stream, void **arguments, void **)
{
    if (LAUNCH)
        return LAUNCH;
    if (kernels.count(module)) {
        const Words words = *(Words *)arguments[0];
        const int teams = grid * (block / 32);
        ((Stream *)stream)->ask([=] { ((Kernel)module)(1, 7, &words, teams); });
        return 0;
    }
    return launched(module, grid, block, (Stream *)stream, *(void **)arguments[0], 1);
}
int cuLaunchCooperativeKernel(void *module, unsigned grid, unsigned, unsigned, unsigned block, unsigned, unsigned,
    unsigned, void *stream, void **arguments)
{
    if (grid > PROCESSORS)
        return 720;
    const int blocks = *(int *)dlsym(module, "team_of_text") / block;
    return launched(module, grid, block, (Stream *)stream, *(void **)arguments[0], blocks);
}
int cuEventCreate(void **event, unsigned) { return *event = new Event, 0; }
int cuEventRecord(void *event, void *stream)
{
    Event *e = (Event *)event;
    e->stream = (Stream *)stream;
    e->position = stream ? e->stream->asked : 0;
    return clock_gettime(CLOCK_MONOTONIC, &e->time), 0;
}
int cuEventSynchronize(void *event)
{
    Event *e = (Event *)event;
    if (e->stream)
        e->stream->until(e->position);
    note("waited", 0);
    return gone_wrong;
}
int cuEventElapsedTime(float *ms, void *from, void *to)
{
    const timespec &a = ((Event *)from)->time, &b = ((Event *)to)->time;
    *ms = 1e3 * (b.tv_sec - a.tv_sec) + 1e-6 * (b.tv_nsec - a.tv_nsec) + 1e-3;
    return 0;
}

int cuStreamCreate(void **stream, unsigned flags)
{
    if (flags != 1)
        return 1;
    Stream *s = new Stream;
    streams.insert(s);
    return *stream = s, 0;
}
int cuStreamDestroy_v2(void *stream)
{
    streams.erase((Stream *)stream);
    return delete (Stream *)stream, 0;
}
int cuStreamSynchronize(void *stream)
{
    Stream *s = (Stream *)stream;
    if (s->captured)
        return 900;
    return s->until(s->asked), 0;
}
int cuStreamWaitEvent(void *stream, void *event, unsigned)
{
    const Event e = *(Event *)event;
    if (e.stream)
        ((Stream *)stream)->ask([=] { e.stream->until(e.position); });
    return 0;
}
int cuStreamBeginCapture_v2(void *stream, int)
{
    ((Stream *)stream)->captured = new std::vector<Deed>;
    return ++n_captured, 0;
}
int cuStreamEndCapture(void *stream, void **graph)
{
    Stream *s = (Stream *)stream;
    *graph = s->captured;
    s->captured = nullptr;
    return *graph ? 0 : 901;
}
int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long)
{
    return *exec = new std::vector<Deed>(*(std::vector<Deed> *)graph), 0;
}
int cuGraphLaunch(void *exec, void *stream)
{
    const std::vector<Deed> *deeds = (std::vector<Deed> *)exec;
    ++n_graphs;
    ((Stream *)stream)->ask([=] {
        for (const Deed &deed : *deeds)
            deed();
    });
    return 0;
}
int cuGraphDestroy(void *graph) { return delete (std::vector<Deed> *)graph, 0; }
int cuGraphExecDestroy(void *exec) { return delete (std::vector<Deed> *)exec, 0; }
int cuMemcpyHtoDAsync_v2(address to, const void *from, size_t n, void *stream)
{
    ++n_copies;
    return send((Stream *)stream, to, from, n), 0;
}
int cuMemsetD8_v2(address at, unsigned char value, size_t n)
{
    null_stream.ask([=] { memset((void *)at, value, n); });
    return 0;
}
int cuMemHostAlloc(void **at, size_t bytes, unsigned) { return pinned.insert(*at = malloc(bytes)), 0; }
int cuMemFreeHost(void *at) { return pinned.erase(at), free(at), 0; }

/* cuBLASLt: matrices by columns. */
struct Desc {
    int compute, scale, turned[2];
};
struct Layout {
    int type;
    unsigned long long rows, columns;
    long long step;
};
struct Preference {
    unsigned long long workspace;
    unsigned borders[4];
};
int cublasLtCreate(void **handle) { return *handle = (void *)1, 0; }
int cublasLtDestroy(void *) { return 0; }
int cublasLtMatmulDescCreate(void **desc, int compute, int scale)
{
    return *desc = new Desc{compute, scale, {0, 0}}, 0;
}
int cublasLtMatmulDescSetAttribute(void *desc, int which, const void *value, size_t size)
{
    if (size != 4 || which < 3 || which > 4)
        return 7;
    return ((Desc *)desc)->turned[which - 3] = *(const int *)value, 0;
}
int cublasLtMatmulDescDestroy(void *desc) { return delete (Desc *)desc, 0; }
int cublasLtMatrixLayoutCreate(void **layout, int type, unsigned long long rows, unsigned long long columns, long long step)
{
    return *layout = new Layout{type, rows, columns, step}, 0;
}
int cublasLtMatrixLayoutDestroy(void *layout) { return delete (Layout *)layout, 0; }
int cublasLtMatmulPreferenceCreate(void **preference) { return *preference = new Preference{}, 0; }
int cublasLtMatmulPreferenceSetAttribute(void *preference, int which, const void *value, size_t size)
{
    Preference *p = (Preference *)preference;
    if (which == 1 && size == 8)
        return p->workspace = *(const unsigned long long *)value, 0;
    if (which >= 5 && which <= 8 && size == 4)
        return p->borders[which - 5] = *(const unsigned *)value, 0;
    return 7;
}
int cublasLtMatmulPreferenceDestroy(void *preference) { return delete (Preference *)preference, 0; }

/* Rows and columns of a factor as the product sees it. */
static bool fits(const Desc *d, const Layout *a, const Layout *b, const Layout *c)
{
    const auto m = d->turned[0] ? a->columns : a->rows, k = d->turned[0] ? a->rows : a->columns;
    const auto l = d->turned[1] ? b->columns : b->rows, n = d->turned[1] ? b->rows : b->columns;
    const bool known = (d->compute == 68 && (a->type == 0 || a->type == 14)) || (d->compute == 77 && a->type == 0);
    return known && d->scale == 0 && m == c->rows && n == c->columns && k == l && a->type == b->type &&
        (c->type == 0 || c->type == a->type) && a->step >= (long long)a->rows && b->step >= (long long)b->rows;
}

/* What the library gives for an algorithm: 96 bytes. */
struct Heuristic {
    unsigned long long algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};
int cublasLtMatmulAlgoGetHeuristic(void *, void *desc, void *a, void *b, void *c, void *d, void *preference, int asked,
    Heuristic *found, int *count)
{
    const Preference *p = (Preference *)preference;
    if (!fits((Desc *)desc, (Layout *)a, (Layout *)b, (Layout *)c) || c != d || asked != 1 || !p->workspace)
        return 7;
    for (unsigned border : p->borders)
        if (border < 4 && ((Layout *)a)->type == 0)
            return 7;
    *count = 1;
#ifdef NARROW_ALONE
    /* As if it had no way for large sums. */
    if (((Layout *)b)->columns > 64)
        *count = 0;
#endif
    *found = Heuristic{};
    found->algorithm[3] = 4711;
    return 0;
}

static double number(const void *at, const Layout *l, size_t row, size_t column)
{
    const size_t i = row + column * l->step;
    if (l->type == 0)
        return ((const float *)at)[i];
    const unsigned bits = (unsigned)((const unsigned short *)at)[i] << 16;
    float x;
    return memcpy(&x, &bits, 4), x;
}

int cublasLtMatmul(void *, void *desc, const void *alpha, const void *a, void *la, const void *b, void *lb,
    const void *beta, const void *c, void *lc, void *d, void *ld, const unsigned long long *algorithm, void *workspace,
    size_t size, void *stream)
{
    if (algorithm[3] != 4711 || c != d || lc != ld || !workspace || size < (1 << 20))
        return 7;
    if (!fits((Desc *)desc, (Layout *)la, (Layout *)lb, (Layout *)lc))
        return 7;
    const Desc how = *(Desc *)desc;
    const Layout A = *(Layout *)la, B = *(Layout *)lb, C = *(Layout *)lc;
    const float scale = *(const float *)alpha, keep = *(const float *)beta;
    ++n_products;
    ((Stream *)stream)->ask([=] {
        const size_t k = how.turned[0] ? A.rows : A.columns;
        for (size_t j = 0; j < C.columns; ++j)
            for (size_t i = 0; i < C.rows; ++i) {
                double sum = 0;
                for (size_t l = 0; l < k; ++l)
                    sum += number(a, &A, how.turned[0] ? l : i, how.turned[0] ? i : l) *
                        number(b, &B, how.turned[1] ? j : l, how.turned[1] ? l : j);
                const float x = scale * sum + (keep ? keep * number(c, &C, i, j) : 0);
                if (C.type == 0)
                    ((float *)d)[i + j * C.step] = x;
                else {
                    unsigned bits;
                    memcpy(&bits, &x, 4);
                    ((unsigned short *)d)[i + j * C.step] = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
                }
            }
    });
    return 0;
}

/* Products, captures, launches of graphs and copies, told at the end to whoever asks. */
__attribute__((destructor)) static void tell()
{
    const char *path = getenv("FAKE_COUNTS");
    if (!path || !n_copies)
        return;
    FILE *file = fopen(path, "w");
    fprintf(file, "%ld %ld %ld %ld\n", n_products, n_captured, n_graphs, n_copies);
    fclose(file);
}
#ifndef OLD
int cuEventDestroy_v2(void *event) { return delete (Event *)event, 0; }
#endif
}
