/* Continuous batching: the attention of a server's steps, on a pool of pages in 8 bits.
 *
 *   ./run 300          compiles the kernel and this program, and starts it
 *
 * The shapes are a layer's of SmolLM-135M: 9 query heads over 3 key heads, head_dim 64. Sequences
 * arrive, grow and leave, at most 16 at once. A step is one call: a row of each sequence that
 * decodes, and the next rows of prompts, `most_rows` in all. It quantises the keys and values of
 * these rows, appends them to the pages of their sequences, and computes their contexts.
 *
 * Every context is compared with one that is computed plainly, in float64, from the same 8 bits.
 */

#include "../threads/pool.h"
#include "serving.h"

#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { query_heads = 9, key_heads = 3, width = 64, page_size = 16, num_pages = 300 };
enum { most_sequences = 16, most_rows = 64, longest_prompt = 400, most_tokens = 100 };
enum { max_length = longest_prompt + most_tokens, max_pages = max_length / page_size + 1 };

static void fail(const char *text) {
  fprintf(stderr, "serving: %s\n", text);
  exit(1);
}

/* From 0 to limit - 1: the same in every run. */
static int draw(int limit) {
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return (int)((state >> 8) % (uint32_t)limit);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/*===------------------------------------------------------------------------===*
 * Pages
 *===------------------------------------------------------------------------===*/

typedef struct page_pool {
  int8_t keys[num_pages][key_heads][page_size][width],
      values[num_pages][key_heads][page_size][width];
  float key_scales[num_pages][key_heads][page_size], value_scales[num_pages][key_heads][page_size];
  int32_t unused[num_pages];
  int num_unused, promised; /* to sequences that may still grow, with those that they have */
} page_pool;

static page_pool pages;

static void free_page(int32_t page) { pages.unused[pages.num_unused++] = page; }

static int32_t take_page(void) {
  if (pages.num_unused == 0)
    fail("expected a page to be left");
  return pages.unused[--pages.num_unused];
}

static int count_pages(int length) { return (length + page_size - 1) / page_size; }

/* Whether a sequence can grow to this length, which it is then promised. */
static int promise_pages(int length) {
  int fits = pages.promised + count_pages(length) <= num_pages;
  pages.promised += fits ? count_pages(length) : 0;
  return fits;
}

/*===------------------------------------------------------------------------===*
 * Sequences
 *===------------------------------------------------------------------------===*/

/* What the cache holds of a sequence, widened. */
typedef double exact_rows[key_heads][max_length][width];

typedef struct sequence {
  int id, prompt, end; /* numbers of tokens */
  int length, rows;    /* keys before this step, and new rows in it */
  int32_t table[max_pages];
  exact_rows keys, values;
} sequence;

typedef struct server {
  sequence *running[most_sequences];
  int count, arrived, left;
} server;

/* A prompt arrives, and waits outside while there is no room. */
static void admit(server *s) {
  static int prompt, tokens;
  if (prompt == 0)
    prompt = 1 + draw(longest_prompt), tokens = 1 + draw(most_tokens);
  if (s->count == most_sequences || !promise_pages(prompt + tokens))
    return;
  sequence *one = calloc(1, sizeof *one);
  if (!one)
    fail("no memory");
  one->id = s->arrived++, one->prompt = prompt, one->end = prompt + tokens;
  s->running[s->count++] = one;
  prompt = 0;
}

/* Rows of this step: decoding goes first, prompts share what is left. */
static void plan(server *s) {
  int left = most_rows;
  for (int b = 0; b < s->count; ++b)
    left -= s->running[b]->rows = s->running[b]->length >= s->running[b]->prompt;
  for (int b = 0; b < s->count; ++b) {
    sequence *one = s->running[b];
    int rest = one->prompt - one->length;
    if (rest > 0)
      left -= one->rows = rest < left ? rest : left;
    for (int n = count_pages(one->length); n < count_pages(one->length + one->rows); ++n)
      one->table[n] = take_page();
  }
}

/* Rows become keys; sequences that have all their tokens leave. */
static void advance(server *s) {
  int kept = 0;
  for (int b = 0; b < s->count; ++b) {
    sequence *one = s->running[b];
    one->length += one->rows;
    if (one->length < one->end) {
      s->running[kept++] = one;
      continue;
    }
    for (int n = 0; n < count_pages(one->length); ++n)
      free_page(one->table[n]);
    pages.promised -= count_pages(one->end);
    free(one);
    ++s->left;
  }
  s->count = kept;
}

/*===------------------------------------------------------------------------===*
 * A step
 *===------------------------------------------------------------------------===*/

typedef struct step {
  sequence *of[most_sequences]; /* those with rows */
  int64_t batch, total;
  int32_t offsets[most_sequences + 1], past[most_sequences], table[most_sequences][max_pages];
  float query[most_rows][query_heads][width], context[most_rows][query_heads][width];
  float key[most_rows][key_heads][width], value[most_rows][key_heads][width];
} step;

/* What a model would compute from a token. */
static void make_row(float *row, int heads, int id, int position, int kind) {
  for (int x = 0; x < heads * width; ++x) {
    uint32_t bits = (uint32_t)id * 2654435761u + (uint32_t)(position * 3 + kind) * 40503u +
                    (uint32_t)x * 69069u;
    bits = (bits ^ bits >> 15) * 2246822519u;
    bits = (bits ^ bits >> 13) * 3266489917u;
    row[x] = (float)((bits ^ bits >> 16) >> 8) / (1 << 22) - 2;
  }
}

static void make_step(const server *s, step *made) {
  made->batch = made->total = 0;
  for (int b = 0; b < s->count; ++b) {
    sequence *one = s->running[b];
    if (one->rows == 0)
      continue;
    made->of[made->batch] = one;
    made->offsets[made->batch] = (int32_t)made->total;
    made->past[made->batch] = one->length;
    memcpy(made->table[made->batch++], one->table, sizeof one->table);
    for (int i = 0; i < one->rows; ++i, ++made->total) {
      make_row(made->query[made->total][0], query_heads, one->id, one->length + i, 0);
      make_row(made->key[made->total][0], key_heads, one->id, one->length + i, 1);
      make_row(made->value[made->total][0], key_heads, one->id, one->length + i, 2);
    }
  }
  made->offsets[made->batch] = (int32_t)made->total;
}

static void call_kernel(step *s, pool *threads) {
  const DLDataType f32 = {kDLFloat, 32, 1}, i32 = {kDLInt, 32, 1}, i8 = {kDLInt, 8, 1};
  int64_t queries[] = {s->total, query_heads, width}, keys[] = {s->total, key_heads, width};
  int64_t ends[] = {s->batch + 1}, table[] = {s->batch, max_pages};
  int64_t paged[] = {num_pages, key_heads, page_size, width},
          scales[] = {num_pages, key_heads, page_size, 1};
  DLTensor tensors[] = {{s->query, {kDLCPU, 0}, 3, f32, queries, NULL, 0},
                        {s->key, {kDLCPU, 0}, 3, f32, keys, NULL, 0},
                        {s->value, {kDLCPU, 0}, 3, f32, keys, NULL, 0},
                        {s->offsets, {kDLCPU, 0}, 1, i32, ends, NULL, 0},
                        {s->past, {kDLCPU, 0}, 1, i32, table, NULL, 0},
                        {s->table, {kDLCPU, 0}, 2, i32, table, NULL, 0},
                        {pages.keys, {kDLCPU, 0}, 4, i8, paged, NULL, 0},
                        {pages.key_scales, {kDLCPU, 0}, 4, f32, scales, NULL, 0},
                        {pages.values, {kDLCPU, 0}, 4, i8, paged, NULL, 0},
                        {pages.value_scales, {kDLCPU, 0}, 4, f32, scales, NULL, 0},
                        {s->context, {kDLCPU, 0}, 3, f32, queries, NULL, 0}};
  serving_options call = {.size = sizeof call, .parallel = run_on_pool, .pool = threads};
  /* Pools are in- and output: rows are appended in place. */
  const DLTensor *all[] = {&tensors[0],  &tensors[1], &tensors[2], &tensors[3], &tensors[4],
                           &tensors[5],  &tensors[6], &tensors[7], &tensors[8], &tensors[9],
                           &tensors[10], &tensors[6], &tensors[7], &tensors[8], &tensors[9]};
  if (serving_call(&call, all) != 0)
    fail(serving_last_error());
}

/*===------------------------------------------------------------------------===*
 * A plain read
 *===------------------------------------------------------------------------===*/

static uint64_t sum(const void *data, size_t bytes) {
  const uint64_t *words = data;
  uint64_t total = 0;
  for (size_t i = 0; i < bytes / sizeof *words; ++i)
    total += words[i];
  return total;
}

static uint64_t sums[most_sequences];

/* Reads the pages of a sequence once. */
static void read_pages(void *state, int b) {
  const step *s = state;
  sums[b] = 0;
  for (int n = 0; n < count_pages(s->of[b]->length + s->of[b]->rows); ++n) {
    int32_t page = s->table[b][n];
    sums[b] += sum(pages.keys[page], sizeof pages.keys[page]) +
               sum(pages.values[page], sizeof pages.values[page]) +
               sum(pages.key_scales[page], sizeof pages.key_scales[page]) +
               sum(pages.value_scales[page], sizeof pages.value_scales[page]);
  }
}

/*===------------------------------------------------------------------------===*
 * In float64
 *===------------------------------------------------------------------------===*/

/* NaN, if one is. */
static double larger(double a, double b) { return b > a || isnan(b) ? b : a; }

/* attn.quantize and attn.dequantize of the row of a head. */
static void round_row(const float *row, double *rounded) {
  float most = 0;
  for (int x = 0; x < width; ++x)
    most = fmaxf(most, fabsf(row[x]));
  float scale = most / 127;
  for (int x = 0; x < width; ++x)
    rounded[x] = scale == 0 ? 0 : (double)rintf(row[x] / scale) * scale;
}

/* The context of a head's row that sees `count` keys. */
static void attend(const float *query, double (*keys)[width], double (*values)[width], int count,
                   double *context) {
  double scores[max_length], top = -INFINITY, all = 0;
  for (int k = 0; k < count; ++k) {
    scores[k] = 0;
    for (int x = 0; x < width; ++x)
      scores[k] += 0.125 * query[x] * keys[k][x];
    top = fmax(top, scores[k]);
  }
  memset(context, 0, width * sizeof *context);
  for (int k = 0; k < count; ++k) {
    double weight = exp(scores[k] - top);
    all += weight;
    for (int x = 0; x < width; ++x)
      context[x] += weight * values[k][x];
  }
  for (int x = 0; x < width; ++x)
    context[x] /= all;
}

/* The largest error of a row, whose key is appended first. */
static double check_row(const step *s, sequence *one, int64_t row, int position) {
  double most = 0, context[width];
  for (int head = 0; head < key_heads; ++head) {
    round_row(s->key[row][head], one->keys[head][position]);
    round_row(s->value[row][head], one->values[head][position]);
  }
  for (int head = 0; head < query_heads; ++head) {
    int shared = head / (query_heads / key_heads);
    attend(s->query[row][head], one->keys[shared], one->values[shared], position + 1, context);
    for (int x = 0; x < width; ++x) {
      double error = fabs(s->context[row][head][x] - context[x]);
      most = larger(most, error);
    }
  }
  return most;
}

static double check(const step *s) {
  double most = 0;
  for (int64_t b = 0; b < s->batch; ++b)
    for (int i = 0; i < s->of[b]->rows; ++i) {
      double error = check_row(s, s->of[b], s->offsets[b] + i, s->past[b] + i);
      most = larger(most, error);
    }
  return most;
}

int main(int count, char **words) {
  int steps = count > 1 ? atoi(words[1]) : 300, processors = (int)sysconf(_SC_NPROCESSORS_ONLN);
  server all = {.count = 0};
  step one;
  pool threads;
  double calls = 0, reads = 0, most = 0;
  long long rows = 0;
  int busiest = 0;
  memset(one.context, 0xff, sizeof one.context);
  for (int32_t page = num_pages; page-- > 0;)
    free_page(page);
  start_pool(&threads, processors > 2 ? processors - 1 : 1);
  for (int at = 0; at < steps; ++at) {
    if (at == 0 || draw(2))
      admit(&all);
    plan(&all);
    make_step(&all, &one);
    double began = now();
    call_kernel(&one, &threads);
    double called = now();
    run_on_pool(&threads, read_pages, &one, (int)one.batch);
    reads += now() - called;
    calls += called - began;
    double error = check(&one);
    most = larger(most, error);
    rows += one.total;
    busiest = all.count > busiest ? all.count : busiest;
    advance(&all);
  }
  stop_pool(&threads);
  printf("%d steps, %d sequences arrived and %d left, at most %d at once\n", steps, all.arrived,
         all.left, busiest);
  printf("%lld tokens, %.0f a second; %.3f ms a step, a plain read of its pages %.3f ms\n", rows,
         (double)rows / calls, 1e3 * calls / steps, 1e3 * reads / steps);
  for (int b = 0; b < all.count; ++b)
    free(all.running[b]);
  int wrong = !(most < 4e-6);
  printf("at most %.1e from float64: %s\n", most, wrong ? "WRONG" : "right");
  return wrong;
}
