/* Preloaded: from the FAULT_AT-th call on, those of one kind fail. FAULT_KIND is `write` (what puts
 * bytes or names into a file system, with ENOSPC) or `malloc`. FAULT_LOG is a file that a failed
 * call creates. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t bytes);

static long count, at = -1;
static int of_memory;

__attribute__((constructor)) static void start(void) {
  const char *kind = getenv("FAULT_KIND"), *number = getenv("FAULT_AT");
  of_memory = kind && !strcmp(kind, "malloc");
  count = 0;
  at = number ? atol(number) : -1;
}

/* Without the C library's functions, which are the ones that fail. */
static int fails(int is_memory) {
  if (at < 0 || is_memory != of_memory || __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) < at)
    return 0;
  const char *log = getenv("FAULT_LOG");
  if (log)
    syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, log, O_CREAT | O_WRONLY, 0644));
  errno = is_memory ? ENOMEM : ENOSPC;
  return 1;
}

void *malloc(size_t bytes) { return fails(1) ? 0 : __libc_malloc(bytes); }

/* Messages get through: it is the disk that is full. */
ssize_t write(int file, const void *bytes, size_t size) {
  return file > STDERR_FILENO && fails(0) ? -1 : syscall(SYS_write, file, bytes, size);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pwrite(int file, const void *bytes, size_t size, off_t offset) {
  return fails(0) ? -1 : NEXT(pwrite)(file, bytes, size, offset);
}
int ftruncate(int file, off_t size) { return fails(0) ? -1 : NEXT(ftruncate)(file, size); }
int posix_fallocate(int file, off_t offset, off_t size) {
  return fails(0) ? ENOSPC : NEXT(posix_fallocate)(file, offset, size);
}
int fsync(int file) { return fails(0) ? -1 : NEXT(fsync)(file); }
int rename(const char *from, const char *to) { return fails(0) ? -1 : NEXT(rename)(from, to); }
int link(const char *from, const char *to) { return fails(0) ? -1 : NEXT(link)(from, to); }
int symlink(const char *from, const char *to) { return fails(0) ? -1 : NEXT(symlink)(from, to); }
int mkdir(const char *path, mode_t mode) { return fails(0) ? -1 : NEXT(mkdir)(path, mode); }

static int open_file(const char *path, int flags, mode_t mode) {
  return flags & O_CREAT && fails(0) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_file(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_file(path, flags, mode);
}
