// Memory that the program registers, so that the shm library handles its messages: registered [off]. Prints
// the number of these messages of this rank. With `off` the library handles none: every registration succeeds
// without effect.
#include <haloscope/shm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { bytes = 100003, before = 17 };
// Three adjacent arrays, which share pages with each other and with surrounding data.
static unsigned char all[before + 3 * bytes + 5000];
static unsigned char received[bytes];
static int rank, other, round_, off, carried;

static void fail(const char *what) {
  fprintf(stderr, "registered: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void expect(int error, int wanted, const char *what) {
  int class;
  MPI_Error_class(error, &class);
  if (class != (off ? MPI_SUCCESS : wanted)) fail(what);
}

static unsigned char value(int from, int step, int i) {
  return (unsigned char)(i * 7 + from * 31 + step * 3);
}

static void fill(unsigned char *data, int from, int step) {
  for (int i = 0; i < bytes; ++i) data[i] = value(from, step, i);
}

static void look(const unsigned char *data, int from, int step, const char *what) {
  for (int i = 0; i < bytes; ++i)
    if (data[i] != value(from, step, i)) fail(what);
}

static void post(unsigned char *data, MPI_Request *request) {
  fill(data, rank, ++round_);
  MPI_Isend(data, bytes, MPI_BYTE, other, 7, MPI_COMM_WORLD, request);
}

static void complete(unsigned char *data, unsigned char *into, MPI_Request *request) {
  MPI_Recv(into, bytes, MPI_BYTE, other, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(request, MPI_STATUS_IGNORE);
  look(into, other, round_, "received something else");
  look(data, rank, round_, "what was sent has changed");
}

// Memory that the shm library shares now.
static void write_to_free_memory(void) {
  unsigned char *block[20];
  for (int i = 0; i < 20; ++i) {
    MPI_Alloc_mem(bytes * (1 + i % 3), MPI_INFO_NULL, &block[i]);
    memset(block[i], 255, bytes * (size_t)(1 + i % 3));
  }
  for (int i = 0; i < 20; ++i) MPI_Free_mem(block[i]);
}

static void exchange(unsigned char *data, int counts) {
  MPI_Request request;
  for (int i = 0; i < 4; ++i) {
    post(data, &request);
    complete(data, received, &request);
    carried += counts;
  }
}

static void surroundings(const char *what) {
  for (int i = 0; i < before; ++i)
    if (all[i] != 100 + i) fail(what);
  for (size_t i = before + 3 * (size_t)bytes; i < sizeof all; ++i)
    if (all[i] != i % 251) fail(what);
}

static void in_a_child(unsigned char *data, unsigned char *private_one) {
  fill(data, rank, 1000);
  fill(private_one, rank, 1001);
  const pid_t child = fork();
  if (child == 0) {
    look(data, rank, 1000, "the child has something else");
    fill(data, rank, 1002);
    fill(private_one, rank, 1002);
    _exit(0);
  }
  int status = 1;
  if (waitpid(child, &status, 0) != child || status != 0) fail("the child");
  look(data, rank, 1000, "the child's writing is seen");
  look(private_one, rank, 1001, "the child's writing is seen where it was registered before");
}

static void odd_ones(void) {
  unsigned char here[bytes], *shared;
  expect(MPIX_Register_buf(here, bytes), MPI_ERR_ARG, "a stack is registered");
  shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  expect(MPIX_Register_buf(shared, bytes), MPI_ERR_ARG, "what is shared is registered");
  exchange(shared, 0);
  munmap(shared, bytes);
  expect(MPIX_Register_buf(shared, bytes), MPI_ERR_ARG, "what is not there is registered");
  MPI_Alloc_mem(bytes, MPI_INFO_NULL, &shared); // is handled without registration
  expect(MPIX_Register_buf(shared, bytes), MPI_SUCCESS, "MPI's own is not registered");
  exchange(shared, 1);
  expect(MPIX_Deregister_buf(shared), MPI_SUCCESS, "MPI's own is not deregistered");
  MPI_Free_mem(shared);
}

int main(int argc, char **argv) {
  unsigned char *a = all + before, *b = a + bytes, *c = b + bytes;
  MPI_Request request;
  off = argc > 1 && strcmp(argv[1], "off") == 0;
  if (MPIX_Register_buf(a, bytes) == MPI_SUCCESS) fail("registered before MPI_Init");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  other = 1 - rank;
  for (size_t i = 0; i < sizeof all; ++i) all[i] = i < before ? (unsigned char)(100 + i) : i % 251;

  if (MPIX_Register_buf(NULL, bytes) != MPI_ERR_ARG || MPIX_Register_buf(a, 0) != MPI_ERR_ARG)
    fail("nothing is registered");
  expect(MPIX_Deregister_buf(a), MPI_ERR_ARG, "what was not registered is deregistered");
  exchange(a, 0);
  expect(MPIX_Register_buf(a, bytes), MPI_SUCCESS, "not registered");
  look(a, rank, round_, "registering has changed it");
  expect(MPIX_Register_buf(a, bytes), MPI_ERR_ARG, "registered twice");
  expect(MPIX_Register_buf(a + 5, 5), MPI_ERR_ARG, "a part is registered");
  expect(MPIX_Register_buf(a - 5, 6), MPI_ERR_ARG, "an overlap is registered");
  expect(MPIX_Deregister_buf(a + 8), MPI_ERR_ARG, "a part is deregistered");
  exchange(a, 1);
  exchange(b, 0);
  expect(MPIX_Register_buf(c, bytes), MPI_SUCCESS, "the third is not registered");
  exchange(c, 1);
  surroundings("registering has changed what is around");

  // The pages move while messages from them are sent.
  post(c, &request);
  expect(MPIX_Register_buf(b, bytes), MPI_SUCCESS, "what shares its pages is not registered");
  write_to_free_memory();
  MPI_Barrier(MPI_COMM_WORLD);
  complete(c, received, &request);
  carried++;
  post(b, &request);
  expect(MPIX_Deregister_buf(b), MPI_SUCCESS, "not deregistered");
  write_to_free_memory();
  MPI_Barrier(MPI_COMM_WORLD);
  complete(b, received, &request);
  carried++;
  exchange(b, 0);
  exchange(a, 1);
  exchange(c, 1);
  in_a_child(a, b);
  exchange(a, 1);
  // Into registered memory.
  post(a, &request);
  complete(a, c, &request);
  carried++;

  expect(MPIX_Deregister_buf(c), MPI_SUCCESS, "the third is not deregistered");
  expect(MPIX_Deregister_buf(c), MPI_ERR_ARG, "deregistered twice");
  exchange(c, 0);
  exchange(a, 1);
  expect(MPIX_Deregister_buf(a), MPI_SUCCESS, "the first is not deregistered");
  exchange(a, 0);
  surroundings("deregistering has changed what is around");

  for (int i = 0; i < 20; ++i) {
    unsigned char *block = malloc(bytes + (size_t)i * 50000);
    expect(MPIX_Register_buf(block, bytes), MPI_SUCCESS, "a block is not registered");
    exchange(block, 1);
    expect(MPIX_Deregister_buf(block), MPI_SUCCESS, "a block is not deregistered");
    exchange(block, 0);
    free(block);
  }
  odd_ones();
  MPI_Finalize();
  printf("right %d\n", off ? 0 : carried);
  return 0;
}
