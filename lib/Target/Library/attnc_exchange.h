/* attnc_exchange.h - how the processes that share a sequence exchange data.
 *
 * A program fills in this struct and passes it in the options of a function whose sequence is
 * spread (`attn.shard`): attnc_mpi.h does for MPI. All processes call the function together, each
 * with its shards. The functions are called by the thread that called it, and by no other.
 */
#ifndef ATTNC_EXCHANGE_H
#define ATTNC_EXCHANGE_H

#include <stddef.h>

typedef struct attnc_exchange {
  void *context;   /* the first argument of each function */
  int rank, ranks; /* this process, from 0 on, and how many there are */

  /* Start to move `bytes`, which are not touched until `wait` for the message has returned.
   * Messages from one process to another arrive in order. 0, or a status. */
  int (*send)(void *context, const void *data, size_t bytes, int to, int *message);
  int (*recv)(void *context, void *data, size_t bytes, int from, int *message);
  /* Waits for the end of a message. Other than 0 if it failed, has another size than expected, or
   * does not end in time: the call then ends, and does not wait for the messages under way, whose
   * memory must stay as long as they are. */
  int (*wait)(void *context, int message);
  /* Moves messages on, without waiting; called now and then during a computation. NULL: they move
   * by themselves. */
  void (*progress)(void *context);
} attnc_exchange;

#endif /* ATTNC_EXCHANGE_H */
