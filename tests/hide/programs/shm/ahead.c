// Messages between nodes into buffers of the library: ahead ROUNDS BYTES. Ranks of the two halves of
// MPI_COMM_WORLD exchange messages, with every way to receive.
#include <haloscope/shm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_OF_A_TOKEN = 571, TAG = 7, SHORT_TAG = 8 };

static void check(int right, const char *what, int round) {
  if (right) return;
  fprintf(stderr, "ahead: %s in round %d\n", what, round);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static unsigned char byte_of(int rank, int round, int i) {
  return (unsigned char)(rank + 5 * round + i / 64);
}

static int right_bytes(const unsigned char *bytes, int count, int rank, int round) {
  for (int i = 0; i < count; ++i)
    if (bytes[i] != byte_of(rank, round, i)) return 0;
  return 1;
}

static void receive_lent(int bytes, int source, int tag, int partner, int round) {
  MPI_Request request;
  MPI_Status status;
  unsigned char *halo;
  int count;
  MPI_Irecv(NULL, bytes, MPI_BYTE, source, tag, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, &status);
  MPI_Get_count(&status, MPI_BYTE, &count);
  check(count == bytes && status.MPI_SOURCE == partner && status.MPI_TAG == TAG, "a wrong status", round);
  check(MPIX_Get_recv_buf(status, (void **)&halo) == MPI_SUCCESS, "no buffer", round);
  check(right_bytes(halo, count, partner, round), "wrong bytes", round);
  check(MPIX_Release_recv_buf(status, halo) == MPI_SUCCESS, "not released", round);
}

// Every second pair of bytes of a buffer.
static void receive_with_holes(int bytes, int partner, int round) {
  MPI_Datatype pairs;
  unsigned char *with = malloc(2 * (size_t)bytes), *without = malloc((size_t)bytes);
  MPI_Type_vector(bytes / 2, 2, 4, MPI_BYTE, &pairs);
  MPI_Type_commit(&pairs);
  MPI_Recv(with, 1, pairs, partner, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < bytes; ++i) without[i] = with[i / 2 * 4 + i % 2];
  check(right_bytes(without, bytes, partner, round), "wrong bytes around holes", round);
  MPI_Type_free(&pairs);
  free(with);
  free(without);
}

static void receive(int way, int bytes, int partner, int round) {
  unsigned char *own = malloc((size_t)bytes);
  MPI_Status status;
  MPI_Message message;
  int count = 0;
  switch (way) {
  case 1:
    receive_lent(bytes, MPI_ANY_SOURCE, MPI_ANY_TAG, partner, round);
    break;
  case 2:
    receive_with_holes(bytes, partner, round);
    break;
  case 3:
    MPI_Mprobe(partner, TAG, MPI_COMM_WORLD, &message, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    check(count == bytes, "a wrong size of a matched probe", round);
    MPI_Mrecv(own, bytes, MPI_BYTE, &message, &status);
    check(right_bytes(own, bytes, partner, round), "wrong bytes of a matched message", round);
    break;
  case 4:
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    check(MPI_Recv(own, bytes / 2, MPI_BYTE, partner, TAG, MPI_COMM_WORLD, &status) != MPI_SUCCESS,
          "no error of a receive that is too small", round);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    break;
  default:
    receive_lent(bytes, partner, TAG, partner, round);
    break;
  }
  free(own);
}

int main(int argc, char **argv) {
  int rank, size, level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = atoi(argv[1]), most = atoi(argv[2]), partner = (rank + size / 2) % size;
  unsigned char *data = malloc((size_t)most), shorter[LENGTH_OF_A_TOKEN];
  MPI_Request persistent[2], request, short_request = MPI_REQUEST_NULL;
  for (int k = 0; k < 2; ++k)
    MPI_Send_init(data, most / (k + 1), MPI_BYTE, partner, TAG, MPI_COMM_WORLD, &persistent[k]);
  for (int round = 0; round < rounds; ++round) {
    const int k = round / 6 % 2, bytes = most / (k + 1), also_short = round >= rounds / 2;
    MPI_Status status;
    int count;
    for (int i = 0; i < bytes; ++i) data[i] = byte_of(rank, round, i);
    if (round % 5 == 4)
      MPI_Issend(data, bytes, MPI_BYTE, partner, TAG, MPI_COMM_WORLD, &request);
    else if (round % 2 == 0)
      MPI_Isend(data, bytes, MPI_BYTE, partner, TAG, MPI_COMM_WORLD, &request);
    else
      MPI_Start(&persistent[k]);
    if (also_short)
      MPI_Isend(shorter, LENGTH_OF_A_TOKEN, MPI_BYTE, partner, SHORT_TAG, MPI_COMM_WORLD, &short_request);
    MPI_Probe(partner, TAG, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    check(count == bytes, "a wrong size of a probe", round);
    receive(round < 6 ? 0 : round % 6, bytes, partner, round);
    if (also_short) {
      MPI_Probe(partner, SHORT_TAG, MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, MPI_BYTE, &count);
      check(count == LENGTH_OF_A_TOKEN, "a wrong size of a short probe", round);
      MPI_Recv(shorter, LENGTH_OF_A_TOKEN, MPI_BYTE, partner, SHORT_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Wait(round % 5 != 4 && round % 2 != 0 ? &persistent[k] : &request, MPI_STATUS_IGNORE);
    MPI_Wait(&short_request, MPI_STATUS_IGNORE);
  }
  for (int k = 0; k < 2; ++k) MPI_Request_free(&persistent[k]);
  MPI_Finalize();
  free(data);
  printf("right\n");
  return 0;
}
