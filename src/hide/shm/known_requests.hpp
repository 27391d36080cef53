// The requests of the program that the shm library knows: its own sends, and receives that may bring a token.
#pragma once

#include "hide/shm/layouts.hpp"
#include "hide/shm/shm_library.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace haloscope::shm {

// A message's memory in the program: its type's size, and whether its bytes lie one after the other.
struct Shape {
  MPI_Count size = 0;
  bool contiguous = true;
  bool named = true; // MPI's own: the program cannot free it
};

// Types that were asked for before. Budget of a message below the threshold, all of its calls together: 10
// ns. So its code is in the headers.
struct KnownType {
  std::uintptr_t handle = 0;
  Shape shape;
};
inline constexpr std::size_t known_types = 256;
inline KnownType types[known_types];
inline std::size_t place_of_type(std::uintptr_t handle) noexcept {
  return (handle * 0x9E37'79B9'7F4A'7C15U >> 48U) % known_types;
}
inline const Shape *known_shape(MPI_Datatype type) noexcept {
  const std::uintptr_t handle = interpose::value_of(type);
  const KnownType &known = types[place_of_type(handle)];
  return known.handle == handle ? &known.shape : nullptr;
}
Shape ask_shape(MPI_Datatype type);
inline Shape shape_of(MPI_Datatype type) {
  const Shape *known = known_shape(type);
  return known != nullptr ? *known : ask_shape(type);
}
inline std::uint64_t bytes_of(MPI_Count count, const Shape &shape) noexcept {
  return static_cast<std::uint64_t>(shape.size * count);
}
inline std::uint64_t bytes_of(MPI_Count count, MPI_Datatype type) { return bytes_of(count, shape_of(type)); }
// Whether a message is long enough to be carried.
inline bool is_large(MPI_Count count, const Shape &shape) noexcept {
  return bytes_of(count, shape) >= (shape.contiguous ? shm.options.threshold : shm.threshold_with_holes);
}
inline bool is_large(MPI_Count count, MPI_Datatype type) { return is_large(count, shape_of(type)); }
// The layout of `count` elements, if it is simple enough for loops.
std::optional<Layout> layout_of(MPI_Datatype type, MPI_Count count);
void forget_types() noexcept; // handles of types are used again

// The destination of a receive, and the communicator on which its errors are raised.
struct Target {
  void *buffer;
  MPI_Count count;
  MPI_Datatype type;
  MPI_Comm comm;
};

enum class Mode : std::uint8_t { standard, synchronous, buffered, ready };

struct Lane;   // of a message from another node
struct Source; // of one to another node

inline constexpr std::size_t not_pending = SIZE_MAX;

struct Request {
  enum class Kind : std::uint8_t { send, receive };

  Kind kind = Kind::receive;
  bool persistent = false, active = true, cancelled = false;
  bool there = false;     // a large receive: MPI has completed it, and its data is here
  bool was_token = false; // then `sent` is the true size
  bool lost = false;      // its sender died, and the message with it
  bool lent = false;      // the receive buffer is ours
  bool large = false;     // a receive that may well bring a token: it is looked at before MPI completes it
  MPI_Request handle{};
  void *buffer = nullptr;
  MPI_Count count = 0;
  MPI_Datatype type{};
  bool contiguous = true, owns_type = false;
  std::optional<Layout> layout; // of a receive with holes; its type is not looked at any more
  MPI_Comm comm{};
  std::size_t capacity = 0; // bytes of the buffer
  std::uint64_t sent = 0;
  bool was_seen = false;
  MPI_Status seen{};           // when it was looked at: MPICH 5 says it of a persistent request only once
  std::byte *bounce = nullptr; // where MPI puts what comes, if not into the buffer
  Lane *lane = nullptr;        // the message that it has got is still on its way
  int source = -1;             // world rank, of a lent buffer's message from another node, if it is known
  std::size_t pending_at = not_pending; // its place among the pending receives

  // A send.
  Mode mode = Mode::standard;
  int peer = -1, tag = 0, dest = 0;
  int slot = -1; // −1: MPI carries it, by `token`
  MPI_Request token{};
  Source *ahead = nullptr; // … or it goes by a lane
  int error = MPI_SUCCESS; // of MPI's send
  Moment asked = 0;        // when a large receive was first looked at
  Moment started = 0;      // when it was first waited for; of a receive, when it got its token
};

Request *make_request();
Request *make_request(const Target &target);         // a receive
void keep_type(Request &request, MPI_Datatype type); // which the program may free before it is complete
void drop(Request *request) noexcept;
// MPICH 4.0's MPI_Pack refuses MPI_BOTTOM: the same places from another address on, or MPI_DATATYPE_NULL.
MPI_Datatype leave_bottom(MPI_Datatype type, void *&buffer);

// Receives below the threshold: they bring no token unless the message is too long for them, or has a token's
// length. They are noted in the place that follows from their handle; one that was there before becomes a
// request like the others.
struct SmallReceive {
  std::uintptr_t handle = 0;
  Target target{};
};
inline constexpr std::size_t small_places = 1024;
inline SmallReceive small_receives[small_places];
inline std::size_t known_count = 0;   // small ones and others
inline std::size_t request_count = 0; // the others
inline SmallReceive &small_place(std::uintptr_t handle) noexcept {
  return small_receives[(handle * 0x9E37'79B9'7F4A'7C15U >> 40U) % small_places];
}
inline bool is_small(MPI_Request handle) noexcept {
  return small_place(interpose::value_of(handle)).handle == interpose::value_of(handle);
}
// Large receives that are under way and do not have their data yet. They go on whatever the rank waits for.
// To be used under the lock; with one thread the count is read without it.
inline std::vector<Request *> pending; // NOLINT(bugprone-throwing-static-initialization)
inline std::size_t pending_count = 0;
void add_pending(Request &request);
void remove_pending(Request &request) noexcept;
// Whether a call that would block in MPI is to poll instead, so that these go on. Another thread may have
// some, or get some.
inline bool must_poll() noexcept { return shm.several_threads || pending_count > 0; }

void make_room(SmallReceive &place);
inline void note_small(MPI_Request handle, const Target &target) {
  const std::uintptr_t value = interpose::value_of(handle);
  SmallReceive &place = small_place(value);
  if (place.handle != 0) make_room(place);
  place = {value, target};
  known_count++;
}
// Takes it out.
inline bool take_small(MPI_Request handle, Target &target) noexcept {
  const std::uintptr_t value = interpose::value_of(handle);
  SmallReceive &place = small_place(value);
  if (place.handle != value || value == 0) return false;
  target = place.target;
  place.handle = 0;
  known_count--;
  return true;
}

// Requests by handle, until they are complete.
Request *find(MPI_Request handle);
void insert(Request *request);
void erase(const Request *request) noexcept;
// MPI may give the handle of a request that it has completed to another thread at once. By then ours must not
// be found by it any more; so it leaves before MPI may complete it, and comes back if MPI did not.
inline void leave(Request *request) noexcept {
  if (!shm.several_threads || request->persistent) return;
  remove_pending(*request);
  erase(request);
}
inline void come_back(Request *request) {
  if (!shm.several_threads || request->persistent) return;
  insert(request);
  add_pending(*request);
}
inline bool any_known() noexcept { return known_count > 0; }
std::vector<Request *> known_requests();

} // namespace haloscope::shm
