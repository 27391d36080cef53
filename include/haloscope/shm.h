// What the shm library adds to MPI: receive buffers of its own (MPI_Irecv with a NULL buffer), and memory
// of the program's that messages are carried from. docs/reference/shm.md. The functions are there where
// libhaloscope-shm.so is preloaded or linked.
#pragma once

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

// The buffer of a receive that is complete, by its status.
int MPIX_Get_recv_buf(MPI_Status status, void **recv_buf);
// Gives it back, once.
int MPIX_Release_recv_buf(MPI_Status status, void *recv_buf);

// Lets the node's ranks map this memory, so that messages from it are carried: whole pages, which keep their
// addresses and what they hold.
int MPIX_Register_buf(void *memory, MPI_Aint bytes);
// Before it is freed.
int MPIX_Deregister_buf(void *memory);

#ifdef __cplusplus
}
#endif
