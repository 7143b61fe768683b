/*===- attnc_tiles_x86.c - products of bf16 matrices ----------------------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * By tiles of AMX if the system grants them, else by vectors of f32. Four tiles of sums share the
 * tiles of two groups of rows and two of columns, which keeps loads below what the products take.
 *
 *===------------------------------------------------------------------------===*/

#include "attnc_tiles.h"

#include <immintrin.h>

/*===------------------------------------------------------------------------===
 * By tiles
 *===------------------------------------------------------------------------===*/

/* Asks Linux for the registers of tiles, once a process: of a CPU or system without them it refuses
 * what it doesn't know. */
static int has_instructions(void) {
  extern long syscall(long number, ...);
  enum { arch_prctl = 158, request_permission = 0x1023, tile_data = 18 };
  static int known; /* 1: granted, -1: refused */
  int state = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (state == 0) {
    state = syscall(arch_prctl, request_permission, tile_data) == 0 ? 1 : -1;
    __atomic_store_n(&known, state, __ATOMIC_RELAXED);
  }
  return state > 0;
}

#define WITH_TILES __attribute__((target("amx-bf16,avx2")))

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

/* The tiles of one group of rows and columns, or two. */
typedef struct block {
  char *sum;
  const char *a, *b;
  int64_t sum_row, a_row, b_pair;
  int32_t steps, starts;
} block;

#define FOR_EACH_SUM(DO)                                                                           \
  DO(0, t.sum);                                                                                    \
  if (has_right)                                                                                   \
    DO(1, t.sum + row_bytes);                                                                      \
  if (has_lower)                                                                                   \
    DO(2, lower);                                                                                  \
  if (has_lower && has_right)                                                                      \
  DO(3, lower + row_bytes)
#define ZERO(tile, address) _tile_zero(tile)
#define LOAD(tile, address) _tile_loadd(tile, address, t.sum_row)
#define STORE(tile, address) _tile_stored(tile, address, t.sum_row)

WITH_TILES INLINE void multiply_tiles(block t, int has_lower, int has_right) {
  char *lower = t.sum + side * t.sum_row;
  const char *a_lower = t.a + side * t.a_row;
  if (t.starts) {
    FOR_EACH_SUM(ZERO);
  } else {
    FOR_EACH_SUM(LOAD);
  }
  for (int32_t step = 0; step < t.steps; ++step) {
    _tile_loadd(4, t.a, t.a_row);
    _tile_loadd(6, t.b, t.b_pair);
    _tile_dpbf16ps(0, 4, 6);
    if (has_right) {
      _tile_loadd(7, t.b + row_bytes, t.b_pair);
      _tile_dpbf16ps(1, 4, 7);
    }
    if (has_lower) {
      _tile_loadd(5, a_lower, t.a_row);
      _tile_dpbf16ps(2, 5, 6);
    }
    if (has_lower && has_right)
      _tile_dpbf16ps(3, 5, 7);
    t.a += row_bytes;
    a_lower += row_bytes;
    t.b += side * t.b_pair;
  }
  FOR_EACH_SUM(STORE);
}

/* All columns of at most 32 rows, for steps of pairs from `pair` on; `a` lies with pairs side by
 * side. */
WITH_TILES static void multiply_rows(const product *p, int32_t row, int32_t rows, int32_t pair,
                                     int32_t steps, const char *a, int64_t a_row) {
  for (int32_t column = 0; column < p->columns; column += 2 * side) {
    block t = {p->sum + row * p->sum_row + column * 4,
               a,
               p->b + pair * p->b_pair + column * 4,
               p->sum_row,
               a_row,
               p->b_pair,
               steps,
               p->starts && pair == 0};
    int has_lower = rows > side, has_right = p->columns - column > side;
    if (has_lower && has_right)
      multiply_tiles(t, 1, 1);
    else if (has_lower)
      multiply_tiles(t, 1, 0);
    else if (has_right)
      multiply_tiles(t, 0, 1);
    else
      multiply_tiles(t, 0, 0);
  }
}

/* Transposes 8 x 8 pairs: 4 x 4 in each half of the vectors. */
WITH_TILES INLINE void transpose(const char *from, int64_t from_row, char *to, int64_t to_row) {
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
        _mm256_storeu_si256((__m256i *)(to + (column + i) * to_row), columns[i]);
  }
}

enum { packed_steps = 8, packed_row = packed_steps * row_bytes };

/* Rows with pairs side by side, and zeros after the last pair: of pairs that lie elsewhere, with
 * rows side by side. */
WITH_TILES static void pack_transposed(const product *p, int32_t row, int32_t rows, int32_t pair,
                                       int32_t pairs, char *packed) {
  for (int32_t group = 0; group < rows; group += 8)
    for (int32_t at = 0; at < pairs; at += 8) {
      const char *from = p->a + (pair + at) * p->a_pair + (row + group) * p->a_row;
      char *to = packed + group * packed_row + at * 4;
      int32_t known_rows = least(rows - group, 8), known_pairs = least(pairs - at, 8);
      if (known_rows == 8 && known_pairs == 8) {
        transpose(from, p->a_pair, to, packed_row);
        continue;
      }
      for (int32_t i = 0; i < known_rows; ++i)
        for (int32_t k = 0; k < known_pairs; ++k)
          __builtin_memcpy(to + i * packed_row + k * 4, from + k * p->a_pair + i * 4, 4);
    }
  int32_t padding = -pairs & (side - 1);
  for (int32_t i = 0; i < rows; ++i)
    __builtin_memset(packed + i * packed_row + pairs * 4, 0, padding * 4);
}

/* The same of the last elements of rows with pairs side by side. */
static void pack_tail(const product *p, int32_t row, int32_t rows, int32_t pair, char *packed) {
  for (int32_t i = 0; i < rows; ++i) {
    __builtin_memset(packed + i * packed_row, 0, row_bytes);
    __builtin_memcpy(packed + i * packed_row, p->a + (row + i) * p->a_row + pair * 4,
                     (p->depth - 2 * pair) * 2);
  }
}

WITH_TILES static void multiply_by_instructions(const product *p) {
  _Alignas(64) char packed[2 * side * packed_row];
  int is_in_place = p->a_pair == 4;
  int32_t pairs = (p->depth + 1) / 2, whole = is_in_place ? p->depth / 2 / side * side : 0;
  for (int32_t row = 0; row < p->rows; row += 2 * side) {
    int32_t rows = least(p->rows - row, 2 * side);
    if (row == 0 || rows < 2 * side)
      configure(rows);
    if (whole)
      multiply_rows(p, row, rows, 0, whole / side, p->a + row * p->a_row, p->a_row);
    for (int32_t pair = whole, next; pair < pairs; pair = next) {
      next = pair + least(pairs - pair, packed_steps * side);
      if (is_in_place)
        pack_tail(p, row, rows, pair, packed);
      else
        pack_transposed(p, row, rows, pair, next - pair, packed);
      multiply_rows(p, row, rows, pair, (next - pair + side - 1) / side, packed, packed_row);
    }
  }
  _tile_release();
}
