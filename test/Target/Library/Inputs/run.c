/* One call, and what came of it. */

#include "twice.h"

#include <stdio.h>

int main(void) {
  static float in[2 * 64], out[2 * 64];
  int64_t shape[2] = {2, 64};
  DLTensor query = {in, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0}, context = query;
  context.data = out;
  int status = twice(&query, &query, &context);
  printf("%d: %s\n", status, twice_last_error());
  return 0;
}
