module halo
  use mpi
  implicit none
contains
  subroutine exchange(value)
    integer, intent(inout) :: value(1)
    integer :: sum(1), error
    call MPI_Allreduce(value, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error) ! exchange
    value = sum
  end subroutine
end module

program main
  use halo
  integer :: value(1), error, i
  call MPI_Init(error)
  value = 1
  do i = 1, 10
    call exchange(value) ! loop
  end do
  call MPI_Barrier(MPI_COMM_WORLD, error) ! barrier
  call MPI_Finalize(error)
end program
