/* Halo exchanges between neighbours. The pattern is described once. Creation measures several ways, over MPI
 * and by shared memory, and chooses the fastest. docs/reference/halo.md describes them.
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
 * The library owns the buffers. Their addresses change with each exchange, so ask for them each time. An
 * exchange allocates no memory.
 *
 * Thread safety: an object may be used by one thread at a time, different objects by different threads if MPI
 * has MPI_THREAD_MULTIPLE. Call all functions between MPI_Init and MPI_Finalize, and none from a signal
 * handler. */
#ifndef HALOSCOPE_HALO_H
#define HALOSCOPE_HALO_H

#include <mpi.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum haloscope_halo_method {
  HALOSCOPE_HALO_MEASURE,       /* the fastest of those below, as measured at creation */
  HALOSCOPE_HALO_NONBLOCKING,   /* MPI_Irecv, MPI_Isend */
  HALOSCOPE_HALO_PERSISTENT,    /* MPI_Recv_init, MPI_Send_init */
  HALOSCOPE_HALO_PARTITIONED,   /* MPI_Precv_init, MPI_Psend_init; PERSISTENT if the MPI has none */
  HALOSCOPE_HALO_NEIGHBOURHOOD, /* MPI_Ineighbor_alltoallw */
  /* Shared memory within a node, PERSISTENT to other nodes, or for all if memory cannot be shared: */
  HALOSCOPE_HALO_WINDOW,  /* the receiver copies from the sender's buffer */
  HALOSCOPE_HALO_IN_PLACE /* the receiver reads the sender's buffer */
};

struct haloscope_halo_settings {
  enum haloscope_halo_method method;
  int rounds;     /* largest number of measured exchanges per method, 3 or more; default 30 */
  double seconds; /* time limit of measuring, after 3 rounds; default 0.5 */
  int sharing;    /* largest number of consecutive ranks that share memory; default 0: the whole node */
};

typedef struct haloscope_halo haloscope_halo;

/* @return the default settings. */
struct haloscope_halo_settings haloscope_halo_defaults(void);

/* Creates a halo. Collective over `comm`. If an argument is wrong on one rank, all ranks return an error, and
 * none keeps waiting.
 *
 * @param comm           has a Cartesian, graph or distributed graph topology. Neighbours have the order of
 * its neighbourhood collectives.
 * @param send_bytes     bytes to send per neighbour. Entries beyond a border are ignored. In a Cartesian
 *                       topology, the neighbour receives the message from the opposite direction.
 * @param receive_bytes  bytes to receive per neighbour.
 * @param settings       NULL: the defaults.
 * @param made           the halo, NULL after an error.
 * @return MPI_SUCCESS, MPI_ERR_ARG, MPI_ERR_TOPOLOGY, MPI_ERR_NO_MEM, or an error of MPI. */
int haloscope_halo_create(MPI_Comm comm, const size_t *send_bytes, const size_t *receive_bytes,
                          const struct haloscope_halo_settings *settings, haloscope_halo **made);
/* Frees a halo. Collective. Not during an exchange.
 *
 * @param halo  NULL does nothing. */
void haloscope_halo_free(haloscope_halo *halo);
/* @return one line about the last failing call of this thread, valid until its next failing call. */
const char *haloscope_halo_error(void);
/* @return one line with the chosen method and the measured times, valid until the halo is freed. */
const char *haloscope_halo_description(const haloscope_halo *halo);

/* The numbers of neighbours, and the bytes per neighbour, as given at creation.
 *
 * @param neighbour  from 0.
 * @return 0 bytes for a neighbour that does not exist. */
int haloscope_halo_send_count(const haloscope_halo *halo);
int haloscope_halo_receive_count(const haloscope_halo *halo);
size_t haloscope_halo_send_bytes(const haloscope_halo *halo, int neighbour);
size_t haloscope_halo_receive_bytes(const haloscope_halo *halo, int neighbour);

/* The buffer to fill before the next exchange. Waits until the neighbour has released the data of the
 * exchange before the last one.
 *
 * @param neighbour  from 0.
 * @return aligned to 64 bytes; NULL during an exchange, and if there is nothing to send. */
void *haloscope_halo_send_buffer(haloscope_halo *halo, int neighbour);
/* The data of the last exchange, until it is released or the next exchange starts. Do not write to it: it may
 * be the neighbour's own memory.
 *
 * @param neighbour  from 0.
 * @return NULL at any other time, and if there is nothing to receive. */
const void *haloscope_halo_receive_buffer(haloscope_halo *halo, int neighbour);

/* One exchange: start, then finish, or test until `there` is 1. Start does not wait, and releases the data of
 * the last exchange. Finish waits for the messages.
 *
 * @param there  1 if the exchange has finished, 0 otherwise.
 * @return MPI_SUCCESS, MPI_ERR_REQUEST for calls in a wrong order, or an error of MPI. */
int haloscope_halo_start(haloscope_halo *halo);
int haloscope_halo_test(haloscope_halo *halo, int *there);
int haloscope_halo_finish(haloscope_halo *halo);
/* Releases the data of the last exchange, so that neighbours may fill these buffers before the next exchange
 * starts here. Optional: start does it, too.
 *
 * @return MPI_SUCCESS, or MPI_ERR_REQUEST during an exchange. */
int haloscope_halo_release(haloscope_halo *halo);

#ifdef __cplusplus
}
#endif

#endif
