/* Runs a block of a CUDA kernel on the CPU, its threads one after another from barrier to barrier.
 *
 * ptx.py writes a kernel as a C function of one thread and includes this file. Each access is
 * looked at: memory that the program didn't allocate, shared memory beyond what the launch gave,
 * an address that is no multiple of the access's size, shared memory that one thread writes and
 * another touches without a barrier between them, and barriers that not all threads reach, each
 * end the program with the line of the PTX. */

#include "launch.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { most_threads = 1024, most_shared = 232448, stack_bytes = 1 << 16 };

typedef void kernel(void **arguments);

/* Who touched 4 bytes of shared memory since the last barrier: threads by number plus 1. */
typedef struct {
  uint64_t epoch;
  uint16_t writer, reader;
} touch;
enum { several_readers = most_threads + 1 };

static const launch *now;
static kernel *body;
static dim3 blockIdx, threadIdx;
static int thread, is_done[most_threads], waits_at[most_threads];
static ucontext_t scheduler, threads[most_threads];
static char stacks[most_threads][stack_bytes];

static uint64_t epoch;
static uint32_t shared[most_shared / 4];
static touch touches[most_shared / 4];

static void fail(int line, const char *what, uint64_t address) {
  fprintf(stderr, "ptx:%d: %s at %#llx, thread (%u, %u, %u) of block (%u, %u, %u)\n", line, what,
          (unsigned long long)address, threadIdx.x, threadIdx.y, threadIdx.z, blockIdx.x,
          blockIdx.y, blockIdx.z);
  exit(70);
}

static void *global_memory(int line, uint64_t address, unsigned bytes) {
  if (address % bytes != 0)
    fail(line, "unaligned access of global memory", address);
  if (!now->is_allocated(address, bytes))
    fail(line, "access beyond allocated memory", address);
  return (void *)(uintptr_t)address;
}

static void *shared_memory(int line, uint64_t address, unsigned bytes, int writes) {
  if (address % bytes != 0)
    fail(line, "unaligned access of shared memory", address);
  if (address + bytes > now->shared_bytes || address > now->shared_bytes)
    fail(line, "access beyond shared memory", address);
  for (uint64_t word = address / 4; word * 4 < address + bytes; ++word) {
    touch *t = &touches[word];
    if (t->epoch != epoch)
      *t = (touch){.epoch = epoch};
    uint16_t me = (uint16_t)(thread + 1);
    if ((t->writer && t->writer != me) || (writes && t->reader && t->reader != me))
      fail(line, "data race in shared memory", address);
    if (writes)
      t->writer = me;
    else
      t->reader = t->reader && t->reader != me ? several_readers : me;
  }
  return (char *)shared + address;
}

static void barrier(int line) {
  waits_at[thread] = line;
  swapcontext(&threads[thread], &scheduler);
}

static void run_thread(void) {
  body(now->arguments);
  is_done[thread] = 1;
}

/* Shared memory starts as NaN: nothing may depend on what it holds. */
static void run_block(unsigned count) {
  memset(shared, 0xff, now->shared_bytes);
  for (unsigned i = 0; i < count; ++i) {
    getcontext(&threads[i]);
    threads[i].uc_stack.ss_sp = stacks[i];
    threads[i].uc_stack.ss_size = stack_bytes;
    threads[i].uc_link = &scheduler;
    makecontext(&threads[i], run_thread, 0);
    is_done[i] = 0;
  }
  for (int line = 0; !is_done[0];) {
    ++epoch;
    for (unsigned i = 0; i < count; ++i) {
      thread = (int)i;
      threadIdx.x = i % now->block.x;
      threadIdx.y = i / now->block.x % now->block.y;
      threadIdx.z = i / now->block.x / now->block.y;
      waits_at[i] = 0;
      swapcontext(&scheduler, &threads[i]);
      line = i ? line : waits_at[0];
      if (waits_at[i] != line)
        fail(waits_at[i], "barrier that not all threads reach", 0);
    }
  }
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
}

/* ---- Values of registers, which hold bits ------------------------------------------------- */

#define CONVERT(name, from, to)                                                                    \
  static inline to name(from value) {                                                              \
    to result;                                                                                     \
    memcpy(&result, &value, sizeof result);                                                        \
    return result;                                                                                 \
  }
CONVERT(as_f32, uint32_t, float)
CONVERT(of_f32, float, uint32_t)
CONVERT(as_f64, uint64_t, double)
CONVERT(of_f64, double, uint64_t)
CONVERT(as_f16, uint16_t, _Float16)
CONVERT(of_f16, _Float16, uint16_t)

/* The nearest bf16, of two the even one. */
static inline uint16_t to_bf16(float value) {
  uint32_t bits = of_f32(value);
  if (value != value)
    return 0x7fff;
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Subnormal numbers are 0, as where instructions say ftz. */
static inline float flush(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }

/* Of additions that tell of it. */
static uint64_t carry;

/* Bits [at, at + count) of a value; of a signed one with the sign of the last. */
static inline uint32_t extract_u32(uint32_t value, unsigned at, unsigned count) {
  return (uint32_t)((uint64_t)value >> at & ((1ull << count) - 1));
}
static inline int32_t extract_s32(int32_t value, unsigned at, unsigned count) {
  return count ? (int32_t)((uint32_t)value << (32 - at - count)) >> (32 - count) : 0;
}
