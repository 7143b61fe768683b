/* The library of twice.mlir with a host function by hand, so that sanitizers see
 * the support code, which the compiler carries as uninstrumented bitcode. */

#define attnc_call twice_call
#define attnc_workspace twice_workspace
#define attnc_last_error twice_last_error
#include "attnc_support.c"

static const attnc_dim dims[3][2] = {
    {{-1, "n", -1, -1}, {64, 0, -1, -1}},
    {{-1, "n", 0, 0}, {64, 0, -1, -1}},
    {{-1, "n", 0, 0}, {64, 0, -1, -1}},
};

static const attnc_tensor specs[3] = {
    {"query", dims[0], 2, kDLFloat, 32, 0},
    {"key", dims[1], 2, kDLFloat, 32, 0},
    {"context", dims[2], 2, kDLFloat, 32, 1},
};

const attnc_signature attnc_the_signature = {specs, 3, 2};

enum { aligned = 1, extents = 3, step = 5 };

int64_t attnc_host_workspace(void *const *descriptors) {
  return ((int64_t *)descriptors[0])[extents] * 64 * (int64_t)sizeof(float);
}

/* By way of the workspace, in rows of 64. */
int32_t attnc_host(void *user_context, void *const *descriptors) {
  const int64_t *in = descriptors[0], *out = descriptors[2], *workspace = descriptors[3];
  const float *from = (const float *)in[aligned];
  float *to = (float *)out[aligned], *between = (float *)workspace[aligned];
  (void)user_context;
  for (int64_t i = 0; i < in[extents]; ++i)
    for (int64_t j = 0; j < 64; ++j)
      between[i * 64 + j] = 2 * from[i * in[step] + j];
  for (int64_t i = 0; i < in[extents]; ++i)
    for (int64_t j = 0; j < 64; ++j)
      to[i * out[step] + j] = between[i * 64 + j] + 1;
  return 0;
}

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
