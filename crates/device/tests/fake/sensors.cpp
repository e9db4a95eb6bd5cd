// A management library of NVIDIA that is none: up to ten GPUs at 0000:41:00.0 to 0000:4a:00.0, warm,
// without a sensor of power.

#include <cstdio>

#include "card.h"

extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *place, void **gpu) {
    unsigned bus;
    if (sscanf(place, "0000:%x:00.0", &bus) != 1 || bus < 0x41 || bus >= 0x41 + COUNT) return 6;
    *gpu = (void *)(size_t)(bus - 0x40);
    return 0;
}
int nvmlDeviceGetMemoryInfo(void *gpu, void *memory)
{
    const unsigned long long taken = (size_t)gpu == 1 ? TAKEN_0 : 0;
    unsigned long long *bytes = (unsigned long long *)memory;
    bytes[0] = MEMORY, bytes[1] = MEMORY - taken, bytes[2] = taken;
    return 0;
}
int nvmlDeviceGetTemperature(void *, unsigned which, unsigned *degrees) {
    *degrees = 54;
    return which == 0 ? 0 : 2;
}
int nvmlDeviceGetClockInfo(void *, unsigned which, unsigned *mhz) {
    *mhz = which == 1 ? 1755 : 1;
    return 0;
}
int nvmlDeviceGetPowerUsage(void *, unsigned *) { return 3; }
}
