// The injector in one MPI process.
//
// A message is on its way for as long as its sender draws for it. The sender sends a stamp with the moment
// of arrival beside the message, on a duplicate of the communicator, with the same tag: MPI's own matching
// tells which stamp belongs to which message. The receiver's completing calls hold the message back until
// then. Ranks are never held back in a call that only sends.
#pragma once

#include "journal.hpp"
#include "library.hpp"
#include "plan.hpp"
#include "waiting.hpp"

#include <atomic>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace haloscope::inject {

using watch::forward;
using watch::next;
using watch::real;
using watch::resolve;

inline void ensure_resolved() noexcept {
  if (__builtin_expect(next.Init == nullptr, 0)) resolve();
}

// What is kept for a communicator, as its attribute.
struct Communicator {
  MPI_Comm stamps; // the duplicate
  int rank = 0;    // ours; -1 in an intercommunicator, where no rank is our own
  bool spans_nodes = false;
  std::vector<int> world; // of the ranks that messages go to
  struct Peeked {
    int source, tag;
    Moment due;
  };
  std::vector<Peeked> peeked; // stamps of messages that were probed and not received yet
};

// What is known of a request that completes later than the library says, or that sends when started.
struct Request {
  enum class Kind : std::uint8_t { receive, collective, send };

  Kind kind = Kind::receive;
  bool persistent = false;
  bool active = true;
  bool gets = true; // a collective by which this rank gets data
  Communicator *communicator = nullptr;
  int partner = 0, tag = 0;  // of a persistent send
  std::optional<Moment> due; // once it is known
};

struct State {
  std::atomic<bool> running{false};
  bool several_threads = false;
  int world_rank = 0;
  std::vector<int> nodes; // of world ranks, a number each
  Plan plan;
  std::vector<Source> sources; // one a link class
  std::uint64_t sent = 0;      // messages
  std::uint64_t drawn = 0;     // latencies: messages and collectives
  Moment begin = 0;
  Journal journal;
  std::unordered_map<std::uintptr_t, Request> requests;
  std::mutex mutex;
  const MPI_Comm *library = nullptr; // a communicator by which the library can be made to go on
};
extern State state;
extern thread_local bool inside; // a call of ours, or one that the library makes itself

class Lock {
public:
  Lock() {
    if (state.several_threads) state.mutex.lock();
  }
  ~Lock() {
    if (state.several_threads) state.mutex.unlock();
  }
  Lock(const Lock &) = delete;
  Lock &operator=(const Lock &) = delete;
};

// One outermost call; false if nothing is to be done.
class Entry {
public:
  Entry() noexcept : active_(state.running.load(std::memory_order_acquire) && !inside) {
    if (active_) inside = true;
  }
  ~Entry() {
    if (active_) inside = false;
  }
  Entry(const Entry &) = delete;
  Entry &operator=(const Entry &) = delete;
  explicit operator bool() const noexcept { return active_; }

private:
  bool active_;
};

// Of a communicator that was made while the injector was there, else nullptr.
Communicator *communicator_of(MPI_Comm comm) noexcept;
void attach(MPI_Comm comm);
std::optional<MPI_Comm> detached(MPI_Comm comm); // the stamps' communicator, to be freed
void find_nodes();
void synchronise_clock();

// Draws a latency for a message and sends its stamp.
void stamp(MPI_Comm comm, int dest, int tag);
void stamp(Communicator &communicator, int dest, int tag);
// When the message with this status arrives; 0: at once. `waits`: for the stamp, which is under way.
std::optional<Moment> arrival(Communicator *communicator, const MPI_Status &status, bool waits);
// The same of a message that is not received yet.
std::optional<Moment> foreseen(Communicator *communicator, const MPI_Status &status, bool waits);
// When a collective that began (or was over) at `from` lets this rank go on.
Moment collective_due(const Communicator *communicator, Moment from);

void initialise();
void finalise() noexcept;

} // namespace haloscope::inject
