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

/*===------------------------------------------------------------------------===*
 * Places: where the ranks' shards lie in the sequence
 *===------------------------------------------------------------------------===*/

/* `attn` shard layouts. */
enum { layout_blocks, layout_zigzag, layout_striped, layout_unordered };

/* Elements of attn.places. */
enum { rows, longest, whole, early, first, step, late, lengths };

static int64_t early_rows(int layout, int64_t rows) {
  return layout == layout_zigzag ? (rows + 1) / 2 : rows;
}

/* Computes `at`[early] to [late] for a rank from the rows of each. */
static void place_rank(int32_t *at, const int32_t *all, int ranks, int rank, int layout) {
  int64_t before = 0, halves = 0, behind = 0;
  for (int other = 0; other < ranks; ++other) {
    int64_t half = early_rows(layout, all[other]);
    before += other < rank ? half : 0;
    behind += other > rank ? all[other] - half : 0;
    halves += half;
  }
  at[early] = (int32_t)early_rows(layout, all[rank]);
  at[first] = (int32_t)(layout == layout_striped ? rank : before);
  at[step] = layout == layout_striped ? ranks : 1;
  at[late] = (int32_t)(halves + behind);
}

static int64_t place_of(const int32_t *at, int64_t row) {
  return row < at[early] ? at[first] + row * at[step] : at[late] + row - at[early];
}

/* Striped rows of a sequence: its last places are one each of the first ranks. */
static int32_t verify_stripes(attnc_context *call, const int32_t *at, int ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    int64_t expected = ((int64_t)at[whole] - rank + ranks - 1) / ranks;
    int64_t numbers[] = {expected, rank, at[lengths + rank]};
    if (numbers[2] == expected)
      continue;
    attnc_error_with_numbers(call, "expected {} striped rows on rank {}, found {}", numbers);
    return attnc_refused;
  }
  return 0;
}

/* The rows of all ranks, at `at`[lengths]; 0 if a message failed. */
static int32_t exchange_lengths(attnc_context *call, int64_t length, int32_t *at, int rank,
                                int ranks) {
  bounds all[ranks];
  for (int other = 0; other < ranks; ++other)
    all[other].least = all[other].most = other == rank ? length : 0;
  int32_t status = call->exchange ? reduce_bounds(call, all, ranks) : 0;
  int64_t sum = 0;
  for (int other = 0; other < ranks; ++other) {
    sum += all[other].most;
    at[lengths + other] = (int32_t)all[other].most;
  }
  if (status || sum <= INT32_MAX)
    return status;
  attnc_error_with_numbers(call, "expected a sequence of less than 2^31 rows, found {}", &sum);
  return attnc_refused;
}

int32_t attnc_exchange_places(void *user_context, int64_t length, int32_t layout, int32_t *at) {
  attnc_context *call = user_context;
  int32_t here[2];
  attnc_exchange_rank(call, here);
  int rank = here[0], ranks = here[1];
  int32_t status = exchange_lengths(call, length, at, rank, ranks);
  if (status)
    return status;
  at[rows] = (int32_t)length;
  at[longest] = at[whole] = 0;
  for (int other = 0; other < ranks; ++other) {
    int32_t count = at[lengths + other];
    at[whole] += count;
    at[longest] = at[longest] > count ? at[longest] : count;
  }
  place_rank(at, at + lengths, ranks, rank, layout);
  return layout == layout_striped ? verify_stripes(call, at, ranks) : 0;
}

/*===------------------------------------------------------------------------===*
 * Gather
 *===------------------------------------------------------------------------===*/

/* Rows of `row_bytes` along a dimension, `blocks` times. `before` and `after` are how many places
 * around its own a rank gets, -1 for all. */
typedef struct gather {
  int64_t blocks, row_bytes, layout, before, after;
} gather;

/* Rows or places [begin, end). */
typedef struct row_range {
  int64_t begin, end;
} row_range;

static row_range intersect(row_range a, row_range b) {
  row_range both = {a.begin > b.begin ? a.begin : b.begin, a.end < b.end ? a.end : b.end};
  if (both.end < both.begin)
    both.end = both.begin;
  return both;
}

/* The places that a rank gets. */
static row_range places_for(const gather *self, const int32_t *at, const int32_t *of, int rank) {
  row_range all = {0, at[whole]};
  if (self->before < 0)
    return all;
  return intersect(
      all, (row_range){of[first] - self->before, of[first] + at[lengths + rank] + self->after});
}

/* The rows of `sender` that `receiver` gets. */
static row_range rows_for(const gather *self, const int32_t *at, int ranks, int sender,
                          int receiver) {
  int32_t from[lengths], to[lengths];
  int64_t count = at[lengths + sender];
  place_rank(from, at + lengths, ranks, sender, (int)self->layout);
  place_rank(to, at + lengths, ranks, receiver, (int)self->layout);
  row_range wanted = places_for(self, at, to, receiver);
  if (self->before < 0)
    return (row_range){0, count};
  row_range found = intersect(wanted, (row_range){from[first], from[first] + count});
  return (row_range){found.begin - from[first], found.end - from[first]};
}

static int64_t bytes_of(const gather *self, row_range range) {
  return self->blocks * (range.end - range.begin) * self->row_bytes;
}

static void *make_message(attnc_context *call, const gather *self, row_range range) {
  void *memory = 0;
  int64_t bytes = bytes_of(self, range);
  int32_t status = attnc_allocate(call, &bytes, 1, 1, &memory);
  call->exchange_status = call->exchange_status ? call->exchange_status : status;
  return memory;
}

/* `range` of a rank's rows, those of each block side by side. NULL if there is no memory. */
static const char *pack(attnc_context *call, const gather *self, const char *from, row_range range,
                        int64_t rows) {
  if (range.end - range.begin == rows)
    return from;
  char *to = make_message(call, self, range);
  int64_t bytes = (range.end - range.begin) * self->row_bytes;
  for (int64_t block = 0; to && block < self->blocks; ++block)
    __builtin_memcpy(to + block * bytes, from + (block * rows + range.begin) * self->row_bytes,
                     (size_t)bytes);
  return to;
}

/* Copies rows `range` of a rank, whose `stored` rows of a block are at `from`, to their places. */
static void unpack(const gather *self, char *into, row_range places, const char *from,
                   const int32_t *of, row_range range, int64_t stored) {
  for (int64_t block = 0; block < self->blocks; ++block)
    for (int64_t row = range.begin; row < range.end; ++row) {
      int64_t to = block * (places.end - places.begin) + place_of(of, row) - places.begin;
      __builtin_memcpy(into + to * self->row_bytes,
                       from + (block * stored + row - range.begin) * self->row_bytes,
                       (size_t)self->row_bytes);
    }
}

/* Ranks send to and receive from those at one distance after the other. */
int32_t attnc_exchange_gather(void *user_context, const char *from, const int32_t *at, char *into,
                              const gather *self) {
  attnc_context *call = user_context;
  int32_t here[2];
  attnc_exchange_rank(call, here);
  int rank = here[0], ranks = here[1];
  char *received[ranks];
  row_range places = places_for(self, at, at, rank), own = rows_for(self, at, ranks, rank, rank);
  for (int distance = 1; distance < ranks && !call->exchange_status; ++distance) {
    int source = (rank + ranks - distance) % ranks, target = (rank + distance) % ranks;
    row_range coming = rows_for(self, at, ranks, source, rank),
              going = rows_for(self, at, ranks, rank, target);
    received[source] = make_message(call, self, coming);
    const char *sent = pack(call, self, from, going, at[rows]);
    start_message(call, 0, received[source], bytes_of(self, coming), source);
    start_message(call, sent, 0, bytes_of(self, going), target);
  }
  int32_t status = attnc_exchange_wait(call);
  if (status)
    return status;
  unpack(self, into, places, from + own.begin * self->row_bytes, at, own, at[rows]);
  for (int source = 0; source < ranks; ++source)
    if (source != rank) {
      int32_t of[lengths];
      row_range coming = rows_for(self, at, ranks, source, rank);
      place_rank(of, at + lengths, ranks, source, (int)self->layout);
      unpack(self, into, places, received[source], of, coming, coming.end - coming.begin);
    }
  return 0;
}
