/* attnc_mpi.h - the exchange of processes that share a sequence, over MPI.
 *
 * A header alone, so that the program's own mpicc decides on the MPI. attnc_mpi_open fills in an
 * attnc_exchange for a communicator of the program.
 *
 * No function waits longer than the time-out: if a process has died, is stuck, or sends something
 * else, the others get a status. Messages may be under way then, so that MPI_Finalize might never
 * return: end with MPI_Abort. Not thread-safe: one thread at a time calls the functions of one
 * exchange.
 */
#ifndef ATTNC_MPI_H
#define ATTNC_MPI_H

#include "attnc_exchange.h"

#include <mpi.h>

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Statuses other than 0. */
enum {
  ATTNC_EXCHANGE_LATE = -1,  /* a message did not arrive before the time-out */
  ATTNC_EXCHANGE_SIZE = -2,  /* a message has another size than expected, or one beyond 2 GB */
  ATTNC_EXCHANGE_FAILED = -3 /* MPI reports an error, or there is no memory */
};

enum { ATTNC_MPI_MESSAGES = 64 };

typedef struct attnc_mpi_message {
  MPI_Request request;
  size_t bytes;
  int used, received, status; /* status is 1 while the message is under way */
} attnc_mpi_message;

typedef struct attnc_mpi {
  MPI_Comm comm;
  int rank, size;
  double timeout; /* seconds */
  attnc_mpi_message messages[ATTNC_MPI_MESSAGES];
  MPI_Errhandler handlers[2]; /* the program's, of MPI_COMM_WORLD and MPI_COMM_SELF */
  char error[160];            /* the text of the last status */
} attnc_mpi;

static double attnc_mpi_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int attnc_mpi_fail(attnc_mpi *self, int status, const char *text) {
  snprintf(self->error, sizeof self->error, "process %d of %d: %s", self->rank, self->size, text);
  return status;
}

/* The status of a call of MPI. */
static int attnc_mpi_check(attnc_mpi *self, int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0, class = MPI_SUCCESS;
  if (code == MPI_SUCCESS)
    return 0;
  MPI_Error_class(code, &class);
  if (class == MPI_ERR_TRUNCATE)
    return attnc_mpi_fail(self, ATTNC_EXCHANGE_SIZE, "a message is longer than expected");
  MPI_Error_string(code, text, &length);
  return attnc_mpi_fail(self, ATTNC_EXCHANGE_FAILED, text);
}

/* Tests `request` until it has ended, or until the time-out. */
static int attnc_mpi_wait_for(attnc_mpi *self, MPI_Request *request, MPI_Status *end) {
  const double deadline = attnc_mpi_now() + self->timeout;
  const struct timespec pause = {0, 20000};
  for (int tests = 0;; ++tests) {
    int ended = 0, status = attnc_mpi_check(self, MPI_Test(request, &ended, end));
    if (status != 0 || ended)
      return status;
    if (attnc_mpi_now() > deadline)
      return attnc_mpi_fail(self, ATTNC_EXCHANGE_LATE, "no answer before the time-out");
    if (tests > 100) /* others may need the core */
      nanosleep(&pause, NULL);
  }
}

static int attnc_mpi_begin(attnc_mpi *self, size_t bytes, int received, int *message) {
  if (bytes > INT_MAX)
    return attnc_mpi_fail(self, ATTNC_EXCHANGE_SIZE, "a message is longer than 2 GB");
  for (int at = 0; at < ATTNC_MPI_MESSAGES; ++at)
    if (!self->messages[at].used) {
      self->messages[at] = (attnc_mpi_message){MPI_REQUEST_NULL, bytes, 1, received, 1};
      *message = at;
      return 0;
    }
  return attnc_mpi_fail(self, ATTNC_EXCHANGE_FAILED, "too many messages under way");
}

static int attnc_mpi_send(void *context, const void *data, size_t bytes, int to, int *message) {
  attnc_mpi *self = context;
  int status = attnc_mpi_begin(self, bytes, 0, message);
  return status ? status
                : attnc_mpi_check(self, MPI_Isend(data, (int)bytes, MPI_BYTE, to, 0, self->comm,
                                                  &self->messages[*message].request));
}

static int attnc_mpi_recv(void *context, void *data, size_t bytes, int from, int *message) {
  attnc_mpi *self = context;
  int status = attnc_mpi_begin(self, bytes, 1, message);
  return status ? status
                : attnc_mpi_check(self, MPI_Irecv(data, (int)bytes, MPI_BYTE, from, 0, self->comm,
                                                  &self->messages[*message].request));
}

/* Notes how a message has ended. */
static void attnc_mpi_end(attnc_mpi *self, attnc_mpi_message *message, int status,
                          MPI_Status *end) {
  int count = 0;
  if (status == 0 && message->received) {
    MPI_Get_count(end, MPI_BYTE, &count);
    if ((size_t)count != message->bytes)
      status = attnc_mpi_fail(self, ATTNC_EXCHANGE_SIZE, "a message is shorter than expected");
  }
  message->status = status;
}

static void attnc_mpi_progress(void *context) {
  attnc_mpi *self = context;
  for (int at = 0; at < ATTNC_MPI_MESSAGES; ++at) {
    attnc_mpi_message *message = &self->messages[at];
    MPI_Status end;
    int ended = 0, status;
    if (!message->used || message->status != 1)
      continue;
    status = attnc_mpi_check(self, MPI_Test(&message->request, &ended, &end));
    if (status != 0 || ended)
      attnc_mpi_end(self, message, status, &end);
  }
}

static int attnc_mpi_wait(void *context, int which) {
  attnc_mpi *self = context;
  attnc_mpi_message *message = &self->messages[which];
  if (message->status == 1) {
    MPI_Status end;
    int status = attnc_mpi_wait_for(self, &message->request, &end);
    attnc_mpi_end(self, message, status, &end);
  }
  message->used = 0;
  return message->status;
}

/* Errors of tests of a message belong to MPI_COMM_WORLD or MPI_COMM_SELF, not to its communicator:
 * until attnc_mpi_close, those return errors, too. */
static void attnc_mpi_return_errors(attnc_mpi *self) {
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &self->handlers[0]);
  MPI_Comm_get_errhandler(MPI_COMM_SELF, &self->handlers[1]);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

/* Fills in `exchange`, whose messages do not meet those of `comm`. All of its processes call this;
 * `self` lives as long as the exchange. `timeout` is in seconds. */
static inline int attnc_mpi_open(attnc_mpi *self, MPI_Comm comm, double timeout,
                                 attnc_exchange *exchange) {
  MPI_Request request;
  MPI_Status end;
  memset(self, 0, sizeof *self);
  self->comm = MPI_COMM_NULL;
  self->timeout = timeout;
  MPI_Comm_rank(comm, &self->rank);
  MPI_Comm_size(comm, &self->size);
  attnc_mpi_return_errors(self);
  int status = attnc_mpi_check(self, MPI_Comm_idup(comm, &self->comm, &request));
  if (status == 0)
    status = attnc_mpi_wait_for(self, &request, &end);
  if (status != 0)
    return status;
  MPI_Comm_set_errhandler(self->comm, MPI_ERRORS_RETURN);
  *exchange = (attnc_exchange){self,           self->rank,     self->size,        attnc_mpi_send,
                               attnc_mpi_recv, attnc_mpi_wait, attnc_mpi_progress};
  return 0;
}

/* After an exchange without errors, on all processes. */
static inline void attnc_mpi_close(attnc_mpi *self) {
  MPI_Comm_free(&self->comm);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, self->handlers[0]);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, self->handlers[1]);
  MPI_Errhandler_free(&self->handlers[0]);
  MPI_Errhandler_free(&self->handlers[1]);
}

#endif /* ATTNC_MPI_H */
