/* NVML with the GPUs that the file FAKE_NVML_GPUS names, one a line: UUID, MB of memory, MB in use, pid of its process.
   Structures and numbers are those of NVIDIA's nvml.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int nvmlReturn_t;
typedef struct nvmlDevice_st { char uuid[80]; unsigned long long total_mb, used_mb; unsigned pid; } *nvmlDevice_t;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } nvmlMemory_v2_t;
typedef struct {
  unsigned pid; unsigned long long usedGpuMemory; unsigned gpuInstanceId, computeInstanceId;
} nvmlProcessInfo_t;

enum { SUCCESS, INVALID_ARGUMENT = 2, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };
static struct nvmlDevice_st gpus[16];
static unsigned count;
static const unsigned long long MB = 1ULL << 20;

nvmlReturn_t nvmlInit_v2(void) {
  FILE *file = fopen(getenv("FAKE_NVML_GPUS"), "r");
  if (!file) return 9;
  struct nvmlDevice_st gpu;
  for (count = 0; count < 16; gpus[count++] = gpu)
    if (fscanf(file, "%79s %llu %llu %u", gpu.uuid, &gpu.total_mb, &gpu.used_mb, &gpu.pid) != 4) break;
  fclose(file);
  return SUCCESS;
}

nvmlReturn_t nvmlShutdown(void) { return SUCCESS; }

static nvmlReturn_t write_text(const char *text, char *buffer, unsigned length) {
  if (length <= strlen(text)) return INSUFFICIENT_SIZE;
  strcpy(buffer, text);
  return SUCCESS;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned length) { return write_text("580.65.06", version, length); }
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 13000; return SUCCESS; }
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *number) { *number = count; return SUCCESS; }
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t gpu, char *name, unsigned length) {
  return write_text("NVIDIA H200", name, length);
}
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t gpu, char *uuid, unsigned length) {
  return write_text(gpu->uuid, uuid, length);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *gpu) {
  if (index >= count) return NOT_FOUND;
  *gpu = &gpus[index];
  return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t gpu, nvmlMemory_v2_t *memory) {
  if (memory->version != (sizeof(*memory) | 2 << 24)) return INVALID_ARGUMENT;
  memory->total = gpu->total_mb * MB;
  memory->used = gpu->used_mb * MB;
  memory->reserved = 500 * MB;
  memory->free = memory->total - memory->used - memory->reserved;
  return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t gpu, unsigned *number, nvmlProcessInfo_t *processes) {
  if (*number < 2) return INSUFFICIENT_SIZE;
  *number = gpu->pid ? 2 : 0;
  processes[0] = (nvmlProcessInfo_t){gpu->pid, gpu->used_mb * MB, -1, -1};
  /* The driver does not give the memory of another user's process. */
  processes[1] = (nvmlProcessInfo_t){gpu->pid + 1, -1, -1, -1};
  return SUCCESS;
}
