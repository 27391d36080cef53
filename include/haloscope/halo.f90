! halo.h for Fortran: docs/reference/halo.md. Neighbours are numbered from 0, as in C. Communicators are integers, as of
! mpif.h and mpi; of mpi_f08 pass comm%MPI_VAL. All functions return MPI_SUCCESS or an error code.
module haloscope_halo
  use iso_c_binding, only: c_int, c_size_t, c_ptr, c_null_ptr, c_char, c_f_pointer, c_associated
  implicit none
  private
  public :: haloscope_halo_create, haloscope_halo_free, haloscope_halo_start, haloscope_halo_test
  public :: haloscope_halo_finish, haloscope_halo_release, haloscope_halo_send_buffer
  public :: haloscope_halo_receive_buffer, haloscope_halo_error, haloscope_halo_description

  interface
    ! By the method that is measured to be the quickest. Sizes are in bytes, one a neighbour.
    integer(c_int) function haloscope_halo_create(comm, send_bytes, receive_bytes, halo) &
        bind(C, name='haloscope_halo_create_fortran')
      import :: c_int, c_size_t, c_ptr
      integer(c_int), value :: comm
      integer(c_size_t), intent(in) :: send_bytes(*), receive_bytes(*)
      type(c_ptr), intent(out) :: halo
    end function
    subroutine haloscope_halo_free(halo) bind(C)
      import :: c_ptr
      type(c_ptr), value :: halo
    end subroutine
    integer(c_int) function haloscope_halo_start(halo) bind(C)
      import :: c_int, c_ptr
      type(c_ptr), value :: halo
    end function
    integer(c_int) function haloscope_halo_test(halo, there) bind(C)
      import :: c_int, c_ptr
      type(c_ptr), value :: halo
      integer(c_int), intent(out) :: there
    end function
    integer(c_int) function haloscope_halo_finish(halo) bind(C)
      import :: c_int, c_ptr
      type(c_ptr), value :: halo
    end function
    integer(c_int) function haloscope_halo_release(halo) bind(C)
      import :: c_int, c_ptr
      type(c_ptr), value :: halo
    end function
    ! To be turned into a pointer to an array by c_f_pointer; null where there is nothing.
    type(c_ptr) function haloscope_halo_send_buffer(halo, neighbour) bind(C)
      import :: c_int, c_ptr
      type(c_ptr), value :: halo
      integer(c_int), value :: neighbour
    end function
    type(c_ptr) function haloscope_halo_receive_buffer(halo, neighbour) bind(C)
      import :: c_int, c_ptr
      type(c_ptr), value :: halo
      integer(c_int), value :: neighbour
    end function
    type(c_ptr) function error_text() bind(C, name='haloscope_halo_error')
      import :: c_ptr
    end function
    type(c_ptr) function description_text(halo) bind(C, name='haloscope_halo_description')
      import :: c_ptr
      type(c_ptr), value :: halo
    end function
    integer(c_size_t) function strlen(text) bind(C)
      import :: c_size_t, c_ptr
      type(c_ptr), value :: text
    end function
  end interface

contains

  ! What the last failing call says, in one line.
  function haloscope_halo_error() result(text)
    character(:), allocatable :: text
    text = copied(error_text())
  end function

  ! What was chosen, and by which times, in one line.
  function haloscope_halo_description(halo) result(text)
    type(c_ptr), intent(in) :: halo
    character(:), allocatable :: text
    text = copied(description_text(halo))
  end function

  function copied(from) result(text)
    type(c_ptr), intent(in) :: from
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    text = ''
    if (.not. c_associated(from)) return
    call c_f_pointer(from, letters, [strlen(from)])
    do i = 1, size(letters)
      text = text // letters(i)
    end do
  end function
end module
