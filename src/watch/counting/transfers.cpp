// Messages that the shm library, which is between the recorder and MPI, copies itself
// (docs/reference/shm.md). It finds this function by name if the recorder is loaded.
#include "watch/counting/state.hpp"

#include <algorithm>
#include <cstring>

namespace haloscope::watch {

namespace {

// nullptr if there is no room.
TransferRecord *transfer_record(Recorder &to, const char *protocol) noexcept {
  Node &node = *to.node;
  if (node.transfers == nullptr) {
    auto *made = to.arena->make<TransferPage>();
    if (made == nullptr) return nullptr;
    std::atomic_signal_fence(std::memory_order_release);
    node.transfers = made;
  }
  for (TransferRecord &record : *node.transfers) {
    const std::size_t room = record.protocol.size() - 1;
    if (record.messages == 0) std::strncpy(record.protocol.data(), protocol, room);
    if (std::strncmp(record.protocol.data(), protocol, room) == 0) return &record;
  }
  return nullptr;
}

} // namespace

} // namespace haloscope::watch

extern "C" __attribute__((visibility("default"))) void
haloscope_transferred(const char *protocol, std::uint64_t bytes, std::uint32_t chunks, std::uint32_t helpers,
                      std::uint64_t nanoseconds) {
  using namespace haloscope::watch;
  if (global().phase.load(std::memory_order_relaxed) != Phase::running) return;
  ThreadState *state = this_thread() != nullptr ? this_thread() : attach_thread();
  if (state == nullptr) return;
  TransferRecord *record = transfer_record(*state, protocol);
  if (record == nullptr) {
    state->dropped();
    return;
  }
  record->messages++;
  record->bytes += bytes;
  record->chunks += chunks;
  record->helpers += helpers;
  record->nanoseconds += nanoseconds;
  record->longest = std::max(record->longest, nanoseconds);
}
