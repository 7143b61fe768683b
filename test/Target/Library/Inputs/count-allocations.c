/* Calls a library whose tasks take memory from the allocator, on one thread. */
#include "x.h"

#include <stdio.h>
#include <stdlib.h>

static int calls, live;

static void *allocate(void *data, size_t bytes) {
  (void)data;
  ++calls, ++live;
  return malloc(bytes);
}

static void deallocate(void *data, void *memory) {
  (void)data;
  --live;
  free(memory);
}

int main(void) {
  static float elements[4][2048 * 16];
  int64_t shape[] = {1, 1, 2048, 16};
  DLTensor tensors[4];
  for (int i = 0; i < 4; ++i)
    tensors[i] = (DLTensor){elements[i], {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, shape, NULL, 0};
  x_options options = {
      .size = sizeof options, .threads = 1, .allocate = allocate, .deallocate = deallocate};
  if (x_ex(&options, &tensors[0], &tensors[1], &tensors[2], &tensors[3]))
    return puts(x_last_error()), 1;
  printf("%s allocations for %d tasks, %d left\n",
         calls == 0  ? "no"
         : calls < 8 ? "few"
                     : "many",
         2048 / 32, live);
  return 0;
}
