/* Two libraries in one program, and many callers at once on shapes of their own. */

#include "thrice.h"
#include "twice.h"

#include <pthread.h>
#include <stdio.h>

enum { threads = 2, calls = 200, most_rows = 40, columns = 64 };

typedef struct caller {
  int rows, wrong;
  float in[most_rows * columns], out[most_rows * columns];
} caller;

static int is_right(const caller *self) {
  for (int i = 0; i < self->rows * columns; ++i)
    if (self->out[i] != 2 * self->in[i] + 1)
      return 0;
  return 1;
}

static void *work(void *data) {
  caller *self = data;
  int64_t shape[2] = {self->rows, columns};
  DLTensor in = {self->in, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0}, out = in;
  out.data = self->out;
  for (int call = 0; call < calls; ++call) {
    int status = call % 2 ? twice(&in, &in, &out) : thrice(&in, &in, &out);
    self->wrong += status != 0 || !is_right(self);
    self->out[call % (self->rows * columns)] = -1;
  }
  return NULL;
}

int main(void) {
  static caller callers[threads];
  pthread_t handles[threads];
  int wrong = 0;
  for (int t = 0; t < threads; ++t) {
    callers[t].rows = 3 + 37 * t;
    for (int i = 0; i < most_rows * columns; ++i)
      callers[t].in[i] = (float)(i + t);
    pthread_create(&handles[t], NULL, work, &callers[t]);
  }
  for (int t = 0; t < threads; ++t) {
    pthread_join(handles[t], NULL);
    wrong += callers[t].wrong;
  }
  printf("%d calls, %d wrong\n", threads * calls, wrong);
  return wrong != 0;
}
