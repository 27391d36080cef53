/* Exchanges of random types of all kinds that have holes: typed SEED EXCHANGES. Two ranks draw the same plan;
 * sender and receiver have different types of the same elements. Prints a checksum of all received bytes
 * including holes, and the number of exchanges in which MPI_Pack gives different results at both ends. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { least = 1200, most = 1 << 17, kinds = 10 };

static uint64_t state;
static int rank;

static int pick(int below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)(((state >> 33) * (uint64_t)below) >> 31);
}

static MPI_Aint upper(MPI_Datatype type) {
  MPI_Aint low, extent;
  MPI_Type_get_true_extent(type, &low, &extent);
  return low + extent;
}

/* Resizes a type so that adjacent elements do not overlap. */
static MPI_Datatype apart(MPI_Datatype type) {
  MPI_Datatype made;
  MPI_Aint low, extent;
  MPI_Type_get_true_extent(type, &low, &extent);
  MPI_Type_create_resized(type, 0, upper(type) - (low < 0 ? low : 0) + pick(3) * 8, &made);
  MPI_Type_free(&type);
  return made;
}

static MPI_Datatype listed(MPI_Datatype inner, int kind) {
  MPI_Datatype made;
  int lengths[6], places[6], at = pick(3);
  MPI_Aint addresses[6];
  const int count = 1 + pick(6), step = 4 + pick(3), regular = pick(2), length = 1 + pick(3);
  MPI_Aint low, extent;
  MPI_Type_get_extent(inner, &low, &extent);
  for (int i = 0; i < count; ++i) {
    lengths[i] = regular ? length : 1 + pick(3);
    places[i] = at, addresses[i] = at * extent;
    at += regular ? step : 3 + pick(4);
  }
  if (kind == 0) MPI_Type_indexed(count, lengths, places, inner, &made);
  if (kind == 1) MPI_Type_create_hindexed(count, lengths, addresses, inner, &made);
  if (kind == 2) MPI_Type_create_indexed_block(count, length, places, inner, &made);
  if (kind == 3) MPI_Type_create_hindexed_block(count, length, addresses, inner, &made);
  return made;
}

static MPI_Datatype grow(MPI_Datatype inner) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Aint low, extent;
  MPI_Type_get_extent(inner, &low, &extent);
  const int kind = pick(kinds), length = 1 + pick(5), count = 1 + pick(9);
  if (kind == 0) MPI_Type_contiguous(count, inner, &made);
  if (kind == 1) MPI_Type_vector(count, length, length + pick(4), inner, &made);
  if (kind == 2)
    MPI_Type_create_hvector(count, length, (length + pick(4)) * extent + 8 * pick(2), inner, &made);
  if (kind == 3) MPI_Type_create_hvector(count, length, -(length + pick(4)) * extent, inner, &made);
  if (kind == 4) {
    int whole[3], part[3], first[3];
    const int dimensions = 1 + pick(3);
    for (int i = 0; i < dimensions; ++i)
      part[i] = 1 + pick(5), first[i] = pick(3), whole[i] = part[i] + first[i] + pick(3);
    MPI_Type_create_subarray(dimensions, whole, part, first, pick(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, inner,
                             &made);
  }
  if (kind >= 5 && kind < 9) made = listed(inner, kind - 5);
  if (kind == 9) {
    const int lengths[] = {1, 2};
    const MPI_Aint places[] = {0, extent + 8};
    const MPI_Datatype parts[] = {inner, inner};
    MPI_Type_create_struct(2, lengths, places, parts, &made);
  }
  return apart(made);
}

typedef struct {
  MPI_Datatype type;
  int count;
  unsigned char *memory, *buffer;
  size_t bytes; /* of the memory */
  int shared;
} End;

static MPI_Datatype some_type(MPI_Datatype base) {
  MPI_Datatype type;
  MPI_Aint low, extent;
  for (;;) {
    MPI_Type_dup(base, &type);
    for (int depth = pick(4); depth > 0; --depth) {
      MPI_Datatype inner = type;
      type = grow(inner);
      MPI_Type_free(&inner);
    }
    MPI_Type_get_extent(type, &low, &extent);
    if (extent <= most) break;
    MPI_Type_free(&type);
  }
  MPI_Type_commit(&type);
  return type;
}

/* A type and buffer of `size` bytes or more, or of any size. */
static End end_of(MPI_Datatype base, int size) {
  End end = {.type = some_type(base), .shared = pick(2)};
  MPI_Aint low, extent, true_low, true_extent;
  int one;
  MPI_Type_size(end.type, &one);
  end.count = size ? (size + one - 1) / one + pick(3) : 1 + (least + pick(pick(4) ? 9000 : most)) / one;
  MPI_Type_get_extent(end.type, &low, &extent);
  MPI_Type_get_true_extent(end.type, &true_low, &true_extent);
  const MPI_Aint begin = true_low < 0 ? true_low : 0;
  end.bytes = (size_t)(extent * end.count + true_extent - begin) + 64;
  if (end.shared)
    MPI_Alloc_mem((MPI_Aint)end.bytes, MPI_INFO_NULL, &end.memory);
  else
    end.memory = malloc(end.bytes);
  end.buffer = end.memory - begin;
  return end;
}

static void release(End *end) {
  if (end->shared)
    MPI_Free_mem(end->memory);
  else
    free(end->memory);
  MPI_Type_free(&end->type);
}

static uint64_t checksum(const End *end) {
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < end->bytes; ++i) hash = (hash ^ end->memory[i]) * 1099511628211u;
  return hash;
}

static void fill(const End *end, int number) {
  for (size_t i = 0; i < end->bytes; ++i) end->memory[i] = (unsigned char)(i * 7 + i / 251 + (size_t)number);
}

static unsigned char *packed(const End *end) {
  int size, position = 0;
  MPI_Pack_size(end->count, end->type, MPI_COMM_SELF, &size);
  unsigned char *made = calloc(1, (size_t)size + 1);
  MPI_Pack(end->buffer, end->count, end->type, made, size, &position, MPI_COMM_SELF);
  return made;
}

/* Whether the received data differ from those that the other rank sent by the same plan. */
static int differs(const End *sent, const End *got) {
  int size;
  MPI_Type_size(sent->type, &size);
  unsigned char *one = packed(sent), *other = packed(got);
  const int found = memcmp(one, other, (size_t)size * (size_t)sent->count) != 0;
  free(one);
  free(other);
  return found;
}

static void exchange(const End *sent, const End *got, int way) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Request requests[2];
  MPI_Status status;
  int elements;
  if (way == 0)
    MPI_Sendrecv(sent->buffer, sent->count, sent->type, 1 - rank, 0, got->buffer, got->count, got->type,
                 1 - rank, 0, comm, &status);
  if (way != 0) MPI_Irecv(got->buffer, got->count, got->type, MPI_ANY_SOURCE, 0, comm, requests);
  if (way == 1) MPI_Send(sent->buffer, sent->count, sent->type, 1 - rank, 0, comm);
  if (way == 2) MPI_Isend(sent->buffer, sent->count, sent->type, 1 - rank, 0, comm, requests + 1);
  if (way == 3) MPI_Issend(sent->buffer, sent->count, sent->type, 1 - rank, 0, comm, requests + 1);
  if (way > 1) MPI_Wait(requests + 1, MPI_STATUS_IGNORE);
  if (way != 0) MPI_Wait(requests, &status);
  MPI_Get_elements(&status, got->type, &elements);
  if (elements < 1) MPI_Abort(comm, 3);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  state = (uint64_t)atoi(argv[1]) * 7919 + 1;
  const MPI_Datatype bases[] = {MPI_BYTE, MPI_INT, MPI_DOUBLE, MPI_C_DOUBLE_COMPLEX};
  uint64_t all = 0;
  int wrong = 0;
  for (int i = 0; i < atoi(argv[2]); ++i) {
    const MPI_Datatype base = bases[pick(4)];
    /* Rank 0's send, rank 1's receive, and the reverse: the same plan on both. */
    End ends[4];
    for (int way = 0; way < 2; ++way) {
      int one;
      ends[2 * way] = end_of(base, 0);
      MPI_Type_size(ends[2 * way].type, &one);
      ends[2 * way + 1] = end_of(base, one * ends[2 * way].count);
    }
    End *sent = &ends[2 * rank], *got = &ends[3 - 2 * rank];
    fill(sent, i);
    memset(got->memory, 0x5a, got->bytes);
    exchange(sent, got, pick(4));
    all = all * 31 + checksum(got);
    const End *theirs = &ends[2 - 2 * rank];
    fill(theirs, i);
    wrong += differs(theirs, got);
    for (int k = 0; k < 4; ++k) release(&ends[k]);
  }
  uint64_t sum;
  MPI_Reduce(&all, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  int wrongs;
  MPI_Reduce(&wrong, &wrongs, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%016llx\n%d wrong\n", (unsigned long long)sum, wrongs);
  MPI_Finalize();
  return 0;
}
