! What the three interfaces of Fortran hand on: buffers of the host and of a device, in a ring.
program device_buffers
#if defined(F08)
  use mpi_f08
#elif defined(USE_MPI)
  use mpi
#endif
  use iso_c_binding
#if defined(MPIF_H)
  include 'mpif.h'
#endif
  interface
    function fake_allocate(kind, bytes) bind(c)
      import
      integer(c_int), value :: kind
      integer(c_size_t), value :: bytes
      type(c_ptr) :: fake_allocate
    end function
  end interface
#if defined(F08)
  type(MPI_Request) :: requests(2)
#else
  integer :: requests(2)
#endif
  integer, pointer :: device(:), managed(:)
  integer :: host(1000), rank, ranks, to, from, error, i
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  to = mod(rank + 1, ranks)
  from = mod(rank + ranks - 1, ranks)
  call c_f_pointer(fake_allocate(2, 4000_c_size_t), device, [1000])
  call c_f_pointer(fake_allocate(3, 4000_c_size_t), managed, [1000])
  host = 0
  device = 0
  managed = 0
  do i = 1, 3
    call MPI_Irecv(managed, 10, MPI_INTEGER, from, 0, MPI_COMM_WORLD, requests(1), error)
    call MPI_Isend(device, 10, MPI_INTEGER, to, 0, MPI_COMM_WORLD, requests(2), error)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
  end do
  call MPI_Sendrecv(host, 10, MPI_INTEGER, to, 0, device, 10, MPI_INTEGER, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  call MPI_Allreduce(MPI_IN_PLACE, device, 5, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_Bcast(managed, 6, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
  call MPI_Finalize(error)
end program
