/* What attnc_mpi.h moves arrives; messages of other sizes give a status. */

#include "attnc_mpi.h"

static attnc_mpi mpi;
static attnc_exchange exchange;
static int failures;

static void expect(int found, int wanted, const char *what) {
  if (found == wanted)
    return;
  ++failures;
  printf("process %d: %s: expected %d, found %d (%s)\n", exchange.rank, what, wanted, found,
         mpi.error);
}

/* Process 0 sends to 1, which expects another size. */
static void send_other(size_t sent, size_t expected, int status, const char *what) {
  char data[64] = "";
  int message;
  if (exchange.rank == 0) {
    expect(exchange.send(&mpi, data, sent, 1, &message), 0, what);
    expect(exchange.wait(&mpi, message), 0, what);
  } else if (exchange.rank == 1) {
    expect(exchange.recv(&mpi, data, expected, 0, &message), 0, what);
    expect(exchange.wait(&mpi, message), status, what);
  }
}

int main(int count, char **words) {
  MPI_Init(&count, &words);
  expect(attnc_mpi_open(&mpi, MPI_COMM_WORLD, 5, &exchange), 0, "open");
  int ranks = exchange.ranks, rank = exchange.rank, sent, received;
  long long mine = 100 + rank, left = 0;

  expect(exchange.recv(&mpi, &left, sizeof left, (rank + ranks - 1) % ranks, &received), 0, "recv");
  expect(exchange.send(&mpi, &mine, sizeof mine, (rank + 1) % ranks, &sent), 0, "send");
  exchange.progress(&mpi);
  expect(exchange.wait(&mpi, received), 0, "wait");
  expect(exchange.wait(&mpi, sent), 0, "wait");
  expect((int)left, 100 + (rank + ranks - 1) % ranks, "received");

  if (ranks > 1) {
    send_other(8, 16, ATTNC_EXCHANGE_SIZE, "shorter");
    send_other(32, 16, ATTNC_EXCHANGE_SIZE, "longer");
    mpi.timeout = 0.2;
    if (rank == 1) {
      expect(exchange.recv(&mpi, &left, sizeof left, 0, &received), 0, "recv");
      expect(exchange.wait(&mpi, received), ATTNC_EXCHANGE_LATE, "nothing sent");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    mpi.timeout = 5;
    if (rank == 0) /* for the one who waits in vain */
      expect(exchange.send(&mpi, &mine, sizeof mine, 1, &sent), 0, "send"),
          expect(exchange.wait(&mpi, sent), 0, "wait");
  }
  attnc_mpi_close(&mpi);
  MPI_Finalize();
  if (rank == 0 && failures == 0)
    puts("exchanged");
  return failures != 0;
}
