// A management library of NVIDIA that is none: one GPU, warm, without a sensor of power.

#include <cstring>

extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *place, void **gpu) {
    if (strcmp(place, "0000:41:00.0") != 0) return 6;
    *gpu = gpu;
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
