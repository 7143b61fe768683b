/* Causal attention over a sequence that several processes share: the prompt, then tokens one by
 * one.
 *
 *   ./run 4 65536          compiles the kernels and this program, and starts it under mpirun
 *
 * The sequence is cut into 2 * ranks parts. Rank r has the rows and keys of parts r and 2 * ranks -
 * 1 - r, one early and one late, so that all ranks see equally many keys.
 *
 * Prompt: keys and values go around in a ring. While a rank computes what its rows see of one
 * rank's keys, those of the next are on their way. Each step is merged with the steps before.
 *
 * Tokens: keys and values stay where they were computed; those of new tokens are on rank 0. Each
 * rank computes what the new row sees of its keys, and an all-reduce merges these results.
 *
 * At last, rank 0 compares everything with a single process that has the whole sequence.
 */

#include "attnc_mpi.h"
#include "merge.h"
#include "part.h"

#include <math.h>
#include <unistd.h>

enum { query_heads = 8, key_heads = 2, width = 64, most_parts = 2 };

static const DLDataType f32 = {kDLFloat, 32, 1}, i32 = {kDLInt, 32, 1};

typedef struct options {
  int64_t tokens, steps;
  double timeout;
  int stalling, dying, longer; /* ranks that fail, or -1 */
} options;

static attnc_mpi mpi;
static attnc_exchange exchange;
static int threads;
static double compute_seconds; /* processor time in kernels */

/*===------------------------------------------------------------------------===*
 * Errors and memory
 *===------------------------------------------------------------------------===*/

/* Messages may be under way: no other end than MPI_Abort is sure to come. */
static void fail(const char *text) {
  fprintf(stderr, "long_context: %s\n", text);
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

static void check_exchange(int status) {
  if (status != 0)
    fail(mpi.error);
}

/* Zeros; at least one byte. */
static void *allocate(int64_t count, size_t bytes) {
  void *data = calloc((size_t)count + 1, bytes);
  if (!data)
    fail("no memory");
  return data;
}

static float *make(int64_t floats) { return allocate(floats, sizeof(float)); }

/*===------------------------------------------------------------------------===*
 * The sequence: what a model would compute from each token
 *===------------------------------------------------------------------------===*/

enum kind { is_query, is_key, is_value };

static float make_float(enum kind kind, int64_t position, int head, int x) {
  uint32_t bits = (uint32_t)position * 2654435761u + (uint32_t)(kind * 8 + head) * 40503u +
                  (uint32_t)x * 69069u;
  bits = (bits ^ bits >> 15) * 2246822519u;
  bits = (bits ^ bits >> 13) * 3266489917u;
  return (float)((bits ^ bits >> 16) >> 8) / (1 << 22) - 2;
}

/* Rows from position `start` on, [heads, room, width], of which the first `rows` are made. */
static void make_rows(float *data, enum kind kind, int64_t start, int64_t rows, int64_t room) {
  int heads = kind == is_query ? query_heads : key_heads;
  for (int head = 0; head < heads; ++head)
    for (int64_t row = 0; row < rows; ++row)
      for (int x = 0; x < width; ++x)
        data[(head * room + row) * width + x] = make_float(kind, start + row, head, x);
}

/*===------------------------------------------------------------------------===*
 * The kernels
 *===------------------------------------------------------------------------===*/

/* Contexts [parts, heads, rows, width] and lse's [parts, heads, rows]. */
typedef struct result {
  float *context, *lse;
  int64_t parts, rows;
} result;

static result make_result(int64_t parts, int64_t rows) {
  int64_t count = parts * query_heads * rows;
  result made = {make(count * width), make(count), parts, rows};
  for (int64_t at = 0; at < count; ++at)
    made.lse[at] = -INFINITY;
  return made;
}

static void free_result(result r) {
  free(r.context);
  free(r.lse);
}

/* Adjacent keys, and their values, [heads, room, width]; the first `rows` are there. */
typedef struct keys {
  float *key, *value;
  int64_t start, rows, room;
} keys;

static DLTensor tensor(void *data, DLDataType type, int rank, int64_t *shape, int64_t *strides) {
  return (DLTensor){data, {kDLCPU, 0}, rank, type, shape, strides, 0};
}

/* The result over the keys of a and those of b. */
static int merge_results(result a, result b, result to) {
  int64_t rows[] = {a.parts, query_heads, a.rows, width};
  DLTensor context_a = tensor(a.context, f32, 4, rows, NULL),
           lse_a = tensor(a.lse, f32, 3, rows, NULL),
           context_b = tensor(b.context, f32, 4, rows, NULL),
           lse_b = tensor(b.lse, f32, 3, rows, NULL),
           context = tensor(to.context, f32, 4, rows, NULL),
           lse = tensor(to.lse, f32, 3, rows, NULL);
  merge_options call = {.size = sizeof call, .threads = threads};
  return merge_ex(&call, &context_a, &lse_a, &context_b, &lse_b, &context, &lse);
}

/* What rows, the parts of which begin at `starts`, see of `of`, merged with what they saw before.
 */
static void attend(float *query, const int32_t *starts, keys of, result before, result after) {
  int64_t parts = before.parts;
  int32_t row_starts[most_parts], key_starts[most_parts];
  int64_t rows[] = {parts, query_heads, before.rows, width},
          all[] = {parts, key_heads, of.rows, width};
  int64_t shared[] = {0, of.room * width, width, 1}; /* all parts see the same keys */
  result seen = make_result(parts, before.rows);
  clock_t began = clock();
  for (int64_t at = 0; at < parts; ++at)
    row_starts[at] = starts[at], key_starts[at] = (int32_t)of.start;
  DLTensor q = tensor(query, f32, 4, rows, NULL), k = tensor(of.key, f32, 4, all, shared),
           v = tensor(of.value, f32, 4, all, shared),
           row_start = tensor(row_starts, i32, 1, rows, NULL),
           key_start = tensor(key_starts, i32, 1, rows, NULL),
           context = tensor(seen.context, f32, 4, rows, NULL),
           lse = tensor(seen.lse, f32, 3, rows, NULL);
  part_options call = {.size = sizeof call, .threads = threads};
  if (part_ex(&call, &q, &row_start, &k, &v, &key_start, &context, &lse) != 0)
    fail(part_last_error());
  if (merge_results(before, seen, after) != 0)
    fail(merge_last_error());
  compute_seconds += (double)(clock() - began) / CLOCKS_PER_SEC;
  free_result(seen);
}

/* A row's result as it travels. */
typedef struct row_result {
  float context[query_heads][width], lse[query_heads];
} row_result;

static result view(row_result *row) { return (result){row->context[0], row->lse, 1, 1}; }

/* Merges two of them; combines those of all ranks in an all-reduce. */
static int merge_rows(void *user, void *into, const void *other) {
  row_result merged;
  int status = merge_results(view(into), view((row_result *)other), view(&merged));
  (void)user;
  if (status == 0)
    *(row_result *)into = merged;
  return status;
}

/*===------------------------------------------------------------------------===*
 * A rank's shard
 *===------------------------------------------------------------------------===*/

typedef struct shard {
  int64_t tokens, length; /* of the sequence, and of a part */
  int32_t starts[2];
  float *query; /* [2, query_heads, length, width] */
  float
      *block; /* keys and values that travel: [2 parts, key and value, key_heads, length, width] */
  keys tail;  /* of new tokens, on rank 0 */
} shard;

static int64_t floats_of_part(const shard *s) { return 2 * key_heads * s->length * width; }

static int64_t start_of_part(const shard *s, int rank, int part) {
  return s->length * (part == 0 ? rank : 2 * exchange.size - 1 - rank);
}

/* The keys of one part of a rank's block. Those behind the end of the sequence are left out. */
static keys get_part(const shard *s, float *block, int rank, int part) {
  float *key = block + part * floats_of_part(s);
  int64_t start = start_of_part(s, rank, part), left = s->tokens - start;
  int64_t rows = left < 0 ? 0 : left < s->length ? left : s->length;
  return (keys){key, key + floats_of_part(s) / 2, start, rows, s->length};
}

static shard make_shard(int64_t tokens, int64_t steps) {
  shard s = {.tokens = tokens, .length = (tokens + 2 * exchange.size - 1) / (2 * exchange.size)};
  s.query = make(2 * query_heads * s.length * width);
  s.block = make(2 * floats_of_part(&s));
  for (int part = 0; part < 2; ++part) {
    keys own = get_part(&s, s.block, exchange.rank, part);
    s.starts[part] = (int32_t)own.start;
    make_rows(s.query + part * query_heads * s.length * width, is_query, own.start, s.length,
              s.length);
    make_rows(own.key, is_key, own.start, own.rows, s.length);
    make_rows(own.value, is_value, own.start, own.rows, s.length);
  }
  s.tail =
      (keys){make(key_heads * steps * width), make(key_heads * steps * width), tokens, 0, steps};
  return s;
}

static void free_shard(shard s) {
  free(s.query);
  free(s.block);
  free(s.tail.key);
  free(s.tail.value);
}

/*===------------------------------------------------------------------------===*
 * Prompt and tokens
 *===------------------------------------------------------------------------===*/

static void swap(result *a, result *b) {
  result old = *a;
  *a = *b, *b = old;
}

/* Stands for a defect of one rank: it ends, or it does not answer. */
static void misbehave(const options *o) {
  if (exchange.rank == o->dying)
    _exit(3);
  if (exchange.rank == o->stalling)
    sleep((unsigned)(10 * o->timeout) + 1);
}

/* The contexts of this rank's rows. */
static result prefill(shard *s, const options *o) {
  int size = exchange.size, rank = exchange.rank;
  int64_t floats = 2 * floats_of_part(s);
  size_t bytes = (size_t)floats * sizeof(float);
  float *room[] = {make(floats), make(floats)}, *current = s->block;
  result seen = make_result(2, s->length), next = make_result(2, s->length);
  for (int turn = 0; turn < size; ++turn) {
    int owner = (rank - turn + size) % size, sent, received, isLast = turn == size - 1;
    float *coming = room[turn % 2];
    if (!isLast) {
      check_exchange(
          exchange.recv(exchange.context, coming, bytes, (rank + size - 1) % size, &received));
      check_exchange(exchange.send(exchange.context, current, bytes, (rank + 1) % size, &sent));
    }
    for (int part = 0; part < 2; ++part) {
      attend(s->query, s->starts, get_part(s, current, owner, part), seen, next);
      swap(&seen, &next);
      check_exchange(exchange.progress(exchange.context));
    }
    if (turn == 0)
      misbehave(o);
    if (!isLast) {
      check_exchange(exchange.wait(exchange.context, received));
      check_exchange(exchange.wait(exchange.context, sent));
    }
    current = coming;
    if (rank == 0)
      fprintf(stderr, "prompt: keys %d of %d\n", turn + 1, size);
  }
  free(room[0]);
  free(room[1]);
  free_result(next);
  return seen;
}

/* The result of the row at `position`, which sees all keys up to its own: the same on all ranks. */
static row_result decode(shard *s, int64_t position) {
  float query[query_heads * width];
  const int32_t start = (int32_t)position;
  row_result row;
  result seen = make_result(1, 1), next = make_result(1, 1);
  make_rows(query, is_query, position, 1, 1);
  for (int part = 0; part < 2; ++part) {
    attend(query, &start, get_part(s, s->block, exchange.rank, part), seen, next);
    swap(&seen, &next);
  }
  if (exchange.rank == 0) {
    keys *tail = &s->tail;
    make_rows(tail->key + tail->rows * width, is_key, position, 1, tail->room);
    make_rows(tail->value + tail->rows * width, is_value, position, 1, tail->room);
    ++tail->rows;
    attend(query, &start, *tail, seen, next);
    swap(&seen, &next);
  }
  memcpy(row.context, seen.context, sizeof row.context);
  memcpy(row.lse, seen.lse, sizeof row.lse);
  check_exchange(exchange.all_reduce(exchange.context, &row, sizeof row, merge_rows, NULL));
  free_result(seen);
  free_result(next);
  return row;
}

/*===------------------------------------------------------------------------===*
 * A single process
 *===------------------------------------------------------------------------===*/

/* On rank 0 the contexts of the whole prompt, [2 * ranks parts, query_heads, length, width], in
 * order. */
static float *gather(const shard *s, result own) {
  int64_t floats = query_heads * s->length * width;
  size_t bytes = (size_t)floats * sizeof(float);
  float *all = exchange.rank == 0 ? make(2 * exchange.size * floats) : NULL;
  for (int rank = 0; rank < exchange.size; ++rank)
    for (int part = 0; part < 2; ++part) {
      float *from = own.context + part * floats;
      float *to = all ? all + start_of_part(s, rank, part) / s->length * floats : NULL;
      int message;
      if (rank == 0 && all)
        memcpy(to, from, bytes);
      else if (all)
        check_exchange(exchange.recv(exchange.context, to, bytes, rank, &message));
      else if (rank == exchange.rank)
        check_exchange(exchange.send(exchange.context, from, bytes, 0, &message));
      if (rank != 0 && (all || rank == exchange.rank))
        check_exchange(exchange.wait(exchange.context, message));
    }
  return all;
}

static double difference(const float *a, const float *b, int64_t count) {
  double most = 0;
  for (int64_t at = 0; at < count; ++at) {
    double one = fabs((double)a[at] - b[at]);
    most = one <= most ? most : one; /* NaN stays */
  }
  return most;
}

/* What the run computed: the prompt's contexts, as gathered, and the rows of the tokens. */
typedef struct outcome {
  float *prompt;
  row_result *rows;
} outcome;

static const float *find_context(const shard *s, outcome o, int64_t row, int head) {
  int64_t part = row / s->length;
  return row < s->tokens
             ? o.prompt + ((part * query_heads + head) * s->length + row % s->length) * width
             : o.rows[row - s->tokens].context[head];
}

/* The largest difference of `count` rows from those of one call that has all keys up to them. */
static double compare_rows(const shard *s, outcome o, keys whole, int64_t first, int64_t count) {
  const int32_t start = (int32_t)first;
  float *query = make(query_heads * count * width);
  result before = make_result(1, count), after = make_result(1, count);
  double most = 0;
  make_rows(query, is_query, first, count, count);
  whole.rows = first + count;
  attend(query, &start, whole, before, after);
  for (int64_t row = 0; row < count; ++row)
    for (int head = 0; head < query_heads; ++head) {
      double one = difference(find_context(s, o, first + row, head),
                              after.context + (head * count + row) * width, width);
      most = one <= most ? most : one;
    }
  free(query);
  free_result(before);
  free_result(after);
  return most;
}

static double compare(const shard *s, outcome o, int64_t steps) {
  const int64_t all = s->tokens + steps, slice = 1024;
  keys whole = {make(key_heads * all * width), make(key_heads * all * width), 0, all, all};
  double most = 0;
  make_rows(whole.key, is_key, 0, all, all);
  make_rows(whole.value, is_value, 0, all, all);
  for (int64_t first = 0; first < all; first += slice) {
    double one = compare_rows(s, o, whole, first, all - first < slice ? all - first : slice);
    most = one <= most ? most : one;
  }
  free(whole.key);
  free(whole.value);
  return most;
}

/*===------------------------------------------------------------------------===*
 * The program
 *===------------------------------------------------------------------------===*/

static options read_options(int count, char **words) {
  options o = {65536, 64, 60, -1, -1, -1};
  if (count > 1)
    o.tokens = atoll(words[1]);
  for (int at = 2; at < count; ++at) {
    const char *equals = strchr(words[at], '=');
    double value = equals ? atof(equals + 1) : 0;
    if (!strncmp(words[at], "steps=", 6))
      o.steps = (int64_t)value;
    else if (!strncmp(words[at], "timeout=", 8))
      o.timeout = value;
    else if (!strncmp(words[at], "stall=", 6))
      o.stalling = (int)value;
    else if (!strncmp(words[at], "die=", 4))
      o.dying = (int)value;
    else if (!strncmp(words[at], "longer=", 7))
      o.longer = (int)value;
    else
      fail("expected TOKENS [steps=N] [timeout=SECONDS] [stall=RANK] [die=RANK] [longer=RANK]");
  }
  if (o.tokens < 1 || o.tokens > INT32_MAX / 2 || o.steps < 0 || o.timeout <= 0)
    fail("expected at least one token, and a time-out above 0");
  return o;
}

/* This rank's share of the machine's processors. */
static int count_threads(void) {
  MPI_Comm machine;
  int ranks, processors = (int)sysconf(_SC_NPROCESSORS_ONLN);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  MPI_Comm_size(machine, &ranks);
  MPI_Comm_free(&machine);
  return processors > ranks ? processors / ranks : 1;
}

/* The processor time of the busiest rank over the mean. */
static double get_imbalance(void) {
  double *all = allocate(exchange.size, sizeof(double)), sum = 0, most = 0;
  check_exchange(exchange.all_gather(exchange.context, &compute_seconds, sizeof(double), all));
  for (int rank = 0; rank < exchange.size; ++rank) {
    sum += all[rank];
    most = all[rank] > most ? all[rank] : most;
  }
  free(all);
  return sum > 0 ? most * exchange.size / sum : 1;
}

int main(int count, char **words) {
  MPI_Init(&count, &words);
  options o = read_options(count, words);
  threads = count_threads();
  if (attnc_mpi_open(&mpi, MPI_COMM_WORLD, o.timeout, &exchange) != 0)
    fail(mpi.error);
  if (exchange.rank == o.longer)
    ++o.tokens;
  const long long sizes[] = {o.tokens, o.steps};
  check_exchange(attnc_mpi_agree(&mpi, sizes, 2));

  shard s = make_shard(o.tokens, o.steps);
  double began = attnc_mpi_now();
  result own = prefill(&s, &o);
  double prompt = attnc_mpi_now() - began, imbalance = get_imbalance();
  outcome done = {.rows = allocate(o.steps, sizeof(row_result))};
  began = attnc_mpi_now();
  for (int64_t at = 0; at < o.steps; ++at)
    done.rows[at] = decode(&s, o.tokens + at);
  double decoding = attnc_mpi_now() - began;
  done.prompt = gather(&s, own);
  int isFirst = exchange.rank == 0, ranks = exchange.size;
  attnc_mpi_close(&mpi);
  MPI_Finalize();
  int status = 0;
  if (isFirst) {
    printf("%d ranks, %lld tokens: prompt %.2f s, busiest rank %.2f times the mean; %lld more, "
           "%.2f ms each\n",
           ranks, (long long)o.tokens, prompt, imbalance, (long long)o.steps,
           o.steps ? 1000 * decoding / (double)o.steps : 0);
    threads = 0; /* this process is the only one now */
    double most = compare(&s, done, o.steps);
    status = !(most < 2e-5);
    printf("at most %.1e from a single process: %s\n", most, status ? "WRONG" : "right");
  }
  free(done.prompt);
  free(done.rows);
  free_result(own);
  free_shard(s);
  return status;
}
