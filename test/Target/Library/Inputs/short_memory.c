/* Calls softmax.mlir on a shape and a tensor of as many elements as the arguments say. */

#include "normalise.h"

#include <stdlib.h>

int main(int argc, char **argv) {
  int rank = atoi(argv[1]), count = atoi(argv[2]);
  int64_t *shape = malloc(sizeof *shape * rank), whole[] = {3, 5};
  for (int i = 0; i < rank; ++i)
    shape[i] = whole[i];
  float out[15];
  DLTensor score = {
      malloc(sizeof(float) * count), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0};
  DLTensor prob = {out, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, whole, NULL, 0};
  for (int i = 0; i < count; ++i)
    ((float *)score.data)[i] = i;
  return normalise(&score, &prob);
}
