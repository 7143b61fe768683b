/* ggml's flash attention on tensors of the caller, as llama.cpp calls it: one thread, f32 query and
 * context, keys and values of any type that ggml knows. Sizes are (batch, heads, len, dim) in that
 * order. */

#include <ggml-cpu.h>
#include <ggml.h>
#include <stdlib.h>

typedef struct {
  struct ggml_context *context;
  struct ggml_cgraph *graph;
  struct ggml_cplan plan;
} Attention;

static struct ggml_tensor *tensor(struct ggml_context *context, int type, const int64_t *sizes,
                                  const void *data) {
  struct ggml_tensor *made =
      ggml_new_tensor_4d(context, type, sizes[3], sizes[2], sizes[1], sizes[0]);
  made->data = (void *)data;
  return made;
}

/* `mask` is null or f16, (1, 1, q_len, kv_len); `result` is f32, (batch, q_len, heads, value_dim).
 */
Attention *attention_new(const int64_t *query, const int64_t *key, const int64_t *value, int type,
                         float scale, float softcap, const void *const *data, const void *mask,
                         void *result) {
  Attention *made = calloc(1, sizeof *made);
  struct ggml_context *context =
      ggml_init((struct ggml_init_params){.mem_size = 1 << 20, .no_alloc = true});
  int64_t mask_sizes[] = {1, 1, query[2], key[2]};
  struct ggml_tensor *output = ggml_flash_attn_ext(
      context, tensor(context, GGML_TYPE_F32, query, data[0]), tensor(context, type, key, data[1]),
      tensor(context, type, value, data[2]),
      mask ? tensor(context, GGML_TYPE_F16, mask_sizes, mask) : NULL, scale, 0, softcap);
  output->data = result;
  made->context = context;
  made->graph = ggml_new_graph(context);
  ggml_build_forward_expand(made->graph, output);
  made->plan = ggml_graph_plan(made->graph, /*n_threads=*/1, /*threadpool=*/NULL);
  made->plan.work_data = malloc(made->plan.work_size);
  return made;
}

int attention_run(Attention *attention) {
  return ggml_graph_compute(attention->graph, &attention->plan) != GGML_STATUS_SUCCESS;
}

const char *attention_version(void) { return ggml_version(); }

int attention_type(char kind) {
  switch (kind) {
  case 'h':
    return GGML_TYPE_F16;
  case 'b':
    return GGML_TYPE_BF16;
  case 'q':
    return GGML_TYPE_Q8_0;
  default:
    return GGML_TYPE_F32;
  }
}
