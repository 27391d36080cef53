// `sessions HOW`: the same messages in the world of MPI_Init ("world"), in a session ("session"), in two
// sessions of which one ends early ("two"), in two one after the other ("again"), in a session while
// MPI_Init and MPI_Finalize come and go ("around"), or the other way round ("within").
#include "common.h"

static MPI_Session sessions[2];
static MPI_Comm everyone;

static MPI_Group group_of(MPI_Session session, const char *set) {
  MPI_Group group;
  MPI_Group_from_session_pset(session, set, &group);
  return group;
}

static void open(int which) {
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &sessions[which]);
  MPI_Group group = group_of(sessions[which], "mpi://WORLD");
  MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &everyone);
  MPI_Comm_rank(everyone, &rank), MPI_Comm_size(everyone, &size);
  MPI_Group_free(&group);
}

static void close_all(int which) {
  MPI_Comm_free(&everyone);
  MPI_Session_finalize(&sessions[which]);
}

static void open_world(void) {
  start(NULL, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &everyone);
}

static void close_world(void) {
  MPI_Comm_free(&everyone);
  MPI_Finalize();
}

// Through a communicator in which everybody has another rank.
static void turned(MPI_Comm comm) {
  MPI_Status status;
  MPI_Comm turned;
  int me;
  MPI_Comm_split(comm, 0, -rank, &turned);
  MPI_Comm_rank(turned, &me);
  REGION("turned") {
    MPI_Sendrecv(buffer, 3, MPI_INT, (me + 1) % size, 1, other, 9, MPI_INT, MPI_ANY_SOURCE, 1, turned,
                 &status);
    CHECK(status.MPI_SOURCE == (me + size - 1) % size);
    MPI_Allreduce(buffer, other, 5, MPI_INT, MPI_SUM, turned);
  }
  MPI_Comm_free(&turned);
}

static void work(MPI_Comm comm) {
  MPI_Request requests[2];
  for (int i = 0; i < 3; i++) {
    REGION("ring") {
      MPI_Irecv(other, 7, MPI_INT, (rank + size - 1) % size, 0, comm, &requests[0]);
      MPI_Isend(buffer, 7, MPI_INT, (rank + 1) % size, 0, comm, &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
  }
  turned(comm);
  MPI_Barrier(comm);
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "session";
  if (!strcmp(how, "world")) {
    open_world(), work(everyone), close_world();
  } else if (!strcmp(how, "two")) {
    open(0);
    MPI_Comm first = everyone;
    open(1);
    MPI_Comm_free(&first), MPI_Session_finalize(&sessions[0]);
    work(everyone), close_all(1);
  } else if (!strcmp(how, "again")) {
    for (int i = 0; i < 2; i++) open(i), work(everyone), close_all(i);
  } else if (!strcmp(how, "around")) {
    open(0), work(everyone);
    MPI_Comm mine = everyone;
    open_world(), work(everyone), work(mine), close_world();
    MPI_Comm_free(&mine), MPI_Session_finalize(&sessions[0]);
  } else if (!strcmp(how, "within")) {
    open_world(), work(everyone);
    MPI_Comm world = everyone;
    open(0), work(everyone), close_all(0);
    work(world), MPI_Comm_free(&world), MPI_Finalize();
  } else {
    open(0), work(everyone);
    if (!strcmp(how, "die") && rank == size - 1) abort();
    close_all(0);
  }
  if (rank == 0) printf("end\n");
  return 0;
}
