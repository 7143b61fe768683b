/* Token ids in, embeddings out: calls the compiled sentence encoder from plain C.
 *
 * usage: main IDS EMBEDDINGS RUNS
 *
 * IDS is a text file with the token ids of one sentence on each line. Their embeddings
 * go to EMBEDDINGS as raw floats, 384 a sentence. Prints the similarities of all pairs,
 * then the shortest and the median time of RUNS calls in milliseconds.
 */

#include "sentence_encoder.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { width = 384, longest = 512 };

static void fail(const char *what, const char *why) {
  fprintf(stderr, "main: %s: %s\n", what, why);
  exit(1);
}

static void *allocate(size_t size) {
  void *memory = calloc(size ? size : 1, 1);
  if (!memory)
    fail("calloc", "out of memory");
  return memory;
}

/* Sentences as rows of `longest` ids. */
typedef struct {
  int64_t (*ids)[longest];
  int64_t *lengths;
  int64_t batch, len;
} Sentences;

static int is_line_end(int c) { return c == '\n' || c == EOF; }

/* Skips blanks; whether there is more on this line. */
static int has_more(FILE *file) {
  int c;
  do
    c = getc(file);
  while (!is_line_end(c) && isspace(c));
  if (is_line_end(c))
    return 0;
  ungetc(c, file);
  return 1;
}

static int64_t read_line(FILE *file, int64_t *ids) {
  int64_t count = 0;
  while (has_more(file)) {
    long long id;
    if (count == longest)
      fail("a line", "expected at most 512 ids");
    if (fscanf(file, "%lld", &id) != 1)
      fail("a line", "expected ids only");
    ids[count++] = id;
  }
  return count;
}

static Sentences read_sentences(const char *path) {
  Sentences s = {0};
  FILE *file = fopen(path, "r");
  if (!file)
    fail(path, "cannot open");
  for (;;) {
    int64_t ids[longest], length = read_line(file, ids);
    if (length == 0)
      break;
    s.ids = realloc(s.ids, sizeof *s.ids * (size_t)(s.batch + 1));
    s.lengths = realloc(s.lengths, sizeof *s.lengths * (size_t)(s.batch + 1));
    if (!s.ids || !s.lengths)
      fail("realloc", "out of memory");
    for (int64_t i = 0; i < length; ++i)
      s.ids[s.batch][i] = ids[i];
    s.lengths[s.batch++] = length;
    s.len = length > s.len ? length : s.len;
  }
  fclose(file);
  if (s.batch == 0)
    fail(path, "expected a line of ids");
  return s;
}

/* A row-major tensor of two dimensions; no strides means contiguous. */
static DLTensor tensor(void *data, int64_t *shape, uint8_t code, uint8_t bits) {
  return (DLTensor){
      .data = data, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {code, bits, 1}, .shape = shape};
}

static double milliseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Embeddings have length 1: their dot product is the cosine. */
static void print_similarities(const float *embeddings, int64_t batch) {
  for (int64_t i = 0; i < batch; ++i) {
    for (int64_t j = 0; j < batch; ++j) {
      double dot = 0;
      for (int d = 0; d < width; ++d)
        dot += (double)embeddings[i * width + d] * (double)embeddings[j * width + d];
      printf("%6.2f", dot);
    }
    printf("\n");
  }
}

int main(int argc, char **argv) {
  if (argc != 4 || atoi(argv[3]) < 1)
    fail("usage", "main IDS EMBEDDINGS RUNS");
  int runs = atoi(argv[3]);
  Sentences s = read_sentences(argv[1]);

  /* Shorter sentences are padded: the mask is 0 there. */
  size_t count = (size_t)(s.batch * s.len);
  int64_t *ids = allocate(sizeof *ids * count), *mask = allocate(sizeof *mask * count);
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t i = 0; i < s.lengths[b]; ++i) {
      ids[b * s.len + i] = s.ids[b][i];
      mask[b * s.len + i] = 1;
    }
  float *embeddings = allocate(sizeof *embeddings * (size_t)(s.batch * width));

  int64_t tokens[2] = {s.batch, s.len}, rows[2] = {s.batch, width};
  DLTensor token_ids = tensor(ids, tokens, kDLInt, 64);
  DLTensor attention_mask = tensor(mask, tokens, kDLInt, 64);
  DLTensor embedding = tensor(embeddings, rows, kDLFloat, 32);

  double *times = allocate(sizeof *times * (size_t)runs);
  for (int i = -1; i < runs; ++i) { /* one more, first, to warm up */
    double start = milliseconds();
    if (sentence_encoder(&token_ids, &attention_mask, &embedding) != 0)
      fail("sentence_encoder", sentence_encoder_last_error());
    if (i >= 0)
      times[i] = milliseconds() - start;
  }
  FILE *file = fopen(argv[2], "wb");
  if (!file ||
      fwrite(embeddings, sizeof *embeddings, (size_t)(s.batch * width), file) !=
          (size_t)(s.batch * width) ||
      fclose(file) != 0)
    fail(argv[2], "cannot write");

  print_similarities(embeddings, s.batch);
  qsort(times, (size_t)runs, sizeof *times, by_size);
  printf("%.6f %.6f\n", times[0], times[runs / 2]);
  return 0;
}
