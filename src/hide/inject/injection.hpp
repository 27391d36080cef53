// The injector in one MPI process.
//
// The sender of a message draws the latency. It sends a stamp with the time of arrival in addition to the
// message, on a second communicator of the same ranks, with the same tag. So MPI's own matching assigns
// stamps to messages. The receiver's completing calls hold the message back until then. A call that only
// sends is never held back.
#pragma once

#include "hide/inject/journal.hpp"
#include "interpose/entering.hpp"
#include "predict/latencies/plan.hpp"

#include <memory>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace haloscope::inject {

using interpose::ensure_resolved;
using interpose::forward;
using interpose::next;
using interpose::real;
using latencies::Event;
using latencies::Link;
using latencies::Plan;
using latencies::Source;

// The node's monotonic clock, shifted to rank 0's.
Moment now() noexcept;
void shift_clock(std::int64_t nanoseconds) noexcept;

// Sleeps; the MPI library goes on with other messages meanwhile.
void wait_until(Moment due) noexcept;

// The state of a communicator, stored as its attribute.
struct Communicator : std::enable_shared_from_this<Communicator> {
  MPI_Comm stamps = MPI_COMM_NULL; // theirs; none if processes of another world take part, or no others
  int rank = 0;                    // ours; -1 in an intercommunicator, where no rank is our own
  bool spans_nodes = false;
  bool silent = false;    // a message came without a stamp: none is awaited any more
  unsigned idups = 0;     // calls of MPI_Comm_idup that led to it or duplicated it
  unsigned guesses = 0;   // stamps that were taken without knowing whether they were the message's
  Moment missed = 0;      // since when a stamp is awaited
  std::vector<int> world; // of the ranks that messages go to
  struct Peeked {
    int source, tag;
    Moment due;
  };
  std::vector<Peeked> peeked; // stamps of messages that were probed and not received yet
  // Destinations and tags of stamps whose message MPI refused. The next such message has no other stamp.
  std::vector<std::pair<int, int>> spare;
};

// A communicator that MPI_Comm_idup is making, and the communicator of its stamps.
struct Duplicate {
  MPI_Comm comm;
  std::shared_ptr<Communicator> communicator;
  MPI_Request stamps;
};

// One end of a partitioned message. Each partition is under way for its own latency, from the time when it is
// ready.
struct Partitions {
  std::shared_ptr<Communicator> communicator;
  bool sends;
  int count; // at this end; the other may cut the message otherwise
  int partner, tag;
  std::vector<Moment> due; // of the sender's partitions, as the stamps come; 0: not yet
};

// The state of a request that completes later than MPI reports, or that sends when it is started.
struct Request {
  enum class Kind : std::uint8_t { receive, timed, send, duplicate, partitioned };

  Kind kind = Kind::receive;
  bool persistent = false;
  bool active = true;
  bool cancelled = false; // perhaps
  bool exchange = false;  // of MPI_Isendrecv
  bool received = false;  // its message, with the stamp whose time is `due`
  bool freed = false;     // by the program; kept until its stamp has come
  std::shared_ptr<Communicator> communicator;
  MPI_Request handle{};
  std::thread::id completing; // of the thread in whose call it is: MPI alone may ask about it then
  int partner = 0, tag = 0;   // of a message
  std::uint64_t order = 0;    // in which receives were posted
  std::optional<Moment> due;  // once it is known
  std::optional<Link> link;   // over which a persistent collective brings data
  std::shared_ptr<Duplicate> duplicate;
  std::shared_ptr<Partitions> partitions;
};

// Threads share a request: one may find the stamp of another's.
using Kept = std::shared_ptr<Request>;

// A window: its ranks, and the time at which the latest access to each target is complete.
struct Window {
  std::shared_ptr<const Communicator> communicator;
  struct Due {
    Moment all = 0, gets = 0;
  };
  std::unordered_map<int, Due> targets;
};

// The ranks that get data from others in a collective.
enum class Gets : std::uint8_t { all, others, root, neighbors };

struct State : interpose::Entered {
  int spawned = 0; // a number of our world's, if a program spawned it that has its own record
  int world_rank = 0;
  std::vector<std::uint64_t> nodes; // of world ranks, a number each; 0: not known
  bool crowded = true;              // more ranks on our node than processors
  Plan plan;
  std::vector<Source> sources; // one a link class
  bool tells_exchanges = true; // whether the library says whose message an MPI_Isendrecv got
  std::uint64_t freed = 0;     // requests
  std::uint64_t sent = 0;      // messages
  std::uint64_t drawn = 0;     // latencies of all sorts
  std::uint64_t posted = 0;    // receives
  Moment begin = 0;
  Journal journal;
  std::unordered_map<std::uintptr_t, Kept> requests;
  std::vector<Kept> displaced; // MPI has completed them, and given their handles to other threads
  std::unordered_map<std::uintptr_t, Window> windows;
  MPI_Group world{};
  std::optional<MPI_Comm> library; // a communicator by which the library can be made to go on

  void leave() noexcept;
};
extern State state;
using Lock = interpose::LockOf<&state>;
using Entry = interpose::EntryOf<&state>;
using Outermost = interpose::OutermostOf<&state>;

// Returns the state of a communicator, or nullptr if it was made without the injector.
Communicator *communicator_of(MPI_Comm comm) noexcept;
void attach(MPI_Comm comm);
void attach_group(MPI_Comm comm); // made from a group alone: its ranks ask each other where they are
std::shared_ptr<Duplicate> attach_later(MPI_Comm comm, Communicator &original);
// Returns whether the stamps' communicator is made, or cannot be made.
bool is_made(Duplicate &duplicate);
void finish(Duplicate &duplicate, bool succeeded); // the program's communicator
std::optional<MPI_Comm> detached(MPI_Comm comm);   // the stamps' communicator, to be freed
void forget_all();                                 // what was known before MPI began anew
bool begin_world();                                // of MPI_COMM_WORLD; false: MPI has no communicator left
std::uint64_t own_node();
std::uint64_t node_of(int world_rank);                    // 0: not known
void synchronise_clock(const Communicator &communicator); // with that of its rank 0
bool is_here(int world_rank);                             // on our node, as far as we know
Link link_to(const Communicator &communicator, int rank);
// Returns the link over which a collective brings data to this rank, if it does.
std::optional<Link> link_of(Gets gets, int root, MPI_Comm comm, const Communicator *communicator);
std::optional<Link> link_from_neighbors(MPI_Comm comm, const Communicator &communicator);

// Whether this rank of a communicator is a rank other than the caller.
bool reaches(const Communicator *communicator, int rank);

// Under the lock. Draws a latency for a message and sends its stamp.
void stamp(MPI_Comm comm, int dest, int tag);
void stamp(Communicator &communicator, int dest, int tag);
void drop_stamps(const Communicator &communicator);
void spare_stamp(MPI_Comm comm, int dest, int tag);                   // MPI has refused its message
Moment departed(const Communicator &communicator, int dest, int tag); // under the lock: draws alone
void send_stamp(const void *content, std::size_t size, int dest, int tag, MPI_Comm comm);
// Returns when the message with this status arrives; 0 is at once. `waits`: the stamp is under way, and is
// waited for. `own` is the request that has received the message, if there was one.
std::optional<Moment> arrival(Communicator *communicator, const MPI_Status &status, bool waits,
                              Request *own = nullptr);
// The same of a message that is not received yet.
std::optional<Moment> foreseen(Communicator *communicator, const MPI_Status &status, bool waits);
// Draws a latency of a link, and returns when a transfer is over; 0 is at once. `row` says when it began.
Moment transferred(Link link, Row row);
// Returns when a collective that began (or was over) at `from` lets this rank go on.
Moment collective_due(std::optional<Link> link, Moment from);

void begin(Partitions &partitions);
// Sends the stamps of partitions first … last.
void send_stamps(const Partitions &partitions, int first, int last);
// Return when all partitions, or one of the receiver's, are there; nothing while stamps are missing.
std::optional<Moment> all_arrived(Partitions &partitions, bool waits);
std::optional<Moment> one_arrived(Partitions &partitions, int partition);

void initialise();
void finalise() noexcept;
void write_all() noexcept; // before the process may end
void start_session() noexcept;
void finish_session() noexcept;

} // namespace haloscope::inject
