/* Runs a library's selftest with each call on a stack of exactly the bytes that the header
 * states, above a page that no one may touch; before that with allocators that give out. */

#include "x.h"

#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#ifndef DRIVER_BYTES
#define DRIVER_BYTES 0 /* of a GPU's driver */
#endif
enum { page = 4096, stack_bytes = x_STACK_BYTES + DRIVER_BYTES };

static char *stack;
static ucontext_t caller, callee;
static const x_options *given_options;
static const DLTensor *const *given_tensors;
static int status, most, refused, wrong;

static void run_call(void) { status = x_call(given_options, given_tensors); }

static int call_on_stack(const x_options *options, const DLTensor *const *tensors) {
  memset(stack, 0xa5, stack_bytes);
  given_options = options;
  given_tensors = tensors;
  getcontext(&callee);
  callee.uc_stack.ss_sp = stack;
  callee.uc_stack.ss_size = stack_bytes;
  callee.uc_link = &caller;
  makecontext(&callee, run_call, 0);
  swapcontext(&caller, &callee);
  int free_bytes = 0;
  while (free_bytes < stack_bytes && (unsigned char)stack[free_bytes] == 0xa5)
    ++free_bytes;
  if (stack_bytes - free_bytes > most)
    most = stack_bytes - free_bytes;
  return status;
}

/* The allocation with the number `left` fails. */
static int left;
static void *allocate(void *data, size_t bytes) {
  (void)data;
  return left-- == 0 ? NULL : malloc(bytes);
}
static void deallocate(void *data, void *memory) {
  (void)data;
  free(memory);
}

static int checked_call(const x_options *none, const DLTensor *const *tensors) {
  (void)none;
  x_options options = {sizeof options, NULL, 0, 1, NULL, NULL, allocate, deallocate, NULL};
  for (int nth = 0;; nth += 1 + nth / 4) {
    left = nth;
    int found = call_on_stack(&options, tensors);
    if (left >= 0) /* none has failed */
      break;
    ++refused;
    /* A GPU's runtime does without some of what it would keep. */
    int good = found == x_NO_MEMORY || (DRIVER_BYTES && found == 0);
    wrong += !good;
    if (!good)
      printf("allocation %d: %d: %s\n", nth, found, x_last_error());
  }
  return call_on_stack(NULL, tensors);
}

#define x_SELFTEST_NO_MAIN
#define x_call checked_call
#include "x_selftest.c"
#undef x_call

int main(void) {
  char *memory =
      mmap(NULL, page + stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE))
    return 2;
  stack = memory + page;
  wrong += x_selftest();
  printf("%d of %d bytes, %s allocations refused, %d wrong\n", most, stack_bytes,
         refused ? "some" : "no", wrong);
  return wrong != 0;
}
