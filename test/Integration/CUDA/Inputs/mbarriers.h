/* Barriers in shared memory (mbarrier) with phases: one ends when as many arrivals were counted as
 * it was initialized with, and all bytes came that were expected. Waits name the parity of a phase;
 * a thread waits until that phase has ended. */

typedef struct {
  uint64_t address;
  int line; /* of its initialization */
  unsigned threads, pending, phase;
  int64_t expected, under_way; /* bytes */
  uint32_t initializer, fences;
  moments before, ended; /* what happens before the end of this phase, and of the last one */
} mbarrier;

static mbarrier mbarriers[most_mbarriers];
static struct {
  const mbarrier *barrier;
  unsigned parity;
} waits[most_threads];

static uint32_t barrier_fences[most_threads];

static void begin_mbarriers(void) {
  memset(mbarriers, 0, sizeof mbarriers);
  mbarrier_count = 0;
}

static uint32_t count_fences(uint32_t of) { return proxy_fences[of] + barrier_fences[of]; }

/* The initialization of a barrier is seen by copies. */
static void fence_mbarrier(void) { ++barrier_fences[thread]; }

static mbarrier *look_up(uint64_t address) {
  for (unsigned i = 0; i < mbarrier_count; ++i)
    if (mbarriers[i].address == address)
      return &mbarriers[i];
  return NULL;
}

static void init_mbarrier(int line, uint64_t address, unsigned count) {
  shared_memory(line, address, 8, 1);
  if (count < 1 || count >= 1 << 20)
    fail(line, "mbarrier of no arrivals, or too many", count);
  if (look_up(address))
    fail(line, "mbarrier that is one already", address);
  if (mbarrier_count == most_mbarriers)
    fail(line, "more mbarriers than the machine holds", address);
  mbarrier *b = &mbarriers[mbarrier_count++];
  *b = (mbarrier){.address = address,
                  .line = line,
                  .threads = count,
                  .pending = count,
                  .initializer = (uint32_t)thread,
                  .fences = count_fences((uint32_t)thread)};
}

/* The barrier as this thread uses it, which its initialization has to happen before. */
static mbarrier *find_mbarrier(int line, uint64_t address) {
  mbarrier *b = look_up(address);
  if (!b)
    fail(line, "mbarrier that is not initialized", address);
  if (!is_write_before(touch_of(address / 4)))
    fail(line, "data race in shared memory", address);
  return b;
}

static void end_phase_if_complete(int line, mbarrier *b) {
  if (b->pending)
    return;
  if (b->under_way > b->expected)
    fail(line, "copies of more bytes than their mbarrier expects", b->address);
  if (b->expected)
    return;
  ++b->phase;
  b->pending = b->threads;
  memcpy(b->ended, b->before, sizeof b->ended);
}

/* Returns the phase that it arrived in. */
static uint64_t arrive_at(int line, uint64_t address, unsigned count, uint64_t bytes) {
  mbarrier *b = find_mbarrier(line, address);
  uint64_t phase = b->phase;
  if (count > b->pending)
    fail(line, "more arrivals at an mbarrier than it was initialized with", address);
  b->expected += (int64_t)bytes;
  b->pending -= count;
  release_to(b->before);
  arrivals[thread] = moment - 1;
  end_phase_if_complete(line, b);
  return phase;
}

static void expect_bytes(int line, uint64_t address, uint64_t bytes) {
  find_mbarrier(line, address)->expected += (int64_t)bytes;
}

static int has_ended(const mbarrier *b, unsigned parity) { return (b->phase & 1) != (parity & 1); }

/* True: it returns when the phase has ended, and never before. */
static int wait_for_phase(int line, uint64_t address, unsigned parity) {
  const mbarrier *b = find_mbarrier(line, address);
  while (!has_ended(b, parity)) {
    waits[thread].barrier = b;
    waits[thread].parity = parity;
    stop(line, at_wait);
  }
  acquire_from(b->ended);
  return 1;
}

static int can_go_on(unsigned which) {
  return has_ended(waits[which].barrier, waits[which].parity);
}
