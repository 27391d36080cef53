// Receives that get less, or more, than there is room for, and calls that fail.
#include "common.h"

// Parts of elements are legal; MPICH (4.0 and 5.0) dies of them.
static void parts_of_elements(void) {
  MPI_Datatype pair;
  MPI_Status status;
  MPI_Request request;
  int got;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  // One and a half pairs arrive: MPI_Get_count can't say how many that is.
  REGION("half a pair") {
    if (rank == 0) MPI_Send(buffer, 3, MPI_INT, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) {
      MPI_Recv(buffer, 5, pair, 0, 0, MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, pair, &got);
      CHECK(got == MPI_UNDEFINED);
    }
  }
  REGION("12 bytes into doubles") {
    if (rank == 0) MPI_Send(buffer, 12, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) {
      MPI_Irecv(buffer, 10, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
  MPI_Type_free(&pair);
}

static void derived(void) {
  MPI_Datatype column, mixed;
  int lengths[2] = {1, 1};
  MPI_Aint places[2] = {0, 8};
  MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
  MPI_Type_vector(4, 1, 3, MPI_INT, &column);
  MPI_Type_create_struct(2, lengths, places, types, &mixed);
  MPI_Type_commit(&column), MPI_Type_commit(&mixed);
  REGION("column") { // 16 of 40 bytes are data
    if (rank == 0) MPI_Send(buffer, 1, column, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(buffer, 2, column, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  REGION("mixed") { // an int and a double, without the gap
    if (rank == 0) MPI_Send(buffer, 3, mixed, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(buffer, 3, mixed, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Type_free(&column), MPI_Type_free(&mixed);
}

// A freed type's handle may come back for another type.
static void reused_types(void) {
  REGION("reused types") {
    for (int n = 1; n <= 5; n++) {
      MPI_Datatype type;
      MPI_Type_contiguous(n, MPI_INT, &type);
      MPI_Type_commit(&type);
      if (rank == 0) MPI_Send(buffer, 1, type, 1, 0, MPI_COMM_WORLD);
      if (rank == 1) MPI_Recv(buffer, 1, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Type_free(&type);
    }
  }
}

static void truncated(void) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  REGION("truncated") {
    if (rank == 0)
      for (int i = 0; i < 2; i++) MPI_Send(buffer, 10, MPI_INT, 1, i, MPI_COMM_WORLD);
    if (rank == 1) {
      CHECK(MPI_Recv(buffer, 4, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS);
      MPI_Irecv(buffer, 4, MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[0]);
      CHECK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE) != MPI_SUCCESS);
    }
  }
  REGION("one of two truncated") {
    if (rank == 0)
      for (int i = 0; i < 2; i++) MPI_Send(buffer, 10, MPI_INT, 1, i, MPI_COMM_WORLD);
    if (rank == 1) {
      for (int i = 0; i < 2; i++)
        MPI_Irecv(i ? other : buffer, i ? 10 : 4, MPI_INT, 0, i, MPI_COMM_WORLD, &requests[i]);
      CHECK(MPI_Waitall(2, requests, statuses) == MPI_ERR_IN_STATUS);
      CHECK(statuses[0].MPI_ERROR != MPI_SUCCESS);
      // A library may give up at the first error: then the second one is still to come.
      if (statuses[1].MPI_ERROR == MPI_ERR_PENDING) MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    }
  }
}

static void failing(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  REGION("failing") {
    CHECK(MPI_Send(buffer, 1, MPI_INT, 99, 0, MPI_COMM_WORLD) != MPI_SUCCESS);
    CHECK(MPI_Send(buffer, -1, MPI_INT, 0, 0, MPI_COMM_WORLD) != MPI_SUCCESS);
    CHECK(MPI_Send(buffer, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD) != MPI_SUCCESS);
    CHECK(MPI_Isend(buffer, 1, MPI_INT, 99, 0, MPI_COMM_WORLD, &request) != MPI_SUCCESS);
    CHECK(MPI_Irecv(buffer, 1, MPI_INT, 99, 0, MPI_COMM_WORLD, &request) != MPI_SUCCESS);
    CHECK(MPI_Recv(buffer, 1, MPI_INT, 0, -99, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    CHECK(MPI_Send(buffer, 1, MPI_INT, 0, 0, MPI_COMM_NULL) != MPI_SUCCESS);
    CHECK(MPI_Bcast(buffer, 1, MPI_INT, 99, MPI_COMM_WORLD) != MPI_SUCCESS);
    CHECK(MPI_Allreduce(buffer, other, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL) != MPI_SUCCESS);
  }
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  if (argc > 1 && !strcmp(argv[1], "parts")) parts_of_elements();
  derived();
  reused_types();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  truncated();
  failing();
  MPI_Finalize();
  return 0;
}
