// The eight Wait and Test forms on lists of sends, receives, inactive and null requests. Rank 1
// receives from rank 0 in each case: messages of 1, 2, … ints with tags 1, 2, …
#include "common.h"

enum { messages = 5, places = 9 };
static MPI_Request requests[places];
static MPI_Status statuses[places];
static int data[places][16];

static void send_all(void) {
  if (rank != 0) return;
  for (int tag = 1; tag <= messages; tag++) MPI_Send(buffer, tag, MPI_INT, 1, tag, MPI_COMM_WORLD);
}

// Null, inactive and active requests: messages 1, 2 … are at places 1, 3, 4, 5, 7.
static void post(void) {
  static const int place_of[messages] = {1, 3, 4, 5, 7};
  for (int i = 0; i < places; i++) requests[i] = MPI_REQUEST_NULL;
  MPI_Recv_init(data[2], 16, MPI_INT, 0, 77, MPI_COMM_WORLD, &requests[2]);
  MPI_Send_init(data[6], 16, MPI_INT, 0, 77, MPI_COMM_WORLD, &requests[6]);
  for (int m = 0; m < messages; m++)
    MPI_Irecv(data[place_of[m]], 16, MPI_INT, 0, m + 1, MPI_COMM_WORLD, &requests[place_of[m]]);
}

static void check_status(int place, const MPI_Status *status) {
  int got;
  MPI_Get_count(status, MPI_INT, &got);
  CHECK(status->MPI_SOURCE == 0 && status->MPI_TAG == got);
  CHECK(place == 1 || place == 3 || place == 4 || place == 5 || place == 7);
}

static void release(void) {
  MPI_Request_free(&requests[2]);
  MPI_Request_free(&requests[6]);
}

static void by_wait(void) {
  for (int i = 0; i < places; i++) MPI_Wait(&requests[i], i % 2 ? &statuses[i] : MPI_STATUS_IGNORE);
}

static void by_test(void) {
  for (int i = 0; i < places; i++)
    for (int flag = 0; !flag;) MPI_Test(&requests[i], &flag, i % 2 ? &statuses[i] : MPI_STATUS_IGNORE);
}

static void by_waitall(void) {
  MPI_Waitall(places, requests, statuses);
  check_status(5, &statuses[5]);
}

static void by_testall(void) {
  for (int flag = 0; !flag;) MPI_Testall(places, requests, &flag, MPI_STATUSES_IGNORE);
}

static void by_waitany(void) {
  for (int i = 0, index; i <= messages; i++) {
    MPI_Waitany(places, requests, &index, &statuses[0]);
    CHECK((index == MPI_UNDEFINED) == (i == messages));
    if (i < messages) check_status(index, &statuses[0]);
  }
}

static void by_testany(void) {
  for (int index = 0, flag; index != MPI_UNDEFINED;) {
    MPI_Testany(places, requests, &index, &flag, &statuses[0]);
    if (!flag) index = 0;
    if (flag && index != MPI_UNDEFINED) check_status(index, &statuses[0]);
  }
}

static void by_some(int wait) {
  int count = 0, indices[places];
  while (count != MPI_UNDEFINED) {
    if (wait)
      MPI_Waitsome(places, requests, &count, indices, statuses);
    else
      MPI_Testsome(places, requests, &count, indices, statuses);
    for (int i = 0; count != MPI_UNDEFINED && i < count; i++) check_status(indices[i], &statuses[i]);
  }
}

static void by_waitsome(void) { by_some(1); }
static void by_testsome(void) { by_some(0); }

static void form(const char *name, void (*complete)(void)) {
  HALOSCOPE_REGION_BEGIN(name);
  if (rank == 1) post();
  send_all();
  if (rank == 1) complete(), release();
  HALOSCOPE_REGION_END(name);
  MPI_Barrier(MPI_COMM_WORLD);
}

// Only the last of several is there: the completed index is not the first position.
static void last_first(void) {
  int count, indices[3];
  REGION("last first") {
    if (rank == 0) {
      for (int tag = 3; tag > 0; tag--) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Send(buffer, 10 * tag, MPI_INT, 1, tag, MPI_COMM_WORLD);
      }
    } else {
      for (int i = 0; i < 3; i++)
        MPI_Irecv(i == 0 ? buffer : other + 1000 * i, 100, MPI_INT, 0, i + 1, MPI_COMM_WORLD, &requests[i]);
      for (int i = 2; i >= 0; i--) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Waitsome(3, requests, &count, indices, statuses);
        CHECK(count == 1 && indices[0] == i);
      }
    }
  }
}

static void many(void) {
  enum { n = 300 };
  static MPI_Request all[2 * n];
  REGION("many") {
    for (int i = 0; i < n; i++) MPI_Irecv(&other[i], 1, MPI_INT, 1 - rank, i, MPI_COMM_WORLD, &all[2 * i]);
    for (int i = 0; i < n; i++)
      MPI_Isend(&buffer[i], 1, MPI_INT, 1 - rank, i, MPI_COMM_WORLD, &all[2 * i + 1]);
    MPI_Waitall(2 * n, all, MPI_STATUSES_IGNORE);
  }
}

// Small sends with one tag: some libraries give them all the same handle.
static void same_tag(void) {
  MPI_Request sends[4];
  REGION("same tag") {
    for (int i = 0; i < 4; i++) {
      if (rank == 0) MPI_Isend(buffer, i + 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &sends[i]);
      if (rank == 1) MPI_Recv(other, 100, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 0) {
      MPI_Wait(&sends[2], MPI_STATUS_IGNORE);
      sends[2] = sends[3];
      MPI_Waitall(3, sends, MPI_STATUSES_IGNORE);
    }
  }
}

static void nothing(void) {
  int flag, index, count, indices[2];
  MPI_Request none[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  REGION("nothing") {
    MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
    MPI_Waitall(2, none, statuses);
    MPI_Testall(2, none, &flag, statuses);
    MPI_Waitany(2, none, &index, statuses);
    MPI_Testany(2, none, &index, &flag, statuses);
    MPI_Waitsome(2, none, &count, indices, statuses);
    MPI_Testsome(2, none, &count, indices, statuses);
    MPI_Wait(&none[0], statuses);
    MPI_Test(&none[0], &flag, statuses);
  }
}

// A receive that is not there yet is tested, then waited for: it counts once.
static void polled(void) {
  MPI_Request request;
  int flag;
  REGION("polled") {
    if (rank == 1) {
      MPI_Irecv(buffer, 10, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
      for (int i = 0; i < 100; i++) {
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
      }
      for (int i = 0; i < 10; i++) {
        MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) MPI_Send(buffer, 10, MPI_INT, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  form("Wait", by_wait), form("Test", by_test);
  form("Waitall", by_waitall), form("Testall", by_testall);
  form("Waitany", by_waitany), form("Testany", by_testany);
  form("Waitsome", by_waitsome), form("Testsome", by_testsome);
  last_first();
  many();
  same_tag();
  nothing();
  polled();
  MPI_Finalize();
  return 0;
}
