#include "haloscope/shm.f90"
! Receives into buffers of the library in Fortran, and arrays with holes; -DF08 for mpi_f08.
program lent
#ifdef F08
  use mpi_f08
#else
  use mpi
#endif
  use iso_c_binding
  use haloscope_shm
  implicit none
  integer, parameter :: n = 50000
  integer :: rank, other, step, ierror, count
  real(8), pointer :: halo(:), data(:)
  real(8), allocatable :: field(:,:)
  type(c_ptr) :: place
#ifdef F08
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: statuses(2), status
#else
  integer :: requests(2), statuses(MPI_STATUS_SIZE, 2), status(MPI_STATUS_SIZE)
#endif
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  other = 1 - rank
  allocate(data(n), field(3, n))
  do step = 1, 10
    data = rank * 100 + step
    call c_f_pointer(c_null_ptr, halo, [n])
    call MPI_Irecv(halo, n, MPI_DOUBLE_PRECISION, other, 1, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Isend(data, n, MPI_DOUBLE_PRECISION, other, 1, MPI_COMM_WORLD, requests(2), ierror)
    call MPI_Wait(requests(1), status, ierror)
    call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count, ierror)
    call MPIX_Get_recv_buf(status, place, ierror)
    if (ierror /= MPI_SUCCESS .or. count /= n) call fail('no buffer')
    call c_f_pointer(place, halo, [n])
    if (any(halo /= other * 100 + step)) call fail('wrong numbers')
    call MPIX_Release_recv_buf(status, place, ierror)
    if (ierror /= MPI_SUCCESS) call fail('not released')
    call MPI_Wait(requests(2), MPI_STATUS_IGNORE, ierror)
    call MPI_Sendrecv(data, n, MPI_DOUBLE_PRECISION, other, 2, field, n, MPI_DOUBLE_PRECISION, other, 2, &
                      MPI_COMM_WORLD, status, ierror)
#ifdef F08
    if (MPI_SUBARRAYS_SUPPORTED) then
      field = -1
      call MPI_Irecv(field(2, :), n, MPI_DOUBLE_PRECISION, other, 3, MPI_COMM_WORLD, requests(1), ierror)
      call MPI_Isend(data, n, MPI_DOUBLE_PRECISION, other, 3, MPI_COMM_WORLD, requests(2), ierror)
      call MPI_Waitall(2, requests, statuses, ierror)
      if (any(field(2, :) /= other * 100 + step)) call fail('a section is wrong')
      if (any(field(1, :) /= -1) .or. any(field(3, :) /= -1)) call fail('holes are filled')
    end if
#endif
  end do
  call MPI_Finalize(ierror)
  print '(a)', 'right'
contains
  subroutine fail(what)
    character(*), intent(in) :: what
    print '(a)', what
    call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
  end subroutine
end program
