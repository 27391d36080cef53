// Messages of random lengths are received with random datatypes, in every way. The memory of a receive ends,
// or begins, at a page that cannot be accessed, exactly where the bytes end that arrive. Rank 1 prints each
// receive: its results, its status, and a sum of the memory around. Usage: short SEED ROUNDS
#define _GNU_SOURCE
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { most = 6000, tag = 3, largest = 80 * most };

static uint64_t state;
static MPI_Datatype part;
static int roll(int below) { // the same on both ranks
  state = state * 6364136223846793005U + 1442695040888963407U;
  return (int)((state >> 33) % (uint64_t)below);
}

// A datatype, and the places of its parts, integers or characters, in their order.
typedef struct {
  MPI_Datatype type;
  int count;
  MPI_Aint low, extent, places[most];
} Type;

static void refresh(Type *t) { MPI_Type_get_extent(t->type, &t->low, &t->extent); }

// Replaces t by `blocks` blocks of so many elements of it, at so many bytes; the type is made already.
static int repeat(Type *t, MPI_Datatype made, int blocks, const int *lengths, const MPI_Aint *at) {
  static MPI_Aint before[most];
  const int inner = t->count;
  memcpy(before, t->places, sizeof(MPI_Aint) * (size_t)inner);
  t->count = 0;
  for (int b = 0; b < blocks; b++)
    for (int e = 0; e < lengths[b]; e++)
      for (int i = 0; i < inner; i++) t->places[t->count++] = at[b] + e * t->extent + before[i];
  if (t->type != part) MPI_Type_free(&t->type);
  t->type = made;
  refresh(t);
  return t->count;
}

// One more constructor around a type. Elements never overlap.
static void wrap(Type *t, int kind) {
  enum { few = 1500 };
  static int lengths[few], at[few];
  static MPI_Aint bytes[few];
  static MPI_Datatype types[few];
  const int room = most / t->count;
  if (room < 2) return;
  int blocks = 1 + roll(room < few ? room : few) / (roll(4) ? 8 : 1), total = 0;
  if (blocks > room / 2) blocks = room / 2;
  MPI_Datatype made;
  const int uniform = 1 + roll(room / blocks < 4 ? room / blocks : 4);
  int place = roll(3) - 1;
  for (int i = 0; i < blocks; i++) {
    lengths[i] = kind == 2 || kind == 3 ? uniform : 1 + roll(3);
    if (total + lengths[i] > room) lengths[i] = room - total;
    if (lengths[i] <= 0) {
      blocks = i;
      break;
    }
    total += lengths[i];
    at[i] = place;
    bytes[i] = at[i] * t->extent;
    types[i] = t->type;
    place += lengths[i] + (kind == 3 ? 2 : roll(3));
  }
  if (blocks == 0) return;
  if (kind == 3) lengths[blocks - 1] = uniform;
  if (kind == 0) MPI_Type_indexed(blocks, lengths, at, t->type, &made);
  if (kind == 1) MPI_Type_create_hindexed(blocks, lengths, bytes, t->type, &made);
  if (kind == 2) MPI_Type_create_indexed_block(blocks, uniform, at, t->type, &made);
  if (kind == 3) {
    for (int i = 0; i < blocks; i++) {
      lengths[i] = uniform;
      bytes[i] = (MPI_Aint)i * (uniform + 2) * t->extent;
    }
    MPI_Type_vector(blocks, uniform, uniform + 2, t->type, &made);
  }
  if (kind == 4) MPI_Type_create_struct(blocks, lengths, bytes, types, &made);
  if (kind == 5 || kind == 6) { // a row of a subarray, or of an array that is distributed
    const int sizes[2] = {3, 8}, parts[2] = {2, 3}, starts[2] = {1, 2},
              ways[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC},
              widths[2] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, grid[2] = {1, 2};
    if (room < 24) return;
    blocks = 0;
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 8; j++) {
        const int in = kind == 5 ? i >= 1 && j >= 2 && j < 5 : j / 2 % 2 == 1;
        if (in) bytes[blocks++] = (i * 8 + j) * t->extent;
      }
    for (int i = 0; i < blocks; i++) lengths[i] = 1;
    if (kind == 5) MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, t->type, &made);
    if (kind == 6) MPI_Type_create_darray(2, 1, 2, sizes, ways, widths, grid, MPI_ORDER_C, t->type, &made);
  }
  for (int i = 0; i < blocks && (kind == 0 || kind == 2); i++) {
    if (kind == 2) lengths[i] = uniform;
    bytes[i] = at[i] * t->extent;
  }
  repeat(t, made, blocks, lengths, bytes);
}

static void resize(Type *t) {
  MPI_Aint low, extent;
  MPI_Datatype made;
  MPI_Type_get_true_extent(t->type, &low, &extent);
  const MPI_Aint more = 4 * roll(5); // integers stay aligned
  MPI_Type_create_resized(t->type, low - more, extent + more + 4 * roll(3), &made);
  if (t->type != part) MPI_Type_free(&t->type);
  t->type = made;
  refresh(t);
}

static void make(Type *t) {
  part = roll(3) ? MPI_INT : MPI_CHAR;
  t->type = part;
  t->count = 1;
  t->places[0] = 0;
  refresh(t);
  for (int depth = 1 + roll(3); depth > 0; depth--) {
    wrap(t, roll(7));
    if (roll(3) == 0) resize(t);
  }
  if (t->type != part) MPI_Type_commit(&t->type);
}

// The bytes of the first `length` parts of elements one after the other.
static void reach(const Type *t, int length, int unit, MPI_Aint *first, MPI_Aint *last) {
  *first = PTRDIFF_MAX;
  *last = PTRDIFF_MIN;
  for (int i = 0; i < length; i++) {
    const MPI_Aint at = t->places[i % t->count] + i / t->count * t->extent;
    if (at < *first) *first = at;
    if (at + unit > *last) *last = at + unit;
  }
}

static void complete(int way, MPI_Request *request, int *result, MPI_Status *status, int *flag) {
  MPI_Request two[2] = {MPI_REQUEST_NULL, *request};
  MPI_Status both[2] = {0};
  int index = -1, done = 0, indices[2];
  *flag = 0;
  if (way == 0) *result = MPI_Wait(two + 1, both + 1);
  while (way == 1 && *flag == 0) *result = MPI_Test(two + 1, flag, both + 1);
  if (way == 2) *result = MPI_Waitall(2, two, both);
  while (way == 3 && *flag == 0) *result = MPI_Testall(2, two, flag, both);
  if (way == 4) *result = MPI_Waitany(2, two, &index, both + 1);
  while (way == 5 && *flag == 0) *result = MPI_Testany(2, two, &index, flag, both + 1);
  if (way == 6) *result = MPI_Waitsome(2, two, &done, indices, both + 1);
  while (way == 7 && done == 0) *result = MPI_Testsome(2, two, &done, indices, both + 1);
  while (way == 8 && *flag == 0) *result = MPI_Request_get_status(two[1], flag, both + 1);
  if (way == 8) { // MPICH 5 has the status of a persistent request only once
    *result = MPI_Wait(two + 1, both);
    if (both->MPI_TAG == tag) both[1] = both[0];
  }
  if (way == 9) *result = MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
  *flag = way == 4 || way == 5 ? index : way == 6 || way == 7 ? 10 * done + indices[0] : *flag;
  *request = two[1];
  *status = both[1];
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  state = argc > 1 ? strtoull(argv[1], NULL, 10) * 977 + 1 : 1;
  const int rounds = argc > 2 ? atoi(argv[2]) : 100;
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  int *data;
  MPI_Alloc_mem(2 * largest, MPI_INFO_NULL, &data);
  static Type t;
  for (int round = 0; round < rounds; round++) {
    make(&t);
    const int elements = 1 + roll(3), room = t.count * elements;
    int length = roll(4) == 0 ? room : roll(3) == 0 ? roll(room < 150 ? room : 150) + 1 : 1 + roll(room);
    const int unit = part == MPI_INT ? 4 : 1,
              token = 67 + 8 * roll(64); // as long as the shm library's own messages
    const int below = roll(2), how = roll(7), bottom = roll(4) == 0, way = roll(10), pattern = roll(250);
    if (roll(12) == 0)
      length = room + 1 + roll(2 * room); // too long
    else if (unit == 1 && room >= token && roll(2))
      length = token;
    MPI_Aint first, last;
    int style = roll(4);
    if (style == 2 && roll(2) && length > 128) length = length / 128 * 128;
    if (style == 3) { // the same datatype
      const int whole = length <= t.count ? t.count : room;
      reach(&t, whole, unit, &first, &last);
      if (last - first <= largest)
        length = whole;
      else
        style = 0;
    }
    const int replies = how == 6 && roll(2);
    if (rank == 0) {
      MPI_Request reply = MPI_REQUEST_NULL;
      if (replies) MPI_Irecv(data + largest / 4, room, part, 1, 2, MPI_COMM_WORLD, &reply);
      for (int i = 0; i < largest / 4; i++) data[i] = round * 7919 + i;
      MPI_Ssend(data, 0, MPI_INT, 1, 1, MPI_COMM_WORLD);
      if (style < 2) {
        MPI_Send(data, length, part, 1, tag, MPI_COMM_WORLD);
      } else if (style == 2) { // blocks of one part, or of many
        MPI_Datatype gaps;
        const int block = length % 128 ? 1 : 128;
        MPI_Type_vector(length / block, block, 2 * block, part, &gaps);
        MPI_Type_commit(&gaps);
        MPI_Send(data, 1, gaps, 1, tag, MPI_COMM_WORLD);
        MPI_Type_free(&gaps);
      } else {
        reach(&t, length, unit, &first, &last);
        MPI_Send((char *)data - first, length / t.count, t.type, 1, tag, MPI_COMM_WORLD);
      }
      MPI_Wait(&reply, MPI_STATUS_IGNORE);
    } else {
      // The memory that the message needs, and where it is in pages of which the neighbours are closed.
      reach(&t, length < room && !replies ? length : room, unit, &first, &last);
      const size_t inside = ((size_t)(last - first) + page - 1) / page * page;
      char *memory =
          mmap(NULL, inside + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      memset(memory, pattern, inside + 2 * page);
      char *begin = below ? memory + page : memory + page + inside - (last - first), *buffer = begin - first;
      mprotect(memory, page, PROT_NONE);
      mprotect(memory + page + inside, page, PROT_NONE);
      MPI_Datatype type = t.type, moved = MPI_DATATYPE_NULL;
      int count = elements;
      if (bottom) {
        const MPI_Aint address = (MPI_Aint)buffer;
        MPI_Type_create_hindexed(1, &count, &address, t.type, &moved);
        MPI_Type_commit(&moved);
        type = moved;
        buffer = MPI_BOTTOM;
        count = 1;
      }
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Status status = {0};
      MPI_Message message;
      int result = 0, flag = 0, probed = 0, parts = -2, whole = -2;
      if (how == 0) {
        MPI_Irecv(buffer, count, type, 0, tag, MPI_COMM_WORLD, &request);
      } else if (how == 1) {
        MPI_Recv_init(buffer, count, type, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
      }
      MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (how == 1) MPI_Start(&request);
      if (how < 2) complete(way, &request, &result, &status, &flag);
      if (how == 2) result = MPI_Recv(buffer, count, type, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
      if (how == 3) {
        MPI_Mprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &message, &status);
        MPI_Get_count(&status, MPI_BYTE, &probed);
        result = MPI_Mrecv(buffer, count, type, &message, &status);
      }
      if (how == 4)
        result = MPI_Sendrecv(data, 1, MPI_INT, MPI_PROC_NULL, 0, buffer, count, type, 0, MPI_ANY_TAG,
                              MPI_COMM_WORLD, &status);
      if (how == 6)
        result = MPI_Sendrecv_replace(buffer, count, type, replies ? 0 : MPI_PROC_NULL, 2, 0, tag,
                                      MPI_COMM_WORLD, &status);
      if (how == 5) {
        MPI_Probe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &probed);
        result = MPI_Recv(buffer, count, type, 0, status.MPI_TAG, MPI_COMM_WORLD, &status);
      }
      if (how == 1 && length > room)
        result = 0; // Open MPI reports it in some calls, and frees the request
      else if (how == 1)
        printf(request == MPI_REQUEST_NULL ? "gone " : "");
      if (how == 1) MPI_Request_free(&request);
      if (how > 1 || way != 9) MPI_Get_elements(&status, part, &parts);
      if (how > 1 || way != 9) MPI_Get_count(&status, t.type, &whole);
      if (result != MPI_SUCCESS) MPI_Error_class(result, &result);
      uint64_t sum = 0;
      for (size_t i = 0; i < inside; i++) sum = sum * 31 + (unsigned char)memory[page + i];
      if (length > room) status = (MPI_Status){0}, parts = whole = 0, sum = 0; // not defined
      printf("%d: %d of %d, %d %d %d: result %d flag %d probed %d, %d parts, %d elements, from %d tag %d, "
             "%016llx\n",
             round, length, room, how, way, bottom, result, flag, probed, parts, whole, status.MPI_SOURCE,
             status.MPI_TAG, (unsigned long long)sum);
      fflush(stdout);
      munmap(memory, inside + 2 * page);
      if (bottom) MPI_Type_free(&moved);
    }
    if (t.type != part) MPI_Type_free(&t.type);
  }
  MPI_Free_mem(data);
  MPI_Finalize();
  return 0;
}
