/* Causal attention over a sequence that several processes share: the prompt, then tokens one by
 * one.
 *
 *   ./run 4 65536          compiles the kernels and this program, and starts it under mpirun
 *
 * Prompt: each process calls prefill (spec.mlir) with its shards, which exchanges keys and values
 * over MPI. Tokens: keys and values stay where they were computed, those of new tokens on rank 0;
 * decode (decode.mlir) merges what the token sees of each rank's.
 *
 * At last, rank 0 compares everything with one call that has the whole sequence.
 */

#include "attnc_mpi.h"
#include "decode.h"
#include "prefill.h"

#include <math.h>
#include <unistd.h>

enum { query_heads = 8, key_heads = 2, width = 64 };

typedef struct options {
  int64_t tokens, steps;
  double timeout;
  int stalling, dying, differing; /* ranks that fail, or -1 */
} options;

static options the_options;
static attnc_mpi mpi;
static attnc_exchange exchange;
static int threads;
static int64_t batch = 1; /* all ranks' sequences, of which the first one is compared */

/*===------------------------------------------------------------------------===*
 * Errors and memory
 *===------------------------------------------------------------------------===*/

/* Messages may be under way: no other end than MPI_Abort is sure to come. */
static void fail(const char *text) {
  fprintf(stderr, "long_context: %s%s%s\n", text, *mpi.error ? ": " : "", mpi.error);
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

/* Zeros; at least one. */
static float *make(int64_t floats) {
  float *data = calloc((size_t)floats + 1, sizeof(float));
  if (!data)
    fail("no memory");
  return data;
}

/*===------------------------------------------------------------------------===*
 * The exchange, with what this example adds to it
 *===------------------------------------------------------------------------===*/

static double waiting_seconds; /* processor time */
static int in_prompt, messages_of_prompt;

/* Stands for a defect of one rank: it ends, or it does not answer. */
static void misbehave(void) {
  if (exchange.rank == the_options.dying)
    _exit(3);
  if (exchange.rank == the_options.stalling)
    sleep((unsigned)(10 * the_options.timeout) + 1);
}

static int wait_and_count(void *context, int message) {
  clock_t began = clock();
  int status = attnc_mpi_wait(context, message);
  waiting_seconds += (double)(clock() - began) / CLOCKS_PER_SEC;
  messages_of_prompt += in_prompt;
  if (in_prompt && messages_of_prompt % 10 == 0) {
    misbehave();
    if (exchange.rank == 0)
      fprintf(stderr, "prompt: %d messages\n", messages_of_prompt);
  }
  return status;
}

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

/* Row `row` of data [heads, room, width]: that of the token at `position`. */
static void make_row(float *data, enum kind kind, int64_t room, int64_t row, int64_t position) {
  int heads = kind == is_query ? query_heads : key_heads;
  for (int head = 0; head < heads; ++head)
    for (int x = 0; x < width; ++x)
      data[(head * room + row) * width + x] = make_float(kind, position, head, x);
}

/* What a rank has: rows of the prompt at `positions`, and room for the keys of new tokens. */
typedef struct shard {
  int64_t rows, keys, room;
  int64_t *positions;
  float *query, *key, *value, *context;
} shard;

/* The place of a rank's row: see #attn.shard<zigzag>. */
static int64_t get_position(int64_t row, int64_t rows) {
  int64_t early = (rows + 1) / 2, late = rows - early, ranks = exchange.ranks, rank = exchange.rank;
  return row < early ? rank * early + row : ranks * early + (ranks - 1 - rank) * late + row - early;
}

/* All ranks have equally many rows: the last ones are behind the prompt's end, where no token sees
 * their keys. */
static shard make_shard(int64_t tokens, int64_t steps) {
  shard s = {.rows = (tokens + exchange.ranks - 1) / exchange.ranks};
  s.room = s.rows + steps;
  s.positions = calloc((size_t)s.rows, sizeof *s.positions);
  s.query = make(batch * query_heads * s.rows * width);
  s.context = make(batch * query_heads * s.rows * width);
  s.key = make(batch * key_heads * s.room * width);
  s.value = make(batch * key_heads * s.room * width);
  for (int64_t row = 0; row < s.rows; ++row) {
    s.positions[row] = get_position(row, s.rows);
    make_row(s.query, is_query, s.rows, row, s.positions[row]);
    make_row(s.key, is_key, s.room, row, s.positions[row]);
    make_row(s.value, is_value, s.room, row, s.positions[row]);
    s.keys += s.positions[row] < tokens;
  }
  return s;
}

static void free_shard(shard s) {
  free(s.positions);
  free(s.query);
  free(s.context);
  free(s.key);
  free(s.value);
}

/*===------------------------------------------------------------------------===*
 * The kernels
 *===------------------------------------------------------------------------===*/

/* A tensor [batch, heads, rows, width] in memory for [heads, room, width]. */
static DLTensor tensor(float *data, int64_t *shape, int64_t *strides, int heads, int64_t rows,
                       int64_t room) {
  const int64_t sizes[] = {batch, heads, rows, width},
                steps[] = {heads * room * width, room * width, width, 1};
  memcpy(shape, sizes, sizeof sizes);
  memcpy(strides, steps, sizeof steps);
  return (DLTensor){data, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, shape, strides, 0};
}

/* The contexts of a shard's rows; of the whole sequence's without an exchange. */
static void prefill_shard(shard *s, const attnc_exchange *with) {
  int64_t shapes[3][4], strides[3][4];
  DLTensor query = tensor(s->query, shapes[0], strides[0], query_heads, s->rows, s->rows),
           key = tensor(s->key, shapes[1], strides[1], key_heads, s->rows, s->room),
           value = tensor(s->value, shapes[1], strides[1], key_heads, s->rows, s->room),
           context = tensor(s->context, shapes[2], strides[2], query_heads, s->rows, s->rows);
  prefill_options call = {.size = sizeof call, .threads = threads, .exchange = with};
  if (prefill_ex(&call, &query, &key, &value, &context) != 0)
    fail(prefill_last_error());
}

/* The context of the token at `position`, the same on all ranks. */
static void decode_token(shard *s, int64_t position, float *result) {
  int64_t shapes[2][4], strides[2][4];
  float row[query_heads * width];
  make_row(row, is_query, 1, 0, position);
  if (exchange.rank == 0) {
    make_row(s->key, is_key, s->room, s->keys, position);
    make_row(s->value, is_value, s->room, s->keys++, position);
  }
  DLTensor query = tensor(row, shapes[0], strides[0], query_heads, 1, 1),
           key = tensor(s->key, shapes[1], strides[1], key_heads, s->keys, s->room),
           value = tensor(s->value, shapes[1], strides[1], key_heads, s->keys, s->room),
           context = query;
  context.data = result;
  decode_options call = {.size = sizeof call, .threads = threads, .exchange = &exchange};
  if (decode_ex(&call, &query, &key, &value, &context) != 0)
    fail(decode_last_error());
}

/*===------------------------------------------------------------------------===*
 * A single process
 *===------------------------------------------------------------------------===*/

/* On rank 0 the positions and contexts of all ranks, one after the other. */
static void gather(const shard *s, int64_t *positions, float *contexts) {
  int floats = (int)(query_heads * s->rows * width);
  MPI_Gather(s->positions, (int)s->rows, MPI_INT64_T, positions, (int)s->rows, MPI_INT64_T, 0,
             MPI_COMM_WORLD);
  MPI_Gather(s->context, floats, MPI_FLOAT, contexts, floats, MPI_FLOAT, 0, MPI_COMM_WORLD);
}

/* The whole sequence, prompt and tokens, in one call. */
static shard compute_whole(int64_t tokens) {
  attnc_exchange others = exchange;
  exchange.rank = 0, exchange.ranks = 1;
  threads = 0; /* this process is the only one now */
  shard whole = make_shard(tokens, 0);
  prefill_shard(&whole, NULL);
  exchange = others;
  return whole;
}

/* The largest difference of rows [heads, room, width] at `row` and `other`; NaN stays. */
static double compare_row(double most, const float *a, int64_t room, int64_t row, const float *b,
                          int64_t other_room, int64_t other) {
  for (int head = 0; head < query_heads; ++head)
    for (int x = 0; x < width; ++x) {
      double one = fabs((double)a[(head * room + row) * width + x] -
                        b[(head * other_room + other) * width + x]);
      most = one > most || isnan(one) ? one : most;
    }
  return most;
}

static double compare(const shard *s, const int64_t *positions, const float *prompt,
                      const float *decoded) {
  int64_t tokens = the_options.tokens, steps = the_options.steps;
  shard whole = compute_whole(tokens + steps);
  double most = 0;
  for (int64_t at = 0; at < exchange.ranks * s->rows; ++at)
    if (positions[at] < tokens)
      most = compare_row(most, prompt + at / s->rows * query_heads * s->rows * width, s->rows,
                         at % s->rows, whole.context, whole.rows, positions[at]);
  for (int64_t step = 0; step < steps; ++step)
    most = compare_row(most, decoded + step * query_heads * width, 1, 0, whole.context, whole.rows,
                       tokens + step);
  free_shard(whole);
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
    else if (!strncmp(words[at], "differ=", 7))
      o.differing = (int)value;
    else
      fail("expected TOKENS [steps=N] [timeout=SECONDS] [stall=RANK] [die=RANK] [differ=RANK]");
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
static double get_imbalance(double seconds) {
  double most, sum;
  MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(&seconds, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum > 0 ? most * exchange.ranks / sum : 1;
}

int main(int count, char **words) {
  MPI_Init(&count, &words);
  options o = the_options = read_options(count, words);
  threads = count_threads();
  if (attnc_mpi_open(&mpi, MPI_COMM_WORLD, o.timeout, &exchange) != 0)
    fail("no exchange");
  exchange.wait = wait_and_count;

  batch = exchange.rank == o.differing ? 2 : 1;
  shard s = make_shard(o.tokens, o.steps);
  in_prompt = 1;
  clock_t work = clock();
  double began = attnc_mpi_now();
  prefill_shard(&s, &exchange);
  double prompt = attnc_mpi_now() - began,
         imbalance = get_imbalance((double)(clock() - work) / CLOCKS_PER_SEC - waiting_seconds);
  in_prompt = 0;
  float *decoded = make(o.steps * query_heads * width);
  began = attnc_mpi_now();
  for (int64_t step = 0; step < o.steps; ++step)
    decode_token(&s, o.tokens + step, decoded + step * query_heads * width);
  double decoding = attnc_mpi_now() - began;

  int is_first = exchange.rank == 0, status = 0;
  int64_t *positions = calloc((size_t)(exchange.ranks * s.rows), sizeof *positions);
  float *contexts = make(is_first ? exchange.ranks * query_heads * s.rows * width : 0);
  gather(&s, positions, contexts);
  attnc_mpi_close(&mpi);
  MPI_Finalize();
  if (is_first) {
    printf("%d ranks, %lld tokens: prompt %.2f s, busiest rank %.2f times the mean; %lld more, "
           "%.2f ms each\n",
           exchange.ranks, (long long)o.tokens, prompt, imbalance, (long long)o.steps,
           o.steps ? 1000 * decoding / (double)o.steps : 0);
    double most = compare(&s, positions, contexts, decoded);
    status = !(most < 2e-5);
    printf("at most %.1e from a single process: %s\n", most, status ? "WRONG" : "right");
  }
  free(positions);
  free(contexts);
  free(decoded);
  free_shard(s);
  return status;
}
