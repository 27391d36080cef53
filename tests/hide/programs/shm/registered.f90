#include "haloscope/shm.f90"
! Registered memory in Fortran: a COMMON block, of which two arrays are sent.
program registered
  use mpi
  use iso_c_binding
  use haloscope_shm
  implicit none
  integer, parameter :: n = 20000
  real(8) :: halo(n), field(n), received(n)
  common /values/ halo, field
  integer :: rank, other, step, ierror, request
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  other = 1 - rank
  field = -1
  call MPIX_Register_buf(halo, int(2 * 8 * n, c_intptr_t), ierror)
  if (ierror /= MPI_SUCCESS .or. any(field /= -1)) call fail('not registered')
  do step = 1, 10
    halo = rank * 100 + step
    field = -halo
    call exchange(halo, 1)
    if (any(received /= other * 100 + step)) call fail('wrong numbers')
    call exchange(field, 2)
    if (any(received /= -(other * 100 + step))) call fail('wrong numbers of the second')
  end do
  call MPIX_Deregister_buf(halo, ierror)
  if (ierror /= MPI_SUCCESS .or. any(halo /= rank * 100 + 10)) call fail('not deregistered')
  call MPI_Finalize(ierror)
  print '(a)', 'right 20'
contains
  subroutine exchange(data, tag)
    real(8), intent(in) :: data(n)
    integer, intent(in) :: tag
    call MPI_Isend(data, n, MPI_DOUBLE_PRECISION, other, tag, MPI_COMM_WORLD, request, ierror)
    call MPI_Recv(received, n, MPI_DOUBLE_PRECISION, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  end subroutine
  subroutine fail(what)
    character(*), intent(in) :: what
    print '(a)', what
    call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
  end subroutine
end program
