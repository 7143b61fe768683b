/* Products of a warpgroup (wgmma), which its 4 warps start and later wait for. Each warp computes
 * 16 of the 64 rows. A product is done at the wait, as late as a GPU may; that its matrices can be
 * read is checked when it starts as well, as early as it may. Until then nothing may name its
 * registers, nor write what it reads of shared memory. */

/* Few where a module has no products. */
enum { most_products = product_registers ? 64 : 1, most_sums = 128, warpgroup_size = 128 };

/* A register that products name: its number of product_registers, and where it is. */
typedef struct {
  int number;
  uint32_t *bits;
} named;

/* A matrix in shared memory. Its rows, of a right operand its columns, are adjacent numbers, or
 * strided ones if it is turned. */
typedef struct {
  uint64_t descriptor;
  int is_turned;
} matrix;

typedef struct {
  int line, group, sum_count, left_count, is_bf16, adds;
  named sums[most_sums], left[4];
  /* The lane's two rows of the left operand: those in registers when the product starts. */
  float left_rows[2][16];
  matrix left_matrix, right_matrix;
} started_product;

static started_product products[most_threads][most_products];
static int products_under_way[most_threads], product_group_of[most_threads];
static unsigned started_products[most_threads / warp_size];

/* By thread and register: whether another instruction named it since the last wgmma.fence, and how
 * many products under way hold it as a sum or as left operand. */
static uint8_t is_unfenced[most_threads][product_registers + 1];
static uint8_t held_sums[most_threads][product_registers + 1];
static uint8_t held_left[most_threads][product_registers + 1];

static void begin_products(void) {
  memset(is_unfenced, 1, sizeof is_unfenced);
  memset(started_products, 0, sizeof started_products);
}

/* An instruction that is no product names a register that products name. */
static void name_register(int line, int number) {
  if (held_sums[thread][number] || held_left[thread][number])
    fail(line, "register of a product under way", (uint64_t)number);
  is_unfenced[thread][number] = 1;
}

static void fence_registers(void) { memset(is_unfenced[thread], 0, sizeof is_unfenced[thread]); }

/* Where a number of a matrix lies: of 8 rows of 128 bytes each, whose chunks of 16 bytes are
 * swizzled. Those rows go along k; of a turned matrix each is of one k. */
static uint64_t place_in(matrix of, int row, int k) {
  uint64_t start = (of.descriptor & 0x3fff) << 4, across = (of.descriptor >> 16 & 0x3fff) << 4;
  uint64_t stride = (of.descriptor >> 32 & 0x3fff) << 4;
  uint64_t place =
      start + (of.is_turned ? row / 64 * across + row % 64 * 2 + k / 8 * stride + k % 8 * 128
                            : row / 8 * stride + row % 8 * 128 + (uint64_t)k * 2);
  return place ^ (place >> 7 & 7) << 4;
}

static void check_matrix(int line, matrix of) {
  if (of.descriptor >> 62 != 1 || of.descriptor >> 49 & 7)
    fail(line, "matrix that is not swizzled within 128 bytes", of.descriptor);
  if (of.descriptor << 4 & 0x380)
    fail(line, "matrix that starts within 8 swizzled rows", of.descriptor << 4 & 0x3ffff);
}

/* What a lane multiplies: number k of left row `half` and of right column `column` of its own. */
static uint64_t left_place(const started_product *p, int half, int k) {
  return place_in(p->left_matrix, thread % warpgroup_size / warp_size * 16 + lane() / 4 + 8 * half,
                  k);
}
static uint64_t right_place(const started_product *p, int column, int k) {
  return place_in(p->right_matrix, column / 2 * 8 + lane() % 4 * 2 + column % 2, k);
}

static float read_number(const started_product *p, uint64_t place) {
  const word_write *last = &last_writes[place / 4];
  check_shared(p->line, place, 2);
  if (is_copied_to[place / 4])
    fail(p->line, "access of shared memory that a copy is under way to", place);
  if (!is_write_before(touch_of(place / 4)))
    fail(p->line, "data race in shared memory", place);
  if (last->thread && last->fences == proxy_fences[last->thread - 1])
    fail(p->line, "write of shared memory that no fence.proxy.async follows", place);
  note_product_read(touch_of(place / 4));
  uint16_t bits;
  memcpy(&bits, (char *)shared + place, 2);
  return p->is_bf16 ? as_f32((uint32_t)bits << 16) : (float)as_f16(bits);
}

/* What the lane reads of shared memory, marked as read by one product more, or one less. */
static float read_marked(const started_product *p, uint64_t place, int change) {
  float number = read_number(p, place);
  read_by_products[place / 4] += change;
  return number;
}
static void read_left(started_product *p, int change) {
  for (int half = 0; half < 2 && !p->left_count; ++half)
    for (int k = 0; k < 16; ++k)
      p->left_rows[half][k] = read_marked(p, left_place(p, half, k), change);
}
static void read_column(const started_product *p, int column, int change, float *numbers) {
  for (int k = 0; k < 16; ++k)
    numbers[k] = read_marked(p, right_place(p, column, k), change);
}

/* Sums may be those of products under way if they are the same ones. */
static void check_registers(const started_product *p) {
  const uint8_t *sums = held_sums[thread], *left = held_left[thread];
  for (int i = 0; i < p->sum_count + p->left_count; ++i) {
    int is_sum = i < p->sum_count;
    int number = is_sum ? p->sums[i].number : p->left[i - p->sum_count].number;
    if (is_sum ? left[number] || sums[number] != sums[p->sums[0].number] : sums[number])
      fail(p->line, "register of a product under way", (uint64_t)number);
    if (is_unfenced[thread][number])
      fail(p->line, "register that no wgmma.fence follows", (uint64_t)number);
  }
}

static void hold_registers(const started_product *p, int change) {
  for (int i = 0; i < p->sum_count; ++i)
    held_sums[thread][p->sums[i].number] += change;
  for (int i = 0; i < p->left_count; ++i)
    held_left[thread][p->left[i].number] += change;
}

/* Register r of the left operand holds numbers 2 (lane % 4) and the next of row lane / 4, of the
 * row 8 below where r is odd, and 8 numbers further where r is 2 or 3. */
static void meet_for_left(started_product *p) {
  brought mine = {{0}};
  uint32_t bits[4] = {0};
  for (int i = 0; i < p->left_count; ++i)
    bits[i] = *p->left[i].bits;
  unpack(bits, 4, p->is_bf16, mine.numbers);
  const brought *all = meet(p->line, mine);
  for (int k = 0; k < 16; ++k)
    for (int half = 0; half < 2; ++half)
      p->left_rows[half][k] =
          all[lane() / 4 * 4 + k / 2 % 4].numbers[(half + k / 8 * 2) * 2 + k % 2];
}

static void start_product(started_product started) {
  started_product *p = &products[thread][products_under_way[thread]];
  if (products_under_way[thread]++ == most_products)
    fail(started.line, "more products at once than the machine holds", 0);
  *p = started;
  p->group = product_group_of[thread];
  check_registers(p);
  check_matrix(p->line, p->right_matrix);
  if (!p->left_count)
    check_matrix(p->line, p->left_matrix);
  float numbers[16];
  read_left(p, 1);
  for (int column = 0; column < p->sum_count / 2; ++column)
    read_column(p, column, 1, numbers);
  hold_registers(p, 1);
  meet_for_left(p);
  started_products[thread / warp_size] += lane() == 0;
}

/* Sum i is that of column i / 4 * 8 + 2 (lane % 4) + i % 2, of the row 8 below where i % 4 > 1. */
static void finish_product(started_product *p) {
  hold_registers(p, -1);
  read_left(p, -1);
  for (int column = 0; column < p->sum_count / 2; ++column) {
    float numbers[16];
    read_column(p, column, -1, numbers);
    for (int half = 0; half < 2; ++half) {
      uint32_t *bits = p->sums[column / 2 * 4 + half * 2 + column % 2].bits;
      float sum = p->adds ? as_f32(*bits) : 0;
      for (int k = 0; k < 16; ++k)
        sum += p->left_rows[half][k] * numbers[k];
      *bits = of_f32(sum);
    }
  }
}

static void commit_products(void) { ++product_group_of[thread]; }

/* Waits for the groups of this thread but the last `rest`, as all of its warp do. */
static void wait_for_products(int line, int rest) {
  int kept = 0;
  for (int i = 0; i < products_under_way[thread]; ++i) {
    started_product *p = &products[thread][i];
    if (p->group < product_group_of[thread] - rest)
      finish_product(p);
    else
      products[thread][kept++] = *p;
  }
  products_under_way[thread] = kept;
  meet(line, (brought){{0}});
}

static void end_products(void) {
  if (products_under_way[thread])
    fail(products[thread][0].line, "product that its thread doesn't wait for", 0);
}

static void check_warpgroups(unsigned count) {
  for (unsigned warp = 0; warp < count / warp_size; ++warp)
    if (started_products[warp] != started_products[warp / 4 * 4])
      fail(0, "product that not all warps of the warpgroup reach", 0);
}
