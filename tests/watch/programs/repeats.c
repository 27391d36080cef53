/* Messages that repeat, among others that come between: what a recorder remembers of one must not be taken
 * for another. Two ranks; each sends to the other and to itself. */
#include "common.h"

enum { rounds = 40, kinds = 1500, most = 3000 };
static char out[most], in[most];

static void message(int bytes, MPI_Datatype type, int to, int from, MPI_Comm comm) {
  MPI_Request requests[2];
  MPI_Irecv(in, bytes, type, from, 0, comm, &requests[0]);
  MPI_Isend(out, bytes, type, to, 0, comm, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* Empty and small messages repeat while ever more kinds make the records move. */
static void growing(int rank) {
  int i;
  HALOSCOPE_REGION_BEGIN("growing");
  for (i = 0; i < kinds; i++) {
    message(0, MPI_BYTE, 1 - rank, 1 - rank, MPI_COMM_WORLD);
    message(0, MPI_BYTE, rank, rank, MPI_COMM_WORLD);
    message(8, MPI_BYTE, 1 - rank, 1 - rank, MPI_COMM_WORLD);
    message(i + 9, MPI_BYTE, 1 - rank, 1 - rank, MPI_COMM_WORLD);
  }
  HALOSCOPE_REGION_END("growing");
}

/* The same messages in two regions in turn, begun in one and completed in the other. */
static void alternating(int rank) {
  MPI_Request requests[2];
  int i;
  for (i = 0; i < rounds; i++) {
    HALOSCOPE_REGION_BEGIN("first");
    message(8, MPI_BYTE, 1 - rank, 1 - rank, MPI_COMM_WORLD);
    MPI_Irecv(in, 16, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 16, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &requests[1]);
    HALOSCOPE_REGION_END("first");
    HALOSCOPE_REGION_BEGIN("second");
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    message(8, MPI_BYTE, 1 - rank, 1 - rank, MPI_COMM_WORLD);
    HALOSCOPE_REGION_END("second");
  }
}

/* Handles that are freed and made again mean something else each time; most libraries reuse them. */
static void handles(int rank) {
  int i;
  HALOSCOPE_REGION_BEGIN("handles");
  for (i = 0; i < rounds; i++) {
    MPI_Datatype type;
    MPI_Comm comm;
    const int reversed = i % 2;
    int other;
    MPI_Type_contiguous(1 + i % 7, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Comm_split(MPI_COMM_WORLD, 0, reversed ? 1 - rank : rank, &comm);
    other = reversed ? rank : 1 - rank; /* who is the other in that communicator */
    message(1, type, other, other, comm);
    message(1, type, other, other, comm);
    MPI_Comm_free(&comm);
    MPI_Type_free(&type);
  }
  HALOSCOPE_REGION_END("handles");
}

/* Receives that ask for the same and get another size each time, or another sender. */
static void varying(int rank) {
  int i;
  HALOSCOPE_REGION_BEGIN("varying");
  for (i = 0; i < rounds; i++) {
    MPI_Request request;
    MPI_Irecv(in, most, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &request);
    MPI_Send(out, i % 3, MPI_BYTE, i % 4 < 2 ? rank : 1 - rank, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Isend(out, i % 3, MPI_BYTE, rank, 1, MPI_COMM_WORLD, &request);
    MPI_Recv(in, most, MPI_BYTE, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  HALOSCOPE_REGION_END("varying");
}

int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  growing(rank);
  alternating(rank);
  handles(rank);
  varying(rank);
  MPI_Finalize();
  return 0;
}
