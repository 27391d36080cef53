! The Fortran half of a pair: twin.c makes the same calls in the same regions, so that their profiles must
! be equal. One text for the three interfaces: -DF08 (with -DLARGE_COUNTS where it has them), -DUSE_MPI, or
! neither for mpif.h. Positions in arrays of requests are not checked: in the mpi_f08 of MPICH 4.0 they
! count from 0.
#ifdef F08
#define COMMUNICATOR type(MPI_Comm)
#define REQUEST type(MPI_Request)
#define DATATYPE type(MPI_Datatype)
#define MESSAGE type(MPI_Message)
#define WINDOW type(MPI_Win)
#define STATUS(name) type(MPI_Status) :: name
#define STATUSES(name) type(MPI_Status) :: name(4)
#define SOURCE_OF(s) s%MPI_SOURCE
#define SOURCE_OF_ONE(s, i) s(i)%MPI_SOURCE
#define TAG_OF_ONE(s, i) s(i)%MPI_TAG
#define ONE(s, i) s(i)
#define VALUE_OF(handle) handle%MPI_VAL
! The last argument is optional there.
#define END )
#else
#define COMMUNICATOR integer
#define REQUEST integer
#define DATATYPE integer
#define MESSAGE integer
#define WINDOW integer
#define STATUS(name) integer :: name(MPI_STATUS_SIZE)
#define STATUSES(name) integer :: name(MPI_STATUS_SIZE, 4)
#define SOURCE_OF(s) s(MPI_SOURCE)
#define SOURCE_OF_ONE(s, i) s(MPI_SOURCE, i)
#define TAG_OF_ONE(s, i) s(MPI_TAG, i)
#define ONE(s, i) s(1, i)
#define VALUE_OF(handle) handle
#define END , error)
#endif
#ifdef LARGE_COUNTS
#define COUNT_KIND MPI_COUNT_KIND
#define PLACE_KIND MPI_ADDRESS_KIND
#else
#define COUNT_KIND kind(0)
#define PLACE_KIND kind(0)
#endif
#define BEGIN(name) call haloscope_region_begin(name)
#define DONE(name) call haloscope_region_end(name)
#define CHECK(condition) if (.not. (condition)) call fail(__LINE__)
#define WORLD MPI_COMM_WORLD
#define INT MPI_INTEGER
#define IGNORE MPI_STATUS_IGNORE

module twin
#ifdef F08
  use mpi_f08
#elif defined(USE_MPI)
  use mpi
#endif
  use haloscope
  implicit none
#if !defined(F08) && !defined(USE_MPI)
  include 'mpif.h'
#endif
  integer :: rank, ranks, up, down, error
  integer, target, asynchronous :: buffer(65536), other(65536)
  REQUEST :: requests(4)
  STATUS(state)
  STATUSES(states)

contains

  subroutine fail(line)
    integer, intent(in) :: line
    print *, 'twin.f90: line', line, 'does not hold'
    call MPI_Abort(WORLD, 3 END
  end subroutine

  integer function count_of(from)
    STATUS(from)
    call MPI_Get_count(from, INT, count_of END
  end function

  ! Two receives and two sends, with both neighbours.
  subroutine post(count)
    integer, intent(in) :: count
    call MPI_Irecv(other, 100, INT, down, 1, WORLD, requests(1) END
    call MPI_Irecv(other(101:200), 100, INT, up, 2, WORLD, requests(2) END
    call MPI_Isend(buffer, count + rank, INT, up, 1, WORLD, requests(3) END
    call MPI_Isend(buffer, 2 * count, INT, down, 2, WORLD, requests(4) END
  end subroutine

  subroutine pending()
    integer :: i, index, count, indices(2)
    BEGIN('Waitall')
    call post(10)
    call MPI_Waitall(4, requests, states END
    CHECK(SOURCE_OF_ONE(states, 1) == down)
    CHECK(TAG_OF_ONE(states, 2) == 2)
    CHECK(count_of(ONE(states, 1)) == 10 + down)
    CHECK(count_of(ONE(states, 2)) == 20)
    call post(11)
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE END
    DONE('Waitall')
    BEGIN('Wait')
    call post(12)
    call MPI_Wait(requests(1), state END
    CHECK(SOURCE_OF(state) == down)
    CHECK(count_of(state) == 12 + down)
    do i = 2, 3
      call MPI_Wait(requests(i), IGNORE END
    end do
    call MPI_Request_free(requests(4) END
    DONE('Wait')
    BEGIN('Waitany')
    call post(13)
    call MPI_Waitall(2, requests(3:4), MPI_STATUSES_IGNORE END
    call MPI_Wait(requests(1), IGNORE END
    call MPI_Waitany(2, requests, index, state END
    CHECK(SOURCE_OF(state) == up)
    CHECK(requests(2) == MPI_REQUEST_NULL)
    call MPI_Waitany(2, requests, index, IGNORE END
    DONE('Waitany')
    BEGIN('Waitsome')
    call MPI_Irecv(other, 100, INT, down, 0, WORLD, requests(1) END
    call MPI_Irecv(other(101), 100, INT, down, 1, WORLD, requests(2) END
    do i = 0, 1
      call MPI_Send(buffer, 14 + i, INT, up, i, WORLD END
      if (i == 0) call MPI_Waitsome(2, requests, count, indices, states END
      if (i == 1) call MPI_Waitsome(2, requests, count, indices, MPI_STATUSES_IGNORE END
      CHECK(count == 1)
      call MPI_Barrier(WORLD END
    end do
    CHECK(SOURCE_OF_ONE(states, 1) == down)
    CHECK(TAG_OF_ONE(states, 1) == 0)
    DONE('Waitsome')
  end subroutine

  subroutine polls()
    integer :: i, index, count, completed, indices(4)
    logical :: flag
    BEGIN('Test')
    call post(16)
    do i = 1, 4
      flag = .false.
      do while (.not. flag)
        if (i == 1) call MPI_Test(requests(i), flag, state END
        if (i > 1) call MPI_Test(requests(i), flag, IGNORE END
      end do
    end do
    CHECK(SOURCE_OF(state) == down)
    CHECK(count_of(state) == 16 + down)
    DONE('Test')
    BEGIN('Testall')
    call post(17)
    flag = .false.
    do while (.not. flag)
      call MPI_Testall(4, requests, flag, states END
    end do
    CHECK(SOURCE_OF_ONE(states, 2) == up)
    call post(18)
    flag = .false.
    do while (.not. flag)
      call MPI_Testall(4, requests, flag, MPI_STATUSES_IGNORE END
    end do
    DONE('Testall')
    BEGIN('Testany')
    call post(19)
    completed = 0
    do while (completed < 4)
      call MPI_Testany(4, requests, index, flag, state END
      if (.not. flag) cycle
      completed = completed + 1
    end do
    DONE('Testany')
    BEGIN('Testsome')
    call post(20)
    completed = 0
    do while (completed < 4)
      call MPI_Testsome(4, requests, count, indices, states END
      completed = completed + count
    end do
    DONE('Testsome')
    BEGIN('Iprobe')
    call MPI_Isend(buffer, 21, INT, up, 3, WORLD, requests(1) END
    flag = .false.
    do while (.not. flag)
      call MPI_Iprobe(MPI_ANY_SOURCE, 3, WORLD, flag, state END
    end do
    CHECK(SOURCE_OF(state) == down)
    CHECK(count_of(state) == 21)
    call MPI_Recv(other, 21, INT, SOURCE_OF(state), 3, WORLD, IGNORE END
    call MPI_Wait(requests(1), IGNORE END
    DONE('Iprobe')
  end subroutine

  subroutine blocking()
    integer, save :: attached(16384)
    integer :: i, length
    logical :: flag
    MESSAGE :: matched
#ifdef F08
    type(c_ptr) :: detached
#else
    integer(MPI_ADDRESS_KIND) :: detached
#endif
    BEGIN('Recv')
    if (rank == 0) then
      do i = 0, 2
        call MPI_Send(buffer, 30 + i, INT, 1, 0, WORLD END
      end do
    else if (rank == 1) then
      call MPI_Recv(other, 100, INT, 0, 0, WORLD, state END
      CHECK(SOURCE_OF(state) == 0)
      CHECK(count_of(state) == 30)
      call MPI_Recv(other, 100, INT, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, state END
      CHECK(SOURCE_OF(state) == 0)
      CHECK(count_of(state) == 31)
      call MPI_Recv(other, 100, INT, MPI_ANY_SOURCE, 0, WORLD, IGNORE END
    end if
    DONE('Recv')
    BEGIN('modes')
    call MPI_Buffer_attach(attached, 65536 END
    if (rank == 0) call MPI_Ssend(buffer, 33, INT, 1, 0, WORLD END
    if (rank == 0) call MPI_Bsend(buffer, 34, INT, 1, 0, WORLD END
    if (rank == 0) call MPI_Issend(buffer, 35, INT, 1, 0, WORLD, requests(1) END
    if (rank == 1) then
      do i = 1, 3
        call MPI_Recv(other, 100, INT, 0, 0, WORLD, IGNORE END
      end do
    end if
    if (rank == 0) call MPI_Wait(requests(1), IGNORE END
    call MPI_Buffer_detach(detached, length END
    DONE('modes')
    BEGIN('Sendrecv')
    call MPI_Sendrecv(buffer, 36 + rank, INT, up, 0, other, 100, INT, down, 0, WORLD, state END
    CHECK(SOURCE_OF(state) == down)
    CHECK(count_of(state) == 36 + down)
    call MPI_Sendrecv(buffer, 39, INT, up, 0, other, 39, INT, down, 0, WORLD, IGNORE END
    call MPI_Sendrecv_replace(buffer, 40, INT, up, 0, down, 0, WORLD, IGNORE END
    DONE('Sendrecv')
    BEGIN('Probe')
    if (rank == 0) then
      do i = 0, 2
        call MPI_Send(buffer, 41 + i, INT, 1, 0, WORLD END
      end do
    else if (rank == 1) then
      call MPI_Probe(MPI_ANY_SOURCE, 0, WORLD, state END
      CHECK(count_of(state) == 41)
      call MPI_Recv(other, 41, INT, 0, 0, WORLD, IGNORE END
      call MPI_Mprobe(0, MPI_ANY_TAG, WORLD, matched, state END
      CHECK(count_of(state) == 42)
      call MPI_Mrecv(other, 42, INT, matched, state END
      call MPI_Mprobe(0, 0, WORLD, matched, IGNORE END
      call MPI_Imrecv(other, 43, INT, matched, requests(1) END
      call MPI_Wait(requests(1), state END
      CHECK(SOURCE_OF(state) == 0)
      CHECK(count_of(state) == 43)
    end if
    DONE('Probe')
    BEGIN('nobody')
    call MPI_Send(buffer, 9, INT, MPI_PROC_NULL, 0, WORLD END
    call MPI_Recv(other, 9, INT, MPI_PROC_NULL, 0, WORLD, state END
    CHECK(SOURCE_OF(state) == MPI_PROC_NULL)
    call MPI_Isend(buffer, 9, INT, MPI_PROC_NULL, 0, WORLD, requests(1) END
    call MPI_Irecv(other, 9, INT, MPI_PROC_NULL, 0, WORLD, requests(2) END
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE END
    DONE('nobody')
    BEGIN('cancelled')
    call MPI_Irecv(other, 9, INT, down, 99, WORLD, requests(1) END
    call MPI_Cancel(requests(1) END
    call MPI_Wait(requests(1), state END
    call MPI_Test_cancelled(state, flag END
    CHECK(flag)
    DONE('cancelled')
  end subroutine

  subroutine persistent()
    integer :: i, index
    call haloscope_comm_region_begin('persistent   ') ! blanks at the end are not part of a name
    call MPI_Send_init(buffer, 50, INT, up, 4, WORLD, requests(1) END
    call MPI_Recv_init(other, 100, INT, down, 4, WORLD, requests(2) END
    do i = 0, 2
      BEGIN('pass')
      call haloscope_value('number', 0.5d0 * i)
      call MPI_Startall(2, requests END
      if (i == 0) call MPI_Waitall(2, requests, states END
      if (i > 0) call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE END
      DONE('pass')
    end do
    CHECK(SOURCE_OF_ONE(states, 2) == down)
    CHECK(count_of(ONE(states, 2)) == 50)
    do i = 1, 2
      call MPI_Start(requests(i) END
    end do
    call MPI_Wait(requests(1), IGNORE END
    call MPI_Waitany(2, requests, index, state END
    CHECK(SOURCE_OF(state) == down)
    do i = 1, 2
      call MPI_Request_free(requests(i) END
    end do
    call haloscope_comm_region_end('persistent')
  end subroutine

  subroutine datatypes()
    DATATYPE :: kind
    integer(MPI_ADDRESS_KIND) :: places(1)
    BEGIN('types')
    call MPI_Type_vector(4, 2, 3, INT, kind END
    call MPI_Type_commit(kind END
    call MPI_Sendrecv(buffer, 2, kind, up, 0, other, 100, INT, down, 0, WORLD, state END
    CHECK(count_of(state) == 16)
    call MPI_Type_free(kind END
    DONE('types')
    BEGIN('bottom')
    call MPI_Get_address(buffer, places(1) END
    call MPI_Type_create_hindexed(1, [7], places, INT, kind END
    call MPI_Type_commit(kind END
    call MPI_Sendrecv(MPI_BOTTOM, 1, kind, up, 0, other, 100, INT, down, 0, WORLD, state END
    CHECK(count_of(state) == 7)
    call MPI_Type_free(kind END
    DONE('bottom')
    BEGIN('section')
    if (rank == 0) call MPI_Send(buffer(1:20:2), 10, INT, 1, 0, WORLD END
    if (rank == 1) call MPI_Recv(other(1:20:2), 10, INT, 0, 0, WORLD, IGNORE END
    call MPI_Bcast(buffer(1:20:2), 10, INT, 0, WORLD END
    DONE('section')
  end subroutine

  subroutine collectives()
    integer :: root, i, counts(16), all_counts(16), places(16), nothing(1)
    logical :: flag
    DATATYPE :: garbage, ours
    VALUE_OF(garbage) = 123456789
    root = ranks - 1
    ours = INT
    if (rank /= root) ours = garbage
    counts = [(i, i = 1, 16)]
    all_counts = counts + rank
    places = 64 * (counts - 1)
    BEGIN('Barrier')
    call MPI_Barrier(WORLD END
    DONE('Barrier')
    BEGIN('Bcast')
    call MPI_Bcast(buffer, 60, INT, root, WORLD END
    DONE('Bcast')
    BEGIN('Reduce')
    call MPI_Reduce(buffer, other, 61, INT, MPI_SUM, root, WORLD END
    if (rank == root) call MPI_Reduce(MPI_IN_PLACE, other, 62, INT, MPI_SUM, root, WORLD END
    if (rank /= root) call MPI_Reduce(buffer, nothing, 62, INT, MPI_SUM, root, WORLD END
    DONE('Reduce')
    BEGIN('Allreduce')
    call MPI_Allreduce(buffer, other, 63, INT, MPI_SUM, WORLD END
    call MPI_Allreduce(MPI_IN_PLACE, other, 64, INT, MPI_SUM, WORLD END
    DONE('Allreduce')
    BEGIN('Scan')
    call MPI_Scan(buffer, other, 65, INT, MPI_SUM, WORLD END
    DONE('Scan')
    BEGIN('Reduce_scatter')
    call MPI_Reduce_scatter(buffer, other, counts, INT, MPI_SUM, WORLD END
    DONE('Reduce_scatter')
    BEGIN('Gather')
    call MPI_Gather(buffer, 6, INT, other, merge(6, -7, rank == root), ours, root, WORLD END
    if (rank == root) call MPI_Gather(MPI_IN_PLACE, -7, garbage, other, 7, INT, root, WORLD END
    if (rank /= root) call MPI_Gather(buffer, 7, INT, nothing, -7, garbage, root, WORLD END
    DONE('Gather')
    BEGIN('Gatherv')
    if (rank == root) call MPI_Gatherv(buffer, rank + 1, INT, other, counts, places, INT, root, WORLD END
    if (rank /= root) call MPI_Gatherv(buffer, rank + 1, INT, nothing, nothing, nothing, garbage, root, WORLD END
    DONE('Gatherv')
    BEGIN('Scatter')
    call MPI_Scatter(buffer, merge(8, -7, rank == root), ours, other, 8, INT, root, WORLD END
    if (rank == root) call MPI_Scatter(buffer, 9, INT, MPI_IN_PLACE, -7, garbage, root, WORLD END
    if (rank /= root) call MPI_Scatter(nothing, -7, garbage, other, 9, INT, root, WORLD END
    DONE('Scatter')
    BEGIN('Allgather')
    call MPI_Allgather(MPI_IN_PLACE, -7, garbage, other, 10, INT, WORLD END
    DONE('Allgather')
    BEGIN('Allgatherv')
    call MPI_Allgatherv(buffer, rank + 1, INT, other, counts, places, INT, WORLD END
    call MPI_Allgatherv(MPI_IN_PLACE, -7, garbage, other, counts, places, INT, WORLD END
    DONE('Allgatherv')
    BEGIN('Alltoall')
    call MPI_Alltoall(buffer, 11, INT, other, 11, INT, WORLD END
    DONE('Alltoall')
    BEGIN('Alltoallv')
    call MPI_Alltoallv(buffer, all_counts, places, INT, other, all_counts, places, INT, WORLD END
    DONE('Alltoallv')
    BEGIN('Iallreduce')
    call MPI_Iallreduce(buffer, other, 66, INT, MPI_SUM, WORLD, requests(1) END
    call MPI_Wait(requests(1), IGNORE END
    call MPI_Iallreduce(MPI_IN_PLACE, other, 67, INT, MPI_SUM, WORLD, requests(1) END
    call MPI_Ibarrier(WORLD, requests(2) END
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE END
    call MPI_Ibcast(buffer, 68, INT, root, WORLD, requests(1) END
    flag = .false.
    do while (.not. flag)
      call MPI_Test(requests(1), flag, IGNORE END
    end do
    DONE('Iallreduce')
  end subroutine

  subroutine large()
    integer(COUNT_KIND) :: n, counts(16)
    integer(PLACE_KIND) :: places(16)
    integer :: i
    n = 25
    counts = [(i + 3, i = 0, 15)]
    places = [(64 * i, i = 0, 15)]
    BEGIN('large counts')
    if (rank == 0) call MPI_Send(buffer, n, INT, 1, 0, WORLD END
    if (rank == 1) call MPI_Recv(other, n, INT, 0, 0, WORLD, IGNORE END
    call MPI_Irecv(other, n, INT, down, 0, WORLD, requests(1) END
    call MPI_Isend(buffer, n, INT, up, 0, WORLD, requests(2) END
    call MPI_Waitall(2, requests, states END
    CHECK(count_of(ONE(states, 1)) == 25)
    call MPI_Allreduce(MPI_IN_PLACE, other, n, INT, MPI_SUM, WORLD END
    call MPI_Allgatherv(buffer, counts(rank + 1), INT, other, counts, places, INT, WORLD END
    call MPI_Iallreduce(buffer, other, n, INT, MPI_SUM, WORLD, requests(1) END
    call MPI_Wait(requests(1), IGNORE END
    DONE('large counts')
  end subroutine

  subroutine around(comm, count)
    COMMUNICATOR, intent(in) :: comm
    integer, intent(in) :: count
    integer :: me, n
    call MPI_Comm_rank(comm, me END
    call MPI_Comm_size(comm, n END
    call MPI_Irecv(other, count, INT, mod(me + n - 1, n), 0, comm, requests(1) END
    call MPI_Send(buffer, count, INT, mod(me + 1, n), 0, comm END
    call MPI_Wait(requests(1), state END
    CHECK(SOURCE_OF(state) == mod(me + n - 1, n))
    call MPI_Allreduce(MPI_IN_PLACE, other, count, INT, MPI_SUM, comm END
  end subroutine

  subroutine communicators()
    COMMUNICATOR :: half, reversed, copy, late, ring
    integer :: from, to
    BEGIN('Comm_split')
    call MPI_Comm_split(WORLD, mod(rank, 2), rank, half END
    call MPI_Comm_set_name(half, 'halves' END
    call around(half, 70)
    call MPI_Comm_split(WORLD, merge(MPI_UNDEFINED, 0, rank == 0), -rank, reversed END
    if (rank == 0) then
      CHECK(reversed == MPI_COMM_NULL)
    else
      call around(reversed, 71)
      call MPI_Comm_free(reversed END
    end if
    DONE('Comm_split')
    BEGIN('Comm_dup')
    call MPI_Comm_dup(half, copy END
    call around(copy, 72)
    call MPI_Comm_free(copy END
    call MPI_Comm_idup(WORLD, late, requests(1) END
    call MPI_Wait(requests(1), IGNORE END
    call around(late, 73)
    call MPI_Comm_free(late END
    call MPI_Comm_free(half END
    DONE('Comm_dup')
    BEGIN('Cart_create')
    call MPI_Cart_create(WORLD, 1, [ranks], [.true.], .false., ring END
    call MPI_Cart_shift(ring, 0, 1, from, to END
    call MPI_Sendrecv(buffer, 74, INT, to, 0, other, 74, INT, from, 0, ring, IGNORE END
    call MPI_Neighbor_allgather(buffer, 12, INT, other, 12, INT, ring END
    call MPI_Comm_free(ring END
    DONE('Cart_create')
  end subroutine

  subroutine windows()
    WINDOW :: exposed
    integer(MPI_ADDRESS_KIND) :: bytes, first, far
    bytes = 4096
    first = 0
    far = 200
    BEGIN('window')
    call MPI_Win_create(other, bytes, 4, MPI_INFO_NULL, WORLD, exposed END
    call MPI_Win_fence(0, exposed END
    call MPI_Put(buffer, 80, INT, up, first, 80, INT, exposed END
    call MPI_Accumulate(buffer, 81, INT, down, far, 81, INT, MPI_SUM, exposed END
    call MPI_Win_fence(0, exposed END
    call MPI_Get(buffer, 82, INT, up, first, 82, INT, exposed END
    call MPI_Win_fence(0, exposed END
    call MPI_Win_free(exposed END
    DONE('window')
  end subroutine

end module twin

program main
  use twin
  implicit none
  call MPI_Init(error)
  call MPI_Comm_rank(WORLD, rank, error)
  call MPI_Comm_size(WORLD, ranks, error)
  up = mod(rank + 1, ranks)
  down = mod(rank + ranks - 1, ranks)
  call pending()
  call polls()
  call blocking()
  call persistent()
  call datatypes()
  call collectives()
  call large()
  call communicators()
  call windows()
  call MPI_Finalize(error)
end program
