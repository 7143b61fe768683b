/* Calls a kernel once on query, key, value and context of one shape, as a C program would;
 * prints the peak of its memory and that of the four tensors, in bytes.
 * Compiled with -DHEADER="NAME.h" -DKERNEL=NAME. */

#include HEADER

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float *fill(size_t count, unsigned seed) {
  float *data = malloc(count * sizeof(float));
  for (size_t i = 0; data && i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = (float)(seed >> 8) / (1 << 23) - 1;
  }
  return data;
}

/* Since exec: what getrusage tells includes the program that started this one. */
static long peak_bytes(void) {
  long kibibytes = 0;
  char line[256];
  FILE *status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status))
    if (strncmp(line, "VmHWM:", 6) == 0)
      kibibytes = atol(line + 6);
  return kibibytes * 1024;
}

int main(int argc, char **argv) {
  int64_t shape[4];
  size_t count = 1;
  if (argc != 5)
    return 2;
  for (int dim = 0; dim < 4; ++dim)
    count *= (size_t)(shape[dim] = atoll(argv[dim + 1]));
  DLTensor tensors[4];
  for (int i = 0; i < 4; ++i) {
    tensors[i] =
        (DLTensor){.ndim = 4, .device = {kDLCPU, 0}, .dtype = {kDLFloat, 32, 1}, .shape = shape};
    if (!(tensors[i].data = fill(count, i)))
      return 3;
  }
  if (KERNEL(&tensors[0], &tensors[1], &tensors[2], &tensors[3]) != 0)
    return 4;
  printf("%ld %zu\n", peak_bytes(), 4 * count * sizeof(float));
  return 0;
}
