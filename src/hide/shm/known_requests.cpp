#include "hide/shm/known_requests.hpp"
#include "interpose/entering.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <type_traits>

namespace haloscope::shm {

using interpose::value_of;

namespace {

template <class Handle> Handle handle_of(std::uintptr_t value) noexcept {
  if constexpr (std::is_pointer_v<Handle>)
    return reinterpret_cast<Handle>(value); // NOLINT(performance-no-int-to-ptr)
  else
    return static_cast<Handle>(value);
}

// Open addressing: a power of two of places, at most half of them taken.
class Table {
public:
  [[nodiscard]] Request *find(std::uintptr_t handle) const noexcept {
    for (std::size_t i = place(handle); entries_[i].request != nullptr; i = (i + 1) & mask_)
      if (entries_[i].handle == handle) return entries_[i].request;
    return nullptr;
  }
  void insert(std::uintptr_t handle, Request *request) {
    if (2 * (count_ + 1) > entries_.size()) grow();
    std::size_t i = place(handle);
    while (entries_[i].request != nullptr && entries_[i].handle != handle) i = (i + 1) & mask_;
    if (entries_[i].request == nullptr) count_++;
    entries_[i] = {handle, request};
  }
  void erase(std::uintptr_t handle) noexcept {
    std::size_t i = place(handle);
    while (entries_[i].request != nullptr && entries_[i].handle != handle) i = (i + 1) & mask_;
    if (entries_[i].request == nullptr) return;
    count_--;
    // Entries behind it move up if that brings them nearer to their place.
    for (std::size_t j = (i + 1) & mask_; entries_[j].request != nullptr; j = (j + 1) & mask_) {
      const std::size_t wanted = place(entries_[j].handle);
      if (((j - wanted) & mask_) < ((j - i) & mask_)) continue;
      entries_[i] = entries_[j];
      i = j;
    }
    entries_[i] = {};
  }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::vector<Request *> all() const {
    std::vector<Request *> found;
    for (const Entry &entry : entries_)
      if (entry.request != nullptr) found.push_back(entry.request);
    return found;
  }

private:
  struct Entry {
    std::uintptr_t handle;
    Request *request;
  };
  [[nodiscard]] std::size_t place(std::uintptr_t handle) const noexcept {
    return (handle * 0x9E37'79B9'7F4A'7C15U >> 32U) & mask_;
  }
  void grow() {
    std::vector<Entry> before(2 * entries_.size());
    before.swap(entries_);
    mask_ = entries_.size() - 1;
    count_ = 0;
    for (const Entry &entry : before)
      if (entry.request != nullptr) insert(entry.handle, entry.request);
  }

  std::size_t mask_ = 1023, count_ = 0;
  std::vector<Entry> entries_ = std::vector<Entry>(1024);
};

Table table;                      // NOLINT(bugprone-throwing-static-initialization)
std::deque<Request> made;         // NOLINT(bugprone-throwing-static-initialization)
std::vector<Request *> free_ones; // NOLINT(bugprone-throwing-static-initialization)

// The attributes of `types` that are needed less often.
struct Element {
  std::optional<Layout> layout;
  std::int64_t extent = 0;
};
std::array<Element, known_types> elements;

} // namespace

Shape ask_shape(MPI_Datatype type) {
  const std::uintptr_t handle = value_of(type);
  Shape shape;
  if (type == MPI_DATATYPE_NULL || real.Type_size_x(type, &shape.size) != MPI_SUCCESS || shape.size < 0)
    return {0, false, false};
  int integers = 0, addresses = 0, inner = 0, combiner = 0;
  real.Type_get_envelope(type, &integers, &addresses, &inner, &combiner);
  shape.named = combiner == MPI_COMBINER_NAMED;
  MPI_Count low = 0, extent = 0;
  real.Type_get_extent_x(type, &low, &extent);
  const auto layout = flatten(type);
  shape.contiguous =
      shape.size == 0 || (layout && layout->is_one_block() && layout->first == 0 && layout->block == extent);
  elements[place_of_type(handle)] = {layout, extent};
  types[place_of_type(handle)] = {handle, shape};
  return shape;
}

std::optional<Layout> layout_of(MPI_Datatype type, MPI_Count count) {
  shape_of(type);
  if (count < 1 || !packs_types() || known_shape(type) == nullptr) return {};
  const Element &element = elements[place_of_type(value_of(type))];
  std::optional<Layout> layout = element.layout;
  if (layout && !layout->repeat(count, element.extent)) layout.reset();
  return layout;
}

void forget_types() noexcept { std::ranges::fill(types, KnownType{}); }

void make_room(SmallReceive &place) {
  Request *request = make_request(place.target);
  request->handle = handle_of<MPI_Request>(place.handle);
  place.handle = 0;
  known_count--;
  insert(request);
}

Request *make_request() {
  if (free_ones.empty()) {
    free_ones.reserve(made.size() + 1);
    return &made.emplace_back();
  }
  Request *request = free_ones.back();
  free_ones.pop_back();
  *request = {};
  return request;
}

void keep_type(Request &request, MPI_Datatype type) {
  const Shape shape = shape_of(type);
  request.contiguous = shape.contiguous;
  request.owns_type = !shape.named;
  request.type = type;
  if (request.owns_type && real.Type_dup(type, &request.type) != MPI_SUCCESS) {
    request.type = type;
    request.owns_type = false;
  }
}

MPI_Datatype leave_bottom(MPI_Datatype type, void *&buffer) {
  constexpr MPI_Aint away = 64;
  const int one = 1;
  const MPI_Aint back = -away;
  MPI_Datatype moved = MPI_DATATYPE_NULL;
  if (real.Type_create_hindexed(1, &one, &back, type, &moved) != MPI_SUCCESS ||
      real.Type_commit(&moved) != MPI_SUCCESS)
    return MPI_DATATYPE_NULL;
  buffer = reinterpret_cast<void *>(away); // NOLINT(performance-no-int-to-ptr)
  return moved;
}

Request *make_request(const Target &target) {
  Request *request = make_request();
  request->buffer = target.buffer;
  request->count = target.count;
  request->contiguous = shape_of(target.type).contiguous;
  if (!request->contiguous) request->layout = layout_of(target.type, target.count);
  if (!request->contiguous && !request->layout) {
    keep_type(*request, target.type);
    const MPI_Datatype moved =
        target.buffer == nullptr ? leave_bottom(request->type, request->buffer) : MPI_DATATYPE_NULL;
    if (moved != MPI_DATATYPE_NULL) {
      if (request->owns_type) real.Type_free(&request->type);
      request->type = moved;
      request->owns_type = true;
    }
  }
  request->comm = target.comm;
  request->capacity = bytes_of(target.count, target.type);
  request->large = is_large(target.count, target.type);
  return request;
}

// Each knows its place, so that it leaves at once.
void add_pending(Request &request) {
  const bool waits = request.kind == Request::Kind::receive && request.large && request.active &&
                     !request.there && request.pending_at == not_pending;
  if (!waits) return;
  pending.push_back(&request);
  request.pending_at = pending.size() - 1;
  pending_count = pending.size();
}

void remove_pending(Request &request) noexcept {
  if (request.pending_at == not_pending) return;
  Request *last = pending.back();
  pending[request.pending_at] = last;
  last->pending_at = request.pending_at;
  request.pending_at = not_pending;
  pending.pop_back();
  pending_count = pending.size();
}

void drop(Request *request) noexcept {
  remove_pending(*request);
  std::free(request->bounce);
  if (request->owns_type) {
    KnownType &known = types[place_of_type(value_of(request->type))];
    if (known.handle == value_of(request->type)) known = {};
    real.Type_free(&request->type);
  }
  free_ones.push_back(request);
}

Request *find(MPI_Request handle) {
  const std::uintptr_t value = value_of(handle);
  if (SmallReceive &place = small_place(value); place.handle == value && value != 0) make_room(place);
  return table.count() == 0 ? nullptr : table.find(value);
}

void insert(Request *request) {
  const std::size_t before = table.count();
  table.insert(value_of(request->handle), request);
  known_count += table.count() - before;
  request_count = table.count();
}

void erase(const Request *request) noexcept {
  if (table.find(value_of(request->handle)) != request) return; // another thread's by now
  table.erase(value_of(request->handle));
  known_count--;
  request_count = table.count();
}

std::vector<Request *> known_requests() {
  for (SmallReceive &place : small_receives)
    if (place.handle != 0) make_room(place);
  return table.all();
}

} // namespace haloscope::shm

void haloscope::interpose::forget_types() noexcept { shm::forget_types(); }
