/*===- attnc_exchange.c - exchange between processes ----------------------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The host function calls these. An error that starts a message has is kept until it is waited for.
 *
 *===------------------------------------------------------------------------===*/

#include "attnc_text.h"

void attnc_exchange_rank(void *user_context, int32_t *into) {
  const attnc_exchange *exchange = ((attnc_context *)user_context)->exchange;
  into[0] = exchange ? exchange->rank : 0;
  into[1] = exchange ? exchange->ranks : 1;
}

/*===------------------------------------------------------------------------===*
 * Messages
 *===------------------------------------------------------------------------===*/

static int32_t wait_for_all(attnc_context *call) {
  const attnc_exchange *exchange = call->exchange;
  for (int at = 0; at < call->message_count && !call->exchange_status; ++at)
    call->exchange_status = exchange->wait(exchange->context, call->messages[at]);
  call->message_count = 0;
  return call->exchange_status;
}

/* Ranks post their messages in one order, so that waiting for some of them is no deadlock. */
static int *next_message(attnc_context *call) {
  if (call->message_count == attnc_most_messages)
    wait_for_all(call);
  return &call->messages[call->message_count];
}

static void start_message(attnc_context *call, const void *from, void *into, int64_t bytes,
                          int other) {
  const attnc_exchange *exchange = call->exchange;
  int *message = next_message(call);
  if (call->exchange_status || bytes == 0)
    return;
  call->exchange_status =
      into ? exchange->recv(exchange->context, into, (size_t)bytes, other, message)
           : exchange->send(exchange->context, from, (size_t)bytes, other, message);
  call->message_count += call->exchange_status == 0;
}

int32_t attnc_exchange_wait(void *user_context) {
  attnc_context *call = user_context;
  int64_t status = wait_for_all(call);
  if (status == 0)
    return 0;
  char begin[attnc_message_bytes];
  text message = {begin, 0};
  put(&message, "expected the messages of other ranks, found status ");
  put_number(&message, status);
  put(&message, " of the exchange");
  halide_error(call, begin);
  return attnc_message_failed;
}

void attnc_exchange_pass(void *user_context, const void *from, void *into, int64_t bytes) {
  attnc_context *call = user_context;
  const attnc_exchange *exchange = call->exchange;
  if (!exchange)
    return;
  start_message(call, 0, into, bytes, (exchange->rank + exchange->ranks - 1) % exchange->ranks);
  start_message(call, from, 0, bytes, (exchange->rank + 1) % exchange->ranks);
}

/*===------------------------------------------------------------------------===*
 * All-reduce
 *===------------------------------------------------------------------------===*/

/* What a rank does in a round: -1 for no message. `combines`: what arrives is combined with its own
 * data; else it replaces them. */
typedef struct round_plan {
  int to, from, combines;
} round_plan;

/* Recursive doubling among the first 2^n ranks. The others give their data to one of them before,
 * and get the result after. */
static round_plan plan_round(const attnc_exchange *exchange, int64_t round) {
  int rank = exchange->rank, doubling = 1, rounds = 0;
  for (; doubling <= exchange->ranks / 2; doubling *= 2)
    ++rounds;
  int others = exchange->ranks - doubling;
  round_plan none = {-1, -1, 0};
  if (others && round-- == 0) {
    if (rank >= doubling)
      return (round_plan){rank - doubling, -1, 0};
    return rank < others ? (round_plan){-1, rank + doubling, 1} : none;
  }
  if (round < rounds && rank < doubling)
    return (round_plan){rank ^ (1 << round), rank ^ (1 << round), 1};
  if (others && round == rounds) {
    if (rank >= doubling)
      return (round_plan){-1, rank - doubling, 0};
    return rank < others ? (round_plan){rank + doubling, -1, 0} : none;
  }
  return none;
}

int32_t attnc_exchange_trade(void *user_context, int64_t round, void *data, void *received,
                             int64_t bytes) {
  attnc_context *call = user_context;
  if (!call->exchange)
    return 0;
  round_plan plan = plan_round(call->exchange, round);
  if (plan.from >= 0)
    start_message(call, 0, plan.combines ? received : data, bytes, plan.from);
  if (plan.to >= 0)
    start_message(call, data, 0, bytes, plan.to);
  return plan.combines;
}

/*===------------------------------------------------------------------------===*
 * Sizes
 *===------------------------------------------------------------------------===*/

typedef struct bounds {
  int64_t least, most;
} bounds;

/* The least and the most of each number, on all ranks. */
static int32_t reduce_bounds(attnc_context *call, bounds *all, int32_t count) {
  bounds received[count];
  int64_t bytes = (int64_t)sizeof(bounds) * count;
  for (int round = 0; round < call->exchange->ranks; ++round) {
    int combines = attnc_exchange_trade(call, round, all, received, bytes);
    int32_t status = attnc_exchange_wait(call);
    if (status)
      return status;
    for (int32_t at = 0; at < count && combines; ++at) {
      all[at].least = all[at].least < received[at].least ? all[at].least : received[at].least;
      all[at].most = all[at].most > received[at].most ? all[at].most : received[at].most;
    }
  }
  return 0;
}

int32_t attnc_exchange_agree(void *user_context, const int64_t *numbers, int32_t count) {
  attnc_context *call = user_context;
  if (!call->exchange)
    return 0;
  bounds all[count];
  for (int32_t at = 0; at < count; ++at)
    all[at].least = all[at].most = numbers[at];
  int32_t status = reduce_bounds(call, all, count);
  for (int32_t at = 0; at < count && !status; ++at)
    if (all[at].least != all[at].most) {
      int64_t found[] = {numbers[at], all[at].least, all[at].most};
      attnc_error_with_numbers(
          call, "expected shards of the same sizes on all ranks, found {} here, and {} to {}",
          found);
      status = attnc_refused;
    }
  return status;
}
