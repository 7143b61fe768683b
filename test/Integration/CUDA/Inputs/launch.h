/* What a driver tells the code of a module of a kernel to run. */

#include <stdint.h>

typedef struct {
  unsigned x, y, z;
} dim3;

typedef struct {
  dim3 grid, block;
  unsigned shared_bytes;
  void **arguments;
  int (*is_allocated)(uint64_t address, unsigned bytes);
} launch;
