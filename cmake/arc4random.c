/*===- arc4random.c - random numbers for portable programs ----------------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===*/

#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

/* The only function that LLVM takes from glibc 2.36: 2.35 has all others. */
uint32_t arc4random(void) {
  uint32_t number;
  if (getrandom(&number, sizeof number, 0) != sizeof number)
    abort();
  return number;
}
