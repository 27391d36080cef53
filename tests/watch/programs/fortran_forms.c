// Calls Fortran's functions once each, by each of their names, on two ranks. tests/support/fortran_calls.py
// writes the calls in place of the line "CALLS". Each is in a region that is called like its form. Prints the
// calls that fail.
#include <haloscope/region.h>
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifdef DESCRIPTORS
#include <ISO_Fortran_binding.h>
#endif

static int buffer[256], other[256], sink[256], from[256], error;
static int ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
static int64_t large_ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
static int64_t zeros[8], results[16][16];
static MPI_Status status[8];
static char path[] = "fortran_forms.0";

static MPI_Comm comm, cart; // of this rank, which is its own neighbor
static MPI_Win win, idle;
static MPI_File file;
static MPI_Group group;
static MPI_Request made, request, sink_request;
static MPI_Message message;
static MPI_Fint f_cart, f_comm, f_self, f_world, f_win, f_idle, f_file, f_group, f_types[8], f_sum, f_no_info,
    f_shared, f_lock;
static MPI_Fint f_mode = MPI_MODE_RDWR | MPI_MODE_CREATE, f_unused, f_return;
static MPI_Fint f_me, f_made, f_request, f_message, f_made_comm, f_made_win, f_made_file, f_made_type,
    f_made_group;

// A message of this rank to itself.
static void expect(void) { PMPI_Irecv(sink, 1, MPI_INT, 0, 0, comm, &sink_request); }
static void receive(void) { PMPI_Wait(&sink_request, MPI_STATUS_IGNORE); }
static void send(void) { PMPI_Isend(from, 1, MPI_INT, 0, 0, comm, &sink_request); }
static void sent(void) { PMPI_Wait(&sink_request, MPI_STATUS_IGNORE); }
static void take(void) { PMPI_Recv(sink, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE); }
static void match(void) {
  PMPI_Mprobe(0, 0, comm, &message, MPI_STATUS_IGNORE);
  f_message = PMPI_Message_c2f(message);
}
static void take_matched(void) {
  message = PMPI_Message_f2c(f_message);
  PMPI_Mrecv(sink, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
}
// Until MPI_Improbe finds it.
static void arrive(void) {
  for (int there = 0; !there;) PMPI_Iprobe(0, 0, comm, &there, MPI_STATUS_IGNORE);
}
#define MESSAGE_THERE arrive();
#define WAIT wait_for_made();
static void wait_for_made(void) { PMPI_Wait(&made, MPI_STATUS_IGNORE); }
static void persistent(void) {
  PMPI_Send_init(sink, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &request);
  f_request = PMPI_Request_c2f(request);
}
static void endless(void) {
  PMPI_Irecv(sink, 1, MPI_INT, 0, 99, comm, &request);
  f_request = PMPI_Request_c2f(request);
}
#if MPI_VERSION >= 4
static MPI_Request partitions;
static void partitioned(void) {
  PMPI_Psend_init(from, 1, 1, MPI_INT, 0, 0, comm, MPI_INFO_NULL, &partitions);
  PMPI_Precv_init(sink, 1, 1, MPI_INT, 0, 0, comm, MPI_INFO_NULL, &request);
  PMPI_Start(&partitions), PMPI_Start(&request);
  PMPI_Pready(0, partitions);
  f_request = PMPI_Request_c2f(request);
}
static void depart(void) {
  PMPI_Wait(&partitions, MPI_STATUS_IGNORE);
  PMPI_Request_free(&partitions);
}
#endif
static void finish(int frees) {
  request = PMPI_Request_f2c(f_request);
  PMPI_Wait(&request, MPI_STATUS_IGNORE);
  if (frees) PMPI_Request_free(&request);
  f_request = PMPI_Request_c2f(MPI_REQUEST_NULL);
}
static void expose(void) { PMPI_Win_post(group, 0, idle); }
static void begin_access(void) { PMPI_Win_start(group, 0, idle); }
static void end_access(void) { PMPI_Win_complete(idle); }

static void free_made(void) {
  MPI_Comm one = PMPI_Comm_f2c(f_made_comm);
  if (one != MPI_COMM_NULL) PMPI_Comm_free(&one);
}
static MPI_Fint *fresh_comm(void) {
  MPI_Comm copy;
  PMPI_Comm_dup(comm, &copy);
  f_made_comm = PMPI_Comm_c2f(copy);
  return &f_made_comm;
}
static void free_made_win(void) {
  MPI_Win one = PMPI_Win_f2c(f_made_win);
  PMPI_Win_free(&one);
}
static MPI_Fint *fresh_win(void) {
  MPI_Win one;
  PMPI_Win_create(sink, sizeof sink, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &one);
  f_made_win = PMPI_Win_c2f(one);
  return &f_made_win;
}
static MPI_Fint *fresh_type(void) {
  MPI_Datatype one;
  PMPI_Type_contiguous(2, MPI_INT, &one);
  f_made_type = PMPI_Type_c2f(one);
  return &f_made_type;
}
static MPI_Fint *fresh_file(void) {
  MPI_File one;
  PMPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &one);
  f_made_file = PMPI_File_c2f(one);
  return &f_made_file;
}

static void open_again(void) {
  PMPI_File_close(&file);
  PMPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
  f_file = PMPI_File_c2f(file);
}

// Memory that the library hands out, perhaps from a pool of its own.
enum { bytes = 8192 };
static int64_t f_bytes = bytes;
static int *memory;
static int *fresh_memory(void) {
  MPI_Alloc_mem(bytes, MPI_INFO_NULL, &memory);
  return memory;
}
static void use_memory(int64_t address) {
  memory = (int *)address;
  memset(memory, 1, bytes);
  MPI_Free_mem(memory);
}

#ifdef DESCRIPTORS
static CFI_cdesc_t *described(int *memory) {
  static CFI_CDESC_T(1) descriptors[2];
  const CFI_index_t extent[] = {256};
  CFI_cdesc_t *one = (CFI_cdesc_t *)&descriptors[memory == other];
  CFI_establish(one, memory, CFI_attribute_other, CFI_type_int, 0, 1, extent);
  return one;
}
#endif

static void begin(const char *form) {
  error = 0;
  f_made = PMPI_Request_c2f(MPI_REQUEST_NULL);
  HALOSCOPE_REGION_BEGIN(form);
}
static void end(const char *form, const char *symbol) {
  HALOSCOPE_REGION_END(form);
  if (error != MPI_SUCCESS) {
    char text[MPI_MAX_ERROR_STRING];
    int length;
    PMPI_Error_string(error, text, &length);
    printf("%s fails: %s\n", symbol, text);
  }
  made = PMPI_Request_f2c(f_made);
}

CALLS

int main(int argc, char **argv) {
  const int size = 1, periodic = 1, me = 0;
  static char attached[1 << 16], zeroes[1 << 16];
  MPI_Init(&argc, &argv);
  PMPI_Comm_rank(MPI_COMM_WORLD, &f_me);
  path[sizeof path - 2] += f_me;
  PMPI_Cart_create(MPI_COMM_SELF, 1, &size, &periodic, 0, &cart);
  PMPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 1, &me, MPI_UNWEIGHTED, 1, &me, MPI_UNWEIGHTED,
                                  MPI_INFO_NULL, 0, &comm);
  PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  PMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  PMPI_Comm_group(comm, &group);
  PMPI_Buffer_attach(attached, sizeof attached);
  PMPI_Win_create(sink, sizeof sink, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  PMPI_Win_create(sink, sizeof sink, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &idle);
  PMPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  PMPI_Win_set_errhandler(idle, MPI_ERRORS_RETURN);
  PMPI_Win_lock_all(0, win);
  PMPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
  PMPI_File_write_at(file, 0, zeroes, sizeof zeroes, MPI_BYTE,
                     MPI_STATUS_IGNORE); // Open MPI 4 waits forever at a file's end
  f_comm = PMPI_Comm_c2f(comm), f_cart = PMPI_Comm_c2f(cart), f_self = PMPI_Comm_c2f(MPI_COMM_SELF);
  f_world = PMPI_Comm_c2f(MPI_COMM_WORLD), f_return = PMPI_Errhandler_c2f(MPI_ERRORS_RETURN);
  f_win = PMPI_Win_c2f(win), f_idle = PMPI_Win_c2f(idle), f_file = PMPI_File_c2f(file);
  f_group = PMPI_Group_c2f(group), f_sum = PMPI_Op_c2f(MPI_SUM), f_no_info = PMPI_Info_c2f(MPI_INFO_NULL);
  f_shared = MPI_COMM_TYPE_SHARED, f_lock = MPI_LOCK_SHARED;
  f_request = f_made = PMPI_Request_c2f(MPI_REQUEST_NULL);
  for (int i = 0; i < 8; i++) f_types[i] = PMPI_Type_c2f(MPI_INT);
  call_all();
  // A rank that ends its epochs needs the others, and MPICH does not help it in MPI_Finalize.
  PMPI_Barrier(MPI_COMM_WORLD);
  unlink(path);
  puts("called");
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
