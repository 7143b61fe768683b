/* Calls pick.mlir's library on tensors of a device whose addresses no host may touch, with a driver
 * that computes nothing. */

#include "pick.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "../../../Integration/CUDA/Inputs/devices.h"

enum { device_bytes = 1 << 20, rows = 5, width = 64 };
static char *device, backing[device_bytes];
static size_t used;
static int downloads, launches, is_broken;

NOTHING(cuModuleUnload)
NOTHING(cuMemcpy3D_v2)
NOTHING(cuMemcpyDtoD_v2)
NOTHING(cuMemcpyDtoDAsync_v2)
NOTHING(cuMemFree_v2)
int cuModuleLoadData(handle *module) { return *module = &created, is_broken ? 218 : 0; }
int cuModuleLoadDataEx(handle *module) { return cuModuleLoadData(module); }
int cuModuleGetFunction(handle *function) { return *function = &created, 0; }
int cuLaunchKernel() { return ++launches, 0; }

int cuMemAlloc_v2(uint64_t *memory, size_t bytes) {
  *memory = (uintptr_t)device + used;
  return (used += (bytes + 255) & -256) > device_bytes;
}

static char *reach(const void *address) {
  size_t offset = (size_t)((const char *)address - device);
  return offset < device_bytes ? backing + offset : (char *)address;
}
static int copy(void *to, const void *from, size_t bytes) {
  return memcpy(reach(to), reach(from), bytes), 0;
}
int cuMemcpyHtoD_v2(void *to, const void *from, size_t n) { return copy(to, from, n); }
int cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t n) { return copy(to, from, n); }
int cuMemcpyDtoH_v2(void *to, const void *from, size_t n) { return ++downloads, copy(to, from, n); }
int cuMemcpyDtoHAsync_v2(void *to, const void *from, size_t n) {
  return ++downloads, copy(to, from, n);
}

static int pick_row(int64_t row) {
  int64_t at[2] = {-1, row}, x_shape[2] = {rows, width}, at_shape[1] = {2}, y_shape[2] = {1, width};
  uint64_t memory[3];
  cuMemAlloc_v2(&memory[0], rows * width * 4);
  cuMemAlloc_v2(&memory[1], sizeof at);
  cuMemAlloc_v2(&memory[2], width * 4);
  copy((void *)memory[1], at, sizeof at);
  DLTensor x = {(void *)memory[0], {kDLCUDA, 0}, 2, {kDLFloat, 32, 1}, x_shape, NULL, 0},
           index = {(void *)memory[1], {kDLCUDA, 0}, 1, {kDLInt, 64, 1}, at_shape, NULL, 0},
           y = {(void *)memory[2], {kDLCUDA, 0}, 2, {kDLFloat, 32, 1}, y_shape, NULL, 0};
  downloads = launches = 0;
  return pick(&x, &index, &y);
}

static void show(const char *what, int status) {
  printf("%s: %d, %d read, %d launched %s\n", what, status, downloads, launches,
         status ? pick_last_error() : "");
}

int main(void) {
  device = mmap(NULL, device_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  cuCtxPushCurrent_v2(&depth);
  is_broken = 1;
  show("broken module", pick_row(3));
  is_broken = 0;
  show("row 3", pick_row(3));
  show("row 7", pick_row(7));
  return 0;
}
