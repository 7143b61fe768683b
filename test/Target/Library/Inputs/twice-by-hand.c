/* The library of twice.mlir with a host function by hand, so that sanitizers see
 * the support code, which the compiler carries as uninstrumented bitcode. */

#define attnc_call twice_call
#define attnc_workspace twice_workspace
#define attnc_last_error twice_last_error
#define attnc_target twice_target
#include "attnc_cpu_x86.c"
#include "attnc_no_device.c"
#include "attnc_no_weights.c"
#include "attnc_runtime.c"
#include "attnc_support.c"

#include <pthread.h>
#include <string.h>

static const attnc_dim dims[3][2] = {
    {{-1, "n", -1, -1}, {64, 0, -1, -1}},
    {{-1, "n", 0, 0}, {64, 0, -1, -1}},
    {{-1, "n", 0, 0}, {64, 0, -1, -1}},
};

static const attnc_tensor specs[3] = {
    {"query", dims[0], 2, kDLFloat, 32, 0, -1},
    {"key", dims[1], 2, kDLFloat, 32, 0, -1},
    {"context", dims[2], 2, kDLFloat, 32, 1, -1},
};

enum { aligned = 1, extents = 3, step = 5 };

static int64_t workspace(void *const *descriptors) {
  return ((int64_t *)descriptors[0])[extents] * 64 * (int64_t)sizeof(float);
}

/* In place of Halide's: a thread for each index. */
typedef struct one {
  halide_task *task;
  void *user_context;
  int index;
  uint8_t *closure;
} one;

static void *run_one(void *data) {
  one *self = data;
  self->task(self->user_context, self->index, self->closure);
  return NULL;
}

int halide_default_do_par_for(void *user_context, halide_task *task, int min, int size,
                              uint8_t *closure) {
  enum { most = 64 };
  one ones[most];
  pthread_t threads[most];
  for (int i = 0; i < size; ++i) {
    one work = {task, user_context, min + i, closure};
    ones[i] = work;
    pthread_create(&threads[i], NULL, run_one, &ones[i]);
  }
  for (int i = 0; i < size; ++i)
    pthread_join(threads[i], NULL);
  return 0;
}

static int double_row(void *user_context, int row, uint8_t *closure) {
  void *const *descriptors = (void *const *)closure;
  const int64_t *in = descriptors[0], *temporary = descriptors[3];
  const float *from = (const float *)in[aligned] + row * in[step];
  float *to = (float *)temporary[aligned] + row * 64;
  (void)user_context;
  for (int j = 0; j < 64; ++j)
    to[j] = 2 * from[j];
  return 0;
}

/* By way of the workspace and of memory of the kernel's own. */
static int32_t host(void *user_context, void *const *descriptors) {
  const int64_t *in = descriptors[0], *out = descriptors[2], *temporary = descriptors[3];
  int rows = (int)in[extents];
  int status = halide_do_par_for(user_context, double_row, 0, rows, (uint8_t *)descriptors);
  size_t bytes = (size_t)rows * 64 * sizeof(float);
  float *copy = halide_malloc(user_context, bytes);
  if (!copy) {
    halide_error(user_context, "Out of memory (halide_malloc returned nullptr)\n");
    return halide_out_of_memory;
  }
  memcpy(copy, (const float *)temporary[aligned], bytes);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < 64; ++j)
      ((float *)out[aligned])[i * out[step] + j] = copy[i * 64 + j] + 1;
  halide_free(user_context, copy);
  return status;
}

/* The first one asks for what no CPU has. */
static const attnc_variant variants[2] = {{"better", UINT64_C(1) << 63, 0, 0, 0, 0},
                                          {"any", 0, host, workspace, 0, 0}};

const attnc_signature attnc_the_signature = {specs, variants, NULL, 3, 2, 2};

int twice(const DLTensor *query, const DLTensor *key, DLTensor *context);
int twice_ex(const attnc_options *options, const DLTensor *query, const DLTensor *key,
             DLTensor *context);
const char *twice_describe(void);

int twice_ex(const attnc_options *options, const DLTensor *query, const DLTensor *key,
             DLTensor *context) {
  const DLTensor *tensors[3] = {query, key, context};
  return attnc_call(options, tensors);
}

int twice(const DLTensor *query, const DLTensor *key, DLTensor *context) {
  return twice_ex(0, query, key, context);
}

const char *twice_describe(void) { return "\"name\": \"twice\""; }
