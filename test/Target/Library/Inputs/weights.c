/* Constants in a file beside the library: the same bits as within, and every file that is
 * not theirs is refused. argv: the file, and a folder of wrong ones. */

#include "inside.h"
#include "layers.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { rows = 7, in = 64, out = 5 * 96, elements = rows * out };

static float x[rows * in], expected[elements];
static int passed, failed;

static void check(int is_right, const char *what) {
  ++*(is_right ? &passed : &failed);
  if (!is_right)
    printf("%s: %s\n", what, layers_last_error());
}

static int call_with(int (*function)(const DLTensor *, DLTensor *), float *y) {
  int64_t shape_in[] = {rows, 1, in}, shape_out[] = {rows, 5, 96};
  DLTensor a = {x, {kDLCPU, 0}, 3, {kDLFloat, 32, 1}, shape_in, NULL, 0};
  DLTensor b = {y, {kDLCPU, 0}, 3, {kDLFloat, 32, 1}, shape_out, NULL, 0};
  return function(&a, &b);
}

/* The status of a call, or 1 where it gives other bits than the library that has all within. */
static int call(void) {
  float y[elements];
  memset(y, 0xff, sizeof y);
  int status = call_with(layers, y);
  return status == 0 && memcmp(y, expected, sizeof y) != 0 ? 1 : status;
}

static int64_t workspace(void) {
  int64_t shape_in[] = {rows, 1, in}, shape_out[] = {rows, 5, 96};
  DLTensor a = {NULL, {kDLCPU, 0}, 3, {kDLFloat, 32, 1}, shape_in, NULL, 0}, b = a;
  b.shape = shape_out;
  const DLTensor *tensors[] = {&a, &b};
  return layers_workspace(tensors);
}

static int says(const char *words) { return strstr(layers_last_error(), words) != NULL; }

/*===------------------------------------------------------------------------===*
 * Files
 *===------------------------------------------------------------------------===*/

static void refuses(const char *folder, const char *file, const char *words) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, file);
  check(layers_load(path) == layers_NO_WEIGHTS && says(words) && says(file), file);
  check(call() == layers_NO_WEIGHTS, "nothing is mapped");
}

/* How often the file is mapped. */
static int count_maps(const char *path) {
  char line[1024];
  int count = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  const char *name = strrchr(path, '/') + 1;
  while (maps && fgets(line, sizeof line, maps))
    count += strstr(line, name) && strstr(line, " r--s ");
  if (maps)
    fclose(maps);
  return count;
}

/*===------------------------------------------------------------------------===*
 * Calls that run
 *===------------------------------------------------------------------------===*/

static int refusals; /* of unload in a call */

static void *allocate(void *unused, size_t bytes) {
  (void)unused;
  int is_refused = layers_unload() == layers_INVALID && says("expected no call to run, found 1");
  __atomic_add_fetch(&refusals, is_refused, __ATOMIC_RELAXED); /* by several threads of the call */
  return is_refused ? malloc(bytes) : NULL;
}

static void deallocate(void *unused, void *memory) {
  (void)unused;
  free(memory);
}

static int call_ex(const DLTensor *a, DLTensor *b) {
  layers_options options = {0};
  options.size = sizeof options;
  options.allocate = allocate;
  options.deallocate = deallocate;
  return layers_ex(&options, a, b);
}

/* Loads, calls and unloads; what a call gives is right, or that another thread has unloaded. */
static void *use(void *path) {
  int wrong = 0;
  for (int i = 0; i < 200; ++i) {
    wrong += layers_load(path) != 0;
    int status = call();
    wrong += status != 0 && status != layers_NO_WEIGHTS;
    status = layers_unload();
    wrong += status != 0 && status != layers_INVALID;
  }
  return (void *)(intptr_t)wrong;
}

static int count_wrong_in_threads(char *path) {
  enum { count = 4 };
  pthread_t threads[count];
  int wrong = 0;
  for (int i = 0; i < count; ++i)
    pthread_create(&threads[i], NULL, use, path);
  for (int i = 0; i < count; ++i) {
    void *result;
    pthread_join(threads[i], &result);
    wrong += (int)(intptr_t)result;
  }
  return wrong;
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  char *file = argv[1], *folder = argv[2];
  for (int i = 0; i < rows * in; ++i)
    x[i] = (float)(i * 37 % 101) / 101 - 0.5f;
  check(call_with(inside, expected) == 0, "constants within");

  check(call() == layers_NO_WEIGHTS && says("layers_load"), "call before load");
  check(layers_unload() == 0, "unload before load");
  check(workspace() > 0, "workspace before load");
  check(layers_load(NULL) == layers_NO_WEIGHTS && says("null pointer"), "no path");
  refuses(folder, "none", "could not open: No such file");
  refuses(folder, "folder", "could not read: Is a directory");
  refuses(folder, "empty", "expected the weights of layers, found another file");
  refuses(folder, "other", "expected the weights of layers, found another file");
  refuses(folder, "pipe", "could not read");
  refuses(folder, "hash", "expected weights of sha256 ");
  refuses(folder, "data", "expected weights of sha256 ");
  refuses(folder, "short", "bytes, found ");
  refuses(folder, "long", "bytes, found ");

  char changed[512];
  snprintf(changed, sizeof changed, "%s/data", folder);
  check(layers_load_unchecked(changed) == 0 && layers_unload() == 0, "load without a look");
  check(layers_load_unchecked(file) == 0 && call() == 0 && layers_unload() == 0, "load unchecked");

  check(layers_load(file) == 0 && count_maps(file) == 1, "load");
  check(call() == 0, "call");
  check(layers_load("nowhere") == 0 && count_maps(file) == 1, "a second load does nothing");
  float y[elements];
  check(call_with(call_ex, y) == 0 && __atomic_load_n(&refusals, __ATOMIC_RELAXED) > 0,
        "call that unloads");
  check(memcmp(y, expected, sizeof y) == 0, "call that unloads");
  check(layers_unload() == 0 && count_maps(file) == 0, "unload");
  check(call() == layers_NO_WEIGHTS, "call after unload");
  check(count_wrong_in_threads(file) == 0, "threads");
  printf("%s: %d passed, %d failed\n", layers_target(), passed, failed);
  return failed != 0;
}
