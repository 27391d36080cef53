! What the shm library adds to MPI, for mpif.h, mpi and mpi_f08: docs/reference/shm.md.
! A receive with the buffer of a disassociated pointer gets one: call c_f_pointer(c_null_ptr, halo, [count]).
module haloscope_shm
  implicit none
  private
  public :: MPIX_Get_recv_buf, MPIX_Release_recv_buf, MPIX_Register_buf, MPIX_Deregister_buf

  interface MPIX_Get_recv_buf
    subroutine mpix_get_recv_buf_c(status, buffer, ierror) bind(C)
      use iso_c_binding, only: c_ptr, c_int
      integer(c_int), intent(in) :: status(*)
      type(c_ptr), intent(out) :: buffer
      integer(c_int), intent(out) :: ierror
    end subroutine
    subroutine mpix_get_recv_buf_f08_c(status, buffer, ierror) bind(C)
      use iso_c_binding, only: c_ptr, c_int
      type(*), intent(in) :: status
      type(c_ptr), intent(out) :: buffer
      integer(c_int), intent(out) :: ierror
    end subroutine
  end interface

  interface MPIX_Release_recv_buf
    subroutine mpix_release_recv_buf_c(status, buffer, ierror) bind(C)
      use iso_c_binding, only: c_ptr, c_int
      integer(c_int), intent(in) :: status(*)
      type(c_ptr), value :: buffer
      integer(c_int), intent(out) :: ierror
    end subroutine
    subroutine mpix_release_recv_buf_f08_c(status, buffer, ierror) bind(C)
      use iso_c_binding, only: c_ptr, c_int
      type(*), intent(in) :: status
      type(c_ptr), value :: buffer
      integer(c_int), intent(out) :: ierror
    end subroutine
  end interface

  ! Whole arrays, or the first of a COMMON block, and the bytes from there on.
  interface
    subroutine MPIX_Register_buf(memory, bytes, ierror) bind(C, name='mpix_register_buf_c')
      use iso_c_binding, only: c_int, c_intptr_t
      type(*), target :: memory(*)
      integer(c_intptr_t), value :: bytes
      integer(c_int), intent(out) :: ierror
    end subroutine
    subroutine MPIX_Deregister_buf(memory, ierror) bind(C, name='mpix_deregister_buf_c')
      use iso_c_binding, only: c_int
      type(*), target :: memory(*)
      integer(c_int), intent(out) :: ierror
    end subroutine
  end interface
end module
