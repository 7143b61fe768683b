/* Barriers of threads, by number: bar.sync waits for as many threads as it says, or all; bar.arrive
 * counts as one of them and goes on. */

enum { most_barriers = 16 };

static struct {
  unsigned arrived, expected;
  int line; /* of the first */
  moments before;
} barriers[most_barriers];

static int barrier_of[most_threads];

static void begin_barriers(void) { memset(barriers, 0, sizeof barriers); }

/* Lets threads go on that wait for the barrier. */
static void end_barrier(unsigned id) {
  int me = thread;
  for (unsigned i = 0; i < block_threads; ++i) {
    thread = (int)i;
    if (stops[i].kind != at_barrier || barrier_of[i] != (int)id)
      continue;
    stops[i].kind = released;
    acquire_from(barriers[id].before);
  }
  thread = me;
  barriers[id].arrived = 0;
  memset(barriers[id].before, 0, sizeof barriers[id].before);
}

/* `count` is 0 for all threads, which then reach the same line. */
static void reach_barrier(int line, unsigned id, unsigned count) {
  if (id >= most_barriers)
    fail(line, "barrier beyond the 16 that there are", id);
  if (count % warp_size != 0 || count > block_threads)
    fail(line, "barrier of a number of threads that is not one of whole warps", count);
  unsigned expected = count ? count : block_threads;
  if (!barriers[id].arrived) {
    barriers[id].expected = expected;
    barriers[id].line = line;
  }
  if (barriers[id].expected != expected || (!count && barriers[id].line != line))
    fail(line, "barrier that not all threads reach", id);
  ++barriers[id].arrived;
  if (expected != block_threads)
    release_to(barriers[id].before);
}

static void end_if_complete(unsigned id) {
  if (barriers[id].arrived < barriers[id].expected)
    return;
  epoch += barriers[id].expected == block_threads;
  end_barrier(id);
}

static void barrier(int line, unsigned id, unsigned count) {
  reach_barrier(line, id, count);
  stops[thread].kind = at_barrier;
  barrier_of[thread] = (int)id;
  end_if_complete(id);
  stop(line, stops[thread].kind);
}

static void arrive(int line, unsigned id, unsigned count) {
  reach_barrier(line, id, count);
  end_if_complete(id);
}
