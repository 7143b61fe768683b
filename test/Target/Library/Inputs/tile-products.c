/* Random products of bf16 matrices, by instructions and by vectors. */
#include "attnc_cpu_x86.c"
#include "attnc_tiles_x86.c"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static uint16_t random_bf16(void) {
  float x = (float)(rand() % 200 - 100) / 64;
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return (uint16_t)(bits >> 16);
}

static uint16_t *random_elements(size_t count) {
  uint16_t *elements = malloc(count * sizeof *elements);
  for (size_t i = 0; i < count; ++i)
    elements[i] = random_bf16();
  return elements;
}

/* `in_place`: the left matrix has pairs side by side, else rows. */
static int is_wrong(int rows, int columns, int depth, int in_place, int starts) {
  enum { tail = 32 };
  size_t padded = (size_t)(depth + tail) / tail * tail + tail;
  uint16_t *a = random_elements(padded * (size_t)(rows + tail));
  uint16_t *b = random_elements(padded * (size_t)columns);
  size_t count = (size_t)rows * (size_t)columns;
  float *expected = malloc(count * sizeof *expected), *found = malloc(count * sizeof *found);
  for (size_t i = 0; i < count; ++i)
    expected[i] = found[i] = starts ? NAN : (float)(rand() % 10);
  product p = {.sum = (char *)expected,
               .a = (char *)a,
               .b = (char *)b,
               .sum_row = columns * 4,
               .a_row = in_place ? (int64_t)padded * 2 : 4,
               .a_pair = in_place ? 4 : (rows + tail) * 4,
               .b_pair = columns * 4,
               .rows = rows,
               .columns = columns,
               .depth = depth,
               .starts = starts};
  multiply_by_vectors(&p);
  attnc_multiply_tiles((char *)found, p.sum_row, p.a, p.a_row, p.a_pair, p.b, p.b_pair, rows,
                       columns, depth, starts);
  int wrong = 0;
  for (size_t i = 0; i < count; ++i)
    wrong |= !(fabsf(found[i] - expected[i]) <= 1e-4f * (1 + (float)depth));
  if (wrong)
    printf("%d x %d of %d, in place %d, starts %d\n", rows, columns, depth, in_place, starts);
  free(a), free(b), free(expected), free(found);
  return wrong;
}

int main(void) {
  enum { products = 200 };
  int wrong = 0;
  for (int i = 0; i < products; ++i) {
    int depth = i % 16 ? rand() % 150 : rand() % 1200;
    wrong += is_wrong(1 + rand() % 70, side * (1 + rand() % 5), depth, i / 2 % 2, i % 2);
  }
  for (int in_place = 0; in_place < 2; ++in_place)
    wrong += is_wrong(40, 48, /*depth=*/0, in_place, /*starts=*/1);
  printf("%d of %d products wrong\n", wrong, products + 2);
  return wrong != 0;
}
