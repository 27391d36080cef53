! A short version of world.c, for each of Fortran's interfaces.
program world
#if defined(MPIF_H)
  implicit none
  include 'mpif.h'
#define COMM integer
#elif defined(USE_MPI)
  use mpi
  implicit none
#define COMM integer
#else
  use mpi_f08
  implicit none
#define COMM type(MPI_Comm)
#endif
  integer :: rank, size, ierror, sum, left, length, one
  integer(kind=MPI_ADDRESS_KIND) :: most
  integer :: other(1), from(1), to(1), in(1), out(1)
  integer, dimension(65536) :: block, into
  logical :: flag
  COMM :: grid, graph
  character(len=MPI_MAX_OBJECT_NAME) :: name
  character(len=MPI_MAX_PROCESSOR_NAME) :: host

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  call MPI_Get_processor_name(host, length, ierror)
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, most, flag, ierror)
  call check(flag .and. most >= 32767, 'MPI_TAG_UB')
  call MPI_Comm_get_name(MPI_COMM_WORLD, name, one, ierror)
  call check(name(1:one) == 'MPI_COMM_WORLD', 'its name')
  call MPI_Allreduce(rank, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call check(sum == size * (size - 1) / 2, 'a sum')
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, mod(rank + 1, size), 3, left, 1, MPI_INTEGER, &
                    mod(rank + size - 1, size), 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  call check(left == mod(rank + size - 1, size), 'a message')
  other(1) = mod(rank + size / 2, size)
  block = rank
  call MPI_Sendrecv(block, 65536, MPI_INTEGER, other(1), 1, into, 65536, MPI_INTEGER, other(1), 1, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  call check(all(into == other(1)), 'a large message')
  call MPI_Cart_create(MPI_COMM_WORLD, 2, [size, 1], [.false., .false.], .false., grid, ierror)
  call MPI_Comm_rank(grid, one, ierror)
  call check(one == rank, 'a grid')
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, other, MPI_UNWEIGHTED, 1, other, MPI_UNWEIGHTED, &
                                      MPI_INFO_NULL, .false., graph, ierror)
  call MPI_Dist_graph_neighbors(graph, 1, from, in, 1, to, out, ierror)
  call check(from(1) == other(1) .and. to(1) == from(1), 'neighbours')
  call MPI_Comm_free(grid, ierror)
  call MPI_Comm_free(graph, ierror)
  print '(I0,1X,A)', rank, trim(host)
  call MPI_Finalize(ierror)

contains

  subroutine check(right, what)
    logical, intent(in) :: right
    character(len=*), intent(in) :: what
    if (.not. right) print '(A,A,A,I0)', 'wrong: ', what, ' on rank ', rank
  end subroutine check

end program world
