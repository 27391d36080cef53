/* Derived types on one side or both. Checksums include gaps, which must not change. */
#include "conform.h"

enum { count = 20000, room = 1 << 20 };

typedef struct {
  MPI_Datatype type;
  int count;
  MPI_Aint start; /* of the buffer that is given to MPI, within the memory */
} Layout;

enum { plain, vector, records, indexed, resized, backwards, nested, subarray, pairs, layouts };

/* Each is 20 000 doubles; pairs are double and int. */
static Layout make(int kind) {
  Layout l = {MPI_DOUBLE, count, 0};
  MPI_Datatype inner;
  if (kind == vector) MPI_Type_vector(count / 4, 4, 6, MPI_DOUBLE, &l.type), l.count = 1;
  if (kind == records) {
    const int lengths[] = {1, 3};
    const MPI_Aint places[] = {8, 24};
    const MPI_Datatype parts[] = {MPI_DOUBLE, MPI_DOUBLE};
    MPI_Type_create_struct(2, lengths, places, parts, &l.type), l.count = count / 4;
  }
  if (kind == indexed) {
    const int lengths[] = {2, 1, 5, 2}, places[] = {9, 0, 3, 12};
    MPI_Type_indexed(4, lengths, places, MPI_DOUBLE, &l.type), l.count = count / 10;
  }
  if (kind == resized) MPI_Type_create_resized(MPI_DOUBLE, 0, 24, &l.type);
  if (kind == backwards)
    MPI_Type_create_hvector(count, 1, -16, MPI_DOUBLE, &l.type), l.count = 1, l.start = 16 * count;
  if (kind == nested) {
    MPI_Type_vector(5, 2, 3, MPI_DOUBLE, &inner);
    MPI_Type_create_hvector(count / 10, 1, 128, inner, &l.type), l.count = 1;
    MPI_Type_free(&inner);
  }
  if (kind == subarray) {
    const int whole[] = {210, 300}, part[] = {100, 200}, first[] = {7, 11};
    MPI_Type_create_subarray(2, whole, part, first, MPI_ORDER_C, MPI_DOUBLE, &l.type), l.count = 1;
  }
  if (kind == pairs) l.type = MPI_DOUBLE_INT;
  if (kind != plain && kind != pairs) MPI_Type_commit(&l.type);
  return l;
}

static void unmake(Layout *l, int kind) {
  if (kind != plain && kind != pairs) MPI_Type_free(&l->type);
}

static void from_to(int from, int to, int way) {
  if (rank > 1) return;
  const int kind = rank ? to : from;
  Layout l = make(kind);
  unsigned char *data = obtain(room);
  fill(data, room, (unsigned)(kind + rank * 50));
  MPI_Status status = {0};
  MPI_Request request;
  if (rank == 0 && way == 0) MPI_Send(data + l.start, l.count, l.type, 1, 1, comm);
  if (rank == 1 && way == 0) MPI_Recv(data + l.start, l.count, l.type, 0, 1, comm, &status);
  if (rank == 0 && way == 1) MPI_Isend(data + l.start, l.count, l.type, 1, 1, comm, &request);
  if (rank == 1 && way == 1) MPI_Irecv(data + l.start, l.count, l.type, MPI_ANY_SOURCE, 1, comm, &request);
  if (rank == 0 && way == 2) MPI_Send_init(data + l.start, l.count, l.type, 1, 1, comm, &request);
  if (rank == 1 && way == 2) MPI_Recv_init(data + l.start, l.count, l.type, 0, 1, comm, &request);
  int counted, elements;
  if (rank == 1) MPI_Type_size(l.type, &counted);
  if (way == 1) unmake(&l, kind); /* freed while it is in use */
  for (int k = 0; k < (way == 2 ? 3 : way); ++k) {
    if (way == 2) MPI_Start(&request);
    MPI_Wait(&request, &status);
    if (way == 2 && rank == 0) fill(data, room, (unsigned)(kind + k)), MPI_Barrier(comm);
    if (way == 2 && rank == 1) note(" %08x", checksum(data, room)), MPI_Barrier(comm);
  }
  if (way == 2) MPI_Request_free(&request);
  if (way != 1) {
    MPI_Get_count(&status, l.type, &counted);
    MPI_Get_elements(&status, l.type, &elements);
    if (rank == 1) note(" %d,%d", counted, elements);
    unmake(&l, kind);
  }
  if (rank == 1) note("=%08x", checksum(data, room));
  release(data);
}

static void every(int way) {
  for (int kind = plain; kind < pairs; ++kind) {
    from_to(kind, plain, way);
    from_to(plain, kind, way);
    from_to(kind, way % 2 ? kind : (kind + 3) % pairs, way);
  }
  from_to(pairs, pairs, way);
}
static void blocking(void) { every(0); }
static void nonblocking(void) { every(1); }
static void repeated(void) {
  if (size == 2) every(2); /* its barriers are of two ranks */
}

/* Two arrays in one message, by addresses. */
static void absolute(void) {
  if (rank > 1) return;
  for (int who = 0; who < 3; ++who) {
    unsigned char *a = message(large), *b = message(larger), *whole = obtain(large + larger);
    const int lengths[] = {larger, large};
    MPI_Aint places[2];
    MPI_Datatype both;
    MPI_Get_address(b, &places[0]);
    MPI_Get_address(a, &places[1]);
    MPI_Type_create_hindexed(2, lengths, places, MPI_BYTE, &both);
    MPI_Type_commit(&both);
    fill(whole, large + larger, 3);
    const int absolutely = who == rank || who == 2;
    void *data = absolutely ? MPI_BOTTOM : whole;
    const MPI_Datatype type = absolutely ? both : MPI_BYTE;
    const int n = absolutely ? 1 : large + larger;
    MPI_Request request;
    if (rank == 0) MPI_Send(data, n, type, 1, 1, comm);
    if (rank == 1) MPI_Irecv(data, n, type, 0, 1, comm, &request), MPI_Wait(&request, MPI_STATUS_IGNORE);
    note(" %08x %08x %08x", checksum(a, large), checksum(b, larger), checksum(whole, large + larger));
    MPI_Type_free(&both);
  }
}

static void packed(void) {
  if (rank > 1) return;
  for (int way = 0; way < 3; ++way) { /* packed by hand at the sender, the receiver, both */
    Layout l = make(way % 2 ? vector : indexed);
    int bytes, position = 0;
    MPI_Pack_size(l.count, l.type, comm, &bytes);
    unsigned char *data = obtain(room), *pack = obtain((size_t)bytes);
    fill(data, room, (unsigned)rank + 9);
    if (rank == 0 && way != 1) {
      MPI_Pack(data, l.count, l.type, pack, bytes, &position, comm);
      MPI_Send(pack, position, MPI_PACKED, 1, 1, comm);
    } else if (rank == 0)
      MPI_Send(data, l.count, l.type, 1, 1, comm);
    else if (way != 0) {
      MPI_Recv(pack, bytes, MPI_PACKED, 0, 1, comm, MPI_STATUS_IGNORE);
      MPI_Unpack(pack, bytes, &position, data, l.count, l.type, comm);
    } else
      MPI_Recv(data, l.count, l.type, 0, 1, comm, MPI_STATUS_IGNORE);
    if (rank == 1) note(" %08x", checksum(data, room));
    MPI_Type_free(&l.type);
  }
}

/* Less than the size of the receive, down to a part of its type; and more. */
static void partial(void) {
  const int doubles[] = {count / 2, 5003, 7, 0, count + 10, 1};
  for (int i = 0; i < 6; ++i)
    for (int kind = plain; kind < pairs && rank < 2; ++kind) {
      Layout l = make(kind);
      unsigned char *data = obtain(room);
      fill(data, room, (unsigned)rank);
      if (rank == 0) MPI_Send(data, doubles[i], MPI_DOUBLE, 1, 1, comm);
      if (rank == 1) {
        MPI_Status status;
        int counted, elements;
        const int error = MPI_Recv(data + l.start, l.count, l.type, 0, 1, comm, &status);
        MPI_Get_count(&status, l.type, &counted);
        MPI_Get_elements(&status, l.type, &elements);
        if (error == MPI_SUCCESS)
          note(" %d,%d=%08x", counted == MPI_UNDEFINED ? -1 : counted, elements, checksum(data, room));
        else
          note(" %s", class_of(error));
      }
      unmake(&l, kind);
      release(data);
    }
}

/* Types of the language, in numbers that make large messages. */
static void predefined(void) {
  const MPI_Datatype named[] = {
      MPI_INT,       MPI_FLOAT,   MPI_LONG_DOUBLE, MPI_SHORT, MPI_C_DOUBLE_COMPLEX, MPI_C_BOOL,
      MPI_FLOAT_INT, MPI_INT64_T, MPI_AINT,        MPI_2INT,  MPI_SHORT_INT,        MPI_WCHAR};
  for (int i = 0; i < 12 && rank < 2; ++i) {
    unsigned char *data = obtain(room);
    MPI_Datatype copy;
    MPI_Type_dup(named[i], &copy);
    fill(data, room, (unsigned)rank);
    MPI_Status status;
    int counted;
    if (rank == 0) MPI_Send(data, 30001, i % 2 ? named[i] : copy, 1, 1, comm);
    if (rank == 1) {
      MPI_Recv(data, 40000, i % 3 ? named[i] : copy, 0, 1, comm, &status);
      MPI_Get_count(&status, named[i], &counted);
      note(" %d=%08x", counted, checksum(data, room));
    }
    MPI_Type_free(&copy);
    release(data);
  }
}

static void together_of_types(void) {
  Layout v = make(vector), r = make(records);
  unsigned char *out = message(room), *in = message(room);
  MPI_Status status;
  MPI_Sendrecv(out, v.count, v.type, (rank + 1) % size, 1, in, r.count, r.type, MPI_ANY_SOURCE, 1, comm,
               &status);
  note(" %08x", checksum(in, room));
  MPI_Sendrecv_replace(in, v.count, v.type, (rank + 1) % size, 1, (rank + size - 1) % size, 1, comm, &status);
  note(" %08x", checksum(in, room));
  MPI_Type_free(&v.type);
  MPI_Type_free(&r.type);
}

const Case types[] = {{"blocking", blocking},
                      {"nonblocking", nonblocking},
                      {"repeated", repeated},
                      {"absolute", absolute},
                      {"packed", packed},
                      {"partial", partial},
                      {"predefined", predefined},
                      {"together_of_types", together_of_types},
                      {0}};
