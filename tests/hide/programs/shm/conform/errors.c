/* Messages longer than their receives: an error of the receive, without effect on other messages. */
#include "conform.h"
#include <string.h>

static const int sent[] = {large, 500, larger, large, huge, 67, small},
                 room[] = {small, 100, least, 10, 0, 66, 67};
enum { many = sizeof sent / sizeof *sent };

static void told_error(const char *class, const MPI_Status *status) {
  note(" %s %d,%d", class, status->MPI_SOURCE, status->MPI_TAG);
}

static void truncated(void) {
  for (int i = 0; i < many; ++i) {
    MPI_Status status;
    if (rank == 0) give(sent[i], 1, i, comm), give(sent[i], 1, i, comm);
    if (rank != 1) continue;
    void *data = obtain((size_t)room[i]);
    const int error = MPI_Recv(data, room[i], MPI_BYTE, 0, i, comm, &status);
    told_error(class_of(error), &status);
    int count;
    MPI_Get_count(&status, MPI_BYTE, &count); /* if the buffer is shorter than a token, it is the token's */
    if (room[i] >= small) note(" %d sent", count);
    release(data);
    take(sent[i], 0, i, comm); /* the next is right */
  }
}

static void truncated_later(void) {
  for (int i = 0; i < many; ++i) {
    if (rank == 1) {
      Pending in = taking(room[i], MPI_ANY_SOURCE, MPI_ANY_TAG, comm), after = taking(sent[i], 0, 4, comm);
      MPI_Barrier(comm);
      MPI_Status status;
      int flag = 1;
      int error = MPI_SUCCESS;
      if (i % 2)
        error = MPI_Wait(&in.request, &status);
      else
        for (flag = 0; !flag && !error;) error = MPI_Test(&in.request, &flag, &status);
      told_error(class_of(error), &status);
      note(" %d", in.request == MPI_REQUEST_NULL);
      finish(&after);
    } else {
      MPI_Barrier(comm);
      if (rank == 0) give(sent[i], 1, 3, comm), give(sent[i], 1, 4, comm);
    }
  }
}

enum { three = 3 };

/* Of three receives the second is too small. */
static void post(Pending in[three], MPI_Request requests[three], int i) {
  for (int k = 0; k < three; ++k) {
    in[k] = taking(k == 1 ? room[i] : sent[i], 0, k, comm);
    requests[k] = in[k].request;
  }
}

static void send_three(int i) {
  for (int k = 0; k < three; ++k) give(sent[i], 1, k, comm);
}

static void truncated_among_all(void) {
  for (int i = 0; i < many; ++i) {
    Pending in[three];
    MPI_Request requests[three];
    MPI_Status statuses[three] = {0};
    if (rank == 0) send_three(i);
    if (rank != 1) continue;
    post(in, requests, i);
    int classes[three] = {MPI_ERR_PENDING, MPI_ERR_PENDING, MPI_ERR_PENDING}, once = 0;
    /* Requests that are pending after an error are waited for again. */
    while (requests[0] != MPI_REQUEST_NULL || requests[1] != MPI_REQUEST_NULL ||
           requests[2] != MPI_REQUEST_NULL) {
      int was[three];
      MPI_Status now[three];
      for (int k = 0; k < three; ++k) was[k] = requests[k] != MPI_REQUEST_NULL;
      const int error = MPI_Waitall(three, requests, now);
      once |= !strcmp(class_of(error), "in status");
      for (int k = 0; k < three; ++k)
        if (was[k] && requests[k] == MPI_REQUEST_NULL)
          statuses[k] = now[k], classes[k] = error == MPI_SUCCESS ? MPI_SUCCESS : now[k].MPI_ERROR;
    }
    note(" %d", once);
    for (int k = 0; k < three; ++k) told_error(class_of(classes[k]), &statuses[k]);
    told(&statuses[0], in[0].data);
    told(&statuses[2], in[2].data);
    for (int k = 0; k < three; ++k) release(in[k].data);
  }
}

static void truncated_among_any(void) {
  for (int i = 0; i < many; ++i) {
    Pending in[three];
    MPI_Request requests[three];
    MPI_Status statuses[three];
    int classes[three], index, flag;
    if (rank == 0) send_three(i);
    if (rank != 1) continue;
    post(in, requests, i);
    for (int k = 0; k < three;) {
      MPI_Status status;
      int error;
      if (i % 2)
        error = MPI_Waitany(three, requests, &index, &status), flag = 1;
      else
        error = MPI_Testany(three, requests, &index, &flag, &status);
      if (!flag && error == MPI_SUCCESS) continue;
      statuses[index] = status, classes[index] = error, ++k;
    }
    for (int k = 0; k < three; ++k) told_error(class_of(classes[k]), &statuses[k]), release(in[k].data);
  }
}

static void truncated_among_some(void) {
  for (int i = 0; i < many; ++i) {
    Pending in[three];
    MPI_Request requests[three];
    MPI_Status statuses[three];
    int classes[three];
    if (rank == 0) send_three(i);
    if (rank != 1) continue;
    post(in, requests, i);
    for (int left = three; left;) {
      int count, indices[three];
      MPI_Status some[three];
      const int error = (i % 2 ? MPI_Waitsome : MPI_Testsome)(three, requests, &count, indices, some);
      for (int k = 0; k < count; ++k) {
        statuses[indices[k]] = some[k];
        classes[indices[k]] = error == MPI_SUCCESS ? error : some[k].MPI_ERROR;
        --left;
      }
    }
    for (int k = 0; k < three; ++k) told_error(class_of(classes[k]), &statuses[k]), release(in[k].data);
  }
}

static void truncated_exchange(void) {
  const int other = rank ^ 1;
  if (other >= size) return;
  for (int i = 0; i < many; ++i) {
    void *out = message((size_t)sent[i]), *in = obtain((size_t)room[i]);
    MPI_Status status;
    const int error = MPI_Sendrecv(out, sent[i], MPI_BYTE, other, 1, in, room[i], MPI_BYTE, MPI_ANY_SOURCE, 1,
                                   comm, &status);
    told_error(class_of(error), &status);
    release(in);
    release(out);
  }
}

static void truncated_persistent(void) {
  MPI_Request request;
  void *data = obtain(least);
  if (rank == 1) MPI_Recv_init(data, least, MPI_BYTE, 0, 1, comm, &request);
  for (int i = 0; i < many; ++i) {
    if (rank == 0) give(sent[i], 1, 1, comm);
    if (rank != 1) continue;
    MPI_Status status;
    MPI_Start(&request);
    const int error = MPI_Wait(&request, &status);
    told_error(class_of(error), &status);
    if (error == MPI_SUCCESS) told(&status, data);
    if (error == MPI_SUCCESS) continue;
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request); /* Open MPI 4 frees it itself */
    MPI_Recv_init(data, least, MPI_BYTE, 0, 1, comm, &request);
  }
  if (rank == 1) MPI_Request_free(&request);
}

static void truncated_matched(void) {
  for (int i = 0; i < many; ++i) {
    if (rank == 0) give(sent[i], 1, 1, comm), give(sent[i], 1, 1, comm);
    if (rank != 1) continue;
    MPI_Message found;
    MPI_Status status;
    void *data = obtain((size_t)room[i]);
    MPI_Mprobe(0, 1, comm, &found, &status);
    const int error = MPI_Mrecv(data, room[i], MPI_BYTE, &found, &status);
    told_error(class_of(error), &status);
    take(sent[i], 0, 1, comm);
  }
}

static int calls, handed;
static void handler(MPI_Comm *c, int *error, ...) {
  int same;
  MPI_Comm_compare(*c, comm, &same);
  handed |= same != MPI_IDENT;
  handed |= strcmp(class_of(*error), "truncate") != 0;
  ++calls;
}

static void truncated_to_handler(void) {
  MPI_Errhandler own;
  MPI_Comm_create_errhandler(handler, &own);
  MPI_Comm_set_errhandler(comm, own);
  MPI_Errhandler_free(&own);
  for (int i = 0; i < many; ++i) {
    if (rank == 0) give(sent[i], 1, 1, comm), give(sent[i], 1, 1, comm), give(sent[i], 1, 1, comm);
    if (rank != 1) continue;
    calls = handed = 0;
    MPI_Recv(obtain((size_t)room[i]), room[i], MPI_BYTE, 0, 1, comm, MPI_STATUS_IGNORE);
    Pending in = taking(room[i], 0, 1, comm);
    MPI_Wait(&in.request, MPI_STATUS_IGNORE);
    note(" %d %d", calls > 0, handed); /* MPICH 4.0 calls it for one of the two */
    take(sent[i], 0, 1, comm);
  }
}

const Case errors[] = {{"truncated", truncated},
                       {"truncated_later", truncated_later},
                       {"truncated_among_all", truncated_among_all},
                       {"truncated_among_any", truncated_among_any},
                       {"truncated_among_some", truncated_among_some},
                       {"truncated_exchange", truncated_exchange},
                       {"truncated_persistent", truncated_persistent},
                       {"truncated_matched", truncated_matched},
                       {"truncated_to_handler", truncated_to_handler},
                       {0}};
