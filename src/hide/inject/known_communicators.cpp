#include "hide/inject/held.hpp"
#include "hide/inject/injection.hpp"
#include "interpose/entering.hpp"
#include "interpose/sessions.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <unistd.h>

namespace haloscope::inject {

namespace {

int keyval = MPI_KEYVAL_INVALID;

// MPI's own callbacks cannot be used here: programs without MPI do not have these symbols.
int copy_nothing(MPI_Comm /*comm*/, int /*keyval*/, void * /*extra*/, void * /*in*/, void * /*out*/,
                 int *flag) {
  *flag = 0;
  return MPI_SUCCESS;
}
int forget(MPI_Comm /*comm*/, int /*keyval*/, void *value, void * /*extra*/) {
  delete static_cast<std::shared_ptr<Communicator> *>(value);
  return MPI_SUCCESS;
}

void keep(MPI_Comm comm, std::shared_ptr<Communicator> made) {
  {
    const Lock lock;
    if (keyval == MPI_KEYVAL_INVALID) real.Comm_create_keyval(copy_nothing, forget, &keyval, nullptr);
  }
  real.Comm_set_attr(comm, keyval, new std::shared_ptr<Communicator>(std::move(made)));
}

// For the stamps of a communicator's messages: with all its ranks, and with nothing that the program has
// attached to it: MPI_Comm_dup would call the program's copy callbacks, and freeing the duplicate its delete
// callbacks.
MPI_Comm make_bare(MPI_Comm comm) {
  MPI_Group group;
  MPI_Comm bare = MPI_COMM_NULL;
  real.Comm_group(comm, &group); // of an intercommunicator our own side, as MPI_Comm_create wants it
  real.Comm_create(comm, group, &bare);
  real.Group_free(&group);
  if (bare != MPI_COMM_NULL) real.Comm_set_errhandler(bare, MPI_ERRORS_RETURN); // nor its error handler
  return bare;
}

// World ranks of a group's processes; negative where they are of another world.
std::vector<int> world_ranks(MPI_Group group) {
  int size = 0;
  real.Group_size(group, &size);
  std::vector<int> own(static_cast<std::size_t>(size)), result(own.size(), MPI_UNDEFINED);
  for (int i = 0; i < size; i++) own[static_cast<std::size_t>(i)] = i;
  real.Group_translate_ranks(group, size, own.data(), state.world, result.data());
  real.Group_free(&group);
  return result;
}

std::uint64_t node_of(int world_rank) {
  const auto place = static_cast<std::size_t>(world_rank);
  return world_rank < 0 || place >= state.nodes.size() ? 0 : state.nodes[place];
}

bool are_apart(const Communicator &communicator) {
  return std::ranges::any_of(communicator.world, [](int rank) { return !is_here(rank); });
}

// The clocks of one node are one; other nodes' are compared with that of rank 0, by the fastest of some
// round trips.
void synchronise_clock(const Communicator &communicator) {
  constexpr int rounds = 20;
  const MPI_Comm comm = communicator.stamps;
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
  const std::uint64_t first = node_of(communicator.world[0]);
  if (communicator.rank != 0) {
    if (own_node() != first) shift_clock(ask(1));
    return;
  }
  for (std::size_t rank = 1; rank < communicator.world.size(); rank++)
    for (int i = 0; i < rounds && node_of(communicator.world[rank]) != first; i++) {
      const int asks = static_cast<int>(rank);
      real.Recv(nullptr, 0, MPI_BYTE, asks, 1, comm, MPI_STATUS_IGNORE);
      const Moment mine = now();
      real.Send(&mine, sizeof mine, MPI_BYTE, asks, 1, comm);
    }
}

// Whether the status of an MPI_Isendrecv says whose message it got. Asked of ourselves, on a communicator
// that the program does not know.
template <class Library> bool tells_exchanges(const Library &library, MPI_Comm comm) {
  constexpr int tag = 21931;
  if constexpr (requires { library.Isendrecv; }) {
    int rank = 0, in = 0;
    library.Comm_rank(comm, &rank);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status{};
    library.Isendrecv(&rank, 1, MPI_INT, rank, tag, &in, 1, MPI_INT, rank, tag, comm, &request);
    library.Wait(&request, &status);
    return status.MPI_SOURCE == rank && status.MPI_TAG == tag;
  }
  return true;
}

} // namespace

void forget_all() {
  keyval = MPI_KEYVAL_INVALID;
  state.requests.clear();
  state.windows.clear();
}

std::uint64_t own_node() {
  static const std::uint64_t own = [] {
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    std::string boot;
    std::ifstream{"/proc/sys/kernel/random/boot_id"} >> boot;
    return std::hash<std::string>{}(name.data() + (' ' + boot)) | 1U;
  }();
  return own;
}

bool is_here(int world_rank) { return node_of(world_rank) == own_node(); }

Communicator *communicator_of(MPI_Comm comm) noexcept {
  void *value = nullptr;
  int found = 0;
  if (comm == MPI_COMM_NULL || keyval == MPI_KEYVAL_INVALID ||
      real.Comm_get_attr(comm, keyval, &value, &found) != MPI_SUCCESS || found == 0)
    return nullptr;
  return static_cast<std::shared_ptr<Communicator> *>(value)->get();
}

void attach(MPI_Comm comm) {
  auto made = std::make_shared<Communicator>();
  MPI_Group group;
  int is_inter = 0;
  real.Comm_test_inter(comm, &is_inter);
  real.Comm_group(comm, &group);
  made->world = world_ranks(group);
  bool is_one_world = std::ranges::all_of(made->world, [](int rank) { return rank >= 0; });
  if (is_inter != 0) {
    made->rank = -1;
    real.Comm_remote_group(comm, &group);
    made->world = world_ranks(group);
    is_one_world = is_one_world && std::ranges::all_of(made->world, [](int rank) { return rank >= 0; });
  } else {
    real.Comm_rank(comm, &made->rank);
  }
  // All ranks of one world have the injector; ranks of a different world may not. A single rank gets no
  // messages, but MPI_COMM_WORLD's stamps also serve to let the library progress.
  const bool has_others = made->rank < 0 || made->world.size() > 1 || comm == MPI_COMM_WORLD;
  if (is_one_world && has_others) made->stamps = make_bare(comm);
  made->spans_nodes = are_apart(*made);
  keep(comm, std::move(made));
}

void attach_group(MPI_Comm comm) {
  attach(comm);
  Communicator &made = *communicator_of(comm);
  if (made.stamps == MPI_COMM_NULL) return;
  const std::uint64_t own = own_node();
  std::vector<std::uint64_t> nodes(made.world.size());
  real.Allgather(&own, sizeof own, MPI_BYTE, nodes.data(), sizeof own, MPI_BYTE, made.stamps);
  {
    const Lock lock;
    for (std::size_t i = 0; i < nodes.size(); i++)
      state.nodes[static_cast<std::size_t>(made.world[i])] = nodes[i];
    if (!state.library) state.library = made.stamps;
  }
  if (state.library == made.stamps) state.tells_exchanges = tells_exchanges(real, made.stamps);
  made.spans_nodes = are_apart(made);
  if (made.spans_nodes) synchronise_clock(made);
}

void begin_world() {
  const std::uint64_t own = own_node();
  int size = 0;
  real.Comm_size(MPI_COMM_WORLD, &size);
  real.Comm_group(MPI_COMM_WORLD, &state.world);
  state.nodes.resize(static_cast<std::size_t>(size));
  real.Allgather(&own, sizeof own, MPI_BYTE, state.nodes.data(), sizeof own, MPI_BYTE, MPI_COMM_WORLD);
  state.crowded = std::ranges::count(state.nodes, own) > sysconf(_SC_NPROCESSORS_ONLN);
  attach(MPI_COMM_WORLD);
  const Communicator &world = *communicator_of(MPI_COMM_WORLD);
  synchronise_clock(world);
  state.tells_exchanges = tells_exchanges(real, world.stamps);
}

std::shared_ptr<Duplicate> attach_later(MPI_Comm comm, const Communicator &original) {
  auto made = std::make_shared<Communicator>(original);
  made->peeked.clear();
  auto duplicate = std::make_shared<Duplicate>(comm, made, MPI_REQUEST_NULL);
  if (original.stamps != MPI_COMM_NULL) real.Comm_idup(original.stamps, &made->stamps, &duplicate->stamps);
  return duplicate;
}

void finish(Duplicate &duplicate) {
  real.Wait(&duplicate.stamps, MPI_STATUS_IGNORE);
  keep(duplicate.comm, duplicate.communicator);
}

std::optional<MPI_Comm> detached(MPI_Comm comm) {
  const Communicator *found = communicator_of(comm);
  if (found == nullptr || found->stamps == MPI_COMM_NULL) return std::nullopt;
  sweep_freed();
  const Lock lock;
  // Receives may be posted there yet; they need the stamps.
  if (found->weak_from_this().use_count() > 1) return std::nullopt;
  if (state.library == found->stamps) state.library.reset();
  return found->stamps;
}

std::optional<Link> link_of(Gets gets, int root, MPI_Comm comm, const Communicator *communicator) {
  if (communicator == nullptr || root == MPI_PROC_NULL || !state.plan.collectives) return std::nullopt;
  if (communicator->rank >= 0 && communicator->world.size() < 2) return std::nullopt;
  if (gets == Gets::neighbors) return link_from_neighbors(comm, *communicator);
  const bool is_root = root == MPI_ROOT || root == communicator->rank;
  if (gets != Gets::all && is_root != (gets == Gets::root)) return std::nullopt;
  return communicator->spans_nodes ? Link::inter : Link::intra;
}

} // namespace haloscope::inject

// The injector keeps nothing of types.
void haloscope::interpose::forget_types() noexcept {}

namespace haloscope::inject {

// The ranks whose data a rank gets in a neighbourhood collective.

namespace {

using Ranks = std::vector<int>;

Ranks room(int count) { return Ranks(static_cast<std::size_t>(count)); }

Ranks in_grid(MPI_Comm comm) {
  int dimensions = 0;
  real.Cartdim_get(comm, &dimensions);
  Ranks result = room(2 * dimensions);
  int *place = result.data();
  for (int i = 0; i < dimensions; i++, place += 2) real.Cart_shift(comm, i, 1, place, place + 1);
  return result;
}

Ranks in_graph(MPI_Comm comm, int rank) {
  int count = 0;
  real.Graph_neighbors_count(comm, rank, &count);
  Ranks result = room(count);
  real.Graph_neighbors(comm, rank, count, result.data());
  return result;
}

Ranks in_distributed_graph(MPI_Comm comm) {
  int in = 0, out = 0, weighted = 0;
  real.Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  Ranks result = room(in), targets = room(out), weights = room(in), others = room(out);
  real.Dist_graph_neighbors(comm, in, result.data(), weights.data(), out, targets.data(), others.data());
  return result;
}

Ranks sources(MPI_Comm comm, int rank) {
  int topology = MPI_UNDEFINED;
  real.Topo_test(comm, &topology);
  if (topology == MPI_CART) return in_grid(comm);
  if (topology == MPI_GRAPH) return in_graph(comm, rank);
  return topology == MPI_DIST_GRAPH ? in_distributed_graph(comm) : Ranks{};
}

} // namespace

std::optional<Link> link_from_neighbors(MPI_Comm comm, const Communicator &communicator) {
  std::optional<Link> result;
  for (const int source : sources(comm, communicator.rank)) {
    if (!reaches(&communicator, source)) continue;
    if (link_to(communicator, source) == Link::inter) return Link::inter;
    result = Link::intra;
  }
  return result;
}

} // namespace haloscope::inject
