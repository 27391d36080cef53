! Messages from rank 0, received by rank 1 with Fortran's functions: the time of each, and the number of polls
! without result. One text for the three interfaces: -DF08, -DUSE_MPI, or neither for mpif.h.
#ifdef F08
#define COMMUNICATOR type(MPI_Comm)
#define REQUEST type(MPI_Request)
#define MESSAGE type(MPI_Message)
#define WINDOW type(MPI_Win)
#define STATUS type(MPI_Status)
#define SOURCE_OF(s) s%MPI_SOURCE
#define TAG_OF(s) s%MPI_TAG
#define END )
#else
#define COMMUNICATOR integer
#define REQUEST integer
#define MESSAGE integer
#define WINDOW integer
#define STATUS integer, dimension(MPI_STATUS_SIZE)
#define SOURCE_OF(s) s(MPI_SOURCE)
#define TAG_OF(s) s(MPI_TAG)
#define END , error)
#endif
#define CHECK(condition) if (.not. (condition)) call fail(__LINE__)

program forms
#ifdef F08
  use mpi_f08
  implicit none
#elif defined(USE_MPI)
  use mpi
  implicit none
#else
  implicit none
  include 'mpif.h'
#endif
  integer, parameter :: count = 14
  character(len=10), parameter :: names(count) = [character(len=10) :: 'Recv', 'Wait', 'Test', 'Waitall', &
    'Testall', 'Waitany', 'Testany', 'Waitsome', 'Testsome', 'Probe', 'Iprobe', 'Improbe', 'Sendrecv', 'status']
  integer :: rank, ranks, error, form, polls, index, found, indices(2), got(2), sent(2), sum
  integer(kind=8) :: begin, now, rate
  logical :: done
  COMMUNICATOR :: comm
  REQUEST :: requests(2), late
  MESSAGE :: message
  STATUS :: one
#ifdef F08
  type(MPI_Status) :: statuses(2)
#else
  integer :: statuses(MPI_STATUS_SIZE, 2)
#endif

  call MPI_Init(error)
  call MPI_Comm_idup(MPI_COMM_WORLD, comm, late END
  call MPI_Wait(late, MPI_STATUS_IGNORE END
  call MPI_Comm_rank(comm, rank END
  call MPI_Comm_size(comm, ranks END
  do form = 1, count
    sent = [form, 2 * form]
    call meet()
    if (rank == 0) call MPI_Send(sent, 2, MPI_INTEGER, 1, 5, comm END
    if (rank == 1) then
      call receive()
      call system_clock(now)
      CHECK(all(got == sent))
      print '(a, f12.6, i12)', trim(names(form)), real(now - begin, 8) / real(rate, 8), polls
    end if
  end do
  call meet()
  call MPI_Allreduce(rank, sum, 1, MPI_INTEGER, MPI_SUM, comm END
  call system_clock(now)
  CHECK(sum == ranks * (ranks - 1) / 2)
  if (rank == 1) print '(a, f12.6, i12)', 'Allreduce', real(now - begin, 8) / real(rate, 8), 0
  call one_sided()
  call MPI_Comm_free(comm END
  call MPI_Finalize(error)

contains

  subroutine fail(line)
    integer, intent(in) :: line
    print *, 'forms.f90: line', line, 'rank', rank
    call MPI_Abort(MPI_COMM_WORLD, 1, error)
  end subroutine

  ! Rank 1's time begins before rank 0 continues. This synchronisation has no injected latency.
  subroutine meet()
    call PMPI_Barrier(MPI_COMM_WORLD, error)
    call system_clock(begin, rate)
    if (rank == 1) call PMPI_Send(rank, 1, MPI_INTEGER, 0, 9, MPI_COMM_WORLD, error)
    if (rank == 0) call PMPI_Recv(sum, 1, MPI_INTEGER, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  end subroutine

  subroutine receive()
    polls = 0
    got = 0
    done = .false.
    requests(1) = MPI_REQUEST_NULL
    if (form >= 2 .and. form <= 9 .or. form == 14) call MPI_Irecv(got, 2, MPI_INTEGER, 0, 5, comm, requests(2) END
    select case (form)
    case (1)
      call MPI_Recv(got, 2, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, one END
      CHECK(SOURCE_OF(one) == 0 .and. TAG_OF(one) == 5)
    case (2)
      call MPI_Wait(requests(2), one END
      CHECK(SOURCE_OF(one) == 0 .and. TAG_OF(one) == 5)
    case (3)
      do while (.not. done)
        call MPI_Test(requests(2), done, MPI_STATUS_IGNORE END
        if (.not. done) polls = polls + 1
      end do
    case (4)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE END
    case (5)
      do while (.not. done)
        call MPI_Testall(2, requests, done, statuses END
        if (.not. done) polls = polls + 1
      end do
    case (6)
      call MPI_Waitany(2, requests, index, one END
      CHECK(index == 2 .or. index == 1)
      CHECK(TAG_OF(one) == 5)
      call MPI_Waitany(2, requests, index, MPI_STATUS_IGNORE END
      CHECK(index == MPI_UNDEFINED)
    case (7)
      do while (.not. done)
        call MPI_Testany(2, requests, index, done, MPI_STATUS_IGNORE END
        if (.not. done) polls = polls + 1
      end do
      CHECK(index == 2 .or. index == 1)
    case (8)
      call MPI_Waitsome(2, requests, found, indices, statuses END
      CHECK(found == 1 .and. (indices(1) == 2 .or. indices(1) == 1))
    case (9)
      found = 0
      do while (found == 0)
        call MPI_Testsome(2, requests, found, indices, MPI_STATUSES_IGNORE END
        if (found == 0) polls = polls + 1
      end do
      CHECK(found == 1 .and. (indices(1) == 2 .or. indices(1) == 1))
    case (10)
      call MPI_Probe(0, MPI_ANY_TAG, comm, one END
      call MPI_Recv(got, 2, MPI_INTEGER, 0, TAG_OF(one), comm, MPI_STATUS_IGNORE END
    case (11)
      do while (.not. done)
        call MPI_Iprobe(0, 5, comm, done, one END
        if (.not. done) polls = polls + 1
      end do
      call MPI_Recv(got, 2, MPI_INTEGER, 0, TAG_OF(one), comm, MPI_STATUS_IGNORE END
    case (12)
      do while (.not. done)
        call MPI_Improbe(0, 5, comm, done, message, MPI_STATUS_IGNORE END
        if (.not. done) polls = polls + 1
      end do
      call MPI_Mrecv(got, 2, MPI_INTEGER, message, MPI_STATUS_IGNORE END
      CHECK(message == MPI_MESSAGE_NULL)
    case (13)
      call MPI_Sendrecv(sent, 2, MPI_INTEGER, MPI_PROC_NULL, 5, got, 2, MPI_INTEGER, 0, 5, comm, one END
      CHECK(SOURCE_OF(one) == 0)
    case (14)
      do while (.not. done)
        call MPI_Request_get_status(requests(2), done, MPI_STATUS_IGNORE END
        if (.not. done) polls = polls + 1
      end do
      call MPI_Wait(requests(2), MPI_STATUS_IGNORE END
    end select
    CHECK(requests(2) == MPI_REQUEST_NULL .or. form == 1 .or. (form >= 10 .and. form <= 13))
  end subroutine

  subroutine one_sided()
    WINDOW :: window
    integer, asynchronous :: values(2)
    integer(kind=MPI_ADDRESS_KIND) :: size
    values = 0
    size = 8
    call MPI_Win_create(values, size, 4, MPI_INFO_NULL, comm, window END
    call MPI_Win_fence(0, window END
    call meet()
    size = 1
    if (rank == 0) call MPI_Put(sent, 1, MPI_INTEGER, 1, size, 1, MPI_INTEGER, window END
    call MPI_Win_fence(0, window END
    call system_clock(now)
    if (rank == 1) then
      CHECK(values(2) == count)
      print '(a, f12.6, i12)', 'fence', real(now - begin, 8) / real(rate, 8), 0
    end if
    call MPI_Win_free(window END
  end subroutine
end program
