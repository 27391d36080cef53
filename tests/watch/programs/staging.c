// A GPU's data that are copied to the host: to be sent from there (staged), to stay there (kept), or not at
// all (direct).
#include "common.h"

#include <stdint.h>
#include <stdlib.h>

void *fake_allocate(int kind, size_t bytes);
int cuMemcpyDtoH_v2(void *to, uintptr_t from, size_t bytes);

enum { bytes = 1 << 20, times = 3, on_device = 2 };

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char *device = fake_allocate(on_device, bytes), *host = malloc(2 * bytes);
  memset(device, 1, bytes);
  memset(host, 1, 2 * bytes);
  char *out = strcmp(argv[1], "staged") == 0 ? host : strcmp(argv[1], "kept") == 0 ? host + bytes : device;
  HALOSCOPE_COMM_REGION_BEGIN("exchange");
  for (int i = 0; i < times; i++) {
    if (out != device) cuMemcpyDtoH_v2(host, (uintptr_t)device, bytes);
    MPI_Sendrecv(out, 8, MPI_BYTE, (rank + 1) % ranks, 0, host + bytes + 4096, 8, MPI_BYTE,
                 (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  HALOSCOPE_COMM_REGION_END("exchange");
  MPI_Finalize();
  return 0;
}
