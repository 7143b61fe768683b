/* A driver of CUDA, libcuda.so.1, that runs kernels on the CPU. The PTX of a module is made a
 * shared library by the command PTX_COMPILER (ptx.py) and kept in the folder MODULES. The memory of
 * the device is the CPU's, of which a kernel may touch what the program allocated. */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "devices.h"
#include "launch.h"
#include "tensor_map.h"

enum {
  invalid_value = 1,
  out_of_memory = 2,
  invalid_image = 200,
  no_binary_for_gpu = 209,
  unsupported_ptx = 222,
  not_found = 500,
  most_allocations = 1 << 16
};

/* ---- Memory ------------------------------------------------------------------------------- */

static struct {
  uint64_t address, bytes;
} allocations[most_allocations];
static int allocation_count;

static int is_allocated(uint64_t address, unsigned bytes) {
  for (int i = 0; i < allocation_count; ++i) {
    uint64_t at = allocations[i].address, size = allocations[i].bytes;
    if (address - at < size && address - at + bytes <= size)
      return 1;
  }
  return 0;
}

/* Starts as NaN: nothing may depend on what new memory holds. */
int cuMemAlloc_v2(uint64_t *memory, size_t bytes) {
  void *made = allocation_count < most_allocations ? malloc(bytes) : NULL;
  if (!made)
    return out_of_memory;
  *memory = (uintptr_t)memset(made, 0xff, bytes);
  allocations[allocation_count].address = *memory;
  allocations[allocation_count++].bytes = bytes;
  return 0;
}

int cuMemFree_v2(uint64_t memory) {
  for (int i = 0; i < allocation_count; ++i)
    if (allocations[i].address == memory) {
      allocations[i] = allocations[--allocation_count];
      free((void *)(uintptr_t)memory);
      return 0;
    }
  return not_found;
}

/* Told where TRACE_COPIES is set. */
static int copy(const char *name, void *to, const void *from, size_t bytes) {
  if (getenv("TRACE_COPIES"))
    fprintf(stderr, "%s: %zu bytes\n", name, bytes);
  return memcpy(to, from, bytes), 0;
}

#define COPY(name)                                                                                 \
  int name(void *to, const void *from, size_t bytes) { return copy(#name, to, from, bytes); }
COPY(cuMemcpyHtoD_v2)
COPY(cuMemcpyDtoH_v2)
COPY(cuMemcpyDtoD_v2)
COPY(cuMemcpyHtoDAsync_v2)
COPY(cuMemcpyDtoHAsync_v2)
COPY(cuMemcpyDtoDAsync_v2)
int cuMemcpy3D_v2(void) { return not_found; }

/* ---- Tensor maps -------------------------------------------------------------------------- */

/* Refuses what CUDA does, and what this driver does not know. */
static int check_map(const tensor_map *map, const uint64_t *sizes, const uint32_t *element_strides,
                     const int *modes) {
  enum { interleave, swizzle, out_of_bounds, swizzle_128 = 3 };
  int fits = map->base % 16 == 0 && map->rank >= 1 && map->rank <= most_map_dims &&
             map->box[0] * map->element_bytes == 128 && modes[swizzle] == swizzle_128 &&
             modes[interleave] == 0 && modes[out_of_bounds] == 0;
  for (uint32_t i = 0; fits && i < map->rank; ++i) {
    fits = sizes[i] >= 1 && sizes[i] <= UINT32_MAX && map->box[i] >= 1 && map->box[i] <= 256 &&
           element_strides[i] == 1;
    if (i > 0)
      fits &= map->strides[i - 1] % 16 == 0 && map->strides[i - 1] < (uint64_t)1 << 40;
  }
  return fits ? 0 : invalid_value;
}

int cuTensorMapEncodeTiled(tensor_map *result, int type, uint32_t rank, uint64_t base,
                           const uint64_t *sizes, const uint64_t *strides, const uint32_t *box,
                           const uint32_t *element_strides, int interleave, int swizzle,
                           int promotion, int out_of_bounds) {
  (void)promotion;
  enum { u8, u16, u32 };
  if (rank < 1 || rank > most_map_dims || type < u8 || type > u32 || (uintptr_t)result % 64 != 0)
    return invalid_value;
  tensor_map map = {tensor_map_magic, rank, 1u << type, 0, base, {0}, {0}, {0}};
  for (uint32_t i = 0; i < rank; ++i) {
    map.sizes[i] = (uint32_t)sizes[i];
    map.box[i] = box[i];
    if (i > 0)
      map.strides[i - 1] = strides[i - 1];
  }
  int modes[] = {interleave, swizzle, out_of_bounds};
  int refused = check_map(&map, sizes, element_strides, modes);
  if (!refused)
    memcpy(memset(result, 0, 128), &map, sizeof map);
  return refused;
}

/* ---- Modules and launches ----------------------------------------------------------------- */

typedef struct {
  void (*kernel)(void **);
  void (*run_grid)(void (*)(void **), const launch *);
  unsigned shared_bytes; /* that it may have */
} function;

/* Whether this driver and this GPU take PTX: its version is at most that of the driver's CUDA, and
 * its target a capability that the GPU runs. */
static int check_ptx(const char *ptx) {
  int major = 0, minor = 0, target = 0;
  char suffix = 0;
  const char *version = strstr(ptx, ".version "), *at = strstr(ptx, ".target sm_");
  if (!version || !at || sscanf(version, ".version %d.%d", &major, &minor) != 2 ||
      sscanf(at, ".target sm_%d%c", &target, &suffix) < 1)
    return invalid_image;
  int known = 0;
  cuDriverGetVersion(&known);
  int needed = 1000 * (major + 4) + 10 * minor; /* PTX 7.x came with CUDA 11.x */
  if (needed > known)
    return unsupported_ptx;
  return (suffix == 'a' ? target != capability() : target > capability()) ? no_binary_for_gpu : 0;
}

/* A module that was loaded before is still there, named by a hash (FNV-1a) of its text. */
int cuModuleLoadData(handle *module, const char *ptx) {
  int refused = check_ptx(ptx);
  if (refused)
    return refused;
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char *c = ptx; *c; ++c)
    hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
  char text[4096], library[4096], command[3 * 4096];
  snprintf(text, sizeof text, MODULES "/%016llx.ptx", (unsigned long long)hash);
  snprintf(library, sizeof library, MODULES "/%016llx.so", (unsigned long long)hash);
  snprintf(command, sizeof command, PTX_COMPILER " %s %s", text, library);
  if (access(library, R_OK) != 0) {
    FILE *file = fopen(text, "w");
    if (!file || fputs(ptx, file) < 0 || fclose(file) != 0 || system(command) != 0)
      return invalid_image;
  }
  *module = dlopen(library, RTLD_NOW);
  return *module ? 0 : invalid_image;
}
int cuModuleLoadDataEx(handle *module, const char *ptx) { return cuModuleLoadData(module, ptx); }
int cuModuleUnload(handle module) { return dlclose(module); }

int cuModuleGetFunction(function **result, handle module, const char *name) {
  *result = malloc(sizeof **result);
  *(void **)&(*result)->kernel = dlsym(module, name);
  *(void **)&(*result)->run_grid = dlsym(module, "run_grid");
  (*result)->shared_bytes = 48 * 1024;
  return (*result)->kernel ? 0 : not_found;
}

int cuFuncSetAttribute(function *which, int attribute, int value) {
  enum { max_dynamic_shared_size_bytes = 8 };
  if (attribute != max_dynamic_shared_size_bytes || value < 0 || value > most_shared_bytes())
    return invalid_value;
  which->shared_bytes = (unsigned)value;
  return 0;
}

int cuLaunchKernel(function *which, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, handle stream, void **arguments) {
  (void)stream;
  if (shared > which->shared_bytes || !gx || !gy || !gz)
    return invalid_value;
  launch given = {{gx, gy, gz}, {bx, by, bz}, shared, arguments, is_allocated};
  which->run_grid(which->kernel, &given);
  return 0;
}
