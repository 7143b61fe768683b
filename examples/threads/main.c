/* Many callers at once, on one pool of threads that the program owns.
 *
 *   attnc compile ../causal/spec.mlir -o .
 *   cc main.c libcausal.a -lm -lpthread -ldl && ./a.out
 *
 * Each caller computes shapes of its own, again and again, and compares every result with
 * that of a call on a single thread: the same bits.
 */

#include "causal.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*===------------------------------------------------------------------------===*
 * The pool: workers take tasks of whatever loops are open
 *===------------------------------------------------------------------------===*/

typedef struct loop {
  void (*task)(void *state, int index);
  void *state;
  int next, count, running;
  struct loop *older;
} loop;

typedef struct pool {
  pthread_mutex_t mutex;
  pthread_cond_t opened, ended;
  loop *open;
  int closing;
} pool;

/* A loop with tasks left, or NULL. */
static loop *find_loop(pool *self) {
  loop *found = self->open;
  while (found && found->next == found->count)
    found = found->older;
  return found;
}

/* Runs the next task of a loop; the mutex is held before and after. */
static void run_task(pool *self, loop *from) {
  int index = from->next++;
  ++from->running;
  pthread_mutex_unlock(&self->mutex);
  from->task(from->state, index);
  pthread_mutex_lock(&self->mutex);
  if (--from->running == 0)
    pthread_cond_broadcast(&self->ended);
}

static void *work(void *data) {
  pool *self = data;
  pthread_mutex_lock(&self->mutex);
  while (!self->closing) {
    loop *found = find_loop(self);
    if (found)
      run_task(self, found);
    else
      pthread_cond_wait(&self->opened, &self->mutex);
  }
  pthread_mutex_unlock(&self->mutex);
  return NULL;
}

static void close_loop(pool *self, loop *done) {
  loop **link = &self->open;
  while (*link != done)
    link = &(*link)->older;
  *link = done->older;
}

/* causal_options.parallel. The caller works too, until all is done. */
static void run_on_pool(void *data, void (*task)(void *, int), void *state, int count) {
  pool *self = data;
  pthread_mutex_lock(&self->mutex);
  loop mine = {task, state, 0, count, 0, self->open};
  self->open = &mine;
  pthread_cond_broadcast(&self->opened);
  while (mine.next < mine.count)
    run_task(self, &mine);
  while (mine.running)
    pthread_cond_wait(&self->ended, &self->mutex);
  close_loop(self, &mine);
  pthread_mutex_unlock(&self->mutex);
}

/*===------------------------------------------------------------------------===*
 * The callers
 *===------------------------------------------------------------------------===*/

enum { workers = 3, callers = 2, calls = 1000, lengths = 5, heads = 8, width = 64 };

typedef struct caller {
  pool *threads;
  int number, wrong;
} caller;

static float *make_floats(size_t count, int seed) {
  float *values = malloc(count * sizeof *values);
  if (!values)
    abort();
  for (size_t i = 0; i < count; ++i)
    values[i] = (float)((i * 7919 + (size_t)seed * 104729) % 2003) / 1000 - 1;
  return values;
}

static int attend(const causal_options *options, int64_t len, float *in[3], float *out) {
  int64_t shape[] = {1, heads, len, width};
  DLTensor q = {in[0], {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, shape, NULL, 0}, k = q, v = q, c = q;
  k.data = in[1];
  v.data = in[2];
  c.data = out;
  return causal_ex(options, &q, &k, &v, &c);
}

/* `calls / lengths` calls on one shape. */
static void repeat(caller *self, int64_t len) {
  size_t size = (size_t)(heads * len * width);
  float *in[3], *expected = make_floats(size, 0), *found = make_floats(size, 0);
  for (int i = 0; i < 3; ++i)
    in[i] = make_floats(size, 10 * self->number + i);
  causal_options single = {.size = sizeof single, .threads = 1};
  causal_options pooled = {.size = sizeof pooled, .parallel = run_on_pool, .pool = self->threads};
  self->wrong += attend(&single, len, in, expected) != 0;
  for (int i = 0; i < calls / lengths; ++i) {
    memset(found, 0xff, size * sizeof *found);
    self->wrong +=
        attend(&pooled, len, in, found) != 0 || memcmp(found, expected, size * sizeof *found) != 0;
  }
  for (int i = 0; i < 3; ++i)
    free(in[i]);
  free(expected);
  free(found);
}

static void *call_often(void *data) {
  caller *self = data;
  for (int i = 0; i < lengths; ++i)
    repeat(self, 3 + 29 * i + 11 * self->number);
  return NULL;
}

int main(void) {
  pool threads = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER,
                  NULL, 0};
  pthread_t working[workers], calling[callers];
  caller each[callers];
  for (int i = 0; i < workers; ++i)
    pthread_create(&working[i], NULL, work, &threads);
  for (int i = 0; i < callers; ++i) {
    each[i] = (caller){&threads, i, 0};
    pthread_create(&calling[i], NULL, call_often, &each[i]);
  }
  int wrong = 0;
  for (int i = 0; i < callers; ++i) {
    pthread_join(calling[i], NULL);
    wrong += each[i].wrong;
  }
  pthread_mutex_lock(&threads.mutex);
  threads.closing = 1;
  pthread_cond_broadcast(&threads.opened);
  pthread_mutex_unlock(&threads.mutex);
  for (int i = 0; i < workers; ++i)
    pthread_join(working[i], NULL);
  printf("%d callers, %d calls each, %d wrong\n", callers, calls, wrong);
  return wrong != 0;
}
