/* Threads that load, read and unload a file of weights, so that sanitizers see the code for it,
 * which the compiler carries as uninstrumented bitcode. */

#include "attnc_no_device.c"
#include "attnc_weights.c"

#include <pthread.h>
#include <stdio.h>

enum { data_offset = 128, file_bytes = 8192, threads = 4, rounds = 500 };

static const char hash[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
static const attnc_weights weights = {"hand", hash, data_offset, file_bytes};
const attnc_signature attnc_the_signature = {0, 0, &weights, 0, 0, 0};

int attnc_refuse(const char *subject, const part *parts) {
  (void)subject, (void)parts;
  return attnc_invalid;
}

static void write_file(const char *path) {
  FILE *file = fopen(path, "wb");
  uint64_t json_bytes = data_offset - sizeof json_bytes;
  fwrite(&json_bytes, sizeof json_bytes, 1, file);
  int written = fprintf(file, "%s%s\"}}", attnc_weights_start, hash) + (int)sizeof json_bytes;
  fprintf(file, "%*s", data_offset - written, "");
  for (int i = data_offset; i < file_bytes; ++i)
    fputc(7, file);
  fclose(file);
}

static int reads;

/* Gives what went wrong, or NULL. */
static void *use(void *path) {
  for (int i = 0; i < rounds; ++i) {
    char *data;
    if (attnc_load_unchecked(path))
      return "load";
    if (attnc_weights_begin(&data) == 0) {
      if (data[0] != 7 || data[file_bytes - data_offset - 1] != 7)
        return "data";
      if (attnc_unload() != attnc_invalid)
        return "unloaded in use";
      attnc_weights_end();
      __atomic_add_fetch(&reads, 1, __ATOMIC_RELAXED);
    }
    int status = attnc_unload();
    if (status && status != attnc_invalid)
      return "unload";
  }
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t ids[threads];
  int wrong = argc != 2;
  write_file(argv[1]);
  for (int i = 0; i < threads; ++i)
    pthread_create(&ids[i], NULL, use, argv[1]);
  for (int i = 0; i < threads; ++i) {
    void *what;
    pthread_join(ids[i], &what);
    if (what)
      printf("%s\n", (const char *)what);
    wrong += what != NULL;
  }
  printf("%s, %d wrong\n", reads ? "read" : "never read", wrong);
  return wrong;
}
