#include "hide/shm/message.hpp"

#include "hide/shm/copying.hpp"
#include "hide/shm/registering.hpp"

#include <optional>

namespace haloscope::shm {

namespace {

// The position of a message with holes that its receiver reads in place, if the node can map it and its
// blocks are long enough. Short blocks are slower: each cache line from a different core is fetched for a few
// bytes.
std::optional<std::uint64_t> place_of_blocks(const Message &message, const Layout &layout) {
  constexpr std::int64_t least = 256;
  const auto lowest =
      reinterpret_cast<std::uintptr_t>(message.buffer) + static_cast<std::uint64_t>(layout.low());
  if (layout.block < least) return {};
  const auto place = shared_place(pointer_to(lowest), static_cast<std::size_t>(layout.span()));
  return place ? std::optional{*place - static_cast<std::uint64_t>(layout.low())} : std::nullopt;
}

void pack(void *pooled, const Message &message, const std::optional<Layout> &layout) {
  if (layout) {
    gather(static_cast<std::byte *>(pooled), static_cast<const std::byte *>(message.buffer), *layout,
           message.bytes);
    return;
  }
  int position = 0;
  real.Pack(message.buffer, static_cast<int>(message.count), message.type, pooled,
            static_cast<int>(message.bytes), &position, message.envelope.comm);
}

} // namespace

bool lay_out(Slot &shown, void *pooled, const Message &message, bool looks_like_token) {
  shown.bytes = message.bytes;
  shown.to = message.peer;
  shown.receiving = pending_count > 0 ? 1 : 0;
  shown.strided = shown.packed = 0;
  shown.arrival = {};
  if (!looks_like_token && message.contiguous) {
    const Place place = own_place(message.buffer, message.bytes);
    shown.place = place.place;
    shown.mapped = place.mapped ? 1 : 0;
    return true;
  }
  const auto layout = layout_of(message.type, message.count);
  if (const auto place = layout && !looks_like_token ? place_of_blocks(message, *layout) : std::nullopt) {
    shown.place = *place;
    shown.mapped = shown.strided = 1;
    shown.layout = *layout;
    return true;
  }
  pack(pooled, message, layout);
  shown.pooled = shm.node->place_of(pooled);
  shown.packed = looks_like_token ? 0 : 1;
  return false;
}

} // namespace haloscope::shm
