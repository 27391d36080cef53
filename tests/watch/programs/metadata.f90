! Says a text of its run, with trailing blanks that are none of it.
program main
  use haloscope
  use mpi
  implicit none
  integer :: error
  character(len=8) :: text = 'wing'
  call haloscope_metadata('early', text)
  call MPI_Init(error)
  call haloscope_metadata('case', text)
  call MPI_Finalize(error)
end program
