// Messages and collectives with buffers in all kinds of memory; what each region does is in test_gpu.py.
#include "common.h"

#include <stdint.h>
#include <stdlib.h>

void *fake_allocate(int kind, size_t bytes);
void fake_free(void *address);
long fake_queries(void);
long fake_checks(void);
#if defined(WITH_LEVEL_ZERO)
int zeContextCreate(void *driver, const void *description, void **context);
#elif defined(WITH_HIP)
int hipMemcpy(void *to, const void *from, size_t bytes, int kind);
#define TO_HOST(to, from, bytes) hipMemcpy(to, from, bytes, 2)
#define TO_DEVICE(to, from, bytes) hipMemcpy(to, from, bytes, 4) // by the addresses
#else
int cuMemcpyDtoH_v2(void *to, uintptr_t from, size_t bytes);
int cuMemcpyHtoD_v2(uintptr_t to, const void *from, size_t bytes);
#define TO_HOST(to, from, bytes) cuMemcpyDtoH_v2(to, (uintptr_t)(from), bytes)
#define TO_DEVICE(to, from, bytes) cuMemcpyHtoD_v2((uintptr_t)(to), from, bytes)
#endif

enum { room = 1 << 16, own_host = 0, on_device = 2, is_managed = 3 };
static int rank, ranks, to, from;

static void ring(int *out, int *in, int count, int times) {
  for (int i = 0; i < times; i++) {
    MPI_Request requests[2];
    MPI_Irecv(in, count, MPI_INT, from, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, count, MPI_INT, to, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
}

static void messages(int *host, int *device, int *managed) {
  HALOSCOPE_COMM_REGION_BEGIN("messages");
  ring(host, host + 1000, 10, 3);
  ring(device, device + 1000, 10, 4); // as many elements, other memory
  ring(managed, managed + 1000, 10, 5);
  ring(host, host + 1000, 10, 3);
  ring(device, device + 1000, 3000, 2); // large
  HALOSCOPE_COMM_REGION_END("messages");
  HALOSCOPE_COMM_REGION_BEGIN("blocking");
  for (int i = 0; i < 3; i++) {
    if (rank % 2 == 0) MPI_Send(device, 7, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
    if (rank % 2 == 1) MPI_Recv(managed, 7, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  // Sent from the host, received on the device.
  MPI_Sendrecv(host, 9, MPI_INT, to, 0, device, 9, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  HALOSCOPE_COMM_REGION_END("blocking");
  HALOSCOPE_COMM_REGION_BEGIN("persistent");
  MPI_Request requests[2];
  MPI_Send_init(device, 11, MPI_INT, to, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(host, 11, MPI_INT, from, 0, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < 3; i++) {
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  for (int i = 0; i < 2; i++) MPI_Request_free(&requests[i]);
  HALOSCOPE_COMM_REGION_END("persistent");
}

static void collectives(int *host, int *device, int *managed) {
  int small = rank, sum;
  HALOSCOPE_COMM_REGION_BEGIN("collectives");
  MPI_Allreduce(MPI_IN_PLACE, device, 5, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(&small, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Bcast(managed, 6, MPI_INT, 0, MPI_COMM_WORLD);
  // The send buffer counts only at the root, where it is on the device. Elsewhere the receive buffer counts.
  MPI_Scatter(device, 8, MPI_INT, host, 8, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Alltoall(device, 3, MPI_INT, managed, 3, MPI_INT, MPI_COMM_WORLD);
  MPI_Request request;
  MPI_Iallreduce(MPI_IN_PLACE, managed, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  HALOSCOPE_COMM_REGION_END("collectives");
}

static void derived(int *device) {
  MPI_Aint place;
  const int length = 20;
  MPI_Datatype absolute, behind;
  MPI_Get_address(device, &place);
  MPI_Type_create_hindexed(1, &length, &place, MPI_INT, &absolute);
  const MPI_Aint offset = -(MPI_Aint)(room + 4096); // the address is nobody's: what is sent begins before it
  MPI_Type_create_hindexed(1, &length, &offset, MPI_INT, &behind);
  MPI_Type_commit(&absolute);
  MPI_Type_commit(&behind);
  HALOSCOPE_COMM_REGION_BEGIN("derived");
  MPI_Request requests[2];
  MPI_Irecv(device + 1000, 20, MPI_INT, from, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(MPI_BOTTOM, 1, absolute, to, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Irecv(device + 1000, 20, MPI_INT, from, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend((char *)device + room + 4096, 1, behind, to, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  HALOSCOPE_COMM_REGION_END("derived");
  MPI_Type_free(&absolute);
  MPI_Type_free(&behind);
}

// One address after the other a device's, a managed one and the host's.
static void used_again(void) {
  HALOSCOPE_COMM_REGION_BEGIN("again");
  for (int i = 0; i < 3; i++) {
    int *first = fake_allocate(on_device, room);
    ring(first, first + 1000, 13, 2);
    fake_free(first);
    int *second = fake_allocate(is_managed, room);
    ring(second, second + 1000, 13, 3);
    fake_free(second);
    if (first != second) abort();
    ring(second, second + 1000, 13, 1);
  }
  HALOSCOPE_COMM_REGION_END("again");
}

static void many(void) {
  enum { count = 24 };
  int *buffers[count];
  for (int i = 0; i < count; i++) buffers[i] = fake_allocate(i % 2 == 0 ? on_device : is_managed, room);
  HALOSCOPE_COMM_REGION_BEGIN("many");
  for (int turn = 0; turn < 2; turn++)
    for (int i = 0; i < count; i++) ring(buffers[i], buffers[i] + 1000, 2, 1);
  HALOSCOPE_COMM_REGION_END("many");
  for (int i = 0; i < count; i++) fake_free(buffers[i]);
}

static void staged(int *host, int *device) {
#if defined(TO_HOST)
  HALOSCOPE_COMM_REGION_BEGIN("staged");
  for (int i = 0; i < 5; i++) {
    TO_HOST(host, device, 400);
    ring(host, host + 1000, 100, 1);
    TO_DEVICE(device, host + 1000, 400);
  }
  HALOSCOPE_COMM_REGION_END("staged");
  HALOSCOPE_COMM_REGION_BEGIN("copied"); // and not sent
  TO_HOST(host + 8000, device, 800);
  ring(host, host + 1000, 100, 1);
  HALOSCOPE_COMM_REGION_END("copied");
#else
  (void)host, (void)device;
#endif
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  to = (rank + 1) % ranks;
  from = (rank + ranks - 1) % ranks;
#if defined(WITH_LEVEL_ZERO)
  void *context;
  zeContextCreate(NULL, NULL, &context);
#endif
  int *host = malloc(room), *device = fake_allocate(on_device, room),
      *managed = fake_allocate(is_managed, room);
  memset(host, 0, room);
  messages(host, device, managed);
  collectives(host, device, managed);
  derived(device);
  used_again();
  many();
  staged(host, device);
  const long before = fake_queries(), checks = fake_checks();
  HALOSCOPE_COMM_REGION_BEGIN("steady");
  ring(device, device + 1000, 10, 500);
  HALOSCOPE_COMM_REGION_END("steady");
  if (rank == 0) printf("asked %ld %ld\n", fake_queries() - before, fake_checks() - checks);
  MPI_Finalize();
  return 0;
}
