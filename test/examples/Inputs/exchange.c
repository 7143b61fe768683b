/* What attnc_mpi.h moves arrives, in the order of ranks; messages of other sizes give a status. */

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

static int append(void *user, void *into, const void *other) {
  (void)user;
  strcat(into, other);
  return 0;
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
  int size = exchange.size, rank = exchange.rank, sent, received;
  long long mine = 100 + rank, all[32] = {0}, left = 0, sizes[] = {7, 8};

  expect(attnc_mpi_agree(&mpi, sizes, 2), 0, "agree");
  expect(exchange.all_gather(&mpi, &mine, sizeof mine, all), 0, "all_gather");
  for (int other = 0; other < size; ++other)
    expect((int)all[other], 100 + other, "gathered");

  char text[64] = {(char)('a' + rank)}, wanted[64] = "";
  for (int other = 0; other < size; ++other)
    wanted[other] = (char)('a' + other);
  expect(exchange.all_reduce(&mpi, text, sizeof text, append, NULL), 0, "all_reduce");
  expect(strcmp(text, wanted), 0, "reduced");

  expect(exchange.recv(&mpi, &left, sizeof left, (rank + size - 1) % size, &received), 0, "recv");
  expect(exchange.send(&mpi, &mine, sizeof mine, (rank + 1) % size, &sent), 0, "send");
  expect(exchange.progress(&mpi), 0, "progress");
  expect(exchange.wait(&mpi, received), 0, "wait");
  expect(exchange.wait(&mpi, sent), 0, "wait");
  expect((int)left, 100 + (rank + size - 1) % size, "received");

  if (size > 1) {
    send_other(8, 16, ATTNC_EXCHANGE_SIZE, "shorter");
    send_other(32, 16, ATTNC_EXCHANGE_SIZE, "longer");
    mpi.timeout = 0.2;
    if (rank == 1) {
      expect(exchange.recv(&mpi, &left, sizeof left, 0, &received), 0, "recv");
      expect(exchange.wait(&mpi, received), ATTNC_EXCHANGE_LATE, "nothing sent");
    }
    mpi.timeout = 5;
    sizes[1] += rank == 1;
    expect(attnc_mpi_agree(&mpi, sizes, 2), ATTNC_EXCHANGE_SIZE, "other sizes");
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
