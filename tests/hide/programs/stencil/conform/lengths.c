/* Small messages whose lengths are those of the layer's tokens. After them it leaves more to MPI than before.
 */
#include "conform.h"

/* Alone and behind large ones; received exactly and with room. */
static void token_lengths(void) {
  for (int i = 0; i < 2 * 64; ++i) {
    const int bytes = 67 + 8 * (i % 64), more = i % 4 == 1 ? large + i : bytes + i % 3 - 1;
    if (rank == 0) {
      Pending ahead = giving(more, 1, 1, comm);
      give(bytes, 1, 1, comm);
      done(&ahead);
    } else if (rank == 1) {
      take(i % 4 == 1 ? large + 200 : 700, 0, i % 2 ? 1 : MPI_ANY_TAG, comm);
      take(i < 64 ? bytes : larger, 0, 1, comm);
    }
  }
}

/* Looked for between large ones under way. */
static void probed_lengths(void) {
  Pending out[128];
  for (int i = 0; i < 128 && rank == 0; ++i)
    out[i] = giving(i % 4 ? 67 + 8 * (i / 2) : large + i, 1, i % 3, comm);
  if (rank == 1) {
    MPI_Status status;
    for (int i = 0; i < 128; ++i) {
      MPI_Probe(MPI_ANY_SOURCE, i % 3, comm, &status);
      int count;
      MPI_Get_count(&status, MPI_BYTE, &count);
      take(count, 0, i % 3, comm);
    }
  }
  for (int i = 0; i < 128 && rank == 0; ++i) done(&out[i]);
}

const Case lengths[] = {{"token_lengths", token_lengths}, {"probed_lengths", probed_lengths}, {0}};
