/* Caliper's preparation for MPI: the recorder needs none. */
#ifndef CALI_CALI_MPI_H
#define CALI_CALI_MPI_H

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)
void cali_mpi_init(void);
#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
