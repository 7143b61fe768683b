/* Calls a library with everything that is wrong in turn. Each call must give the
 * status and the message stated here, and leave the output as it was. */

#include "twice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef __wasm__ /* which has no threads */
#include <pthread.h>
#endif

enum { rows = 3, columns = 64, size = rows * columns };

static float data[3][3 * size];
static int64_t shapes[3][2], strides[3][2];
static DLTensor tensors[3];
static const DLTensor *pointers[3];
static twice_options options;
static const twice_options *used_options;
static int refused, passed, failed;

/* What a right call looks like. */
static void reset(void) {
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3 * size; ++j)
      data[i][j] = i == 2 ? -7 : (float)j;
    shapes[i][0] = rows;
    shapes[i][1] = strides[i][0] = columns;
    strides[i][1] = 1;
    DLTensor tensor = {data[i], {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shapes[i], strides[i], 0};
    tensors[i] = tensor;
    pointers[i] = &tensors[i];
  }
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  used_options = NULL;
}

static int is_untouched(void) {
  for (int j = 0; j < 3 * size; ++j)
    if (data[2][j] != -7)
      return 0;
  return 1;
}

static void expect(int status, const char *message) {
  int found = twice_call(used_options, pointers);
  ++refused;
  if (found == status && strcmp(twice_last_error(), message) == 0 && is_untouched()) {
    ++passed;
  } else {
    ++failed;
    printf("expected %d \"%s\", found %d \"%s\"%s\n", status, message, found, twice_last_error(),
           is_untouched() ? "" : " and an output that was written");
  }
  reset();
}

static void check(int is_right, const char *what) {
  ++*(is_right ? &passed : &failed);
  if (!is_right)
    printf("%s: %s\n", what, twice_last_error());
  reset();
}

/* The message is printf's, with the tensor's name and a number. */
static void expect_of(int tensor, const char *format, int64_t number) {
  static const char *const names[] = {"query", "key", "context"};
  char message[128];
  snprintf(message, sizeof message, format, names[tensor], (long long)number);
  expect(-1, message);
}

/* What is wrong with one tensor is found whichever it is. */
static void wrong_tensor(int i) {
  static const int64_t extents[] = {-1, INT64_MIN, INT64_C(1) << 31, INT64_C(1) << 40, INT64_MAX};
  for (int j = 0; j < 5; ++j) {
    shapes[i][0] = extents[j];
    expect_of(i, "%s: expected dim 0 (n) to be from 0 to 2147483647, found %lld", extents[j]);
    shapes[i][1] = extents[j];
    expect_of(i, "%s: expected dim 1 to be from 0 to 2147483647, found %lld", extents[j]);
  }
  static const int64_t columns_found[] = {0, 1, 63, 65, INT32_MAX};
  for (int j = 0; j < 5; ++j) {
    shapes[i][1] = columns_found[j];
    expect_of(i, "%s: expected dim 1 to be 64, found %lld", columns_found[j]);
  }
  for (int past = 1; past < 4; ++past) {
    tensors[i].data = (char *)tensors[i].data + past;
    expect_of(i, "%s: expected data aligned to 4 bytes, found an address %lld past that", past);
  }
  tensors[i].byte_offset = UINT64_MAX;
  expect_of(i, "%s: expected a byte offset within memory, found one beyond", 0);
  tensors[i].data = NULL;
  expect_of(i, "%s: expected data, found a null pointer", 0);
  pointers[i] = NULL;
  expect_of(i, "%s: expected a tensor, found a null pointer", 0);
  tensors[i].ndim = 1 << 30;
  expect_of(i, "%s: expected 2 dims, found %lld", 1 << 30);
  tensors[i].device.device_type = kDLROCM;
  expect_of(i, "%s: expected memory of the CPU, found DLPack device type %lld", kDLROCM);
}

/* An output takes no element of an input, wherever the two begin. */
static void overlaps(void) {
  for (int i = 0; i < 2; ++i)
    for (int shift = -(size - 1); shift < size; shift += 47) {
      tensors[i].data = data[2] + size;
      tensors[2].data = data[2] + size + shift;
      expect(-1, i == 0 ? "context: expected memory separate from query, found an overlap"
                        : "context: expected memory separate from key, found an overlap");
    }
}

/* Rows between those of another tensor are separate from it; shifted by an element they are not. */
static void interleaved(void) {
  for (int past = columns - 1; past <= columns + 1; ++past) {
    tensors[0].data = data[2];
    tensors[2].data = data[2] + past;
    strides[0][0] = strides[2][0] = 2 * columns;
    if (past == columns)
      check(twice_call(NULL, pointers) == 0, "rows between rows");
    else
      expect(-1, "context: expected memory separate from query, found an overlap");
  }
}

static void wrong_kinds(void) {
  pointers[1] = NULL;
  expect(-1, "key: expected a tensor, found a null pointer");
  tensors[0].device.device_type = kDLCUDA;
  expect(-1, "query: expected memory of the CPU, found DLPack device type 2");
  tensors[0].dtype.bits = 64;
  expect(-1, "query: expected f32, found f64");
  tensors[1].dtype.code = kDLInt;
  expect(-1, "key: expected f32, found i32");
  tensors[1].dtype.code = kDLBfloat;
  tensors[1].dtype.bits = 16;
  expect(-1, "key: expected f32, found bf16");
  tensors[1].dtype.code = kDLBool;
  tensors[1].dtype.bits = 8;
  expect(-1, "key: expected f32, found bool");
  tensors[1].dtype.lanes = 4;
  expect(-1, "key: expected f32, found f32x4");
  tensors[2].ndim = 3;
  expect(-1, "context: expected 2 dims, found 3");
  tensors[2].ndim = -1;
  expect(-1, "context: expected 2 dims, found -1");
  tensors[0].shape = NULL;
  expect(-1, "query: expected a shape, found a null pointer");
}

static void wrong_dims(void) {
  shapes[0][1] = 32;
  expect(-1, "query: expected dim 1 to be 64, found 32");
  shapes[1][0] = 2;
  expect(-1, "key: expected dim 0 (n) to be 3 as in query, found 2");
  shapes[2][0] = 4;
  expect(-1, "context: expected dim 0 (n) to be 3 as in query, found 4");
  shapes[0][0] = -1;
  expect(-1, "query: expected dim 0 (n) to be from 0 to 2147483647, found -1");
  shapes[0][0] = INT64_C(1) << 40;
  expect(-1, "query: expected dim 0 (n) to be from 0 to 2147483647, found 1099511627776");
  for (int i = 0; i < 3; ++i) {
    shapes[i][0] = 1 << 30;
    tensors[i].strides = NULL;
  }
  expect(-1, "query: expected at most 2147483647 elements, found more");
  for (int i = 0; i < 3; ++i)
    shapes[i][0] = 1 << 30;
  strides[0][0] = 0;
  expect(-1, "query: expected at most 2147483647 elements, found more");
}

static void wrong_memory(void) {
  strides[0][1] = 2;
  expect(-1, "query: expected dim 1 to have stride 1, found 2");
  strides[0][0] = INT64_C(1) << 40;
  expect(-1, "query: expected dim 0 to have a stride within 31 bits, found 1099511627776");
  strides[0][0] = INT64_MIN;
  expect(-1, "query: expected dim 0 to have a stride within 31 bits, found -9223372036854775808");
  strides[0][0] = 2147483647;
  expect(-1, "query: expected elements within 2147483647 of each other, found more");
  tensors[0].data = NULL;
  expect(-1, "query: expected data, found a null pointer");
  tensors[1].data = (char *)tensors[1].data + 2;
  expect(-1, "key: expected data aligned to 4 bytes, found an address 2 past that");
  tensors[1].byte_offset = 3;
  expect(-1, "key: expected data aligned to 4 bytes, found an address 3 past that");
  tensors[2].data = data[0];
  expect(-1, "context: expected memory separate from query, found an overlap");
  tensors[2].data = data[1];
  tensors[2].byte_offset = 4 * (size - 1);
  expect(-1, "context: expected memory separate from key, found an overlap");
  strides[2][0] = 0;
  expect(-1, "context: expected elements that do not overlap, found strides that do");
  strides[2][0] = 63;
  expect(-1, "context: expected elements that do not overlap, found strides that do");
}

/* Expects the call to be refused with `message` once `*field` is `value`. */
#define REFUSES(field, value, message)                                                             \
  do {                                                                                             \
    used_options = &options;                                                                       \
    field = value;                                                                                 \
    expect(-1, message);                                                                           \
  } while (0)

static void *allocate(void *left, size_t bytes) {
  return (*(int *)left)-- > 0 ? malloc(bytes) : NULL;
}
static void deallocate(void *left, void *memory) {
  (void)left;
  free(memory);
}

static void wrong_options(void) {
  static const size_t sizes[] = {0, 1, 8, 24, sizeof options - 1};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    char message[80];
    sprintf(message, "options: expected size to be at least %zu, found %zu", sizeof options,
            sizes[i]);
    REFUSES(options.size, sizes[i], message);
  }
  REFUSES(options.threads, -1, "options: expected threads to be at least 0, found -1");
  REFUSES(options.threads, INT32_MIN,
          "options: expected threads to be at least 0, found -2147483648");
  REFUSES(options.allocate, allocate,
          "options: expected both allocate and deallocate or none, found one");
  REFUSES(options.deallocate, deallocate,
          "options: expected both allocate and deallocate or none, found one");
}

/* The second is the kernel's own. */
static void no_memory(void) {
  const char *messages[] = {"expected 831 bytes for a workspace, found no memory",
                            "Out of memory (halide_malloc returned nullptr)"};
  for (int before = 0; before < 2; ++before) {
    int left = before;
    used_options = &options;
    options.allocate = allocate;
    options.deallocate = deallocate;
    options.allocator = &left;
    expect(-2, messages[before]);
  }
}

static void wrong_workspaces(void) {
  static char memory[1024];
  REFUSES(options.workspace_bytes, 4096,
          "options: expected a workspace, found a null pointer and its bytes");
  static const size_t sizes[] = {0, 1, 767, 768, 830};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    char message[80];
    sprintf(message, "options: expected a workspace of 831 bytes, found %zu", sizes[i]);
    options.workspace = memory;
    REFUSES(options.workspace_bytes, sizes[i], message);
  }
  const char *overlaps[] = {
      "options: expected a workspace separate from query, found an overlap",
      "options: expected a workspace separate from key, found an overlap",
      "options: expected a workspace separate from context, found an overlap"};
  for (int i = 0; i < 3; ++i) {
    options.workspace = data[i];
    REFUSES(options.workspace_bytes, SIZE_MAX, overlaps[i]);
    options.workspace = (char *)(data[i] + size) - 1;
    REFUSES(options.workspace_bytes, 831, overlaps[i]);
    tensors[i].data = memory + 828;
    options.workspace = memory;
    REFUSES(options.workspace_bytes, 831, overlaps[i]);
  }
}

static void no_tensors(void) {
  check(twice_call(NULL, NULL) == -1 &&
            !strcmp(twice_last_error(), "expected an array of 3 "
                                        "tensors, found a null pointer"),
        "no array");
  check(twice_workspace(NULL) == -1, "no array for the workspace");
  shapes[0][1] = 32;
  check(twice_workspace(pointers) == -1 &&
            !strcmp(twice_last_error(), "query: expected dim 1 to be 64, found 32"),
        "workspace");
  shapes[0][0] = INT64_C(1) << 40;
  check(twice_workspace(pointers) == -1, "workspace of an absurd shape");
}

/* out[i][j] = 2 * in[i][j] + 1 on rows that are `out_step` and `in_step` apart. */
static int is_right(const float *out, int out_step, const float *in, int in_step) {
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      if (out[i * out_step + j] != 2 * in[i * in_step + j] + 1)
        return 0;
  return 1;
}

static void right_calls(void) {
  check(twice(pointers[0], pointers[1], &tensors[2]) == 0 &&
            is_right(data[2], columns, data[0], columns) && data[2][size] == -7,
        "compact");
  for (int i = 0; i < 3; ++i)
    tensors[i].strides = NULL;
  check(twice_ex(NULL, pointers[0], pointers[1], &tensors[2]) == 0 &&
            is_right(data[2], columns, data[0], columns),
        "null strides");
  strides[0][0] = -columns;
  tensors[0].byte_offset = 4 * 2 * columns;
  check(twice_call(NULL, pointers) == 0 &&
            is_right(data[2], columns, data[0] + 2 * columns, -columns),
        "rows backwards");
  strides[0][0] = 0;
  check(twice_call(NULL, pointers) == 0 && is_right(data[2], columns, data[0], 0),
        "one row for all");
  strides[2][0] = columns + 5;
  check(twice_call(NULL, pointers) == 0 && is_right(data[2], columns + 5, data[0], columns) &&
            data[2][columns] == -7,
        "rows apart");
  tensors[0].byte_offset = 4;
  check(twice_call(NULL, pointers) == 0 && is_right(data[2], columns, data[0] + 1, columns),
        "offset");

  int64_t bytes = twice_workspace(pointers);
  used_options = &options;
  options.workspace = malloc((size_t)bytes);
  options.workspace_bytes = (size_t)bytes;
  void *workspace = options.workspace;
  check(twice_call(used_options, pointers) == 0 && is_right(data[2], columns, data[0], columns),
        "own workspace");
  free(workspace);

  for (int i = 0; i < 3; ++i) {
    shapes[i][0] = 0;
    tensors[i].data = NULL;
  }
  check(twice_call(NULL, pointers) == 0 && is_untouched(), "empty");
  check(strstr(twice_describe(), "\"name\": \"twice\"") != NULL, "describe");
}

/* A message belongs to the thread whose call failed. */
#ifdef __wasm__
static void messages_of_threads(void) {}
#else
static void *other_thread(void *unused) {
  (void)unused;
  return twice_last_error()[0] ? "other" : NULL;
}

static void messages_of_threads(void) {
  pthread_t thread;
  void *other = NULL;
  twice_call(NULL, NULL);
  pthread_create(&thread, NULL, other_thread, NULL);
  pthread_join(thread, &other);
  check(other == NULL && twice_last_error()[0], "a message of one thread seen by another");
}
#endif

int main(void) {
  printf("runs %s\n", twice_target());
  reset();
  for (int i = 0; i < 3; ++i)
    wrong_tensor(i);
  overlaps();
  interleaved();
  wrong_kinds();
  wrong_dims();
  wrong_memory();
  wrong_options();
  no_memory();
  wrong_workspaces();
  no_tensors();
  right_calls();
  messages_of_threads();
  printf("%d wrong calls, %d passed, %d failed\n", refused, passed, failed);
  return failed != 0;
}
