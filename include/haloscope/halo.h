/* Exchanges the halos of a stencil. The stencil is described once; each exchange then goes the way that was
 * measured to be the quickest: over MPI, or by shared memory, up to reading a neighbour's buffer in place.
 * docs/reference/halo.md has the whole story.
 *
 *   haloscope_halo *halo;
 *   if (haloscope_halo_create(cartesian, bytes, bytes, NULL, &halo)) puts(haloscope_halo_error());
 *   for (;;) {
 *     for (int i = 0; i < neighbours; i++) pack(haloscope_halo_send_buffer(halo, i), i);
 *     haloscope_halo_start(halo);
 *     work();
 *     haloscope_halo_finish(halo);
 *     for (int i = 0; i < neighbours; i++) unpack(haloscope_halo_receive_buffer(halo, i), i);
 *   }
 *
 * Buffers are the library's, another one for each exchange: ask for their addresses each time. An exchange
 * allocates nothing. An object serves one thread at a time. */
#ifndef HALOSCOPE_HALO_H
#define HALOSCOPE_HALO_H

#include <mpi.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum haloscope_halo_method {
  HALOSCOPE_HALO_MEASURE,       /* the quickest of those below, as measured at creation */
  HALOSCOPE_HALO_NONBLOCKING,   /* MPI_Irecv, MPI_Isend */
  HALOSCOPE_HALO_PERSISTENT,    /* MPI_Recv_init, MPI_Send_init */
  HALOSCOPE_HALO_PARTITIONED,   /* MPI_Precv_init, MPI_Psend_init; persistent where the MPI has none */
  HALOSCOPE_HALO_NEIGHBOURHOOD, /* MPI_Ineighbor_alltoallw */
  /* Within a node, with persistent requests to other nodes; where memory cannot be shared, these for all: */
  HALOSCOPE_HALO_WINDOW,  /* the receiver copies from the sender's buffer */
  HALOSCOPE_HALO_IN_PLACE /* the receiver reads the sender's buffer */
};

struct haloscope_halo_settings {
  enum haloscope_halo_method method;
  int rounds;     /* exchanges of each method that are measured at most, 3 or more: 30 */
  double seconds; /* that measuring takes at most, after 3 rounds: 0.5 */
  int sharing;    /* so many consecutive ranks of a node share memory at most; 0: all of them */
};

typedef struct haloscope_halo haloscope_halo;

struct haloscope_halo_settings haloscope_halo_defaults(void);

/* Collective. `comm` has a Cartesian, graph or distributed graph topology; neighbours are numbered as in its
 * neighbourhood collectives, by which send_bytes and receive_bytes are indexed. What is beyond a border is
 * not read. What a rank sends in one direction of a Cartesian topology its neighbour receives from the
 * opposite one. `settings` may be NULL. If anything is wrong on one rank all return an error, and none is
 * left waiting. Returns MPI_SUCCESS, MPI_ERR_ARG, MPI_ERR_TOPOLOGY, MPI_ERR_NO_MEM, or what MPI returned. */
int haloscope_halo_create(MPI_Comm comm, const size_t *send_bytes, const size_t *receive_bytes,
                          const struct haloscope_halo_settings *settings, haloscope_halo **made);
/* Collective; between exchanges. Nothing for NULL. */
void haloscope_halo_free(haloscope_halo *halo);
/* What the last failing call of this thread says, in one line. */
const char *haloscope_halo_error(void);
/* What was chosen, and by which times, in one line. The object's. */
const char *haloscope_halo_description(const haloscope_halo *halo);

int haloscope_halo_send_count(const haloscope_halo *halo);
int haloscope_halo_receive_count(const haloscope_halo *halo);
size_t haloscope_halo_send_bytes(const haloscope_halo *halo, int neighbour);
size_t haloscope_halo_receive_bytes(const haloscope_halo *halo, int neighbour);

/* What the next exchange sends to a neighbour, to be filled before it starts; aligned to 64 bytes. Waits
 * until that neighbour has released what it got two exchanges ago. NULL during an exchange, and for nothing
 * to send. */
void *haloscope_halo_send_buffer(haloscope_halo *halo, int neighbour);
/* What the last exchange brought from a neighbour, until it is released or the next exchange starts. NULL
 * at any other time, and for nothing to receive. Not to be written to: it may be the neighbour's own memory.
 */
const void *haloscope_halo_receive_buffer(haloscope_halo *halo, int neighbour);

/* Start releases what the last exchange brought, does not wait, and is followed by finish, or by test until
 * `there` is 1. Return MPI_SUCCESS, MPI_ERR_REQUEST where they do not follow each other, or what MPI
 * returned. */
int haloscope_halo_start(haloscope_halo *halo);
int haloscope_halo_test(haloscope_halo *halo, int *there);
int haloscope_halo_finish(haloscope_halo *halo);
/* All that came has been read: neighbours may fill these buffers again before the next exchange starts here.
 */
int haloscope_halo_release(haloscope_halo *halo);

#ifdef __cplusplus
}
#endif

#endif
