/* Counts bank conflicts of shared memory, where TRACE_BANKS is set: 4 bytes each of 32 banks are
 * reached at once, so that lanes that want different words of one bank wait for each other. Lanes
 * reach 128 bytes at a time: 8 of them 16 bytes each, or all 32 at most 4. */

enum { most_lines = 1 << 16, banks = 32 };

typedef struct {
  uint64_t address;
  unsigned bytes;
  int line;
} noted;

static struct {
  noted *list;
  unsigned count, room, seen;
} notes[most_threads];
static uint64_t conflicts[most_lines];

static int traces_banks(void) {
  static int is_on = -1;
  return is_on < 0 ? is_on = getenv("TRACE_BANKS") != NULL : is_on;
}

static void note_access(int line, uint64_t address, unsigned bytes) {
  if (!traces_banks() || line >= most_lines)
    return;
  if (notes[thread].count == notes[thread].room) {
    notes[thread].room = 2 * notes[thread].room + 64;
    notes[thread].list = realloc(notes[thread].list, notes[thread].room * sizeof(noted));
  }
  notes[thread].list[notes[thread].count++] = (noted){address, bytes, line};
}

static const noted *next_note(unsigned which) {
  return notes[which].seen < notes[which].count ? &notes[which].list[notes[which].seen] : NULL;
}

/* How often lanes wait that reach `count` words at once. */
static unsigned count_waits(const uint64_t *words, unsigned count) {
  unsigned most = 1, of_bank[banks] = {0};
  for (unsigned i = 0; i < count; ++i) {
    unsigned before = 0;
    while (words[before] != words[i])
      ++before;
    if (before == i && ++of_bank[words[i] % banks] > most)
      most = of_bank[words[i] % banks];
  }
  return most - 1;
}

/* Of the lanes whose next access is that of `line`, which they do together. */
static void count_access(unsigned first, unsigned lanes, int line) {
  uint64_t words[2 * warp_size * 4];
  unsigned count = 0, bytes = 0, part = 0;
  for (unsigned i = 0; i < lanes; ++i) {
    const noted *n = next_note(first + i);
    if (!n || n->line != line)
      continue;
    bytes = n->bytes < 4 ? 4 : n->bytes;
    if (i * bytes / 128 != part) {
      conflicts[line] += count ? count_waits(words, count) : 0;
      part = i * bytes / 128;
      count = 0;
    }
    for (unsigned w = 0; w < bytes / 4; ++w)
      words[count++] = n->address / 4 + w;
    ++notes[first + i].seen;
  }
  conflicts[line] += count_waits(words, count);
}

/* Of the accesses of a warp since it was last asked. */
static void count_conflicts(unsigned first, unsigned lanes) {
  for (unsigned i = 0; i < lanes; ++i)
    for (const noted *n; (n = next_note(first + i));)
      count_access(first, lanes, n->line);
  for (unsigned i = 0; i < lanes; ++i)
    notes[first + i].seen = notes[first + i].count = 0;
}

static void print_conflicts(void) {
  for (int line = 0; line < most_lines; ++line)
    if (conflicts[line])
      fprintf(stderr, "ptx:%d: %llu bank conflicts\n", line, (unsigned long long)conflicts[line]);
  memset(conflicts, 0, sizeof conflicts);
}
