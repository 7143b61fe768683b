/* Calls of linear.mlir's library on tensors here and on a device, for drivers that differ. */

#include "layer.h"

#include <stdio.h>
#include <string.h>

enum { rows = 5, width = 64, columns = 4 };

static float x[rows * width], residual[rows * columns], y[rows * columns];
static int64_t x_shape[2] = {rows, width}, y_shape[2] = {rows, columns};
static int wrong;

static void expect(int64_t expected, int64_t found, const char *what) {
  if (expected != found) {
    ++wrong;
    printf("%s: expected %lld, found %lld\n", what, (long long)expected, (long long)found);
  }
}

static void expect_text(const char *expected) {
  if (strcmp(expected, layer_last_error()) != 0) {
    ++wrong;
    printf("expected %s, found %s\n", expected, layer_last_error());
  }
}

static void fill(void) {
  for (int i = 0; i < rows * width; ++i)
    x[i] = (float)(i % 7);
  for (int i = 0; i < rows * columns; ++i)
    residual[i] = (float)i;
}

/* Small whole numbers: any order of the sums gives the same. */
static int is_right(const float *result) {
  for (int i = 0; i < rows * columns; ++i) {
    float sum = residual[i];
    for (int k = 0; k < width; ++k)
      sum += 2 * x[i / columns * width + k];
    if (result[i] != sum)
      return 0;
  }
  return 1;
}

static DLTensor tensor(void *data, DLDeviceType device, int64_t *shape, uint64_t byte_offset) {
  DLTensor result = {data, {device, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, byte_offset};
  return result;
}

static int call(const layer_options *options, DLTensor a, DLTensor b, DLTensor c) {
  return layer_ex(options, &a, &b, &c);
}

static int call_here(const layer_options *options) {
  memset(y, 0, sizeof y);
  int status = call(options, tensor(x, kDLCPU, x_shape, 0), tensor(residual, kDLCPU, y_shape, 0),
                    tensor(y, kDLCPU, y_shape, 0));
  return status ? status : !is_right(y);
}
