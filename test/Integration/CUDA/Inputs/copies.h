/* Copies from global to shared memory that a thread starts and later waits for. They are done at
 * the wait, as late as a GPU may; the destination is taken when they start, as early as it may. */

enum { most_copies = 1024 };

typedef struct {
  uint64_t to, from;
  unsigned bytes, read_bytes;
  int line, group;
} copy;

static copy copies[most_threads][most_copies];
static int copy_count[most_threads], group_of[most_threads];

static void mark_copied_to(const copy *c, int is_under_way) {
  memset(&is_copied_to[c->to / 4], is_under_way, c->bytes / 4);
}

/* Of `bytes` only the first are read, and the others 0. */
static void start_copy(int line, uint64_t to, uint64_t from, unsigned bytes, unsigned read_bytes) {
  note_access(line, to, bytes);
  memset(shared_memory(line, to, bytes, 1), 0xff, bytes);
  if (from % bytes != 0)
    fail(line, "unaligned access of global memory", from);
  if (read_bytes > bytes)
    fail(line, "copy that reads more than it writes", from);
  if (read_bytes && !now->is_allocated(from, read_bytes))
    fail(line, "access beyond allocated memory", from);
  if (copy_count[thread] == most_copies)
    fail(line, "more copies at once than the machine holds", from);
  copy c = {to, from, bytes, read_bytes, line, group_of[thread]};
  copies[thread][copy_count[thread]++] = c;
  mark_copied_to(&c, 1);
}

static void finish_copy(int line, const copy *c) {
  mark_copied_to(c, 0);
  char *to = shared_memory(line, c->to, c->bytes, 1);
  memset(to, 0, c->bytes);
  memcpy(to, (const void *)(uintptr_t)c->from, c->read_bytes);
}

static void commit_copies(void) { ++group_of[thread]; }

/* Waits for the groups of this thread but the last `rest`. */
static void wait_for_copies(int line, int rest) {
  int kept = 0;
  for (int i = 0; i < copy_count[thread]; ++i) {
    copy *c = &copies[thread][i];
    if (c->group < group_of[thread] - rest)
      finish_copy(line, c);
    else
      copies[thread][kept++] = *c;
  }
  copy_count[thread] = kept;
}

static void end_copies(void) {
  if (copy_count[thread])
    fail(copies[thread][0].line, "copy that its thread doesn't wait for", copies[thread][0].to);
}
