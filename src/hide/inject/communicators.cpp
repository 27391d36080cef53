#include "injection.hpp"

#include <algorithm>

namespace haloscope::inject {

namespace {

int keyval = MPI_KEYVAL_INVALID;

// Addresses of the library's own functions would have to be there in programs without MPI, too.
int copy_nothing(MPI_Comm /*comm*/, int /*keyval*/, void * /*extra*/, void * /*in*/, void * /*out*/,
                 int *flag) {
  *flag = 0;
  return MPI_SUCCESS;
}
int forget(MPI_Comm /*comm*/, int /*keyval*/, void *value, void * /*extra*/) {
  delete static_cast<Communicator *>(value);
  return MPI_SUCCESS;
}

// World ranks of those whom messages go to.
std::vector<int> world_ranks(MPI_Comm comm, bool is_inter) {
  MPI_Group group, world;
  int size = 0;
  if (is_inter)
    real.Comm_remote_group(comm, &group);
  else
    real.Comm_group(comm, &group);
  real.Comm_group(MPI_COMM_WORLD, &world);
  real.Group_size(group, &size);
  std::vector<int> own(static_cast<std::size_t>(size)), result(own.size(), MPI_UNDEFINED);
  for (int i = 0; i < size; i++) own[static_cast<std::size_t>(i)] = i;
  real.Group_translate_ranks(group, size, own.data(), world, result.data());
  real.Group_free(&group);
  real.Group_free(&world);
  return result;
}

// Processes of another world are on another node, as far as we know.
int node_of(int world_rank) {
  return world_rank < 0 ? -1 : state.nodes[static_cast<std::size_t>(world_rank)];
}

} // namespace

Communicator *communicator_of(MPI_Comm comm) noexcept {
  void *value = nullptr;
  int found = 0;
  if (comm == MPI_COMM_NULL || keyval == MPI_KEYVAL_INVALID ||
      real.Comm_get_attr(comm, keyval, &value, &found) != MPI_SUCCESS || found == 0)
    return nullptr;
  return static_cast<Communicator *>(value);
}

void attach(MPI_Comm comm) {
  if (keyval == MPI_KEYVAL_INVALID) real.Comm_create_keyval(copy_nothing, forget, &keyval, nullptr);
  auto *made = new Communicator;
  int is_inter = 0;
  real.Comm_dup(comm, &made->stamps);
  real.Comm_test_inter(comm, &is_inter);
  if (is_inter != 0)
    made->rank = -1;
  else
    real.Comm_rank(comm, &made->rank);
  made->world = world_ranks(comm, is_inter != 0);
  made->spans_nodes =
      std::ranges::any_of(made->world, [](int rank) { return node_of(rank) != node_of(state.world_rank); });
  real.Comm_set_attr(comm, keyval, made);
}

std::optional<MPI_Comm> detached(MPI_Comm comm) {
  const Communicator *found = communicator_of(comm);
  return found == nullptr ? std::nullopt : std::optional{found->stamps};
}

void find_nodes() {
  MPI_Comm node;
  int size = 0, leader = state.world_rank;
  real.Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  real.Bcast(&leader, sizeof leader, MPI_BYTE, 0, node);
  real.Comm_free(&node);
  real.Comm_size(MPI_COMM_WORLD, &size);
  state.nodes.resize(static_cast<std::size_t>(size));
  real.Allgather(&leader, sizeof leader, MPI_BYTE, state.nodes.data(), sizeof leader, MPI_BYTE,
                 MPI_COMM_WORLD);
}

// The clocks of one node are one; other nodes' are compared with rank 0's, by the fastest of some round
// trips.
void synchronise_clock() {
  constexpr int rounds = 20;
  const MPI_Comm comm = communicator_of(MPI_COMM_WORLD)->stamps;
  const auto ask = [&](int tag) {
    Moment best = 0, shortest = INT64_MAX;
    for (int i = 0; i < rounds; i++) {
      const Moment before = now();
      Moment theirs = 0;
      real.Send(nullptr, 0, MPI_BYTE, 0, tag, comm);
      real.Recv(&theirs, sizeof theirs, MPI_BYTE, 0, tag, comm, MPI_STATUS_IGNORE);
      const Moment after = now();
      if (after - before < shortest) {
        shortest = after - before;
        best = theirs - (before + after) / 2;
      }
    }
    return best;
  };
  if (state.world_rank != 0) {
    if (state.nodes[static_cast<std::size_t>(state.world_rank)] != state.nodes[0]) shift_clock(ask(1));
    return;
  }
  for (int rank = 1; rank < static_cast<int>(state.nodes.size()); rank++)
    for (int i = 0; i < rounds && state.nodes[static_cast<std::size_t>(rank)] != state.nodes[0]; i++) {
      real.Recv(nullptr, 0, MPI_BYTE, rank, 1, comm, MPI_STATUS_IGNORE);
      const Moment mine = now();
      real.Send(&mine, sizeof mine, MPI_BYTE, rank, 1, comm);
    }
}

} // namespace haloscope::inject
