// What moves data unseen is said to, and nothing else: each is called a number of times of its own.
#include "common.h"

static int query(void *state, MPI_Status *status) {
  (void)state;
  MPI_Status_set_elements(status, MPI_INT, 5);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
static int release(void *state) { return (void)state, MPI_SUCCESS; }
static int cancel(void *state, int complete) { return (void)state, (void)complete, MPI_SUCCESS; }

static void operations_of_its_own(void) {
  MPI_Request request;
  for (int i = 0; i < 3; i++) {
    MPI_Grequest_start(query, release, cancel, NULL, &request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

static void memory_of_others(void) {
  MPI_Win window;
  MPI_Aint bytes;
  int unit, *mine, *theirs;
  MPI_Win_allocate_shared(sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &window);
  MPI_Win_lock_all(0, window);
  *mine = rank;
  MPI_Win_sync(window);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(window);
  for (int i = 0; i < size; i++) {
    MPI_Win_shared_query(window, i, &bytes, &unit, &theirs);
    CHECK(*theirs == i);
  }
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

// Moves none, or is counted where it starts.
static void harmless(void) {
  char packed[1000];
  int place = 0;
  MPI_Pack(buffer, 3, MPI_INT, packed, sizeof packed, &place, MPI_COMM_WORLD);
  place = 0;
  MPI_Unpack(packed, sizeof packed, &place, other, 3, MPI_INT, MPI_COMM_WORLD);
  MPI_Reduce_local(buffer, other, 3, MPI_INT, MPI_SUM);
  MPI_Buffer_attach(other, sizeof other);
  MPI_Bsend(buffer, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
  MPI_Recv(buffer, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  void *detached;
  MPI_Buffer_detach(&detached, &place);
}

static void split_collectives(const char *path) {
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_write_at_all_begin(file, 12 * rank, buffer, 3, MPI_INT);
  MPI_File_write_at_all_end(file, buffer, MPI_STATUS_IGNORE);
  MPI_File_read_at_all_begin(file, 12 * rank, other, 3, MPI_INT);
  MPI_File_read_at_all_end(file, other, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40100000 && !defined(I_MPI_VERSION)
static int wait_for(int count, void **states, double timeout, MPI_Status *status) {
  return (void)count, (void)states, (void)timeout, (void)status, MPI_SUCCESS;
}

static void beyond_the_standard(void) {
  MPI_Request request;
  MPIX_Grequest_start(query, release, cancel, query, wait_for, NULL, &request);
  MPI_Grequest_complete(request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(MPIX_Query_cuda_support() >= 0);
}
#else
static void beyond_the_standard(void) {}
#endif

int main(int argc, char **argv) {
  start(&argc, &argv);
  REGION("own") operations_of_its_own();
  REGION("shared") memory_of_others();
  REGION("harmless") harmless();
  REGION("files") split_collectives(argv[1]);
  REGION("beyond") beyond_the_standard();
  MPI_Finalize();
  return 0;
}
