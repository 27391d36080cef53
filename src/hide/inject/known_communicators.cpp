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

// More duplicates of one communicator have no stamps: their receivers draw. Open MPI 5.0 has 65536
// communicators, and corrupts its memory if MPI_Comm_idup finds none left. All ranks count the same calls.
constexpr unsigned max_idups = 16384;

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

// While it lives, errors of a communicator are results: those of our calls do not concern the program's
// handler.
class Unhandled {
public:
  explicit Unhandled(MPI_Comm comm) : comm_(comm) {
    is_set_ = real.Comm_get_errhandler(comm, &before_) == MPI_SUCCESS;
    if (is_set_) real.Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  }
  ~Unhandled() {
    if (!is_set_) return;
    real.Comm_set_errhandler(comm_, before_);
    real.Errhandler_free(&before_);
  }
  Unhandled(const Unhandled &) = delete;
  Unhandled &operator=(const Unhandled &) = delete;

private:
  MPI_Comm comm_;
  MPI_Errhandler before_{};
  bool is_set_ = false;
};

// Without it, messages of the communicator are not delayed.
void keep(MPI_Comm comm, std::shared_ptr<Communicator> made) {
  {
    const Lock lock;
    if (keyval == MPI_KEYVAL_INVALID &&
        real.Comm_create_keyval(copy_nothing, forget, &keyval, nullptr) != MPI_SUCCESS)
      keyval = MPI_KEYVAL_INVALID;
  }
  MPI_Comm stamps = made->stamps;
  auto *kept = new std::shared_ptr<Communicator>(std::move(made));
  if (keyval != MPI_KEYVAL_INVALID && real.Comm_set_attr(comm, keyval, kept) == MPI_SUCCESS) return;
  delete kept;
  if (stamps != MPI_COMM_NULL) real.Comm_free(&stamps);
}

// For the stamps of a communicator's messages: with all its ranks, and with nothing that the program has
// attached to it: MPI_Comm_dup would call the program's copy callbacks, and freeing the duplicate its delete
// callbacks. MPI may have none left: then its receivers draw.
MPI_Comm make_bare(MPI_Comm comm) {
  const Unhandled unhandled{comm};
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm bare = MPI_COMM_NULL;
  // Of an intercommunicator it is our own side, as MPI_Comm_create wants it.
  if (real.Comm_group(comm, &group) != MPI_SUCCESS) return MPI_COMM_NULL;
  if (real.Comm_create(comm, group, &bare) != MPI_SUCCESS) bare = MPI_COMM_NULL;
  real.Group_free(&group);
  if (bare != MPI_COMM_NULL) real.Comm_set_errhandler(bare, MPI_ERRORS_RETURN); // nor its error handler
  return bare;
}

// World ranks of a group's processes; negative where they are of another world.
std::vector<int> world_ranks(MPI_Group group) {
  int size = 0;
  if (group == MPI_GROUP_NULL || real.Group_size(group, &size) != MPI_SUCCESS) return {};
  std::vector<int> own(static_cast<std::size_t>(size)), result(own.size(), MPI_UNDEFINED);
  for (int i = 0; i < size; i++) own[static_cast<std::size_t>(i)] = i;
  if (real.Group_translate_ranks(group, size, own.data(), state.world, result.data()) != MPI_SUCCESS)
    std::ranges::fill(result, MPI_UNDEFINED);
  real.Group_free(&group);
  return result;
}

bool are_apart(const Communicator &communicator) {
  return std::ranges::any_of(communicator.world, [](int rank) { return !is_here(rank); });
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
    return library.Isendrecv(&rank, 1, MPI_INT, rank, tag, &in, 1, MPI_INT, rank, tag, comm, &request) ==
               MPI_SUCCESS &&
           library.Wait(&request, &status) == MPI_SUCCESS && status.MPI_SOURCE == rank &&
           status.MPI_TAG == tag;
  }
  return true;
}

} // namespace

void forget_all() {
  keyval = MPI_KEYVAL_INVALID;
  state.requests.clear();
  state.displaced.clear();
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

std::uint64_t node_of(int world_rank) {
  const auto place = static_cast<std::size_t>(world_rank);
  return world_rank < 0 || place >= state.nodes.size() ? 0 : state.nodes[place];
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
  MPI_Group group = MPI_GROUP_NULL;
  int is_inter = 0;
  if (real.Comm_test_inter(comm, &is_inter) != MPI_SUCCESS || real.Comm_group(comm, &group) != MPI_SUCCESS)
    return;
  made->world = world_ranks(group);
  bool is_one_world = std::ranges::all_of(made->world, [](int rank) { return rank >= 0; });
  if (is_inter != 0) {
    made->rank = -1;
    if (real.Comm_remote_group(comm, &group) != MPI_SUCCESS) return;
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
  Communicator *attached = communicator_of(comm);
  if (attached == nullptr || attached->stamps == MPI_COMM_NULL) return;
  Communicator &made = *attached;
  const std::uint64_t own = own_node();
  std::vector<std::uint64_t> nodes(made.world.size());
  if (real.Allgather(&own, sizeof own, MPI_BYTE, nodes.data(), sizeof own, MPI_BYTE, made.stamps) !=
      MPI_SUCCESS)
    return;
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

bool begin_world() {
  const std::uint64_t own = own_node();
  int size = 0;
  real.Comm_size(MPI_COMM_WORLD, &size);
  state.nodes.resize(static_cast<std::size_t>(size));
  if (real.Comm_group(MPI_COMM_WORLD, &state.world) != MPI_SUCCESS ||
      real.Allgather(&own, sizeof own, MPI_BYTE, state.nodes.data(), sizeof own, MPI_BYTE, MPI_COMM_WORLD) !=
          MPI_SUCCESS)
    return false;
  state.crowded = std::ranges::count(state.nodes, own) > sysconf(_SC_NPROCESSORS_ONLN);
  attach(MPI_COMM_WORLD);
  const Communicator *world = communicator_of(MPI_COMM_WORLD);
  if (world == nullptr || world->stamps == MPI_COMM_NULL) return false;
  synchronise_clock(*world);
  state.tells_exchanges = tells_exchanges(real, world->stamps);
  return true;
}

std::shared_ptr<Duplicate> attach_later(MPI_Comm comm, Communicator &original) {
  original.idups++;
  auto made = std::make_shared<Communicator>(original);
  made->peeked.clear();
  made->spare.clear();
  auto duplicate = std::make_shared<Duplicate>(comm, made, MPI_REQUEST_NULL);
  made->stamps = MPI_COMM_NULL;
  if (original.stamps != MPI_COMM_NULL && original.idups <= max_idups &&
      real.Comm_idup(original.stamps, &made->stamps, &duplicate->stamps) != MPI_SUCCESS) {
    made->stamps = MPI_COMM_NULL;
    duplicate->stamps = MPI_REQUEST_NULL;
  }
  return duplicate;
}

bool is_made(Duplicate &duplicate) {
  int done = 0;
  if (real.Test(&duplicate.stamps, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS) return done != 0;
  duplicate.stamps = MPI_REQUEST_NULL;
  duplicate.communicator->stamps = MPI_COMM_NULL;
  return true;
}

void finish(Duplicate &duplicate, bool succeeded) {
  MPI_Comm &stamps = duplicate.communicator->stamps;
  if (real.Wait(&duplicate.stamps, MPI_STATUS_IGNORE) != MPI_SUCCESS) stamps = MPI_COMM_NULL;
  if (succeeded)
    keep(duplicate.comm, duplicate.communicator);
  else if (stamps != MPI_COMM_NULL)
    real.Comm_free(&stamps);
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
