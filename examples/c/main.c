/* The smallest program: attnc compile ../causal/spec.mlir -o .
 *                       cc main.c libcausal.a -lm -lpthread -ldl && ./a.out */
#include "causal.h"
#include <stdio.h>

enum { heads = 8, len = 3, width = 64, size = heads * len * width };
static float query[size], key[size], value[size], context[size];
static int64_t shape[] = {1, heads, len, width};

static DLTensor tensor(float *data) {
  return (DLTensor){data, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, shape, NULL, 0};
}

int main(void) {
  for (int i = 0; i < size; ++i)
    value[i] = (float)i; /* with queries of 0, a position's context is the mean of what it sees */
  DLTensor q = tensor(query), k = tensor(key), v = tensor(value), c = tensor(context);
  if (causal(&q, &k, &v, &c) != 0)
    return fprintf(stderr, "%s\n", causal_last_error()), 1;
  printf("%g %g %g\n", context[0], context[width], context[2 * width]); /* 0 32 64 */
  return 0;
}
