/* Runs a block of a CUDA kernel on the CPU, its threads one after another, each until it waits.
 *
 * ptx.py writes a kernel as a C function of one thread and includes this file. Each access is
 * looked at: memory that the program didn't allocate, shared memory beyond what the launch gave,
 * an address that is no multiple of the access's size, shared memory that one thread writes and
 * another touches without an order between them (order.h), and barriers that not all threads reach
 * (barriers.h, mbarriers.h), each end the program with the line of the PTX. So do meetings of a
 * warp (warp.h) that not all of its lanes reach, copies that are read before they are waited for
 * (copies.h, tensor_copies.h), and what products of a warpgroup must not do (warpgroup.h). */

#include "launch.h"

#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "values.h"

enum { most_threads = 1024, most_shared = 232448 + 1024, stack_bytes = 1 << 18, warp_size = 32 };

typedef void kernel(void **arguments);

static const launch *now;
static kernel *body;
static dim3 blockIdx, threadIdx;
static int thread;
static jmp_buf scheduler, threads[most_threads];
static char stacks[most_threads][stack_bytes];

/* Where a thread gave up control, and why. */
typedef enum {
  not_started,
  ready,
  at_barrier,
  released, /* from a barrier: goes on after all warps have run */
  at_meeting,
  at_wait,
  done
} stop_kind;
static struct {
  stop_kind kind;
  int line;
} stops[most_threads];

static uint32_t shared[most_shared / 4];
static uint8_t is_copied_to[most_shared / 4];
static uint16_t read_by_products[most_shared / 4];

/* Who wrote 4 bytes of shared memory, by number plus 1, after how many of its fence.proxy.async. */
typedef struct {
  uint32_t thread, fences;
} word_write;
static word_write last_writes[most_shared / 4];
static uint32_t proxy_fences[most_threads];

static void fail(int line, const char *what, uint64_t address) {
  fprintf(stderr, "ptx:%d: %s at %#llx, thread (%u, %u, %u) of block (%u, %u, %u)\n", line, what,
          (unsigned long long)address, threadIdx.x, threadIdx.y, threadIdx.z, blockIdx.x,
          blockIdx.y, blockIdx.z);
  exit(70);
}

#include "banks.h"

#include "order.h"

static void *global_memory(int line, uint64_t address, unsigned bytes) {
  if (address % bytes != 0)
    fail(line, "unaligned access of global memory", address);
  if (!now->is_allocated(address, bytes))
    fail(line, "access beyond allocated memory", address);
  return (void *)(uintptr_t)address;
}

/* Addresses count from where a launch's bytes begin: in modules that name them they lie, as on a
 * GPU of capability 9.0, behind 1024 bytes that are not the kernel's. Other kernels that leave
 * these alone have as many bytes less where a launch's bytes begin at 0. */
static void check_shared(int line, uint64_t address, uint64_t bytes) {
  uint64_t from = address - shared_begin;
  uint64_t room = now->shared_bytes > shared_unused ? now->shared_bytes - shared_unused : 0;
  if (from > room || bytes > room - from)
    fail(line, "access beyond shared memory", address);
}

static void *shared_memory(int line, uint64_t address, unsigned bytes, int writes) {
  if (address % bytes != 0)
    fail(line, "unaligned access of shared memory", address);
  check_shared(line, address, bytes);
  for (uint64_t word = address / 4; word * 4 < address + bytes; ++word) {
    if (is_copied_to[word])
      fail(line, "access of shared memory that a copy is under way to", address);
    if (writes && read_by_products[word])
      fail(line, "write of shared memory that a product under way reads", address);
    touch *t = touch_of(word);
    if (!is_write_before(t) || (writes && !are_reads_before(t)))
      fail(line, "data race in shared memory", address);
    if (writes) {
      note_write(t, (unsigned)thread, moment);
      last_writes[word] = (word_write){(uint32_t)thread + 1, proxy_fences[thread]};
    } else
      note_read(t);
  }
  return (char *)shared + address;
}

/* By an instruction of one thread. */
static void *shared_access(int line, uint64_t address, unsigned bytes, int writes) {
  note_access(line, address, bytes);
  return shared_memory(line, address, bytes, writes);
}

static void stop(int line, stop_kind kind) {
  stops[thread].kind = kind;
  stops[thread].line = line;
  if (!_setjmp(threads[thread]))
    _longjmp(scheduler, 1);
}

/* What this thread wrote is seen by copies and products that read past the caches of threads. */
static void fence_proxy(void) { ++proxy_fences[thread]; }

#include "barriers.h"

#include "mbarriers.h"

#include "warp.h"

#include "copies.h"

#include "tensor_copies.h"

#include "warpgroup.h"

static void run_thread(void) {
  body(now->arguments);
  end_copies();
  end_products();
  stop(0, done);
}

static void set_thread(unsigned which) {
  thread = (int)which;
  threadIdx.x = which % now->block.x;
  threadIdx.y = which / now->block.x % now->block.y;
  threadIdx.z = which / now->block.x / now->block.y;
}

/* Runs a thread to its next stop. */
static void resume(unsigned which) {
  set_thread(which);
  if (_setjmp(scheduler))
    return;
  if (stops[which].kind != not_started)
    _longjmp(threads[which], 1);
  ucontext_t start;
  getcontext(&start);
  start.uc_stack.ss_sp = stacks[which];
  start.uc_stack.ss_size = stack_bytes;
  makecontext(&start, run_thread, 0);
  setcontext(&start);
}

/* Whether lanes of a warp may still come to a meeting. */
static int is_on_its_way(unsigned lane) {
  stop_kind kind = stops[lane].kind;
  return kind == at_wait || kind == ready || kind == released;
}

/* Whether the lanes of a warp met, to go on together. */
static int has_met(unsigned first, unsigned count) {
  unsigned meeting = 0;
  while (meeting < count && stops[first + meeting].kind != at_meeting)
    ++meeting;
  if (meeting == count)
    return 0;
  int line = stops[first + meeting].line;
  for (unsigned i = 0; i < count; ++i)
    if (is_on_its_way(first + i))
      return 0;
  for (unsigned i = 0; i < warp_size; ++i)
    if (i >= count || stops[first + i].kind != at_meeting || stops[first + i].line != line)
      fail(line, "meeting that not all lanes of the warp reach", 0);
  for (unsigned i = 0; i < count; ++i)
    stops[first + i].kind = ready;
  return 1;
}

static int can_run(unsigned which) {
  stop_kind kind = stops[which].kind;
  return kind == not_started || kind == ready || (kind == at_wait && can_go_on(which));
}

/* Runs the lanes of a warp until each waits or is done. Returns whether any ran. */
static int run_warp(unsigned first, unsigned count) {
  int has_run = 0, runs = 1;
  while (runs) {
    runs = 0;
    ++runs_of_warps;
    for (unsigned i = 0; i < count; ++i)
      if (can_run(first + i)) {
        resume(first + i);
        runs = 1;
      }
    count_conflicts(first, count);
    runs |= has_met(first, count);
    has_run |= runs;
  }
  return has_run;
}

static int run_warps(unsigned count) {
  int has_run = 0;
  for (unsigned i = 0; i < count; ++i)
    if (stops[i].kind == released)
      stops[i].kind = ready;
  for (unsigned i = 0; i < count; i += warp_size)
    has_run |= run_warp(i, count - i < warp_size ? count - i : warp_size);
  return has_run;
}

static int waits_for_phase(unsigned count) {
  for (unsigned i = 0; i < count; ++i)
    if (stops[i].kind == at_wait)
      return 1;
  return 0;
}

/* Why threads wait for ever. */
static void refuse_wait(unsigned count, stop_kind kind, const char *why) {
  for (unsigned i = 0; i < count; ++i)
    if (stops[i].kind == kind) {
      set_thread(i);
      fail(stops[i].line, why, kind == at_wait ? waits[i].barrier->address : 0);
    }
}

/* Shared memory starts as NaN: nothing may depend on what it holds. */
static void run_block(unsigned count) {
  block_threads = count;
  ++epoch;
  memset(shared, 0xff, shared_begin + now->shared_bytes);
  memset(stops, 0, sizeof stops);
  memset(last_writes, 0, (shared_begin + now->shared_bytes) / 4 * sizeof *last_writes);
  begin_products();
  begin_barriers();
  begin_mbarriers();
  begin_tensor_copies();
  while (run_warps(count) || (waits_for_phase(count) && finish_oldest_copy()))
    ;
  refuse_wait(count, at_wait, "wait for a phase of an mbarrier that never ends");
  refuse_wait(count, at_barrier, "barrier that not all threads reach");
  refuse_wait(count, at_meeting, "meeting that not all lanes of the warp reach");
  end_tensor_copies();
  check_warpgroups(count);
}

/* Called by the driver with a kernel of this file. */
void run_grid(kernel *which, const launch *given) {
  now = given;
  body = which;
  unsigned count = now->block.x * now->block.y * now->block.z;
  for (blockIdx.z = 0; blockIdx.z < now->grid.z; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < now->grid.y; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < now->grid.x; ++blockIdx.x)
        run_block(count);
  print_conflicts();
}
