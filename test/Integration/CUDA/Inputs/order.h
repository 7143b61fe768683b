/* Which accesses of shared memory happen before which. Time is a count of the block's
 * synchronizations; what a thread did up to `happened_before[t][u]` of thread u's time happened
 * before what t does now. Barriers of all threads need none of it: they begin a new epoch. */

/* Copies to shared memory that an mbarrier counts are as those of a thread of their own. */
enum { most_mbarriers = 64, most_actors = most_threads + most_mbarriers };

typedef uint32_t moments[most_actors];

static moments happened_before[most_threads];
static uint32_t moment = 1;
static unsigned block_threads, mbarrier_count;

static void join(uint32_t *to, const uint32_t *from) {
  for (unsigned i = 0; i < block_threads; ++i)
    to[i] = from[i] > to[i] ? from[i] : to[i];
  for (unsigned i = most_threads; i < most_threads + mbarrier_count; ++i)
    to[i] = from[i] > to[i] ? from[i] : to[i];
}

/* What this thread did so far happens before what follows `to`. */
static void release_to(uint32_t *to) {
  join(to, happened_before[thread]);
  to[thread] = moment++;
}

static void acquire_from(const uint32_t *from) { join(happened_before[thread], from); }

/* Who touched 4 bytes of shared memory since the last barrier of all threads. Reads are kept by
 * warp, with the lanes that read; those of products (wgmma) apart, since a warp waits for them as
 * one. */
enum { most_warps = most_threads / 32 };
typedef struct {
  uint64_t epoch;
  uint32_t writer, written;          /* an actor by number plus 1, and when */
  uint32_t readers, product_readers; /* warps */
  uint32_t lanes[most_warps], read[most_warps], read_by_product[most_warps];
  uint32_t run[most_warps]; /* of the warp, in which lanes read */
} touch;

/* How often lanes of a warp ran, one after another, each until it waits. */
static uint32_t runs_of_warps;

static uint64_t epoch;
static touch touches[most_shared / 4];

static touch *touch_of(uint64_t word) {
  touch *t = &touches[word];
  if (t->epoch != epoch) {
    t->epoch = epoch;
    t->writer = t->readers = t->product_readers = 0;
  }
  return t;
}

static int is_before(unsigned actor, uint32_t when) {
  return (int)actor == thread || happened_before[thread][actor] >= when;
}

static int is_write_before(const touch *t) {
  return !t->writer || is_before(t->writer - 1, t->written);
}

static int are_lanes_before(const touch *t, unsigned warp) {
  for (unsigned lane = 0; lane < 32; ++lane)
    if (t->lanes[warp] >> lane & 1 && !is_before(32 * warp + lane, t->read[warp]))
      return 0;
  return 1;
}

/* One lane tells for its warp, which waits as one. */
static int is_product_before(const touch *t, unsigned warp) {
  for (unsigned lane = 0; lane < 32; ++lane)
    if (is_before(32 * warp + lane, t->read_by_product[warp]))
      return 1;
  return 0;
}

static int are_reads_before(const touch *t) {
  uint64_t readers = t->readers | t->product_readers;
  for (unsigned warp = 0; readers >> warp; ++warp)
    if ((t->readers >> warp & 1 && !are_lanes_before(t, warp)) ||
        (t->product_readers >> warp & 1 && !is_product_before(t, warp)))
      return 0;
  return 1;
}

static void note_write(touch *t, unsigned actor, uint32_t when) {
  t->writer = actor + 1;
  t->written = when;
  t->readers = t->product_readers = 0;
}

/* When a thread last arrived at an mbarrier. */
static uint32_t arrivals[most_threads];

/* In one run of a warp the first of its lanes tells when: the others do at once what it did, though
 * it may have arrived already. A lane that arrived and reads again is later. */
static void note_read(touch *t) {
  unsigned warp = (unsigned)thread / 32;
  if (!(t->readers >> warp & 1))
    t->lanes[warp] = 0;
  t->readers |= 1u << warp;
  int is_again = t->lanes[warp] >> thread % 32 & 1 && arrivals[thread] >= t->read[warp];
  if (t->lanes[warp] == 0 || t->run[warp] != runs_of_warps || is_again)
    t->read[warp] = moment;
  t->run[warp] = runs_of_warps;
  t->lanes[warp] |= 1u << thread % 32;
}

static void note_product_read(touch *t) {
  unsigned warp = (unsigned)thread / 32;
  t->product_readers |= 1u << warp;
  t->read_by_product[warp] = moment;
}
