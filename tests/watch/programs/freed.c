// The recorder is handed memory that is not the program's any more.
#include "common.h"

int main(int argc, char **argv) {
  char *volatile name = malloc(64);
  strcpy(name, "gone");
  start(&argc, &argv);
  free(name);
  HALOSCOPE_REGION_BEGIN(name);
  HALOSCOPE_REGION_END("gone");
  MPI_Finalize();
  return 0;
}
