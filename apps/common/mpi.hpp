// MPI's C interface alone: its C++ bindings, gone since MPI 3, would still be compiled and linked.
#ifndef APPS_COMMON_MPI_HPP
#define APPS_COMMON_MPI_HPP

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#endif
