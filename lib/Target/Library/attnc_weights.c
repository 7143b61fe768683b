/*===- attnc_weights.c - constants in a file beside the library ---------------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Part of every library that keeps its large constants in a file. The file is mapped, not read, and
 * processes share its memory. Its data is hashed before use, unless the caller trusts the file:
 * then pages that no kernel reads are never loaded.
 *
 *===------------------------------------------------------------------------===*/

#include "attnc_sha256.h"
#include "attnc_text.h"

/* Linux' C library, declared here to need no headers of the target. */
int open(const char *path, int flags, ...);
int close(int file);
int64_t pread(int file, void *to, size_t bytes, int64_t offset);
int64_t lseek(int file, int64_t offset, int from);
void *mmap(void *address, size_t bytes, int protection, int flags, int file, int64_t offset);
int munmap(void *address, size_t bytes);
int sched_yield(void);
int *__errno_location(void);
char *strerror(int number);
enum { o_nonblock = 04000, o_cloexec = 02000000, prot_read = 1, map_shared = 1, seek_end = 2 };

/*===------------------------------------------------------------------------===*
 * The file
 *===------------------------------------------------------------------------===*/

/* The file's start: the length of the JSON, then the JSON's start common to all libraries. */
enum { start_bytes = sizeof attnc_weights_start - 1 };
typedef struct head {
  uint64_t json_bytes;
  char start[start_bytes];
  char sha256[attnc_hash_digits];
} head;
enum { head_bytes = sizeof(uint64_t) + start_bytes + attnc_hash_digits };

static int is_equal(const char *a, const char *b, size_t bytes) {
  while (bytes && *a++ == *b++)
    --bytes;
  return !bytes;
}

static int refuse_system(const char *path, const char *what) {
  REFUSE(path, {what, 0}, {": ", 0}, {strerror(*__errno_location()), 0});
  return attnc_no_weights;
}

static int refuse_hash(const char *path, const char *found) {
  char digits[attnc_hash_digits + 1] = {0};
  __builtin_memcpy(digits, found, attnc_hash_digits);
  REFUSE(path, {"expected weights of sha256 ", 0}, {attnc_the_signature.weights->sha256, 0},
         {", found ", 0}, {digits, 0});
  return attnc_no_weights;
}

static int check_file(const char *path, int file) {
  const attnc_weights *weights = attnc_the_signature.weights;
  head found;
  int64_t got = pread(file, &found, head_bytes, 0);
  if (got < 0)
    return refuse_system(path, "could not read");
  if (got < head_bytes || !is_equal(found.start, attnc_weights_start, start_bytes)) {
    REFUSE(path, {"expected the weights of ", 0}, {weights->library, 0},
           {", found another file", 0});
    return attnc_no_weights;
  }
  if (!is_equal(found.sha256, weights->sha256, attnc_hash_digits))
    return refuse_hash(path, found.sha256);
  int64_t bytes = lseek(file, 0, seek_end);
  if (bytes != weights->file_bytes ||
      found.json_bytes + sizeof(uint64_t) != (uint64_t)weights->data_offset) {
    REFUSE(path, {"expected ", &weights->file_bytes}, {" bytes, found ", &bytes});
    return attnc_no_weights;
  }
  return 0;
}

/* Checks the data against the hash in the head. */
static int check_data(const char *path, const char *mapped) {
  const attnc_weights *weights = attnc_the_signature.weights;
  char digits[attnc_hash_digits + 1];
  attnc_sha256(mapped + weights->data_offset, (size_t)(weights->file_bytes - weights->data_offset),
               digits);
  return is_equal(digits, weights->sha256, attnc_hash_digits) ? 0 : refuse_hash(path, digits);
}

static int map_file(const char *path, int checks_data, char **mapped) {
  if (!path) {
    REFUSE("", {"expected the path of a file of weights, found a null pointer", 0});
    return attnc_no_weights;
  }
  int file = open(path, o_nonblock | o_cloexec); /* a pipe would wait for its writer */
  if (file < 0)
    return refuse_system(path, "could not open");
  int status = check_file(path, file);
  if (!status) {
    size_t bytes = (size_t)attnc_the_signature.weights->file_bytes;
    *mapped = mmap(0, bytes, prot_read, map_shared, file, 0);
    if ((intptr_t)*mapped == -1)
      status = refuse_system(path, "could not map");
    else if (checks_data && (status = check_data(path, *mapped)))
      munmap(*mapped, bytes);
  }
  close(file);
  return status;
}

/*===------------------------------------------------------------------------===*
 * Users of the file
 *===------------------------------------------------------------------------===*/

/* One number says whether the file is mapped and how many calls run, so that neither changes while
 * a thread relies on it. */
enum { changing = -1, absent = 0, present = 1 /* and 1 more for each call that runs */ };
static int64_t state;
static char *begin; /* of the mapped file; written while `changing` */

static int64_t settle(void) {
  int64_t found;
  while ((found = __atomic_load_n(&state, __ATOMIC_ACQUIRE)) == changing)
    sched_yield();
  return found;
}

static int exchange(int64_t from, int64_t to) {
  return __atomic_compare_exchange_n(&state, &from, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static int load(const char *path, int checks_data) {
  do
    if (settle() != absent)
      return 0;
  while (!exchange(absent, changing));
  int status = map_file(path, checks_data, &begin);
  __atomic_store_n(&state, status ? absent : present, __ATOMIC_RELEASE);
  return status;
}

int attnc_load(const char *path) { return load(path, 1); }
int attnc_load_unchecked(const char *path) { return load(path, 0); }

int attnc_unload(void) {
  do {
    int64_t calls = settle() - present;
    if (calls < 0)
      return 0;
    if (calls > 0)
      return REFUSE("", {"expected no call to run, found ", &calls});
  } while (!exchange(present, changing));
  munmap(begin, (size_t)attnc_the_signature.weights->file_bytes);
  __atomic_store_n(&state, absent, __ATOMIC_RELEASE);
  return 0;
}

int attnc_weights_begin(char **data) {
  const attnc_weights *weights = attnc_the_signature.weights;
  int64_t found;
  do {
    found = __atomic_load_n(&state, __ATOMIC_RELAXED);
    if (found < present) {
      REFUSE("", {"expected weights that ", 0}, {weights->library, 0},
             {"_load has mapped, found none", 0});
      return attnc_no_weights;
    }
  } while (!exchange(found, found + 1));
  *data = begin + weights->data_offset;
  return 0;
}

void attnc_weights_end(void) { __atomic_sub_fetch(&state, 1, __ATOMIC_RELEASE); }
