// A forest of octrees with p4est, its ghosts exchanged three times, in one call and in two.
#include <p4est_bits.h>
#include <p4est_extended.h>
#include <p4est_ghost.h>

static int is_near_corner(p4est_t *forest, p4est_topidx_t tree, p4est_quadrant_t *quadrant) {
  (void)forest;
  (void)tree;
  return quadrant->level < 5 && quadrant->x == 0 && quadrant->y == 0;
}

int main(int argc, char **argv) {
  sc_MPI_Init(&argc, &argv);
  sc_init(sc_MPI_COMM_WORLD, 0, 0, NULL, SC_LP_SILENT);
  p4est_init(NULL, SC_LP_SILENT);
  p4est_connectivity_t *connectivity = p4est_connectivity_new_unitsquare();
  p4est_t *forest = p4est_new_ext(sc_MPI_COMM_WORLD, connectivity, 0, 3, 1, sizeof(double), NULL, NULL);
  p4est_refine(forest, 1, is_near_corner, NULL);
  p4est_balance(forest, P4EST_CONNECT_FULL, NULL);
  p4est_partition(forest, 0, NULL);
  p4est_ghost_t *ghost = p4est_ghost_new(forest, P4EST_CONNECT_FULL);
  double *values = P4EST_ALLOC(double, ghost->ghosts.elem_count);
  for (int i = 0; i < 2; i++) p4est_ghost_exchange_data(forest, ghost, values);
  p4est_ghost_exchange_data_end(p4est_ghost_exchange_data_begin(forest, ghost, values));
  P4EST_FREE(values);
  p4est_ghost_destroy(ghost);
  p4est_destroy(forest);
  p4est_connectivity_destroy(connectivity);
  sc_finalize();
  sc_MPI_Finalize();
  return 0;
}
