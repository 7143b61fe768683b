/* What the 32 lanes of a warp do together: each lane brings values to a meeting, and goes on with
 * what it makes of those of all lanes. */

typedef union {
  uint64_t values[6];
  float numbers[12];
} brought;

/* Of this meeting and the one before, which later lanes may still read. */
static brought meetings[most_threads / warp_size][2][warp_size];
static int meeting_of[most_threads];

static int lane(void) { return thread % warp_size; }

static const brought *meet(int line, brought mine) {
  brought *all = meetings[thread / warp_size][meeting_of[thread] ^= 1];
  all[lane()] = mine;
  stop(line, at_meeting);
  return all;
}

/* Matrices of 8 rows of 16 bytes, whose addresses 8 lanes bring; a lane gets two numbers of row
 * lane / 4 of each, or of column lane / 4 of a transposed one. */
static void ldmatrix(int line, uint64_t address, int count, int is_transposed, uint32_t *result) {
  if (lane() < 8 * count) {
    if (address % 16 != 0)
      fail(line, "unaligned access of shared memory", address);
    note_access(line, address, 16);
  }
  const brought *all = meet(line, (brought){{address}});
  for (int i = 0; i < count; ++i) {
    uint16_t halves[2];
    for (int half = 0; half < 2; ++half) {
      int across = 2 * (lane() % 4) + half, along = lane() / 4;
      int row = is_transposed ? across : along, column = is_transposed ? along : across;
      uint64_t place = all[8 * i + row].values[0] + 2 * (uint64_t)column;
      memcpy(&halves[half], shared_memory(line, place, 2, 0), 2);
    }
    result[i] = halves[0] | (uint32_t)halves[1] << 16;
  }
}

/* The numbers of pairs of f16 or bf16. */
static void unpack(const uint32_t *pairs, int count, int is_bf16, float *numbers) {
  for (int i = 0; i < 2 * count; ++i) {
    uint16_t bits = (uint16_t)(pairs[i / 2] >> i % 2 * 16);
    numbers[i] = is_bf16 ? as_f32((uint32_t)bits << 16) : (float)as_f16(bits);
  }
}

/* Row `row` of a times column `column` of b: of row r of either, lane 4 r + k / 2 % 4 brings
 * numbers k, and of a also those of row r + 8. */
static float multiply(const brought *all, int row, int column, float sum) {
  for (int k = 0; k < 16; ++k) {
    const float *a = all[row % 8 * 4 + k / 2 % 4].numbers + (row / 8 + k / 8 * 2) * 2;
    const float *b = all[column * 4 + k / 2 % 4].numbers + 8 + k / 8 * 2;
    sum += a[k % 2] * b[k % 2];
  }
  return sum;
}

/* d = a b + c, m16n8k16: a lane gets columns 2 (lane % 4) and the next of rows lane / 4 and 8 more.
 */
static void mma(int line, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t *d,
                int is_bf16) {
  brought mine;
  unpack(a, 4, is_bf16, mine.numbers);
  unpack(b, 2, is_bf16, mine.numbers + 8);
  const brought *all = meet(line, mine);
  for (int i = 0; i < 4; ++i) {
    int row = lane() / 4 + i / 2 * 8, column = lane() % 4 * 2 + i % 2;
    d[i] = of_f32(multiply(all, row, column, as_f32(c[i])));
  }
}

/* `within` holds the last lane of a segment in bits 0 to 4, and which bits number segments in bits
 * 8 to 12. A lane beyond its segment's gets its own value. */
static uint32_t shuffle(int line, char mode, uint32_t value, uint32_t by, uint32_t within,
                        int *is_inside) {
  const brought *all = meet(line, (brought){{value}});
  int segment = within >> 8 & 31, at = lane(), b = by & 31;
  int last = (at & segment) | (within & 31 & ~segment), first = at & segment;
  int from = mode == 'u'   ? at - b
             : mode == 'd' ? at + b
             : mode == 'b' ? at ^ b
                           : first | (b & ~segment);
  *is_inside = mode == 'u' ? from >= last : from <= last;
  return (uint32_t)all[*is_inside ? from : at].values[0];
}

/* A bit of each lane. */
static uint32_t ballot(int line, int is_true) {
  const brought *all = meet(line, (brought){{is_true != 0}});
  uint32_t bits = 0;
  for (int i = 0; i < warp_size; ++i)
    bits |= (uint32_t)all[i].values[0] << i;
  return bits;
}

/* What lanes did before happens before what they do after. */
static void synchronize_warp(int line) {
  static moments before[most_warps];
  uint32_t *warp = before[thread / warp_size];
  release_to(warp);
  meet(line, (brought){{0}});
  acquire_from(warp);
}

/* Of setmaxnreg, which ptxas checks. */
static void meet_for_registers(int line) { meet(line, (brought){{0}}); }

/* The first lane is the one. */
static int elect(int line) {
  meet(line, (brought){{0}});
  return lane() == 0;
}
