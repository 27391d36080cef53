// The shm library in one MPI process. It handles a message if it has at least the threshold's size, goes to a
// rank on the same node, and is in memory that the node can map. The library sends a token with the message's
// tag in the program's own communicator. So MPI matches it as it would have matched the message. The receiver
// of the token copies the data directly from the sender's buffer. MPI handles all other messages.
#pragma once

#include "hide/shm/heap/shared_arena.hpp"
#include "hide/shm/node.hpp"
#include "interpose/entering.hpp"
#include "interpose/moment.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace haloscope::shm {

using interpose::ensure_resolved;
using interpose::forward;
using interpose::Moment;
using interpose::next;
using interpose::real;

inline Moment now() noexcept { return interpose::monotonic_time(); }

enum class Choice : std::uint8_t { dynamic, get, coop, steal, fixed, off };
enum class Attach : std::uint8_t { as_needed, always, never };

inline constexpr std::size_t shortest_carried = 1024; // bytes; longer than any token

// The settings from the environment: docs/reference/shm.md.
struct Options {
  std::size_t threshold = default_threshold; // bytes of the smallest message in one piece that is carried
  Choice protocol = Choice::dynamic;
  std::size_t chunk = 65536;
  std::size_t pool = std::size_t{64} << 20; // bytes that a rank may hold for others, and lend to its program
  Moment patience = 1'000'000;              // until a send that nobody wants is copied
  Attach cma = Attach::as_needed;
  bool measure = true; // whether the shm library or MPI is faster
  std::string output;
};

// Throws std::invalid_argument with the error and its position.
Options read_options();

using Transferred = void (*)(const char *protocol, std::uint64_t bytes, std::uint32_t chunks,
                             std::uint32_t helpers, std::uint64_t nanoseconds);

struct ShmLibrary : interpose::Entered {
  std::atomic<bool> abandoned{false}; // there are requests that the program has freed while they were active
  Options options;
  std::size_t threshold_with_holes = 0; // the same of messages that MPI copies block by block
  std::unique_ptr<Node> node;
  Transferred transferred = nullptr; // the recorder's

  void leave() const noexcept;
};
extern ShmLibrary shm;
using Lock = interpose::LockOf<&shm>;
using Outermost = interpose::OutermostOf<&shm>;

inline bool is_inside(const void *caller = HALOSCOPE_CALLER) noexcept {
  return interpose::is_inside<&shm>(caller);
}

void attend_abandoned();

// One outermost call of MPI; false if there is nothing to be done in it.
class Entry : public interpose::EntryOf<&shm> {
public:
  explicit Entry(const void *caller = HALOSCOPE_CALLER) noexcept : EntryOf(caller) {
    if (*this && shm.abandoned.load(std::memory_order_relaxed)) attend_abandoned();
  }
};

void initialise();
void finalise() noexcept;

} // namespace haloscope::shm
