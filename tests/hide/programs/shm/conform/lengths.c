/* Small messages whose lengths are those of the shm library's tokens. After them it leaves more to MPI than
 * before.
 */
#include "conform.h"

/* A synchronous send has the length of the token of a message before it. It is not received, so not complete.
 */
static void synchronous_length(void) {
  const int bytes = 67 + 8 * 8;
  if (rank == 0) {
    Pending ahead = giving(large, 1, 2, comm);
    MPI_Request request;
    int sent = 0;
    MPI_Issend(message((size_t)bytes), bytes, MPI_BYTE, 1, 1, comm, &request);
    for (int i = 0; i < 100 && !sent; ++i) MPI_Test(&request, &sent, MPI_STATUS_IGNORE);
    note(sent ? " SENT" : " under way");
    give(1, 1, 3, comm);
    if (!sent) MPI_Wait(&request, MPI_STATUS_IGNORE);
    done(&ahead);
  } else if (rank == 1) {
    take(1, 0, 3, comm);
    take(bytes, 0, 1, comm);
    take(large, 0, 2, comm);
  }
}

#if MPI_VERSION >= 4
/* Sent while another message is received. Some large messages are not in shared memory. */
static void exchanged_length(void) {
  for (int i = 0; i < 6; ++i) {
    const int bytes = 67 + 8 * (8 + i);
    if (rank == 0) {
      char none;
      MPI_Request request;
      MPI_Isendrecv(message((size_t)bytes), bytes, MPI_BYTE, 1, 1, &none, 1, MPI_BYTE, 1, 4, comm, &request);
      Pending behind = giving(large, 1, 2, comm);
      give(1, 1, 3, comm);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      done(&behind);
    } else if (rank == 1) {
      MPI_Status status;
      int count;
      take(1, 0, 3, comm);
      MPI_Probe(0, 1, comm, &status);
      MPI_Get_count(&status, MPI_BYTE, &count);
      note(" %d bytes", count);
      take(bytes, 0, 1, comm);
      give(1, 0, 4, comm);
      take(large, 0, 2, comm);
    }
  }
}
#endif

/* One before a large message whose token could have that length, and others after it. */
static void one_length(void) {
  const int shortest = 67, step = 8;
  for (int i = 8; i >= 0; --i) {
    const int bytes = shortest + step * i, before = i == 8;
    if (rank == 0) {
      Pending first = giving(before ? bytes : large, 1, before ? 1 : 2, comm);
      Pending second = giving(before ? large : bytes, 1, before ? 2 : 1, comm);
      give(1, 1, 3, comm);
      done(&first);
      done(&second);
    } else if (rank == 1) {
      MPI_Status status;
      int count;
      take(1, 0, 3, comm); /* the other messages have been sent */
      MPI_Probe(0, 1, comm, &status);
      MPI_Get_count(&status, MPI_BYTE, &count);
      note(" %d bytes", count);
      take(bytes, 0, 1, comm);
      take(large, 0, 2, comm);
    }
  }
}

/* Alone and after large ones; received into buffers of the exact size and larger. */
static void token_lengths(void) {
  for (int i = 0; i < 2 * 64; ++i) {
    const int bytes = 67 + 8 * (i % 64), more = i % 4 == 1 ? large + i : bytes + i % 3 - 1;
    if (rank == 0) {
      Pending ahead = giving(more, 1, 1, comm);
      give(bytes, 1, 1, comm);
      done(&ahead);
    } else if (rank == 1) {
      take(i % 4 == 1 ? large + 200 : 700, 0, i % 2 ? 1 : MPI_ANY_TAG, comm);
      take(i < 64 ? bytes : larger, 0, 1, comm);
    }
  }
}

/* Probed between large messages. */
static void probed_lengths(void) {
  Pending out[128];
  for (int i = 0; i < 128 && rank == 0; ++i)
    out[i] = giving(i % 4 ? 67 + 8 * (i / 2) : large + i, 1, i % 3, comm);
  if (rank == 1) {
    MPI_Status status;
    for (int i = 0; i < 128; ++i) {
      MPI_Probe(MPI_ANY_SOURCE, i % 3, comm, &status);
      int count;
      MPI_Get_count(&status, MPI_BYTE, &count);
      take(count, 0, i % 3, comm);
    }
  }
  for (int i = 0; i < 128 && rank == 0; ++i) done(&out[i]);
}

const Case lengths[] = {{"synchronous_length", synchronous_length},
#if MPI_VERSION >= 4
                        {"exchanged_length", exchanged_length},
#endif
                        {"one_length", one_length},
                        {"token_lengths", token_lengths},
                        {"probed_lengths", probed_lengths},
                        {0}};
