/* Calls the compiled attention layer from plain C.
 *
 * usage: main FOLDER BATCH LEN RUNS
 *
 * FOLDER holds one file of raw numbers for each argument; the result goes to
 * FOLDER/attended.bin. Prints the shortest and the median time of RUNS calls in
 * milliseconds.
 */

#include "attention_layer.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { width = 384 };

static void fail(const char *what, const char *why) {
  fprintf(stderr, "main: %s: %s\n", what, why);
  exit(1);
}

/* A row-major tensor of 4-byte elements; a rank of 1 ignores the other sizes. */
typedef struct {
  DLTensor tensor;
  int64_t shape[3];
  size_t count;
} Array;

static void make(Array *a, uint8_t code, int rank, int64_t s0, int64_t s1, int64_t s2) {
  int64_t sizes[3] = {s0, s1, s2};
  a->count = 1;
  for (int i = 0; i < rank; ++i)
    a->count *= (size_t)(a->shape[i] = sizes[i]);
  a->tensor = (DLTensor){.data = malloc(4 * a->count), .device = {kDLCPU, 0}, .ndim = rank,
                         .dtype = {code, 32, 1}, .shape = a->shape};
  if (!a->tensor.data)
    fail("malloc", "out of memory");
}

/* No strides means row-major and contiguous. */
static void transfer(Array *a, const char *folder, const char *name, int write) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.bin", folder, name);
  FILE *file = fopen(path, write ? "wb" : "rb");
  if (!file)
    fail(path, "cannot open");
  size_t done = write ? fwrite(a->tensor.data, 4, a->count, file)
                      : fread(a->tensor.data, 4, a->count, file);
  if (fclose(file) != 0 || done != a->count)
    fail(path, "too short");
}

static double milliseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  if (argc != 5)
    fail("usage", "main FOLDER BATCH LEN RUNS");
  const char *folder = argv[1];
  int64_t batch = atoll(argv[2]), len = atoll(argv[3]);
  int runs = atoi(argv[4]);

  Array hidden, kv_len, attended;
  make(&hidden, kDLFloat, 3, batch, len, width);
  transfer(&hidden, folder, "hidden", 0);
  make(&kv_len, kDLInt, 1, batch, 0, 0);
  transfer(&kv_len, folder, "kv_len", 0);
  make(&attended, kDLFloat, 3, batch, len, width);

  double *times = malloc(sizeof(double) * (size_t)(runs > 0 ? runs : 1));
  if (!times || runs < 1)
    fail("RUNS", "expected at least 1");
  for (int i = -1; i < runs; ++i) { /* one more, first, to warm up */
    double start = milliseconds();
    if (attention_layer(&hidden.tensor, &kv_len.tensor, &attended.tensor) != 0)
      fail("attention_layer", attention_layer_last_error());
    if (i >= 0)
      times[i] = milliseconds() - start;
  }
  transfer(&attended, folder, "attended", 1);
  qsort(times, (size_t)runs, sizeof *times, by_size);
  printf("%.6f %.6f\n", times[0], times[runs / 2]);
  return 0;
}
