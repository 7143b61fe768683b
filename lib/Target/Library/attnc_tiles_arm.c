/*===- attnc_tiles_arm.c - products of bf16 matrices ----------------------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * By bfmmla, which multiplies two rows by two columns of two pairs each, if the processor has it;
 * else by vectors of f32.
 *
 *===------------------------------------------------------------------------===*/

#include "attnc_tiles.h"

#include <arm_neon.h>

#define WITH_BF16 __attribute__((target("bf16")))

static int has_instructions(void) {
  extern unsigned long getauxval(unsigned long type);
  enum { features = 26, bf16 = 1 << 14 }; /* AT_HWCAP2, HWCAP2_BF16 */
  return (getauxval(features) & bf16) != 0;
}

/* Pairs `pair` and the next one of two rows, of which the second may be missing. */
WITH_BF16 INLINE bfloat16x8_t read_any_rows(const product *p, int32_t row, int32_t pair) {
  uint32_t read[4] = {0};
  for (int i = 0; i < 4; ++i)
    if (row + i / 2 < p->rows && 2 * (pair + i % 2) < p->depth)
      read[i] = read_pair(p, row + i / 2, pair + i % 2);
  return vreinterpretq_bf16_u32(vld1q_u32(read));
}

/* The same where all are there. */
WITH_BF16 INLINE bfloat16x8_t read_rows(const product *p, int32_t row, int32_t pair,
                                        int is_in_place) {
  const char *at = p->a + row * p->a_row + pair * 4;
  if (is_in_place)
    return vreinterpretq_bf16_u32(
        vcombine_u32(vld1_u32((const uint32_t *)at), vld1_u32((const uint32_t *)(at + p->a_row))));
  at = p->a + row * 4 + pair * p->a_pair;
  uint32x2_t first = vld1_u32((const uint32_t *)at),
             second = vld1_u32((const uint32_t *)(at + p->a_pair));
  return vreinterpretq_bf16_u32(vcombine_u32(vzip1_u32(first, second), vzip2_u32(first, second)));
}

enum { block_columns = 8, groups = block_columns / 2, most_row_pairs = 4 };

/* Sums of groups of two rows by 8 columns, two by two. */
typedef struct block {
  float32x4_t sums[most_row_pairs][groups];
} block;

/* Multiplies two pairs. */
WITH_BF16 INLINE void multiply_step(const product *p, block *t, int32_t row, int32_t column,
                                    int32_t pair, int row_pairs, int is_whole, int is_in_place) {
  const char *first = p->b + pair * p->b_pair + column * 4, *second = first + p->b_pair;
  bfloat16x8_t b[groups];
  UNROLL for (int j = 0; j < groups; j += 2) {
    uint32x4_t x = vld1q_u32((const uint32_t *)first + 2 * j),
               y = vld1q_u32((const uint32_t *)second + 2 * j);
    b[j] = vreinterpretq_bf16_u32(vzip1q_u32(x, y));
    b[j + 1] = vreinterpretq_bf16_u32(vzip2q_u32(x, y));
  }
  UNROLL for (int i = 0; i < row_pairs; ++i) {
    bfloat16x8_t a = is_whole ? read_rows(p, row + 2 * i, pair, is_in_place)
                              : read_any_rows(p, row + 2 * i, pair);
    UNROLL for (int j = 0; j < groups; ++j) t->sums[i][j] = vbfmmlaq_f32(t->sums[i][j], a, b[j]);
  }
}

/* `row_pairs` groups of two rows, the last row of which is missing unless they are whole. */
WITH_BF16 INLINE void multiply_block(const product *p, int32_t row, int32_t column, int row_pairs,
                                     int is_whole, int is_in_place) {
  block t;
  char *to = p->sum + row * p->sum_row + column * 4;
  int64_t next = is_whole ? p->sum_row : 0;
  UNROLL for (int i = 0; i < row_pairs; ++i) UNROLL for (int j = 0; j < groups; ++j) {
    const char *at = to + 2 * i * next + 8 * j;
    t.sums[i][j] =
        p->starts ? vdupq_n_f32(0)
                  : vcombine_f32(vld1_f32((const float *)at), vld1_f32((const float *)(at + next)));
  }
  int32_t pair = 0, whole = is_whole ? p->depth / 4 * 2 : 0;
  for (; pair < whole; pair += 2)
    multiply_step(p, &t, row, column, pair, row_pairs, 1, is_in_place);
  for (; 2 * pair < p->depth; pair += 2)
    multiply_step(p, &t, row, column, pair, row_pairs, 0, is_in_place);
  UNROLL for (int i = 0; i < row_pairs; ++i) UNROLL for (int j = 0; j < groups; ++j) {
    char *at = to + 2 * i * next + 8 * j;
    if (is_whole)
      vst1_f32((float *)(at + next), vget_high_f32(t.sums[i][j]));
    vst1_f32((float *)at, vget_low_f32(t.sums[i][j]));
  }
}

WITH_BF16 INLINE void multiply_all(const product *p, int is_in_place) {
  for (int32_t column = 0; column < p->columns; column += block_columns) {
    int32_t row = 0;
    for (; row + 2 * most_row_pairs <= p->rows; row += 2 * most_row_pairs)
      multiply_block(p, row, column, most_row_pairs, 1, is_in_place);
    for (; row + 2 <= p->rows; row += 2)
      multiply_block(p, row, column, 1, 1, is_in_place);
    if (row < p->rows)
      multiply_block(p, row, column, 1, 0, is_in_place);
  }
}

WITH_BF16 static void multiply_by_instructions(const product *p) {
  if (p->a_pair == 4)
    multiply_all(p, 1);
  else
    multiply_all(p, 0);
}
