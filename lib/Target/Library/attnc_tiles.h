/*===- attnc_tiles.h - products of bf16 matrices --------------------------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What processors share, and how those without instructions for bf16 multiply.
 *
 *===------------------------------------------------------------------------===*/

#ifndef ATTNC_TILES_H
#define ATTNC_TILES_H

#include <stdint.h>

/* sum[row][column] += products of pairs; the layouts of lib/Target/Halide/BF16Tiles.h. */
typedef struct product {
  char *sum;
  const char *a, *b;
  int64_t sum_row, a_row, a_pair, b_pair; /* bytes between neighbours */
  int32_t rows, columns, depth;           /* depth counts elements */
  int32_t starts;                         /* whether sums start at 0 */
} product;

/* Of a tile: rows, or columns or pairs of 4 bytes. */
enum { side = 16, row_bytes = 64 };

static inline int32_t least(int32_t x, int32_t y) { return x < y ? x : y; }

/* Arrays of vectors become registers only where loops over them are unrolled. */
#define UNROLL _Pragma("clang loop unroll(full)")
#define INLINE static inline __attribute__((always_inline))

typedef float floats __attribute__((vector_size(row_bytes), aligned(4), may_alias));
typedef uint32_t words __attribute__((vector_size(row_bytes), aligned(4), may_alias));

static uint32_t read_pair(const product *p, int32_t row, int32_t pair) {
  uint32_t read = 0;
  __builtin_memcpy(&read, p->a + row * p->a_row + pair * p->a_pair,
                   p->depth - 2 * pair > 1 ? 4 : 2);
  return read;
}

static float widen(uint32_t bits) {
  float result;
  __builtin_memcpy(&result, &bits, sizeof(result));
  return result;
}

static void multiply_by_vectors(const product *p) {
  for (int32_t row = 0; row < p->rows; ++row)
    for (int32_t column = 0; column < p->columns; column += side) {
      floats *to = (floats *)(p->sum + row * p->sum_row + column * 4), sum = {0};
      if (!p->starts)
        sum = *to;
      for (int32_t pair = 0; 2 * pair < p->depth; ++pair) {
        uint32_t read = read_pair(p, row, pair);
        words b = *(const words *)(p->b + pair * p->b_pair + column * 4);
        sum += widen(read & 0xffff0000) * (floats)(b & 0xffff0000) +
               widen(read << 16) * (floats)(b << 16);
      }
      *to = sum;
    }
}

/* What each processor defines: whether it and its system have the instructions, and their use. */
static int has_instructions(void);
static void multiply_by_instructions(const product *p);

int32_t attnc_multiply_tiles(char *sum, int64_t sum_row, const char *a, int64_t a_row,
                             int64_t a_pair, const char *b, int64_t b_pair, int32_t rows,
                             int32_t columns, int32_t depth, int32_t starts) {
  product p = {sum, a, b, sum_row, a_row, a_pair, b_pair, rows, columns, depth, starts};
  if (has_instructions())
    multiply_by_instructions(&p);
  else
    multiply_by_vectors(&p);
  return 0;
}

#endif
