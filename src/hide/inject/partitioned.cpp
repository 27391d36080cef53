#include "hide/inject/injection.hpp"

#include <algorithm>

namespace haloscope::inject {

namespace {

struct Stamp {
  Moment due;
  int first, last, count;
};

// Stamps of partitioned messages must not meet those of others.
int own_tag(const Partitions &partitions) {
  int *most = nullptr;
  int found = 0;
  if (real.Comm_get_attr(partitions.communicator->stamps, MPI_TAG_UB, static_cast<void *>(&most), &found) !=
      MPI_SUCCESS)
    found = 0;
  return (found != 0 ? *most : INT16_MAX) - partitions.tag;
}

bool is_delayed(const Partitions &partitions) {
  const Communicator &communicator = *partitions.communicator;
  return reaches(&communicator, partitions.partner) && communicator.stamps != MPI_COMM_NULL &&
         state.plan.stamps(link_to(communicator, partitions.partner));
}

bool is_complete(const Partitions &partitions) {
  return !partitions.due.empty() && std::ranges::find(partitions.due, 0) == partitions.due.end();
}

// Under the lock. Takes one more stamp, if there is one.
bool take(Partitions &partitions) {
  const MPI_Comm comm = partitions.communicator->stamps;
  const int tag = own_tag(partitions);
  int there = 0;
  if (real.Iprobe(partitions.partner, tag, comm, &there, MPI_STATUS_IGNORE) != MPI_SUCCESS || there == 0)
    return false;
  Stamp stamp{};
  if (real.Recv(&stamp, sizeof stamp, MPI_BYTE, partitions.partner, tag, comm, MPI_STATUS_IGNORE) !=
      MPI_SUCCESS)
    return false;
  partitions.due.resize(static_cast<std::size_t>(stamp.count));
  for (int i = stamp.first; i <= stamp.last; i++) partitions.due[static_cast<std::size_t>(i)] = stamp.due;
  return true;
}

} // namespace

void begin(Partitions &partitions) {
  const Lock lock;
  partitions.due.clear();
}

void send_stamps(const Partitions &partitions, int first, int last) {
  if (!partitions.sends || !is_delayed(partitions) || first > last) return;
  const Lock lock;
  const Communicator &communicator = *partitions.communicator;
  const Moment due = departed(communicator, partitions.partner, partitions.tag);
  const Stamp stamp{due, first, last, partitions.count};
  send_stamp(&stamp, sizeof stamp, partitions.partner, own_tag(partitions), communicator.stamps);
}

std::optional<Moment> all_arrived(Partitions &partitions, bool waits) {
  if (partitions.sends || !is_delayed(partitions)) return 0;
  for (;;) { // without the lock now and then: other threads have stamps to send
    const Lock lock;
    while (!is_complete(partitions) && take(partitions)) {
    }
    if (is_complete(partitions)) return std::ranges::max(partitions.due);
    if (!waits) return std::nullopt;
  }
}

std::optional<Moment> one_arrived(Partitions &partitions, int partition) {
  if (partitions.sends || !is_delayed(partitions)) return 0;
  const Lock lock;
  while (!is_complete(partitions) && take(partitions)) {
  }
  const std::int64_t theirs = static_cast<std::int64_t>(partitions.due.size()), ours = partitions.count;
  if (theirs == 0) return std::nullopt;
  const std::int64_t first = partition * theirs / ours, end = ((partition + 1) * theirs + ours - 1) / ours;
  const auto part = std::ranges::subrange(partitions.due.begin() + first, partitions.due.begin() + end);
  if (std::ranges::find(part, 0) != part.end()) return std::nullopt;
  return std::ranges::max(part);
}

} // namespace haloscope::inject
