/*===- attnc_tiles_x86.c - products of bf16 matrices ----------------------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * By tiles of AMX if the system grants them, else by vectors of f32. Four tiles of sums share the
 * tiles of two groups of rows and two of columns, which keeps loads below what the products take.
 *
 *===------------------------------------------------------------------------===*/

#include "attnc_support.h"
#include "attnc_tiles.h"

#include <immintrin.h>

/*===------------------------------------------------------------------------===
 * By tiles
 *===------------------------------------------------------------------------===*/

static int has_wide_vectors;

/* Asks Linux for the registers of tiles, once a process: of a CPU or system without them it refuses
 * what it doesn't know. */
static int has_instructions(void) {
  extern long syscall(long number, ...);
  enum { arch_prctl = 158, request_permission = 0x1023, tile_data = 18 };
  static int known; /* 1: granted, -1: refused */
  int state = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
  if (state == 0) {
    state = syscall(arch_prctl, request_permission, tile_data) == 0 ? 1 : -1;
    __atomic_store_n(&has_wide_vectors, (attnc_cpu_features() & attnc_avx512) != 0,
                     __ATOMIC_RELAXED);
    __atomic_store_n(&known, state, __ATOMIC_RELEASE);
  }
  return state > 0;
}

#define WITH_TILES __attribute__((target("amx-bf16,avx2")))
#define WITH_WIDE_VECTORS __attribute__((target("amx-bf16,avx512f")))

/* Tiles 0 to 3 are sums, of upper and lower rows times left and right columns; 4 and 5 upper and
 * lower rows of pairs, 6 and 7 left and right columns. */
WITH_TILES static void configure(int32_t rows) {
  struct {
    uint8_t palette, start_row, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
  } tiles;
  __builtin_memset(&tiles, 0, sizeof(tiles));
  tiles.palette = 1;
  int32_t upper = least(rows, side), lower = rows - upper;
  const uint8_t counts[] = {upper, upper, lower, lower, upper, lower, side, side};
  for (int i = 0; i < 8; ++i) {
    tiles.rows[i] = counts[i];
    tiles.bytes[i] = counts[i] ? row_bytes : 0;
  }
  _tile_loadconfig(&tiles);
}

/* What is copied for tiles: steps of 16 pairs of 32 rows, pairs side by side. */
enum { rows_of_step = 2 * side, bytes_of_step = rows_of_step * row_bytes, most_packed_steps = 8 };

/* Transposes 8 x 8 pairs: 4 x 4 in each half of the vectors. */
WITH_TILES INLINE void transpose_8(const char *from, int64_t from_row, char *to) {
  UNROLL for (int column = 0; column < 8; column += 4) {
    __m256i rows[4];
    UNROLL for (int i = 0; i < 4; ++i) {
      const char *upper = from + i * from_row + column * 4, *lower = upper + 4 * from_row;
      rows[i] = _mm256_loadu2_m128i((const __m128i *)lower, (const __m128i *)upper);
    }
    __m256i even_low = _mm256_unpacklo_epi32(rows[0], rows[2]);
    __m256i even_high = _mm256_unpackhi_epi32(rows[0], rows[2]);
    __m256i odd_low = _mm256_unpacklo_epi32(rows[1], rows[3]);
    __m256i odd_high = _mm256_unpackhi_epi32(rows[1], rows[3]);
    const __m256i columns[] = {
        _mm256_unpacklo_epi32(even_low, odd_low), _mm256_unpackhi_epi32(even_low, odd_low),
        _mm256_unpacklo_epi32(even_high, odd_high), _mm256_unpackhi_epi32(even_high, odd_high)};
    UNROLL for (int i = 0; i < 4; ++i)
        _mm256_storeu_si256((__m256i *)(to + (column + i) * row_bytes), columns[i]);
  }
}

/* Transposes 16 x 16 pairs. A tile is loaded sooner where each of its rows was stored at once. */
WITH_WIDE_VECTORS static void transpose_16(const char *from, int64_t from_row, char *to) {
  __m512i x[side], y[side];
  UNROLL for (int i = 0; i < side; ++i) x[i] = _mm512_loadu_si512(from + i * from_row);
  UNROLL for (int i = 0; i < side; i += 2) {
    y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
  }
  UNROLL for (int i = 0; i < side; i += 4) UNROLL for (int half = 0; half < 2; ++half) {
    x[i + 2 * half] = _mm512_unpacklo_epi64(y[i + half], y[i + half + 2]);
    x[i + 2 * half + 1] = _mm512_unpackhi_epi64(y[i + half], y[i + half + 2]);
  }
  UNROLL for (int i = 0; i < side; i += 8) UNROLL for (int k = 0; k < 4; ++k) {
    y[i + k] = _mm512_shuffle_i32x4(x[i + k], x[i + k + 4], 0x88);
    y[i + k + 4] = _mm512_shuffle_i32x4(x[i + k], x[i + k + 4], 0xdd);
  }
  UNROLL for (int k = 0; k < 8; ++k) {
    _mm512_storeu_si512(to + k * row_bytes, _mm512_shuffle_i32x4(y[k], y[k + 8], 0x88));
    _mm512_storeu_si512(to + (k + 8) * row_bytes, _mm512_shuffle_i32x4(y[k], y[k + 8], 0xdd));
  }
}

WITH_TILES static void transpose_16_by_8(const char *from, int64_t from_row, char *to) {
  for (int row = 0; row < side; row += 8)
    for (int pair = 0; pair < side; pair += 8)
      transpose_8(from + pair * from_row + row * 4, from_row, to + row * row_bytes + pair * 4);
}

WITH_WIDE_VECTORS static void copy_16(const char *from, int64_t from_row, int32_t pairs, char *to) {
  __mmask16 known = (1u << pairs) - 1;
  UNROLL for (int row = 0; row < side; ++row) _mm512_storeu_si512(
      to + row * row_bytes, _mm512_maskz_loadu_epi32(known, from + row * from_row));
}

static void pack_elements(const product *p, int32_t row, int32_t pair, char *to) {
  __builtin_memset(to, 0, side * row_bytes);
  for (int32_t i = 0; i < side && row + i < p->rows; ++i)
    for (int32_t k = 0; k < side && 2 * (pair + k) < p->depth; ++k) {
      uint32_t read = read_pair(p, row + i, pair + k);
      __builtin_memcpy(to + i * row_bytes + k * 4, &read, sizeof read);
    }
}

/* Rows of a tile with pairs side by side, and zeros after the last row and pair. */
static void pack_tile(const product *p, int32_t row, int32_t pair, char *to) {
  const char *from = p->a + row * p->a_row + pair * p->a_pair;
  int is_wide = __atomic_load_n(&has_wide_vectors, __ATOMIC_RELAXED);
  int has_all_rows = p->rows - row >= side, has_all_pairs = p->depth - 2 * pair >= 2 * side;
  if (has_all_rows && has_all_pairs && p->a_row == 4 && is_wide)
    transpose_16(from, p->a_pair, to);
  else if (has_all_rows && has_all_pairs && p->a_row == 4)
    transpose_16_by_8(from, p->a_pair, to);
  else if (has_all_rows && p->a_pair == 4 && p->depth % 2 == 0 && is_wide)
    copy_16(from, p->a_row, p->depth / 2 - pair, to);
  else
    pack_elements(p, row, pair, to);
}

static void pack_step(const product *p, int32_t row, int32_t pair, char *to) {
  pack_tile(p, row, pair, to);
  if (p->rows - row > side)
    pack_tile(p, row + side, pair, to + side * row_bytes);
}

/* One group of 32 rows or fewer: steps that lie in place, and then packed ones. */
typedef struct row_group {
  const product *p;
  char *packed;
  int32_t row, step, steps_in_place, packed_steps;
} row_group;

WITH_TILES INLINE void multiply_step(const char *a, const char *a_lower, int64_t a_row,
                                     const char *b, int64_t b_pair, int has_lower, int has_right) {
  _tile_loadd(4, a, a_row);
  _tile_loadd(6, b, b_pair);
  _tile_dpbf16ps(0, 4, 6);
  if (has_right) {
    _tile_loadd(7, b + row_bytes, b_pair);
    _tile_dpbf16ps(1, 4, 7);
  }
  if (has_lower) {
    _tile_loadd(5, a_lower, a_row);
    _tile_dpbf16ps(2, 5, 6);
  }
  if (has_lower && has_right)
    _tile_dpbf16ps(3, 5, 7);
}

#define FOR_EACH_SUM(DO)                                                                           \
  DO(0, sum);                                                                                      \
  if (has_right)                                                                                   \
    DO(1, sum + row_bytes);                                                                        \
  if (has_lower)                                                                                   \
    DO(2, lower);                                                                                  \
  if (has_lower && has_right)                                                                      \
  DO(3, lower + row_bytes)
#define ZERO(tile, address) _tile_zero(tile)
#define LOAD(tile, address) _tile_loadd(tile, address, p->sum_row)
#define STORE(tile, address) _tile_stored(tile, address, p->sum_row)

/* Beside the first columns, each step is packed while tiles multiply the one before. */
WITH_TILES INLINE void multiply_columns(const row_group *g, int32_t column, int has_lower,
                                        int has_right) {
  const product *p = g->p;
  const int64_t a_row = p->a_row, b_pair = p->b_pair, b_step = side * b_pair;
  char *sum = p->sum + g->row * p->sum_row + column * 4, *lower = sum + side * p->sum_row;
  const char *a = p->a + g->row * a_row + g->step * row_bytes;
  const char *b = p->b + g->step * b_step + column * 4;
  if (p->starts && g->step == 0) {
    FOR_EACH_SUM(ZERO);
  } else {
    FOR_EACH_SUM(LOAD);
  }
  int32_t pair = (g->step + g->steps_in_place) * side;
  int packs = column == 0;
  if (packs && g->packed_steps)
    pack_step(p, g->row, pair, g->packed);
  const char *a_lower = a + side * a_row;
  for (int32_t step = 0; step < g->steps_in_place; ++step) {
    multiply_step(a, a_lower, a_row, b, b_pair, has_lower, has_right);
    a += row_bytes;
    a_lower += row_bytes;
    b += b_step;
  }
  a = g->packed;
  for (int32_t step = 0; step < g->packed_steps; ++step, b += b_step) {
    char *next = g->packed + (step + 1) * bytes_of_step;
    if (packs && step + 1 < g->packed_steps)
      pack_step(p, g->row, pair + (step + 1) * side, next);
    multiply_step(a, a + side * row_bytes, row_bytes, b, b_pair, has_lower, has_right);
    a = next;
  }
  FOR_EACH_SUM(STORE);
}

WITH_TILES static void multiply_group(const row_group *g) {
  const product *p = g->p;
  int has_lower = p->rows - g->row > side;
  for (int32_t column = 0; column < p->columns; column += 2 * side) {
    int has_right = p->columns - column > side;
    if (has_lower && has_right)
      multiply_columns(g, column, 1, 1);
    else if (has_lower)
      multiply_columns(g, column, 1, 0);
    else if (has_right)
      multiply_columns(g, column, 0, 1);
    else
      multiply_columns(g, column, 0, 0);
  }
}

/* Of a long product, the columns' pairs of so many steps stay in an L1 cache for all rows. */
enum { most_steps_in_place = 16 };

/* A product without steps has sums, too. */
WITH_TILES static void multiply_by_instructions(const product *p) {
  _Alignas(64) char packed[most_packed_steps * bytes_of_step];
  int32_t steps = (p->depth + 2 * side - 1) / (2 * side), configured = 0, step = 0;
  int32_t in_place = p->a_pair == 4 ? p->depth / (2 * side) : 0;
  do {
    int32_t left = in_place - step,
            steps_in_place = left > 0 ? least(left, most_steps_in_place) : 0;
    int32_t next = steps_in_place ? step + steps_in_place : least(steps, step + most_packed_steps);
    if (next == in_place)
      next = steps; /* a last step in part is packed */
    for (int32_t row = 0; row < p->rows; row += rows_of_step) {
      int32_t rows = least(p->rows - row, rows_of_step);
      if (rows != configured)
        configure(configured = rows);
      row_group g = {p, packed, row, step, steps_in_place, next - step - steps_in_place};
      multiply_group(&g);
    }
    step = next;
  } while (step < steps);
  _tile_release();
}
