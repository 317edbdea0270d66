/* A stand-in for NVIDIA's management library, for machines without a GPU: two devices whose figures are known.
   The process that asks uses both, or the one that FAKE_NVML_PID
   names. Device 1 has no GPM and no energy counter, as older ones. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int nvmlReturn_t;
enum { OK = 0, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7, INVALID = 2 };
typedef struct { int index; } *nvmlDevice_t;
static struct { int index; } devices[2] = {{0}, {1}};
static unsigned long long energy_mj = 1000000;

nvmlReturn_t nvmlInit_v2(void) { return OK; }
nvmlReturn_t nvmlInitWithFlags(unsigned flags) { return OK; }
nvmlReturn_t nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(nvmlReturn_t code) { return code == NOT_SUPPORTED ? "Not Supported" : "error"; }
nvmlReturn_t nvmlSystemGetDriverVersion(char *text, unsigned length) { strncpy(text, "999.1", length); return OK; }
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return OK; }
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device) {
  if (index > 1) return INVALID;
  *device = (nvmlDevice_t)&devices[index];
  return OK;
}
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *text, unsigned length) { strncpy(text, "Fake GPU", length); return OK; }
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, unsigned *rates) {
  rates[0] = 75;
  rates[1] = 40;
  return OK;
}
struct memory { unsigned version; unsigned long long total, reserved, free, used; };
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, struct memory *memory) {
  memory->total = 80ull << 30;
  memory->used = 20ull << 30;
  memory->free = 60ull << 30;
  memory->reserved = 0;
  return OK;
}
struct process { unsigned pid; unsigned long long used; unsigned gpu_instance, compute_instance; };
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *count, struct process *list) {
  if (*count < 1 || list == NULL) {
    *count = 1;
    return INSUFFICIENT_SIZE;
  }
  *count = 1;
  const char *other = getenv("FAKE_NVML_PID");
  list[0] = (struct process){other ? (unsigned)atoi(other) : (unsigned)getpid(), 3ull << 30, 0, 0};
  return OK;
}
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned *milliwatts) { *milliwatts = 350500; return OK; }
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *millijoules) {
  if (device->index == 1) return NOT_SUPPORTED;
  *millijoules = energy_mj += 5000;
  return OK;
}
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned *degrees) { *degrees = 61; return OK; }
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, int clock, unsigned *mhz) { *mhz = clock == 1 ? 1980 : 2619; return OK; }
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long *reasons) {
  *reasons = device->index == 0 ? 4 : 1; /* power cap; idle */
  return OK;
}
nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t device, int counter, unsigned *kb) { *kb = 2048; return OK; }

typedef struct { int taken; } *nvmlGpmSample_t;
static struct { int taken; } a_sample;
nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t *sample) { *sample = (nvmlGpmSample_t)&a_sample; return OK; }
nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t sample) { return OK; }
nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t device, nvmlGpmSample_t sample) { return device->index == 0 ? OK : NOT_SUPPORTED; }
struct metric { unsigned id; nvmlReturn_t code; double value; struct { char *short_name, *long_name, *unit; } info; };
struct request { unsigned version, count; nvmlGpmSample_t one, two; struct metric metrics[98]; };
nvmlReturn_t nvmlGpmMetricsGet(struct request *request) {
  for (unsigned i = 0; i < request->count; i++) {
    request->metrics[i].code = OK;
    request->metrics[i].value = 10.0 * request->metrics[i].id;
    request->metrics[i].info.short_name = request->metrics[i].info.long_name = request->metrics[i].info.unit = "";
  }
  return OK;
}
