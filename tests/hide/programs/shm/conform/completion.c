/* Every way to wait for requests, with large and small messages of both directions among them. */
#include "conform.h"
#include <string.h>

enum { half = 9, all = 2 * half + 3 };
static const int sizes[half] = {large, 20, least, larger, 67, 0, huge, small, least - 1};

typedef struct {
  MPI_Request requests[all], inactive;
  MPI_Status statuses[all];
  void *data[all];
} Mix;

static const MPI_Datatype byte = MPI_BYTE;

/* Pairs of ranks: receives, sends, a collective, a null request, and a persistent request that is not
 * started. */
static int mix(Mix *m, int round) {
  const int other = rank ^ 1;
  if (other >= size) return 0;
  memset(m->statuses, 0, sizeof m->statuses);
  for (int i = 0; i < half; ++i) {
    const int bytes = sizes[(i + round) % half];
    m->data[i] = obtain((size_t)bytes + 10);
    MPI_Irecv(m->data[i], bytes + 10, byte, i % 2 ? other : MPI_ANY_SOURCE, 10 + i / 2, comm,
              &m->requests[i]);
  }
  for (int i = 0; i < half; ++i) {
    const int bytes = sizes[(i + round) % half];
    m->data[half + i] = message((size_t)bytes);
    MPI_Isend(m->data[half + i], bytes, byte, other, 10 + i / 2, comm, &m->requests[half + i]);
  }
  m->data[2 * half] = obtain(large);
  MPI_Recv_init(m->data[2 * half], large, byte, other, 99, comm, &m->inactive);
  m->requests[2 * half] = m->inactive;
  m->requests[2 * half + 1] = MPI_REQUEST_NULL;
  m->requests[2 * half + 2] = m->requests[half + 1]; /* a null request in the middle */
  m->requests[half + 1] = MPI_REQUEST_NULL;
  return 1;
}

static void end(Mix *m, int ignored) {
  for (int i = 0; i < all; ++i)
    if ((m->requests[i] == MPI_REQUEST_NULL) != (i != 2 * half)) note(" REQUEST %d", i);
  for (int i = 0; i < half; ++i)
    if (ignored)
      note(" %08x", checksum(m->data[i], (size_t)sizes[i]));
    else
      told(&m->statuses[i], m->data[i]);
  MPI_Request_free(&m->inactive);
  for (int i = 0; i <= 2 * half; ++i) release(m->data[i]);
}

static void by_waitall(void) {
  Mix m;
  for (int k = 0; k < half && mix(&m, k); ++k) MPI_Waitall(all, m.requests, m.statuses), end(&m, 0);
}
static void by_ignoring(void) {
  Mix m;
  if (mix(&m, 0)) MPI_Waitall(all, m.requests, MPI_STATUSES_IGNORE), end(&m, 1);
  if (mix(&m, 0)) {
    for (int flag = 0; !flag;) MPI_Testall(all, m.requests, &flag, MPI_STATUSES_IGNORE);
    end(&m, 1);
  }
}
static void by_testall(void) {
  Mix m;
  for (int k = 0; k < half && mix(&m, k); ++k, end(&m, 0))
    for (int flag = 0; !flag;) MPI_Testall(all, m.requests, &flag, m.statuses);
}
static void by_waitany(void) {
  Mix m;
  for (int k = 0; k < 4 && mix(&m, k); ++k, end(&m, 0))
    for (int index = 0; index != MPI_UNDEFINED;) {
      MPI_Status status;
      MPI_Waitany(all, m.requests, &index, k ? &status : MPI_STATUS_IGNORE);
      if (index != MPI_UNDEFINED && k) m.statuses[index] = status;
      if (k == 0 && index < half && index != MPI_UNDEFINED)
        MPI_Status_set_elements(&m.statuses[index], byte, sizes[index]);
    }
}
static void by_testany(void) {
  Mix m;
  for (int k = 0; k < 4 && mix(&m, k); ++k, end(&m, 0))
    for (int index = 0, flag = 0; !flag || index != MPI_UNDEFINED;) {
      MPI_Status status;
      MPI_Testany(all, m.requests, &index, &flag, &status);
      if (flag && index != MPI_UNDEFINED) m.statuses[index] = status;
    }
}
static void by_some(int blocking) {
  Mix m;
  for (int k = 0; k < 4 && mix(&m, k); ++k, end(&m, 0))
    for (int count = 0; count != MPI_UNDEFINED;) {
      int indices[all];
      MPI_Status statuses[all];
      (blocking ? MPI_Waitsome : MPI_Testsome)(all, m.requests, &count, indices, statuses);
      if (blocking && count == 0) note(" NONE");
      for (int i = 0; i < count && count != MPI_UNDEFINED; ++i) m.statuses[indices[i]] = statuses[i];
    }
}
static void by_waitsome(void) { by_some(1); }
static void by_testsome(void) { by_some(0); }
static void by_test(void) {
  Mix m;
  for (int k = 0; k < 3 && mix(&m, k); ++k, end(&m, 0))
    for (int left = all, flags[all] = {0}; left;)
      for (int i = 0; i < all; ++i)
        if (!flags[i] && (MPI_Test(&m.requests[i], &flags[i], &m.statuses[i]), flags[i])) --left;
}
static void by_get_status(void) {
  Mix m;
  for (int k = 0; k < 3 && mix(&m, k); ++k, end(&m, 0)) {
    for (int i = all; i--;) {
      for (int flag = 0; !flag;) MPI_Request_get_status(m.requests[i], &flag, &m.statuses[i]);
      /* A second call gives the same result, as the request still exists. */
      int flag = 0;
      MPI_Status again;
      MPI_Request_get_status(m.requests[i], &flag, &again);
      if (!flag || (i < half && again.MPI_TAG != m.statuses[i].MPI_TAG)) note(" AGAIN");
    }
    MPI_Waitall(all, m.requests, k ? m.statuses : MPI_STATUSES_IGNORE);
  }
}

static void by_many(void) {
  enum { many = 300 };
  static Pending in[many], out[many];
  static MPI_Request requests[2 * many];
  static MPI_Status statuses[2 * many];
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  for (int i = 0; i < many; ++i) in[i] = taking(i % 6 ? 3 * i : least + i, last, i % 7, comm);
  for (int i = 0; i < many; ++i) out[i] = giving(i % 6 ? 3 * i : least + i, next, i % 7, comm);
  for (int i = 0; i < many; ++i) requests[i] = in[i].request, requests[many + i] = out[i].request;
  MPI_Waitall(2 * many, requests, statuses);
  unsigned digest = 0;
  for (int i = 0; i < many; ++i) {
    int count;
    MPI_Get_count(&statuses[i], byte, &count);
    digest = digest * 31 + checksum(in[i].data, (size_t)count);
    if (count != (i % 6 ? 3 * i : least + i) || statuses[i].MPI_SOURCE != last) note(" STATUS %d", i);
    release(in[i].data), release(out[i].data);
  }
  note(" %08x", digest);
}

/* A freed request still completes. Only the contents of its buffer show that a receive has completed. */
static void freed(void) {
  for (int i = 0; i < 4; ++i) {
    const int bytes = i % 2 ? larger : small;
    if (rank == 0) {
      Pending out = giving(bytes, 1, 1, comm);
      MPI_Request_free(&out.request);
      take(0, 1, 2, comm);
    } else if (rank == 1) {
      idle(i / 2 * 2e-3);
      take(larger, 0, 1, comm);
      give(0, 0, 2, comm);
    }
  }
  for (int i = 0; i < 2; ++i) {
    const int bytes = i % 2 ? larger : small;
    unsigned char *data = obtain((size_t)bytes);
    fill(data, (size_t)bytes, 7);
    const unsigned expected = checksum(data, (size_t)bytes);
    if (rank == 1) {
      Pending in = taking(bytes, 0, 1, comm);
      MPI_Request_free(&in.request);
      give(0, 0, 2, comm);
      int flag, here = 0;
      for (int k = 0; k < 2000 && !here; ++k) {
        MPI_Iprobe(0, 3, comm, &flag, MPI_STATUS_IGNORE);
        here = checksum(in.data, (size_t)bytes) == expected;
        idle(1e-4);
      }
      note(" %d", here);
    } else if (rank == 0) {
      take(0, 1, 2, comm);
      MPI_Send(data, bytes, byte, 1, 1, comm);
    }
  }
}

static void cancelled_receives(void) {
  int flag;
  MPI_Status status;
  for (int i = 0; i < 3; ++i) {
    if (rank == 1) {
      Pending in = taking(i ? larger : 10, i == 2 ? MPI_ANY_SOURCE : 0, 1, comm),
              kept = taking(larger, 0, 1, comm);
      MPI_Cancel(&in.request);
      MPI_Wait(&in.request, &status);
      MPI_Test_cancelled(&status, &flag);
      note(" %d", flag);
      give(0, 0, 2, comm);
      finish(&kept);
      /* Too late for this one: it has been received. */
      kept = taking(larger, 0, 3, comm);
      for (flag = 0; !flag;) MPI_Request_get_status(kept.request, &flag, MPI_STATUS_IGNORE);
      MPI_Cancel(&kept.request);
      MPI_Wait(&kept.request, &status);
      MPI_Test_cancelled(&status, &flag);
      note(" %d", flag);
      told(&status, kept.data);
    } else if (rank == 0) {
      take(0, 1, 2, comm);
      give(i == 1 ? small : large, 1, 1, comm);
      give(i == 1 ? small : large, 1, 3, comm);
    }
  }
  MPI_Request request;
  void *data = obtain(large);
  MPI_Recv_init(data, large, byte, MPI_ANY_SOURCE, 8, comm, &request);
  for (int i = 0; i < 2; ++i) {
    MPI_Start(&request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    note(" %d", flag);
  }
  MPI_Request_free(&request);
}

/* A send may be cancelled or not, but sender and receiver must agree. */
static void cancelled_sends(void) {
  for (int i = 0; i < 3; ++i) {
    int flag;
    if (rank == 0) {
      MPI_Status status;
      Pending out = giving(i ? large : small, 1, 1, comm);
      if (i == 2) take(0, 1, 3, comm);
      MPI_Cancel(&out.request);
      MPI_Wait(&out.request, &status);
      MPI_Test_cancelled(&status, &flag);
      MPI_Send(&flag, 1, MPI_INT, 1, 2, comm);
    } else if (rank == 1) {
      Pending in = taking(large, 0, 1, comm);
      if (i == 2) give(0, 0, 3, comm);
      MPI_Recv(&flag, 1, MPI_INT, 0, 2, comm, MPI_STATUS_IGNORE);
      MPI_Status status;
      if (flag) MPI_Cancel(&in.request);
      MPI_Wait(&in.request, &status);
      int cancelled, count;
      MPI_Test_cancelled(&status, &cancelled);
      MPI_Get_count(&status, byte, &count);
      note(" %s", cancelled != flag ? "DIFFERENT" : flag || count == (i ? large : small) ? "same" : "SHORT");
    }
  }
}

const Case completion[] = {{"by_waitall", by_waitall},
                           {"by_ignoring", by_ignoring},
                           {"by_testall", by_testall},
                           {"by_waitany", by_waitany},
                           {"by_testany", by_testany},
                           {"by_waitsome", by_waitsome},
                           {"by_testsome", by_testsome},
                           {"by_test", by_test},
                           {"by_get_status", by_get_status},
                           {"by_many", by_many},
                           {"freed", freed},
                           {"cancelled_receives", cancelled_receives},
                           {"cancelled_sends", cancelled_sends},
                           {0}};
