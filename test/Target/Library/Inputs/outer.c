/* Sizes whose product wraps: a workspace of no machine's is asked for, and refused. */

#include "outer.h"

#include <stdio.h>

static int64_t workspace(int64_t batch, int64_t len, int64_t kv, int is_call) {
  static float data[64];
  int64_t query_shape[] = {batch, 2, len, 16}, key_shape[] = {batch, 2, kv, 16};
  int64_t most_shape[] = {batch, 2, len}, none[4] = {0, 0, 0, 1}, most_strides[] = {32, 16, 1};
  DLTensor query = {data, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, query_shape, none, 0};
  DLTensor key = {data, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, key_shape, none, 0};
  DLTensor most = {data, {kDLCPU, 0}, 3, {kDLFloat, 32, 1}, most_shape, most_strides, 0};
  const DLTensor *tensors[] = {&query, &key, &most};
  return is_call ? outer_call(NULL, tensors) : outer_workspace(tensors);
}

int main(void) {
  int64_t most = INT32_MAX;
  int sane = workspace(1, 3, 5, 0) >= 4 * 2 * 3 * 5 && workspace(0, 3, 5, 0) < 4096;
  printf("%d %d", sane, workspace(most, most, most, 0) == INT64_MAX);
  /* 2^30 x 2 x 2^30 x 2 x 4 bytes are 2^64. */
  printf(" %d", workspace(1 << 30, 1 << 30, 2, 0) == INT64_MAX);
  printf(" %d", workspace(1 << 30, 1 << 30, 0, 0) < 4096);
  printf(" %lld\n", (long long)workspace(1, 1 << 20, 1 << 30, 1));
  return 0;
}
