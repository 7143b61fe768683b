/* A pool of threads for NAME_options.parallel: many callers may run loops on it at once. */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct loop {
  void (*task)(void *state, int index);
  void *state;
  int next, count, running;
  struct loop *older;
} loop;

typedef struct pool {
  pthread_mutex_t mutex;
  pthread_cond_t opened, ended;
  loop *open; /* workers take tasks of whatever loops are open */
  int closing, workers;
  pthread_t working[64];
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

/* NAME_options.parallel, with the pool as NAME_options.pool. The caller works too, until all is
 * done. */
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

/* With up to 64 workers. */
static void start_pool(pool *self, int workers) {
  *self = (pool){.mutex = PTHREAD_MUTEX_INITIALIZER,
                 .opened = PTHREAD_COND_INITIALIZER,
                 .ended = PTHREAD_COND_INITIALIZER,
                 .workers = workers < 64 ? workers : 64};
  for (int i = 0; i < self->workers; ++i)
    if (pthread_create(&self->working[i], NULL, work, self) != 0) {
      fprintf(stderr, "expected %d threads, found %d\n", workers, i);
      exit(1);
    }
}

static void stop_pool(pool *self) {
  pthread_mutex_lock(&self->mutex);
  self->closing = 1;
  pthread_cond_broadcast(&self->opened);
  pthread_mutex_unlock(&self->mutex);
  for (int i = 0; i < self->workers; ++i)
    pthread_join(self->working[i], NULL);
}
