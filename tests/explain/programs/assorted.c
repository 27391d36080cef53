// Messages of all kinds, in nested regions and a communicator whose ranks are turned round, and collectives.
#include <haloscope/region.h>
#include <mpi.h>

enum { ROUNDS = 10, COUNT = 50 };

static MPI_Comm turned;
static int rank, size;
static double out[COUNT], in[COUNT], more[COUNT];

static void with_requests(int round) {
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Request requests[4];
  int index, done = 0;
  MPI_Irecv(in, COUNT, MPI_DOUBLE, left, round, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(more, COUNT, MPI_DOUBLE, MPI_ANY_SOURCE, 1000, turned, &requests[1]);
  MPI_Isend(out, 1 + round, MPI_DOUBLE, right, round, MPI_COMM_WORLD, &requests[2]);
  MPI_Issend(out, rank + 1, MPI_DOUBLE, (size - 1 - rank + 1) % size, 1000, turned, &requests[3]);
  MPI_Waitany(4, requests, &index, MPI_STATUS_IGNORE);
  for (int i = 0; i < 3 && !done; ++i) MPI_Testall(4, requests, &done, MPI_STATUSES_IGNORE);
  if (!done) MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static void that_block(int round) {
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Status status;
  MPI_Message message;
  MPI_Sendrecv(out, COUNT, MPI_DOUBLE, left, 1, in, COUNT, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &status);
  if (rank == 0) {
    for (int other = 1; other < size; ++other) {
      MPI_Mprobe(MPI_ANY_SOURCE, round, MPI_COMM_WORLD, &message, &status);
      MPI_Mrecv(in, COUNT, MPI_DOUBLE, &message, &status);
    }
  } else {
    MPI_Send(out, rank, MPI_DOUBLE, 0, round, MPI_COMM_WORLD);
  }
}

static void of_all(int round) {
  MPI_Request request;
  double sum = 0, part = rank;
  MPI_Ibcast(out, 4, MPI_DOUBLE, round % size, MPI_COMM_WORLD, &request);
  MPI_Reduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, turned);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Scan(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allgather(&part, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, turned);
}

int main(int argc, char **argv) {
  MPI_Request again[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
  MPI_Recv_init(in, COUNT, MPI_DOUBLE, (rank + 1) % size, 7, MPI_COMM_WORLD, &again[0]);
  MPI_Send_init(out, 3, MPI_DOUBLE, (rank + size - 1) % size, 7, MPI_COMM_WORLD, &again[1]);
  for (int round = 0; round < ROUNDS; ++round) {
    HALOSCOPE_REGION_BEGIN("round");
    HALOSCOPE_COMM_REGION_BEGIN("requests");
    with_requests(round);
    MPI_Startall(2, again);
    MPI_Waitall(2, again, MPI_STATUSES_IGNORE);
    HALOSCOPE_COMM_REGION_END("requests");
    that_block(2000 + round);
    HALOSCOPE_REGION_BEGIN("collectives");
    of_all(round);
    HALOSCOPE_REGION_END("collectives");
    HALOSCOPE_REGION_END("round");
  }
  MPI_Request_free(&again[0]);
  MPI_Request_free(&again[1]);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
