! Each rank sends itself three messages.
program sends
  use mpi
  integer :: error, i, request, value
  call MPI_Init(error)
  do i = 1, 3
    call MPI_Irecv(value, 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call MPI_Irecv(value, 1, MPI_INTEGER, 0, 0, MPI_COMM_SELF, request, error)
    call MPI_Send(i, 1, MPI_INTEGER, 0, 0, MPI_COMM_SELF, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
  end do
  call MPI_Finalize(error)
end program
