// What a program may call its regions, its communicators and its run: separators, quotes, lines, and bytes
// that are no UTF-8.
#include <haloscope/region.h>
#include <mpi.h>

int main(int argc, char **argv) {
  static const char *const names[] = {"a,b",
                                      "quo\"te's",
                                      "new\nline",
                                      "tab\tand;",
                                      "gr\xf6\xdf"
                                      "e",
                                      "\xff"};
  int rank, size, value = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm ring;
  MPI_Comm_dup(MPI_COMM_WORLD, &ring);
  MPI_Comm_set_name(ring, "r,\"i\"\nn\xe9");
  HALOSCOPE_METADATA("a,b=\"c\"", "1,5 \"mm\"\nand more");
  HALOSCOPE_METADATA("gr\xf6\xdf"
                     "e",
                     "\xff\xfe");
  for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
    HALOSCOPE_REGION_BEGIN(names[i]);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &value, 1, MPI_INT, (rank + size - 1) % size, 0,
                 ring, MPI_STATUS_IGNORE);
    HALOSCOPE_REGION_END(names[i]);
  }
  MPI_Comm_free(&ring);
  MPI_Finalize();
  return 0;
}
