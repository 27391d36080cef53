// Functions of the shm library in addition to MPI: receive buffers from the library (MPI_Irecv with a NULL
// buffer), and memory of the program from which it copies messages. docs/reference/shm.md describes both. The
// functions exist if libhaloscope-shm.so is preloaded or linked.
//
// Thread safety: any thread may call them that may call MPI. Not from a signal handler.
#pragma once

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

// Finds the buffer of a completed receive that was posted with a NULL buffer.
//
// @param status    the status of the receive, unchanged.
// @param recv_buf  the buffer. It stays valid until it is released.
// @return MPI_SUCCESS, or MPI_ERR_ARG if no buffer belongs to the status.
int MPIX_Get_recv_buf(MPI_Status status, void **recv_buf);
// Returns the buffer to the library, exactly once.
//
// @param status    the status of the receive, unchanged.
// @param recv_buf  the buffer from MPIX_Get_recv_buf.
// @return MPI_SUCCESS or MPI_ERR_ARG.
int MPIX_Release_recv_buf(MPI_Status status, void *recv_buf);

// Lets the other ranks of the node map this memory, so that the library can copy messages from it. Addresses
// and contents stay the same.
//
// @param memory  private, writable memory, no stack. All pages that the range touches are shared.
// @param bytes   the length of the range.
// @return MPI_SUCCESS, or an error class of MPI; the error is printed.
int MPIX_Register_buf(void *memory, MPI_Aint bytes);
// Ends the sharing. Required before the memory is freed.
//
// @param memory  as registered.
// @return MPI_SUCCESS, or an error class of MPI; the error is printed.
int MPIX_Deregister_buf(void *memory);

#ifdef __cplusplus
}
#endif
