#include "hide/inject/windows.hpp"

#include <algorithm>

namespace haloscope::inject {

using interpose::value_of;

void open_window(MPI_Comm comm, MPI_Win win) {
  const Communicator *communicator = communicator_of(comm);
  if (communicator == nullptr) return;
  const Lock lock;
  state.windows[value_of(win)] = {.communicator = communicator->shared_from_this()};
}

void close_window(MPI_Win win) {
  const Lock lock;
  state.windows.erase(value_of(win));
}

Moment accessed(Access access, int target, MPI_Win win) {
  std::shared_ptr<const Communicator> communicator;
  {
    const Lock lock;
    const auto found = state.windows.find(value_of(win));
    if (found == state.windows.end() || !reaches(found->second.communicator.get(), target)) return 0;
    communicator = found->second.communicator;
  }
  const int partner = communicator->world[static_cast<std::size_t>(target)];
  const Moment due = transferred(link_to(*communicator, target),
                                 {.sent = now(), .partner = partner, .what = What::one_sided});
  const Lock lock;
  Window::Due &last = state.windows[value_of(win)].targets[target];
  last.all = std::max(last.all, due);
  if (access == Access::gets) last.gets = std::max(last.gets, due);
  return due;
}

Moment access_due(Access access, int target, MPI_Win win) {
  const Lock lock;
  const auto found = state.windows.find(value_of(win));
  if (found == state.windows.end()) return 0;
  Moment due = 0;
  for (auto &[rank, last] : found->second.targets)
    if (target == every_target || target == rank)
      due = std::max(due, access == Access::gets ? last.gets : last.all);
  return due; // what lies behind us delays nothing any more
}

} // namespace haloscope::inject
