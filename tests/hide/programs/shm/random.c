/* Random messages, legal and free of deadlock by construction: random SEED MESSAGES. All ranks derive the
 * same plan, a round at a time. Any order of arrival completes all receives of a rank in a round and
 * communicator: for example, all receives of a tag are from any source, or none is. A receive gets the next
 * message of its source and tag, in the order of posting; the plan has its bytes. With an odd SEED many
 * messages have the lengths of the shm library's tokens, after which it leaves other messages to MPI, too. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  least = 32768,
  most = 1 << 20,
  room = 40 << 20,
  many = 40,
  tags = 3,
  ranks = 8,
  block = 24,
  extent = 40
};
enum {
  exact,
  any_source,
  any_tag,
  anything,
  some_tags,
  probed,
  styles
}; /* of the receives of a rank in a communicator */

typedef struct {
  int from, to, comm, tag, bytes;
  int mode, sent_heap, sent_gaps, received_heap, received_gaps; /* how */
  unsigned seed;
  int taken;
} Message;

typedef struct {
  int message; /* the expected message; another may match */
  int source, tag, persistent;
  unsigned char *data;
  MPI_Status status;
} Receive;

static int rank, size, parity, lengths;
static uint64_t state;
static MPI_Comm comms[2][3];
static MPI_Datatype gapped;
static unsigned char *memory[2][2]; /* to send and to receive, shared and of the heap */
static size_t used[2][2];
static Message plan[many];
static int planned, style[ranks][3], late[ranks];
static unsigned digest;

static unsigned pick(unsigned below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(((state >> 32) * below) >> 32);
}

static void wrong(const char *what, const Message *m, int seen) {
  fprintf(stderr, "rank %d: %s: %d; message %d -> %d, communicator %d, tag %d, %d bytes\n", rank, what, seen,
          m->from, m->to, m->comm, m->tag, m->bytes);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static int some_size(void) {
  const unsigned kind = pick(100);
  if (kind < 72) {
    const int bytes = kind < 40 ? (int)pick(600) : (int)pick(6000), token = 67 + 8 * (int)pick(64);
    return kind < 25 && lengths                                ? token
           : bytes % 8 != 67 % 8 || lengths || pick(1000) == 0 ? bytes
                                                               : bytes - 1;
  }
  if (kind < 84) return least - 60 + (int)pick(120);
  if (kind < 99) return 20000 + (int)pick(60000);
  return (int)pick(most);
}

/* The rank of a process in a communicator: the world, a reversed one, or an intercommunicator. */
static int seen(int process, int comm) {
  return comm == 0 ? process : comm == 1 ? size - 1 - process : process / 2;
}

static void make_plan(void) {
  const int small = pick(8) == 0; /* a round whose receives are smaller than any token */
  planned = 1 + (int)pick(many);
  for (int r = 0; r < size; ++r) {
    late[r] = pick(3) == 0;
    for (int c = 0; c < 3; ++c) style[r][c] = (int)pick(styles);
  }
  for (int i = 0; i < planned; ++i) {
    Message *m = &plan[i];
    *m = (Message){.from = (int)pick((unsigned)size), .to = (int)pick((unsigned)size), .comm = (int)pick(3)};
    if (m->comm == 2 && (m->from + m->to) % 2 == 0) m->comm = 0;
    m->tag = (int)pick(tags), m->bytes = small ? (int)pick(67) : some_size(), m->seed = pick(1u << 30);
    m->mode = (int)pick(5), m->sent_heap = pick(3) == 0, m->received_heap = pick(3) == 0;
    m->sent_gaps = pick(6) == 0, m->received_gaps = pick(6) == 0;
    if (m->sent_gaps) m->bytes -= m->bytes % block;
    /* Blocking sends only to receives that are posted by then. */
    if (m->mode == 0 && (late[m->to] || style[m->to][m->comm] == probed || m->from == m->to)) m->mode = 1;
  }
}

static unsigned char *place(int way, int heap, size_t bytes) {
  unsigned char *data = memory[way][heap] + used[way][heap];
  used[way][heap] += (bytes + 7 + pick(2) * 64) & ~(size_t)7;
  if (used[way][heap] > room) MPI_Abort(MPI_COMM_WORLD, 4);
  return data;
}

static size_t spread(size_t bytes, int gaps) { return gaps ? (bytes + block - 1) / block * extent : bytes; }

/* Calls a function for each piece of a message's memory, to fill or compare it. */
static int walk(unsigned char *data, const Message *m, int gaps, int comparing) {
  uint64_t x = m->seed, hash = 0;
  for (int at = 0; at < m->bytes; at += 8) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    const uint64_t word = x ^ x >> 33;
    const size_t n = m->bytes - at < 8 ? (size_t)(m->bytes - at) : 8;
    unsigned char *p = data + (gaps ? at / block * extent + at % block : at);
    if (!comparing)
      memcpy(p, &word, n);
    else if (memcmp(p, &word, n) != 0)
      return at + 1;
    hash = (hash ^ word) * 0x100000001b3u;
  }
  if (comparing) digest += (unsigned)(hash >> 32) ^ (unsigned)m->bytes;
  return 0;
}

static void transmit(const Message *m, MPI_Request *request) {
  unsigned char *data = place(0, m->sent_heap, spread((size_t)m->bytes, m->sent_gaps));
  walk(data, m, m->sent_gaps, 0);
  const int count = m->sent_gaps ? m->bytes / block : m->bytes, to = seen(m->to, m->comm);
  const MPI_Datatype type = m->sent_gaps ? gapped : MPI_BYTE;
  const MPI_Comm c = comms[parity][m->comm];
  if (m->mode == 0) MPI_Send(data, count, type, to, m->tag, c), *request = MPI_REQUEST_NULL;
  if (m->mode == 1 || m->mode == 2) MPI_Isend(data, count, type, to, m->tag, c, request);
  if (m->mode == 3) MPI_Issend(data, count, type, to, m->tag, c, request);
  if (m->mode == 4) MPI_Send_init(data, count, type, to, m->tag, c, request), MPI_Start(request);
  if (m->mode == 0) memset(data, 0xee, m->bytes < 16 ? (size_t)m->bytes : 16); /* the buffer may be reused */
}

/* The size of the largest message that may match. */
static int capacity(int comm) {
  int bytes = 0;
  for (int i = 0; i < planned; ++i)
    if (plan[i].to == rank && plan[i].comm == comm && plan[i].bytes > bytes) bytes = plan[i].bytes;
  return bytes;
}

static void receive(Receive *r, MPI_Request *request) {
  const Message *m = &plan[r->message];
  const MPI_Comm c = comms[parity][m->comm];
  const int way = style[rank][m->comm];
  r->source = way == any_source || way == anything || (way == some_tags && m->tag == 1)
                  ? MPI_ANY_SOURCE
                  : seen(m->from, m->comm);
  r->tag = way == any_tag || way == anything ? MPI_ANY_TAG : m->tag;
  if (way == probed) {
    MPI_Message found = MPI_MESSAGE_NULL;
    int bytes, flag = m->mode % 2;
    if (flag) MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, c, &found, &r->status);
    if (!flag && m->seed % 2) MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, c, &r->status), flag = 1;
    while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, c, &flag, &r->status);
    MPI_Get_count(&r->status, MPI_BYTE, &bytes);
    r->data = place(1, m->received_heap, spread((size_t)bytes, m->received_gaps));
    const int count = m->received_gaps ? (bytes + block - 1) / block : bytes;
    const MPI_Datatype type = m->received_gaps ? gapped : MPI_BYTE;
    const int source = r->status.MPI_SOURCE, tag = r->status.MPI_TAG;
    if (found != MPI_MESSAGE_NULL)
      MPI_Mrecv(r->data, count, type, &found, &r->status);
    else
      MPI_Recv(r->data, count, type, source, tag, c, &r->status);
    if (r->status.MPI_SOURCE != source || r->status.MPI_TAG != tag) wrong("not what was probed", m, source);
    *request = MPI_REQUEST_NULL;
    return;
  }
  const int bytes = capacity(m->comm), count = m->received_gaps ? (bytes + block - 1) / block : bytes;
  const MPI_Datatype type = m->received_gaps ? gapped : MPI_BYTE;
  r->data = place(1, m->received_heap, spread((size_t)bytes, m->received_gaps));
  r->persistent = m->seed % 5 == 0;
  if (r->persistent)
    MPI_Recv_init(r->data, count, type, r->source, r->tag, c, request), MPI_Start(request);
  else
    MPI_Irecv(r->data, count, type, r->source, r->tag, c, request);
}

/* Completes all requests by a random function. */
static void complete(int n, MPI_Request *requests, MPI_Status *statuses, int way) {
  int flag = 0, left = n, index, count, indices[2 * many], ready[2 * many] = {0};
  MPI_Status some[2 * many], one;
  if (way == 0) MPI_Waitall(n, requests, statuses);
  while (way == 1 && !flag) MPI_Testall(n, requests, &flag, statuses);
  for (int i = n; way == 2 && i--;) MPI_Wait(&requests[i], &statuses[i]);
  while (way == 3 && left)
    for (int i = 0; i < n; ++i)
      if (!ready[i] && (MPI_Test(&requests[i], &ready[i], &statuses[i]), ready[i])) --left;
  for (index = 0; (way == 4 || way == 5) && index != MPI_UNDEFINED;) {
    flag = 1;
    if (way == 4) MPI_Waitany(n, requests, &index, &one);
    if (way == 5) MPI_Testany(n, requests, &index, &flag, &one);
    if (!flag) index = 0;
    if (flag && index != MPI_UNDEFINED) statuses[index] = one;
  }
  for (count = 0; (way == 6 || way == 7) && count != MPI_UNDEFINED;) {
    (way == 6 ? MPI_Waitsome : MPI_Testsome)(n, requests, &count, indices, some);
    for (int i = 0; i < count; ++i) statuses[indices[i]] = some[i];
  }
  for (int i = n; way == 8 && i--;) {
    for (flag = 0; !flag;) MPI_Request_get_status(requests[i], &flag, &one);
    MPI_Wait(&requests[i], &statuses[i]);
  }
}

/* The next message of a source and tag, for receives in the order of posting. */
static Message *expected(const Receive *r) {
  const int comm = plan[r->message].comm;
  for (int i = 0; i < planned; ++i)
    if (plan[i].to == rank && plan[i].comm == comm && !plan[i].taken && plan[i].tag == r->status.MPI_TAG &&
        seen(plan[i].from, comm) == r->status.MPI_SOURCE)
      return plan[i].taken = 1, &plan[i];
  wrong("a message that nobody sent, from", &plan[r->message], r->status.MPI_SOURCE);
  return NULL;
}

static void check(const Receive *r) {
  const Message *m = expected(r), *how = &plan[r->message];
  int bytes;
  MPI_Get_elements(&r->status, how->received_gaps ? gapped : MPI_BYTE, &bytes);
  if (bytes != m->bytes) wrong("another length", m, bytes);
  const int at = walk(r->data, m, how->received_gaps, 1);
  if (at) wrong("another byte, at", m, at - 1);
}

static void round_of_messages(unsigned own) {
  Receive receives[many];
  MPI_Request requests[2 * many], persistent[2 * many];
  MPI_Status statuses[2 * many];
  int order[many], mine = 0, n = 0, kept = 0;
  memset(used, 0, sizeof used);
  make_plan();
  for (int i = 0; i < planned; ++i)
    if (plan[i].to == rank) order[mine++] = i;
  for (int i = mine; i > 1; --i) { /* posted in any order */
    own = own * 1664525u + 1013904223u;
    const int other = (int)(own >> 8) % i, kept_one = order[i - 1];
    order[i - 1] = order[other], order[other] = kept_one;
  }
  for (int i = 0; i < mine; ++i) receives[i] = (Receive){.message = order[i]};
  /* Requests of receives come first; probed messages are received after all sends. */
  for (int pass = 0; pass < 3; ++pass) {
    for (int i = 0; i < mine && pass != 1; ++i) {
      const int probes = style[rank][plan[receives[i].message].comm] == probed;
      if (pass == (probes || late[rank] ? 2 : 0)) receive(&receives[i], &requests[i]);
    }
    for (int i = 0; i < planned && pass == 1; ++i)
      if (plan[i].from == rank) transmit(&plan[i], &requests[mine + n++]);
  }
  n += mine;
  for (int i = 0, k = mine; i < planned; ++i)
    if (plan[i].from == rank && plan[i].mode == 4)
      persistent[kept++] = requests[k++];
    else
      k += plan[i].from == rank;
  for (int i = 0; i < mine; ++i)
    if (receives[i].persistent) persistent[kept++] = requests[i];
  complete(n, requests, statuses, (int)(own >> 8) % 9);
  for (int i = 0; i < mine; ++i) {
    if (style[rank][plan[receives[i].message].comm] != probed) receives[i].status = statuses[i];
    check(&receives[i]);
  }
  while (kept--) MPI_Request_free(&persistent[kept]);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 3 || size < 2 || size > ranks) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Datatype bytes;
  MPI_Type_contiguous(block, MPI_BYTE, &bytes);
  MPI_Type_create_resized(bytes, 0, extent, &gapped);
  MPI_Type_commit(&gapped);
  MPI_Type_free(&bytes);
  for (int i = 0; i < 2; ++i) {
    MPI_Comm group;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[i][0]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[i][1]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &group);
    MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &comms[i][2]);
    MPI_Comm_free(&group);
    MPI_Alloc_mem(room, MPI_INFO_NULL, &memory[i][0]);
    memory[i][1] = malloc(room);
  }
  state = (uint64_t)atoi(argv[1]) * 7919 + 1;
  const int wanted = atoi(argv[2]);
  lengths = atoi(argv[1]) % 2;
  int sent = 0;
  for (int round = 0; sent < wanted; ++round, sent += planned) {
    parity = round % 2; /* no rank is two rounds ahead, and messages of the next round use other buffers */
    const unsigned own = (unsigned)state + (unsigned)rank * 77;
    const uint64_t common = state;
    round_of_messages(own);
    state = common + (uint64_t)(round + 1) * 0x9e3779b97f4a7c15u; /* independent of each rank's own draws */
    if (parity) MPI_Barrier(MPI_COMM_WORLD);
  }
  unsigned all;
  MPI_Reduce(&digest, &all, 1, MPI_UNSIGNED, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d messages, checksum %08x\n", sent, all);
  for (int i = 0; i < 2; ++i) {
    for (int c = 0; c < 3; ++c) MPI_Comm_free(&comms[i][c]);
    MPI_Free_mem(memory[i][0]);
    free(memory[i][1]);
  }
  MPI_Type_free(&gapped);
  MPI_Finalize();
  return 0;
}
