/*===- attnc_runtime.c - what kernels ask of their caller -----------------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Kernels call these by Halide's names, which come before the weak ones of
 * Halide's runtime. The user context is the call, so that errors, memory and threads
 * are each call's own.
 *
 *===------------------------------------------------------------------------===*/

#include "attnc_support.h"

/* The C library's, declared here so that any target's headers will do. */
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

void halide_print(void *user_context, const char *message) {
  (void)user_context;
  (void)message;
}

/*===------------------------------------------------------------------------===*
 * Memory
 *===------------------------------------------------------------------------===*/

/* Of whole vectors, as kernels may read the rest of their last one. */
enum { alignment = 128 };

/* What stands right before the memory that is handed out: as `allocate` gave it. */
typedef void *header;

void *halide_malloc(void *user_context, size_t bytes) {
  const attnc_context *call = user_context;
  size_t room = bytes + 2 * alignment + sizeof(header);
  if (room < bytes)
    return 0;
  char *memory = call && call->allocate ? call->allocate(call->allocator, room) : malloc(room);
  if (!memory)
    return 0;
  char *given = memory + sizeof(header);
  given += -(uintptr_t)given % alignment;
  ((header *)given)[-1] = memory;
  return given;
}

void halide_free(void *user_context, void *given) {
  const attnc_context *call = user_context;
  if (!given)
    return;
  if (call && call->deallocate)
    call->deallocate(call->allocator, ((header *)given)[-1]);
  else
    free(((header *)given)[-1]);
}

/*===------------------------------------------------------------------------===*
 * Threads
 *===------------------------------------------------------------------------===*/

typedef int halide_task(void *user_context, int index, uint8_t *closure);

int halide_default_do_par_for(void *user_context, halide_task *task, int min, int size,
                              uint8_t *closure);

/* A parallel loop. Whoever works on it takes the next index, so that it ends
 * whatever number of threads come, and in whatever order. */
typedef struct loop {
  attnc_context *call;
  halide_task *task;
  uint8_t *closure;
  int min, size, status;
  int64_t next;
} loop;

/* After an error the other indices are left out. */
static void take_turns(void *state, int worker) {
  loop *self = state;
  int64_t index;
  (void)worker;
  while ((index = __atomic_fetch_add(&self->next, 1, __ATOMIC_RELAXED)) < self->size) {
    int status = self->task(self->call, self->min + (int)index, self->closure);
    if (!status)
      continue;
    __atomic_store_n(&self->status, status, __ATOMIC_RELAXED);
    __atomic_store_n(&self->next, self->size, __ATOMIC_RELAXED);
  }
}

static int take_turns_in_pool(void *user_context, int worker, uint8_t *state) {
  (void)user_context;
  take_turns(state, worker);
  return 0;
}

/* On `workers` threads, this one among them; what a pool doesn't do is done here. */
static void share(loop *self, int workers) {
  attnc_context *call = self->call;
  if (call->parallel)
    call->parallel(call->pool, take_turns, self, workers);
  else
    halide_default_do_par_for(call, take_turns_in_pool, 0, workers, (uint8_t *)self);
  take_turns(self, 0);
}

/* A thread that waits for a loop takes over tasks of others' calls meanwhile, whose loops it would
 * wait for in turn: with each its stack would grow. */
static int run_within_depth(loop *self) {
  enum { most_loops = 2 };
  static _Thread_local int loops;
  if (loops == most_loops) {
    take_turns(self, 0);
    return self->status;
  }
  ++loops;
  int status =
      halide_default_do_par_for(self->call, self->task, self->min, self->size, self->closure);
  --loops;
  return status;
}

/* A loop within a loop stays on its thread where their number is the caller's to say:
 * kernels run one after the other, so that a call has one outermost loop at a time. */
int halide_do_par_for(void *user_context, halide_task *task, int min, int size, uint8_t *closure) {
  attnc_context *call = user_context;
  loop self = {call, task, closure, min, size, 0, 0};
  if (!call->threads && !call->parallel)
    return run_within_depth(&self);
  int workers = call->threads && call->threads < size ? call->threads : size;
  if (workers > 1 && !__atomic_exchange_n(&call->in_loop, 1, __ATOMIC_ACQ_REL)) {
    share(&self, workers);
    __atomic_store_n(&call->in_loop, 0, __ATOMIC_RELEASE);
  } else {
    take_turns(&self, 0);
  }
  return __atomic_load_n(&self.status, __ATOMIC_RELAXED);
}
