// Neighbourhood collectives on 4 ranks, over communicators that call their ranks otherwise.
#include "common.h"

#define N 6

// Forms of one exchange on `comm`; `blocks`: what each neighbour gets, at most N.
static void exchange(const char *name, MPI_Comm comm) {
  int counts[N], places[N], bytes[N];
  MPI_Datatype types[N];
  MPI_Aint offsets[N];
  MPI_Request request;
  char region[64];
  for (int i = 0; i < N; i++) {
    counts[i] = i + 1, places[i] = 100 * i, bytes[i] = 4 * places[i];
    types[i] = MPI_INT, offsets[i] = bytes[i];
  }
#define FORM(form) snprintf(region, sizeof region, "%s " form, name), HALOSCOPE_REGION_BEGIN(region)
#define DONE HALOSCOPE_REGION_END(region)
  FORM("allgather"), MPI_Neighbor_allgather(buffer, 3, MPI_INT, other, 3, MPI_INT, comm), DONE;
  FORM("alltoall"), MPI_Neighbor_alltoall(buffer, 3, MPI_INT, other, 3, MPI_INT, comm), DONE;
  FORM("ialltoall");
  MPI_Ineighbor_alltoall(buffer, 3, MPI_INT, other, 3, MPI_INT, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE), DONE;
  if (strncmp(name, "grid", 4) == 0) return; // the blocks of unequal sizes would not match
  FORM("alltoallv");
  MPI_Neighbor_alltoallv(buffer, counts, places, MPI_INT, other, counts, places, MPI_INT, comm), DONE;
  FORM("alltoallw");
  MPI_Neighbor_alltoallw(buffer, counts, offsets, types, other, counts, offsets, types, comm), DONE;
#if MPI_VERSION >= 4 || defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5 // which states MPI 3
  FORM("alltoallv_init");
  MPI_Neighbor_alltoallv_init(buffer, counts, places, MPI_INT, other, counts, places, MPI_INT, comm,
                              MPI_INFO_NULL, &request);
  for (int i = 0; i < 2; i++) MPI_Start(&request), MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request), DONE;
#endif
}

int main(int argc, char **argv) {
  int sizes[2] = {2, 2}, open[2] = {0, 0}, index[4] = {1, 2, 3, 4}, edges[4] = {1, 0, 3, 2};
  MPI_Comm turned, grid, graph, star;
  start(&argc, &argv);
  CHECK(size == 4);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
  MPI_Cart_create(turned, 2, sizes, open, 0, &grid);
  MPI_Graph_create(turned, 4, index, edges, 0, &graph);
  // Each sends to the two above it, as `turned` calls them, and receives from the two below.
  int me = 3 - rank, to[2] = {(me + 1) % 4, (me + 2) % 4}, from[2] = {(me + 3) % 4, (me + 2) % 4};
  MPI_Dist_graph_create_adjacent(turned, 2, from, MPI_UNWEIGHTED, 2, to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &star);
  exchange("grid", grid);
  exchange("graph", graph);
  exchange("star", star);
  MPI_Finalize();
  return 0;
}
