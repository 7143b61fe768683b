#include "refused.h"

#include <stdio.h>
#include <string.h>

static DLTensor tensor(void *data, int bits, int code, int rank, int64_t *shape) {
  DLTensor t = {data, {kDLCPU, 0}, rank, {(uint8_t)code, (uint8_t)bits, 1}, shape, NULL, 0};
  return t;
}

int main(void) {
  float rows[4] = {1, 2, 3, 4}, table[12] = {0}, cache[32], picked[8];
  int32_t length = 2, ids[2] = {0, 1}, offset[2] = {0, 9};
  int64_t rowShape[] = {1, 1, 1, 4}, one[] = {1}, tableShape[] = {3, 4}, two[] = {2},
          cacheShape[] = {1, 1, 8, 4}, pickedShape[] = {2, 4};
  DLTensor r = tensor(rows, 32, kDLFloat, 4, rowShape), l = tensor(&length, 32, kDLInt, 1, one),
           t = tensor(table, 32, kDLFloat, 2, tableShape), i = tensor(ids, 32, kDLInt, 1, two),
           o = tensor(offset, 32, kDLInt, 1, two), c = tensor(cache, 32, kDLFloat, 4, cacheShape),
           p = tensor(picked, 32, kDLFloat, 2, pickedShape), g = c;
  int at, status, written = 0;
  memset(cache, 0x7f, sizeof cache);
  memset(picked, 0x7f, sizeof picked);
  status = refused(&r, &l, &t, &i, &o, &c, &p, &g);
  printf("status %d: %s\n", status, refused_last_error());
  for (at = 0; at < (int)sizeof cache; ++at)
    written += ((char *)cache)[at] != 0x7f;
  for (at = 0; at < (int)sizeof picked; ++at)
    written += ((char *)picked)[at] != 0x7f;
  printf("%d bytes written\n", written);
  offset[1] = 1;
  status = refused(&r, &l, &t, &i, &o, &c, &p, &g);
  printf("status %d, appended %g\n", status, cache[8]);
  return 0;
}
