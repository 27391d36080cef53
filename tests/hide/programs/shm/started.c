// Persistent sends, some of which are not started, are completed by every call. Rank 0 prints how often each
// was reported, what a call reports when none is active, and the status of that of MPI_Waitany.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { all = 6, large = 1 << 18, small = 16, ways = 10, rounds = 3 };

static int left; // requests that are active

static void complete(int way, MPI_Request *requests, int *reported, char *last) {
  int flag = 0, index = MPI_UNDEFINED, done = 0, indices[all];
  MPI_Status status = {0}, statuses[all];
  for (int one = 0; way < 2 && one < all; one++) { // inactive ones have the empty status
    flag = 0;
    while (way == 1 && !flag) MPI_Test(requests + one, &flag, &status);
    if (way == 0) MPI_Wait(requests + one, &status);
    reported[one]++;
  }
  while (way == 2 && !flag) MPI_Testall(all, requests, &flag, MPI_STATUSES_IGNORE);
  if (way == 3) MPI_Waitall(all, requests, statuses);
  for (; way == 4 || way == 5; reported[index]++) {
    flag = 0;
    while (way == 4 && !flag) MPI_Testany(all, requests, &index, &flag, &status);
    if (way == 5) MPI_Waitany(all, requests, &index, &status);
    if (index == MPI_UNDEFINED) break;
  }
  while ((way == 6 || way == 7) && done != MPI_UNDEFINED) {
    if (way == 6) MPI_Testsome(all, requests, &done, indices, statuses);
    if (way == 7) MPI_Waitsome(all, requests, &done, indices, MPI_STATUSES_IGNORE);
    for (int i = 0; i < done; i++) reported[indices[i]]++;
  }
  for (int one = 0; way == 8 && one < all; one++) { // nothing is completed, so it is reported again
    if (requests[one] == MPI_REQUEST_NULL) continue;
    for (flag = 0; !flag;) MPI_Request_get_status(requests[one], &flag, &status);
    MPI_Request_get_status(requests[one], &flag, MPI_STATUS_IGNORE);
    reported[one] += flag;
  }
  if (way == 8) MPI_Waitall(all, requests, MPI_STATUSES_IGNORE);
  if (way == 9) { // a test that finds not all of them makes none inactive
    MPI_Testall(all, requests, &flag, MPI_STATUSES_IGNORE);
    for (int i = 0; !flag && i < left; i++) {
      MPI_Waitany(all, requests, &index, &status);
      reported[index]++;
    }
    for (int i = 0; flag && i < 4; i++) reported[i]++;
    MPI_Waitany(all, requests, &index, &status);
  }
  const int is_empty = status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG;
  sprintf(last, "flag %d index %d done %d empty %d", way == 9 ? 1 : flag, index, done,
          way == 5 ? is_empty : 0);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  char *data;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Alloc_mem(all * large, MPI_INFO_NULL, &data);
  memset(data, rank, all * large);
  MPI_Request requests[all];
  for (int i = 0; i < all; i++) {
    if (rank == 0 && i < 5) { // the last one of these is never started, one is from memory that is not shared
      static char own[large];
      const int bytes = i == 2 ? small : large;
      if (i == 1)
        MPI_Ssend_init(data + i * large, bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD, requests + i);
      else
        MPI_Send_init(i == 3 ? own : data + i * large, bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD, requests + i);
    } else {
      requests[i] = MPI_REQUEST_NULL;
    }
  }
  for (int round = 0; round < rounds * ways; round++) {
    const int way = round % ways, late = round / ways;
    int reported[all] = {0};
    char last[100] = "";
    left = 4;
    if (late && rank == 0) MPI_Send(NULL, 0, MPI_BYTE, 1, 99, MPI_COMM_WORLD);
    if (rank == 0) MPI_Startall(2, requests), MPI_Start(requests + 2), MPI_Start(requests + 3);
    if (!late && rank == 0) MPI_Send(NULL, 0, MPI_BYTE, 1, 99, MPI_COMM_WORLD);
    if (rank == 0) {
      complete(way, requests, reported, last);
      printf("%d %d:", way, late);
      for (int i = 0; i < all; i++) printf(" %d%s", reported[i], requests[i] == MPI_REQUEST_NULL ? "-" : "");
      printf(" %s\n", last);
    } else {
      MPI_Recv(NULL, 0, MPI_BYTE, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int i = 3; i >= 0; i--)
        MPI_Irecv(data + i * large, i == 2 ? small : large, MPI_BYTE, 0, i, MPI_COMM_WORLD, requests + i);
      MPI_Waitall(all, requests, MPI_STATUSES_IGNORE);
    }
  }
  if (rank == 0) { // one that is freed while it is active
    memset(data, 7, large);
    MPI_Start(requests);
    MPI_Start(requests + 1);
    MPI_Wait(requests + 1, MPI_STATUS_IGNORE);
    for (int i = 0; i < 5; i++) MPI_Request_free(requests + i);
  } else {
    MPI_Recv(data + large, large, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(data, large, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("%d %d\n", data[0], data[large - 1]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Free_mem(data);
  MPI_Finalize();
  return 0;
}
