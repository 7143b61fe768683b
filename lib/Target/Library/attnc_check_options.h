/*===- attnc_check_options.h - options of a call, and its workspace -------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===*/

#ifndef ATTNC_CHECK_OPTIONS_H
#define ATTNC_CHECK_OPTIONS_H

#include "attnc_check_memory.h"

static int check_exchange(const attnc_exchange *exchange) {
  int64_t rank = exchange->rank, ranks = exchange->ranks;
  if (rank < 0 || rank >= ranks)
    return REFUSE("exchange", {"expected a rank from 0 on and below ranks, found ", &rank},
                  {" of ", &ranks});
  if (!exchange->send || !exchange->recv || !exchange->wait)
    return REFUSE("exchange", {"expected send, recv and wait, found a null pointer", 0});
  return 0;
}

static int check_options(const attnc_options *options) {
  if (!options)
    return 0;
  int64_t size = offsetof(attnc_options, context), found = (int64_t)options->size;
  if (found < size)
    return REFUSE("options", {"expected size to be at least ", &size}, {", found ", &found});
  int64_t threads = options->threads;
  if (threads < 0)
    return REFUSE("options", {"expected threads to be at least 0, found ", &threads});
  if (!options->allocate != !options->deallocate)
    return REFUSE("options", {"expected both allocate and deallocate or none, found one", 0});
  if (!options->workspace && options->workspace_bytes)
    return REFUSE("options", {"expected a workspace, found a null pointer and its bytes", 0});
  if (options->size >= sizeof *options && options->exchange)
    return check_exchange(options->exchange);
  return 0;
}

static int refuse_memory(int64_t bytes) {
  REFUSE("", {"expected ", &bytes}, {" bytes for a workspace, found no memory", 0});
  return attnc_no_memory;
}

/* Checks that a caller's workspace holds `bytes` and overlaps no tensor. */
static int check_workspace(const attnc_options *options, int64_t bytes, const range *ranges) {
  if (bytes < 0)
    return refuse_memory(bytes);
  if (!options || !options->workspace)
    return 0;
  int64_t found = (int64_t)options->workspace_bytes;
  if (options->workspace_bytes < (size_t)bytes)
    return REFUSE("options", {"expected a workspace of ", &bytes}, {" bytes, found ", &found});
  uintptr_t begin = (uintptr_t)options->workspace, end = begin + (uintptr_t)bytes;
  for (int32_t i = 0; i < attnc_the_signature.count; ++i)
    if (begin < ranges[i].end && ranges[i].begin < end)
      return REFUSE("options", {"expected a workspace separate from ", 0},
                    {attnc_the_signature.tensors[i].name, 0}, {", found an overlap", 0});
  return 0;
}

#endif
