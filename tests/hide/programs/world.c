// What a program may ask of its MPI_COMM_WORLD, whatever stands below it. Prints a line for each answer that
// is wrong, then its rank, its node and its ranks in topologies that MPI may reorder. Ranks that are half of
// all apart talk.
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
// While MPI_COMM_SELF is taken apart the world is still there.
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

// A chain, and graphs whose neighbours are half of all ranks apart.
static void reorder(int *in_grid, int *in_graph) {
  const int dims[] = {size, 1}, periods[] = {0, 0};
  MPI_Comm comm;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &comm);
  MPI_Comm_rank(comm, in_grid);
  int place[2], back;
  MPI_Cart_coords(comm, *in_grid, 2, place);
  MPI_Cart_rank(comm, place, &back);
  check(back == *in_grid && place[0] == *in_grid, "a grid");
  MPI_Comm_free(&comm);
  const int other = (rank + size / 2) % size, weights[] = {rank + 100};
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &other, weights, 1, &other, weights, MPI_INFO_NULL, 1,
                                 &comm);
  MPI_Comm_rank(comm, in_graph);
  int from = -1, to = -1, in = -1, out = -1, got = -1;
  MPI_Dist_graph_neighbors(comm, 1, &from, &in, 1, &to, &out);
  check(from == (*in_graph + size / 2) % size && to == from, "a graph's neighbours");
  check(in == *in_graph + 100 && out == in, "a graph's weights");
  MPI_Neighbor_allgather(in_graph, 1, MPI_INT, &got, 1, MPI_INT, comm);
  check(got == from, "a graph's messages");
  MPI_Comm_free(&comm);
  int same = -1;
  const int degrees[] = {1};
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, degrees, &other, MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &comm);
  MPI_Comm_rank(comm, &same);
  check(same == *in_graph, "a graph that each rank knows a part of");
  MPI_Comm_free(&comm);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &other, MPI_UNWEIGHTED, 1, &other, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 1, &comm);
  MPI_Comm_rank(comm, &same);
  check(same == *in_graph, "a graph without weights");
  MPI_Comm_free(&comm);
  int index[64], edges[64];
  for (int i = 0; i < size; i++) index[i] = i + 1, edges[i] = (i + size / 2) % size;
  MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 1, &comm);
  MPI_Comm_rank(comm, &same);
  check(same == *in_graph, "a graph that every rank knows");
  MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
  char host[256];
  static char block[1 << 16], into[1 << 16];
  int in_grid, in_graph;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  gethostname(host, sizeof host);
  ask_the_world();
  send_and_collect();
  reorder(&in_grid, &in_graph);
  const int partner = (rank + size / 2) % size;
  MPI_Sendrecv(block, sizeof block, MPI_CHAR, partner, 1, into, sizeof into, MPI_CHAR, partner, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  keep_and_fail();
  MPI_Finalize();
  check(in_self == rank && deleted == 1, "the end");
  printf("%d %s %d %d\n", rank, host, in_grid, in_graph);
  return 0;
}
