// Functions of MPI on MPI_COMM_WORLD, which the placer has reordered. Prints a line for each wrong result,
// then rank and node. Ranks r and r + half of all exchange messages.
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int handled, deleted, rank, size, in_self, with_error;

static void check(int right, const char *what) {
  if (!right) printf("wrong: %s on rank %d\n", what, rank);
}
static void handle(MPI_Comm *comm, int *error, ...) {
  handled += *comm != MPI_COMM_NULL;
  with_error = *error;
}
static int delete_ours(MPI_Comm comm, int keyval, void *value, void *extra) {
  (void)comm, (void)keyval, (void)extra;
  deleted += value == (void *)&deleted;
  return MPI_SUCCESS;
}
// While MPI_COMM_SELF is destroyed the world still exists.
static int delete_self(MPI_Comm comm, int keyval, void *value, void *extra) {
  (void)comm, (void)keyval, (void)value, (void)extra;
  MPI_Comm_rank(MPI_COMM_WORLD, &in_self);
  check(deleted == 0, "the world's attributes outlive those of self");
  return MPI_SUCCESS;
}

static void ask_the_world(void) {
  int flag, length, result, one, *most;
  char name[MPI_MAX_OBJECT_NAME];
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &flag);
  check(flag && *most >= 32767, "MPI_TAG_UB");
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &most, &flag);
  check(flag, "MPI_WTIME_IS_GLOBAL");
  MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
  check(strcmp(name, "MPI_COMM_WORLD") == 0, "its name");
  MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result);
  check(result == MPI_IDENT, "it is itself");
  check(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD, "its handle");
  MPI_Comm copy, parent;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_compare(MPI_COMM_WORLD, copy, &result);
  check(result == MPI_CONGRUENT, "its duplicate");
  MPI_Comm_rank(copy, &one);
  check(one == rank, "its duplicate's ranks");
  MPI_Comm_free(&copy);
  MPI_Comm_get_parent(&parent);
  check(parent == MPI_COMM_NULL, "its parent");
  MPI_Group group;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Group_rank(group, &one);
  check(one == rank, "its group");
  MPI_Group_free(&group);
  MPI_Comm split;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &split);
  MPI_Comm_rank(split, &one);
  check(one == (size - 1 - rank) / 2, "its parts");
  MPI_Comm_free(&split);
}

static void send_and_collect(void) {
  int left = -1, sum = rank, gathered[64];
  MPI_Status status;
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 3, &left, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD,
               &status);
  check(left == (rank + size - 1) % size && status.MPI_SOURCE == left, "a message");
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  check(sum == size * (size - 1) / 2, "a sum");
  MPI_Allgather(&rank, 1, MPI_INT, gathered, 1, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < size; i++) check(gathered[i] == i, "the order of ranks");
  int read[64], got = -1;
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, "world.bin", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof rank, &rank, 1, MPI_INT, &status);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_read_at_all(file, 0, read, size, MPI_INT, &status);
  for (int i = 0; i < size; i++) check(read[i] == i, "a file");
  MPI_File_close(&file);
  MPI_Comm intercomm, half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &intercomm);
  MPI_Sendrecv(&rank, 1, MPI_INT, rank / 2, 0, &got, 1, MPI_INT, rank / 2, 0, intercomm, &status);
  check(got == (rank ^ 1), "an intercommunicator");
  MPI_Comm_free(&intercomm);
  MPI_Comm_free(&half);
}

static void keep_and_fail(void) {
  int keyval;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_ours, &keyval, NULL);
  MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &deleted);
  MPI_Comm_free_keyval(&keyval);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_self, &keyval, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
  MPI_Comm_free_keyval(&keyval);
  MPI_Errhandler handler, found;
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &found);
  MPI_Send(&rank, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD);
  check(handled == 1 && with_error != MPI_SUCCESS, "an error on it");
  MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
  check(handled == 2, "its error handler");
  MPI_Errhandler_free(&handler);
  MPI_Errhandler_free(&found);
}

// Topologies whose neighbours are r and r + half of all ranks.
static void make_topologies(void) {
  const int dims[] = {size, 1}, periods[] = {0, 0};
  MPI_Comm comm;
  int place[2], own = -1;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm);
  MPI_Comm_rank(comm, &own);
  MPI_Cart_coords(comm, own, 2, place);
  check(own == rank && place[0] == rank, "a grid");
  MPI_Comm_free(&comm);
  const int other = (rank + size / 2) % size, weight = 7;
  int from = -1, to = -1, in = -1, out = -1, got = -1;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &other, &weight, 1, &other, &weight, MPI_INFO_NULL, 0,
                                 &comm);
  MPI_Dist_graph_neighbors(comm, 1, &from, &in, 1, &to, &out);
  check(from == other && to == other && in == weight && out == weight, "a graph's neighbours");
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, &got, 1, MPI_INT, comm);
  check(got == other, "a graph's messages");
  MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
  char host[256];
  static char block[1 << 16], into[1 << 16];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  gethostname(host, sizeof host);
  ask_the_world();
  send_and_collect();
  make_topologies();
  const int partner = (rank + size / 2) % size;
  MPI_Sendrecv(block, sizeof block, MPI_CHAR, partner, 1, into, sizeof into, MPI_CHAR, partner, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  keep_and_fail();
  MPI_Finalize();
  check(in_self == rank && deleted == 1, "the end");
  printf("%d %s\n", rank, host);
  return 0;
}
