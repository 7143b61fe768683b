/*===- attnc_runtime.c - callbacks of kernels -----------------------------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Kernels call these by Halide's names, which override the weak definitions in Halide's runtime.
 * The user context is the call, so that each call has its own errors, memory and threads.
 *
 *===------------------------------------------------------------------------===*/

#include "attnc_text.h"

/* The C library's, declared here to need no headers of the target. */
void *malloc(size_t bytes);
void free(void *memory);

/*===------------------------------------------------------------------------===*
 * Messages
 *===------------------------------------------------------------------------===*/

/* The first error is kept; Halide's own would print and abort. */
void halide_error(void *user_context, const char *message) {
  attnc_context *call = user_context;
  if (!call || __atomic_exchange_n(&call->claimed, 1, __ATOMIC_ACQ_REL))
    return;
  size_t length = 0;
  for (; message[length] && length + 1 < sizeof call->message; ++length)
    call->message[length] = message[length];
  while (length && call->message[length - 1] == '\n')
    --length;
  call->message[length] = 0;
}

void attnc_error_with_numbers(void *user_context, const char *message, const int64_t *numbers) {
  char begin[attnc_message_bytes];
  text full = {begin, 0};
  for (; *message; ++message) {
    char letter[] = {*message, 0};
    if (message[0] != '{' || message[1] != '}') {
      put(&full, letter);
      continue;
    }
    put_number(&full, *numbers++);
    ++message;
  }
  halide_error(user_context, begin);
}

/* A tensor is smaller than what a kernel reads of it. Halide counts dimensions from the last, its
 * own message from 0. */
int halide_error_access_out_of_bounds(void *user_context, const char *buffer, int dimension,
                                      int min_touched, int max_touched, int min_valid,
                                      int max_valid) {
  enum { halide_access_out_of_bounds = -4 };
  char begin[attnc_message_bytes];
  text message = {begin, 0};
  int is_before = min_touched < min_valid;
  put(&message, buffer);
  put(&message, is_before ? ": expected elements from " : ": expected at least ");
  put_number(&message, is_before ? min_touched : (int64_t)max_touched + 1);
  put(&message, is_before ? " on in dimension " : " elements in dimension ");
  put_number(&message, -1 - (int64_t)dimension);
  put(&message, ", found ");
  put_number(&message, is_before ? min_valid : (int64_t)max_valid + 1);
  halide_error(user_context, begin);
  return halide_access_out_of_bounds;
}

void halide_print(void *user_context, const char *message) {
  (void)user_context;
  (void)message;
}

/*===------------------------------------------------------------------------===*
 * Memory
 *===------------------------------------------------------------------------===*/

/* A whole vector, since kernels may read past the end within their last one. */
enum { alignment = 128 };

/* Stored right before the memory returned: the pointer from `allocate`, and its bytes. */
typedef struct header {
  void *memory;
  size_t bytes;
} header;

static void release(const attnc_context *call, void *given) {
  void *memory = ((header *)given)[-1].memory;
  if (call && call->deallocate)
    call->deallocate(call->allocator, memory);
  else
    free(memory);
}

/* Defined where a program is instrumented by ThreadSanitizer, which does not see the atomics of a
 * library that is not. */
__attribute__((weak)) void __tsan_acquire(void *memory);
__attribute__((weak)) void __tsan_release(void *memory);
#ifdef __wasm__
#define HAS_SANITIZER 0
#else
#define HAS_SANITIZER (__tsan_acquire && __tsan_release)
#endif

/* False if there is no room for more. */
static int keep(attnc_context *call, void *given) {
  if (HAS_SANITIZER)
    __tsan_release(given);
  for (int i = 0; i < attnc_most_kept; ++i) {
    void *none = 0;
    if (!__atomic_load_n(&call->kept[i], __ATOMIC_RELAXED) &&
        __atomic_compare_exchange_n(&call->kept[i], &none, given, 0, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED))
      return 1;
  }
  return 0;
}

static void *take(attnc_context *call, int i) {
  if (!__atomic_load_n(&call->kept[i], __ATOMIC_RELAXED))
    return 0;
  void *given = __atomic_exchange_n(&call->kept[i], 0, __ATOMIC_ACQUIRE);
  if (given && HAS_SANITIZER)
    __tsan_acquire(given);
  return given;
}

/* Kept memory of the size asked for, or not much more. */
static void *take_kept(attnc_context *call, size_t bytes) {
  for (int i = 0; i < attnc_most_kept; ++i) {
    void *given = take(call, i);
    if (!given)
      continue;
    size_t found = ((header *)given)[-1].bytes;
    if (found >= bytes && found / 2 <= bytes)
      return given;
    if (!keep(call, given))
      release(call, given);
  }
  return 0;
}

void attnc_free_kept(attnc_context *call) {
  for (int i = 0; i < attnc_most_kept; ++i) {
    void *given = take(call, i);
    if (given)
      release(call, given);
  }
}

void *halide_malloc(void *user_context, size_t bytes) {
  attnc_context *call = user_context;
  size_t room = bytes + 2 * alignment + sizeof(header);
  if (room < bytes)
    return 0;
  char *given = call ? take_kept(call, room) : 0;
  if (given)
    return given;
  char *memory = call && call->allocate ? call->allocate(call->allocator, room) : malloc(room);
  if (!memory)
    return 0;
  given = memory + sizeof(header);
  given += -(uintptr_t)given % alignment;
  ((header *)given)[-1] = (header){memory, room};
  return given;
}

/* An allocator may give freed memory back to the system, whose pages each task would then wait
 * for. What takes more is not a task's. */
void halide_free(void *user_context, void *given) {
  const size_t most = 1 << 20;
  if (!given)
    return;
  int is_small = ((header *)given)[-1].bytes <= most;
  if (!(user_context && is_small && keep(user_context, given)))
    release(user_context, given);
}

/*===------------------------------------------------------------------------===*
 * Threads
 *===------------------------------------------------------------------------===*/

typedef int halide_task(void *user_context, int index, uint8_t *closure);

int halide_default_do_par_for(void *user_context, halide_task *task, int min, int size,
                              uint8_t *closure);

/* A parallel loop. Each worker takes the next index, so that the loop ends with any number of
 * threads, in any order. */
typedef struct loop {
  attnc_context *call;
  halide_task *task;
  uint8_t *closure;
  int min, size, status;
  int64_t next;
  const void *caller; /* `thread` of the thread that called the library, of an outermost loop */
} loop;

/* Its address tells threads apart. */
static _Thread_local char thread;

/* Messages move on between tasks, by the calling thread alone. */
static void move_messages(const loop *self) {
  const attnc_exchange *exchange = self->call->exchange;
  if (exchange && exchange->progress && self->caller == &thread)
    exchange->progress(exchange->context);
}

/* After an error the remaining indices are skipped. */
static void run_indices(void *state, int worker) {
  loop *self = state;
  int64_t index;
  (void)worker;
  while ((index = __atomic_fetch_add(&self->next, 1, __ATOMIC_RELAXED)) < self->size) {
    int status = self->task(self->call, self->min + (int)index, self->closure);
    move_messages(self);
    if (!status)
      continue;
    __atomic_store_n(&self->status, status, __ATOMIC_RELAXED);
    __atomic_store_n(&self->next, self->size, __ATOMIC_RELAXED);
  }
}

static int run_indices_in_pool(void *user_context, int worker, uint8_t *state) {
  (void)user_context;
  run_indices(state, worker);
  return 0;
}

/* On `workers` threads, this one included; iterations that a pool doesn't run are run here. */
static void run_parallel(loop *self, int workers) {
  attnc_context *call = self->call;
  if (call->parallel)
    call->parallel(call->pool, run_indices, self, workers);
  else
    halide_default_do_par_for(call, run_indices_in_pool, 0, workers, (uint8_t *)self);
  run_indices(self, 0);
}

/* A thread that waits for a loop runs tasks of other calls meanwhile, which may wait for loops in
 * turn. The limit bounds its stack. */
static int run_within_depth(loop *self) {
  enum { most_loops = 2 };
  static _Thread_local int loops;
  if (loops == most_loops) {
    run_indices(self, 0);
    return self->status;
  }
  ++loops;
  int status =
      halide_default_do_par_for(self->call, self->task, self->min, self->size, self->closure);
  --loops;
  return status;
}

/* If the caller limits the threads, a nested loop stays on its thread: kernels run one after the
 * other, so that a call has one outermost loop at a time. */
int halide_do_par_for(void *user_context, halide_task *task, int min, int size, uint8_t *closure) {
  attnc_context *call = user_context;
  loop self = {call, task, closure, min, size, 0, 0, 0};
  if (!call->threads && !call->parallel && !call->exchange)
    return run_within_depth(&self);
  int workers = call->threads && call->threads < size ? call->threads : size;
  if (!__atomic_exchange_n(&call->in_loop, 1, __ATOMIC_ACQ_REL)) {
    self.caller = &thread;
    if (workers > 1)
      run_parallel(&self, workers);
    else
      run_indices(&self, 0);
    __atomic_store_n(&call->in_loop, 0, __ATOMIC_RELEASE);
  } else {
    run_indices(&self, 0);
  }
  return __atomic_load_n(&self.status, __ATOMIC_RELAXED);
}
