#include "hide/shm/node.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <poll.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace haloscope::shm {

using interpose::real;

namespace {

// The card that a rank publishes to the other ranks of its node.
struct Card {
  ArenaName memory;
  std::uint64_t region;
  std::int64_t process;
  std::uint64_t address; // of this card, in its process
  std::int32_t world_rank, usable;
  Locality locality;
};

bool all_of(MPI_Comm comm, bool mine) {
  int here = mine ? 1 : 0, everywhere = 0;
  return real.Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS && everywhere != 0;
}

Mark common_mark() {
  Mark mark;
  int rank = 0;
  real.Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0 && getrandom(mark.words, sizeof mark.words, 0) != sizeof mark.words)
    mark = {{static_cast<std::uint64_t>(getpid()) << 32U | static_cast<std::uint32_t>(time(nullptr)),
             reinterpret_cast<std::uintptr_t>(&mark)}};
  real.Bcast(mark.words, sizeof mark.words, MPI_BYTE, 0, MPI_COMM_WORLD);
  return mark;
}

// Whether the kernel lets us read what another process has.
bool may_read(const Card &card) {
  Card found{};
  const iovec here{&found, sizeof found};
  const iovec there{pointer_to(card.address), sizeof found};
  return process_vm_readv(static_cast<pid_t>(card.process), &here, 1, &there, 1, 0) == sizeof found &&
         std::memcmp(&found, &card, sizeof found) == 0;
}

int forget_ranks(MPI_Comm /*comm*/, int /*keyval*/, void *value, void * /*extra*/) {
  delete static_cast<std::vector<int> *>(value);
  return MPI_SUCCESS;
}

} // namespace

std::unique_ptr<Node> Node::make(Arena *arena, std::string &why) {
  std::unique_ptr<Node> node{new Node};
  node->arena_ = arena;
  node->mark_ = common_mark();
  int world_rank = 0, world_size = 0, rank = 0, size = 0;
  real.Comm_rank(MPI_COMM_WORLD, &world_rank);
  real.Comm_size(MPI_COMM_WORLD, &world_size);
  if (real.Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, world_rank, MPI_INFO_NULL, &node->comm_) !=
      MPI_SUCCESS) {
    why = "MPI has no communicator left";
    return {};
  }
  real.Comm_rank(node->comm_, &rank);
  real.Comm_size(node->comm_, &size);
  const auto ranks = static_cast<std::size_t>(size);
  node->me_ = static_cast<std::size_t>(rank);
  node->crowded_ = size > sysconf(_SC_NPROCESSORS_ONLN);

  const std::size_t bytes = sizeof(Desk) + Channels::bytes(ranks, ranks);
  void *region = arena == nullptr ? nullptr : arena->take(bytes, line);
  Card card{};
  card.process = getpid();
  card.address = reinterpret_cast<std::uintptr_t>(&card);
  card.world_rank = world_rank;
  card.locality = own_locality();
  // Untouched zeros take no memory, so queues take memory only once they are used.
  if (region != nullptr && !arena->clear(region)) region = nullptr;
  card.usable = region != nullptr ? 1 : 0;
  if (region != nullptr) {
    card.memory = arena->name();
    card.region = arena->offset(region);
  }
  std::vector<Card> cards(ranks);
  const int gathered =
      real.Allgather(&card, sizeof card, MPI_BYTE, cards.data(), sizeof card, MPI_BYTE, node->comm_);
  const bool too_many = ranks > HelperMask<>::ranks;
  bool usable = !too_many && gathered == MPI_SUCCESS;
  node->peers_.resize(ranks);
  node->of_world_.assign(static_cast<std::size_t>(world_size), -1);
  std::vector<std::span<std::byte>> regions;
  std::vector<Locality> localities;
  for (std::size_t i = 0; i < ranks; i++) {
    Peer &peer = node->peers_[i];
    usable = usable && cards[i].usable != 0;
    localities.push_back(cards[i].locality);
    peer.process = cards[i].process;
    peer.world_rank = cards[i].world_rank;
    node->of_world_[static_cast<std::size_t>(peer.world_rank)] = static_cast<std::int16_t>(i);
    if (usable && i != node->me_) {
      auto memory = ForeignArena::open(cards[i].memory);
      usable = memory.has_value();
      if (memory) {
        peer.base = memory->at(0);
        node->foreign_.push_back(std::move(*memory));
      }
    }
    if (i == node->me_ && region != nullptr) peer.base = static_cast<std::byte *>(region) - card.region;
    if (!usable) continue;
    std::byte *begin = node->at(i, cards[i].region);
    peer.desk = reinterpret_cast<Desk *>(begin);
    regions.emplace_back(begin + sizeof(Desk), bytes - sizeof(Desk));
  }
  node->nearness_ = Nearness{localities, node->me_};
  // Each one is asked of by one other: what the kernel allows some it allows all.
  node->may_attach_ = all_of(node->comm_, ranks < 2 || may_read(cards[(node->me_ + 1) % ranks]));
  if (!all_of(node->comm_, usable)) {
    why = too_many ? "a node has more than " + std::to_string(HelperMask<>::ranks) + " ranks"
                   : "the processes of this node cannot share memory";
    return {};
  }
  new (node->peers_[node->me_].desk) Desk;
  node->channels_ = std::make_unique<Channels>(regions, node->me_);
  // All desks are there after that.
  if (real.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_ranks, &node->keyval_, nullptr) != MPI_SUCCESS ||
      real.Barrier(node->comm_) != MPI_SUCCESS) {
    why = "MPI fails";
    return {};
  }
  return node;
}

Node::~Node() {
  for (const Peer &peer : peers_)
    if (peer.exit >= 0) close(peer.exit);
}

int Node::world_rank(MPI_Comm comm, int rank) const {
  void *value = nullptr;
  int known = 0;
  if (real.Comm_get_attr(comm, keyval_, &value, &known) != MPI_SUCCESS) return -1;
  auto *ranks = static_cast<std::vector<int> *>(value);
  if (known == 0) {
    ranks = new std::vector<int>;
    int between = 0, size = 0;
    real.Comm_test_inter(comm, &between);
    if (between == 0) { // an intercommunicator's messages are left to MPI
      real.Comm_size(comm, &size);
      std::vector<int> own(static_cast<std::size_t>(size)), world(own.size());
      for (int i = 0; i < size; i++) own[static_cast<std::size_t>(i)] = i;
      MPI_Group all = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
      const bool right =
          real.Comm_group(MPI_COMM_WORLD, &all) == MPI_SUCCESS &&
          real.Comm_group(comm, &group) == MPI_SUCCESS &&
          real.Group_translate_ranks(group, size, own.data(), all, world.data()) == MPI_SUCCESS;
      if (group != MPI_GROUP_NULL) real.Group_free(&group);
      if (all != MPI_GROUP_NULL) real.Group_free(&all);
      if (!right) world.clear();
      for (const int found : world) ranks->push_back(std::max(found, -1)); // MPI_UNDEFINED is negative
    }
    if (real.Comm_set_attr(comm, keyval_, ranks) != MPI_SUCCESS) {
      delete ranks;
      return -1;
    }
  }
  if (rank < 0 || static_cast<std::size_t>(rank) >= ranks->size()) return -1;
  return (*ranks)[static_cast<std::size_t>(rank)];
}

int Node::find(MPI_Comm comm, int rank) const {
  const int world = world_rank(comm, rank);
  const int found = world < 0 ? -1 : of_world_[static_cast<std::size_t>(world)];
  return found == static_cast<int>(me_) ? -1 : found;
}

bool Node::lives(std::size_t rank) noexcept {
  Peer &peer = peers_[rank];
  if (peer.exit < 0)
    peer.exit = static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(peer.process), 0));
  if (peer.exit < 0) return errno != ESRCH;
  pollfd asked{peer.exit, POLLIN, 0};
  return poll(&asked, 1, 0) == 0;
}

} // namespace haloscope::shm
