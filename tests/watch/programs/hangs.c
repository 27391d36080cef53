// Hangs on four ranks, in the way that its argument names; prints `working` before. Ranks that have nothing
// to do with it go on to MPI_Finalize, or to a barrier, as is said there.
#include "common.h"

#include <signal.h>
#include <unistd.h>

static MPI_Request request;

static void send_to(int to, int tag) { MPI_Ssend(buffer, 3, MPI_INT, to, tag, MPI_COMM_WORLD); }
static void receive_from(int from, int tag) {
  MPI_Recv(other, 3, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void sum(MPI_Comm comm) { MPI_Allreduce(buffer, other, 3, MPI_INT, MPI_SUM, comm); }

static void leave(int number) { _exit(number); } // who is asked nevertheless ends

// Messages, so that the recorder looks at the program's handlers in between, with each slice.
static void take_all_signals(void) {
  for (int number = SIGRTMIN; number <= SIGRTMAX; number++) signal(number, leave);
  for (int i = 0; i < 15; i++) {
    usleep(100000);
    MPI_Sendrecv(buffer, 1, MPI_INT, rank, 7, other, 1, MPI_INT, rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void hang(const char *how) {
  int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  if (!strcmp(how, "ring of sends")) send_to(next, 3);
  if (!strcmp(how, "ring of receives")) receive_from(previous, 3);
  if (!strcmp(how, "missing collective") && rank != 1) sum(MPI_COMM_WORLD);
  if (!strcmp(how, "different collectives")) {
    if (rank < 2)
      sum(MPI_COMM_WORLD);
    else
      MPI_Barrier(MPI_COMM_WORLD);
  }
  if (!strcmp(how, "wrong tag")) {
    if (rank == 0) send_to(1, 4);
    if (rank == 1) receive_from(0, 3);
  }
  if (!strcmp(how, "asleep") || !strcmp(how, "computing")) {
    if (rank == 1) {
      HALOSCOPE_REGION_BEGIN("reading");
      if (!strcmp(how, "asleep")) pause();
      for (volatile long i = 0;; i++) {
      }
    }
    sum(MPI_COMM_WORLD);
  }
  if (!strcmp(how, "dead")) {
    if (rank == 1) {
      usleep(200000); // the others are in their call
      pause();        // and is killed
    }
    sum(MPI_COMM_WORLD);
  }
  if (!strcmp(how, "from itself")) {
    if (rank == 2) receive_from(2, 3);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (!strcmp(how, "nobody receives")) {
    if (rank == 0) send_to(1, 3);
  }
  if (!strcmp(how, "barrier and receive")) {
    if (rank == 1) receive_from(0, 3);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (!strcmp(how, "never sent")) {
    if (rank == 1) {
      MPI_Irecv(other, 3, MPI_INT, 0, 5, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (!strcmp(how, "with all signals")) {
    if (rank == 1) receive_from(1, 3);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (!strcmp(how, "several requests")) {
    if (rank == 1) {
      MPI_Request requests[3];
      MPI_Isend(buffer, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &requests[0]);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE); // leaves MPI_REQUEST_NULL
      MPI_Irecv(other, 3, MPI_INT, 0, 5, MPI_COMM_WORLD, &requests[1]);
      MPI_Irecv(other + 8, 3, MPI_INT, 3, 6, MPI_COMM_WORLD, &requests[2]);
      MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (!strcmp(how, "in a part")) { // of the ranks: a communicator in which they have other numbers
    MPI_Comm part;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part);
    MPI_Comm_set_name(part, "part");
    if (rank % 2) {
      int own;
      MPI_Comm_rank(part, &own);
      MPI_Recv(other, 3, MPI_INT, 1 - own, 6, part, MPI_STATUS_IGNORE);
    }
  }
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  if (argc < 2) return 2;
  if (argc > 2) MPI_Barrier(MPI_COMM_WORLD); // with `met`: not in the first call
  if (!strcmp(argv[1], "with all signals")) take_all_signals();
  PMPI_Barrier(MPI_COMM_WORLD); // all ranks have records, and none of them has this call
  if (rank == 0) printf("working\n");
  fflush(stdout);
  REGION("hang") hang(argv[1]);
  MPI_Finalize();
  return 0;
}
