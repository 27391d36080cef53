! Markers for the phases of a Fortran program. Compile this file with the program; nothing is linked:
!
!   gfortran -c $(haloscope where include)/haloscope/haloscope.f90
!
!   use haloscope
!   call haloscope_region_begin('assemble')       a phase of the program
!   call haloscope_comm_region_begin('halo')      a phase whose MPI calls form one pattern
!   call haloscope_value('iterations', 12.0d0)    a number that belongs to the current instance
!   call haloscope_metadata('case', 'wing')       a text that belongs to the run; also before MPI_Init
!
! Names are used without trailing blanks. How the recorder is found: see region.h.
module haloscope
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: haloscope_region_begin, haloscope_region_end
  public :: haloscope_comm_region_begin, haloscope_comm_region_end, haloscope_value
  public :: haloscope_metadata

  integer(c_int32_t), parameter :: segment_is_note = 4
  integer(c_int32_t), parameter :: note_type = 1
  character(len=*), parameter :: note_name = 'Haloscope'

  ! struct haloscope_recorder of region.h
  type, bind(c) :: recorder_type
    integer(c_int32_t) :: version, reserved
    type(c_funptr) :: begin, end, value
    type(c_funptr) :: metadata ! since version 2
  end type

  ! The first members of struct dl_phdr_info
  type, bind(c) :: object_type
    integer(c_intptr_t) :: base
    type(c_ptr) :: name, headers
    integer(c_int16_t) :: header_count
  end type

  ! Elf64_Phdr
  type, bind(c) :: header_type
    integer(c_int32_t) :: kind, flags
    integer(c_int64_t) :: offset, address, physical, file_size, memory_size, alignment
  end type

  ! Elf64_Nhdr
  type, bind(c) :: note_header_type
    integer(c_int32_t) :: name_size, descriptor_size, kind
  end type

  abstract interface
    subroutine mark_interface(name, communication) bind(c)
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: communication
    end subroutine
    subroutine value_interface(name, number) bind(c)
      import :: c_char, c_double
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), value :: number
    end subroutine
    subroutine metadata_interface(key, text) bind(c)
      import :: c_char
      character(kind=c_char), intent(in) :: key(*), text(*)
    end subroutine
  end interface

  interface
    function each_object(visit, found) bind(c, name='dl_iterate_phdr') result(stopped)
      import :: c_funptr, c_ptr, c_int
      type(c_funptr), value :: visit
      type(c_ptr), value :: found
      integer(c_int) :: stopped
    end function
  end interface

  logical, save :: looked = .false.
  logical, save :: watched = .false.
  procedure(mark_interface), pointer, save :: recorder_begin => null()
  procedure(mark_interface), pointer, save :: recorder_end => null()
  procedure(value_interface), pointer, save :: recorder_value => null()
  procedure(metadata_interface), pointer, save :: recorder_metadata => null()

contains

  subroutine haloscope_region_begin(name)
    character(len=*), intent(in) :: name
    if (.not. looked) call look()
    if (watched) call recorder_begin(trim(name) // c_null_char, 0_c_int)
  end subroutine

  subroutine haloscope_region_end(name)
    character(len=*), intent(in) :: name
    if (.not. looked) call look()
    if (watched) call recorder_end(trim(name) // c_null_char, 0_c_int)
  end subroutine

  subroutine haloscope_comm_region_begin(name)
    character(len=*), intent(in) :: name
    if (.not. looked) call look()
    if (watched) call recorder_begin(trim(name) // c_null_char, 1_c_int)
  end subroutine

  subroutine haloscope_comm_region_end(name)
    character(len=*), intent(in) :: name
    if (.not. looked) call look()
    if (watched) call recorder_end(trim(name) // c_null_char, 1_c_int)
  end subroutine

  subroutine haloscope_value(name, number)
    character(len=*), intent(in) :: name
    real(c_double), intent(in) :: number
    if (.not. looked) call look()
    if (watched) call recorder_value(trim(name) // c_null_char, number)
  end subroutine

  subroutine haloscope_metadata(key, text)
    character(len=*), intent(in) :: key, text
    if (.not. looked) call look()
    if (associated(recorder_metadata)) &
      call recorder_metadata(trim(key) // c_null_char, trim(text) // c_null_char)
  end subroutine

  subroutine look()
    integer(c_intptr_t), target :: place
    type(recorder_type), pointer :: recorder
    integer(c_int) :: stopped
    place = 0
    stopped = each_object(c_funloc(visit_object), c_loc(place))
    looked = .true.
    if (stopped == 0 .or. place == 0) return
    call c_f_pointer(transfer(place, c_null_ptr), recorder)
    call c_f_procpointer(recorder%begin, recorder_begin)
    call c_f_procpointer(recorder%end, recorder_end)
    call c_f_procpointer(recorder%value, recorder_value)
    if (recorder%version >= 2) call c_f_procpointer(recorder%metadata, recorder_metadata)
    watched = .true.
  end subroutine

  function visit_object(object, bytes, found) bind(c) result(stop)
    type(object_type), intent(in) :: object
    integer(c_size_t), value :: bytes
    type(c_ptr), value :: found
    integer(c_int) :: stop
    type(header_type), pointer :: headers(:)
    integer(c_intptr_t), pointer :: place
    integer :: i
    stop = 0
    if (bytes == 0) return
    call c_f_pointer(found, place)
    call c_f_pointer(object%headers, headers, [int(object%header_count)])
    do i = 1, size(headers)
      if (headers(i)%kind /= segment_is_note) cycle
      place = in_notes(object%base + headers(i)%address, headers(i)%memory_size)
      if (place /= 0) then
        stop = 1
        return
      end if
    end do
  end function

  ! Address of the recorder's table if these notes hold it, else 0.
  function in_notes(first, bytes) result(place)
    integer(c_intptr_t), intent(in) :: first
    integer(c_int64_t), intent(in) :: bytes
    integer(c_intptr_t) :: place, note, descriptor
    type(note_header_type), pointer :: header
    character(kind=c_char), pointer :: name(:)
    integer(c_int32_t), pointer :: distance
    place = 0
    note = first
    do while (note + 12 <= first + bytes)
      call c_f_pointer(transfer(note, c_null_ptr), header)
      descriptor = note + 12 + padded(header%name_size)
      if (descriptor + padded(header%descriptor_size) > first + bytes) return
      if (header%kind == note_type .and. header%name_size == len(note_name) + 1) then
        call c_f_pointer(transfer(note + 12, c_null_ptr), name, [len(note_name)])
        if (same(name, note_name)) then
          call c_f_pointer(transfer(descriptor, c_null_ptr), distance)
          place = descriptor + distance
          return
        end if
      end if
      note = descriptor + padded(header%descriptor_size)
    end do
  end function

  pure logical function same(characters, text)
    character(kind=c_char), intent(in) :: characters(:)
    character(len=*), intent(in) :: text
    integer :: i
    same = .true.
    do i = 1, len(text)
      if (characters(i) /= text(i:i)) same = .false.
    end do
  end function

  pure integer(c_intptr_t) function padded(size)
    integer(c_int32_t), intent(in) :: size
    padded = iand(int(size, c_intptr_t) + 3, not(3_c_intptr_t))
  end function

end module haloscope
