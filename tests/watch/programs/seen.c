/* seen LEVEL: receives whose end MPI_Request_get_status reports, before they are freed or completed. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

static int rank, data[10];

static void see(MPI_Request request) {
  int flag = 0, count = 0;
  MPI_Status status;
  while (!flag) MPI_Request_get_status(request, &flag, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  if (count != 10) MPI_Abort(MPI_COMM_WORLD, 3);
  for (int again = 0; again < 3; again++) MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
}

static void finish(MPI_Request *request, const char *how) {
  int flag = 0;
  if (!strcmp(how, "freed")) MPI_Request_free(request);
  if (!strcmp(how, "tested"))
    while (!flag) MPI_Test(request, &flag, MPI_STATUS_IGNORE);
  if (strcmp(how, "freed") && strcmp(how, "tested")) MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void receive(const char *how) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int persistent = !strcmp(how, "persistent");
  if (persistent) MPI_Recv_init(data, 10, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
  for (int i = 0; i < 5; i++) {
    if (persistent)
      MPI_Start(&request);
    else
      MPI_Irecv(data, 10, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
    see(request);
    finish(&request, how);
  }
  if (persistent) MPI_Request_free(&request);
}

int main(int argc, char **argv) {
  static const char *ways[] = {"freed", "waited for", "tested", "persistent"};
  int level, flag;
  MPI_Init_thread(&argc, &argv, atoi(argv[1]) == 3 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int way = 0; way < 4; way++) {
    HALOSCOPE_REGION_BEGIN(ways[way]);
    if (rank == 0)
      for (int i = 0; i < 5; i++) MPI_Send(data, 10, MPI_INT, 1, 0, MPI_COMM_WORLD);
    else
      receive(ways[way]);
    HALOSCOPE_REGION_END(ways[way]);
  }
  HALOSCOPE_REGION_BEGIN("cancelled");
  if (rank == 1) {
    MPI_Request request;
    MPI_Irecv(data, 10, MPI_INT, 0, 7, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  HALOSCOPE_REGION_END("cancelled");
  MPI_Finalize();
  return 0;
}
