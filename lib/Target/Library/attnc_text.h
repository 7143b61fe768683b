/*===- attnc_text.h - messages ---------------------------------------------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===*/

#ifndef ATTNC_TEXT_H
#define ATTNC_TEXT_H

#include "attnc_support.h"

/* A text that grows up to a limit and is always terminated. */
typedef struct text {
  char *begin;
  size_t length;
} text;

static inline void put(text *to, const char *from) {
  while (*from && to->length + 1 < attnc_message_bytes)
    to->begin[to->length++] = *from++;
  to->begin[to->length] = 0;
}

static inline void put_number(text *to, int64_t number) {
  char digits[24];
  char *begin = digits + sizeof digits;
  uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
  *--begin = 0;
  do
    *--begin = (char)('0' + rest % 10);
  while (rest /= 10);
  if (number < 0)
    *--begin = '-';
  put(to, begin);
}

/* attnc_support.c: begins the thread's message, with "subject: " if given. */
text attnc_start_message(const char *subject);

/* "subject: expected …, found …", each part with an optional number. Returns attnc_invalid. */
typedef struct part {
  const char *words;
  const int64_t *number;
} part;

int attnc_refuse(const char *subject, const part *parts);

#define REFUSE(subject, ...) attnc_refuse(subject, (const part[]){__VA_ARGS__, {0, 0}})

#endif
