#include "hide/shm/layouts.hpp"

#include "hide/shm/contents.hpp"
#include "hide/shm/copying.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace haloscope::shm {

std::int64_t Layout::low() const noexcept {
  std::int64_t low = first;
  for (const Loop &loop : loops) low += std::min<std::int64_t>(0, (loop.count - 1) * loop.stride);
  return low;
}

std::int64_t Layout::span() const noexcept {
  std::int64_t span = block;
  for (const Loop &loop : loops) span += (loop.count - 1) * std::abs(loop.stride);
  return span;
}

bool Layout::repeat(std::int64_t count, std::int64_t stride) noexcept {
  if (count == 1) return true;
  std::size_t used = 0;
  while (used < most && loops[used].count > 1) used++;
  if (used == 0 && stride == block) {
    block *= count;
    return true;
  }
  if (used > 0 && loops[used - 1].count * loops[used - 1].stride == stride) {
    loops[used - 1].count *= count;
    return true;
  }
  if (used == most) return false;
  loops[used] = {count, stride};
  return true;
}

namespace {

// A predefined type, or a type whose constructor is unknown.
std::optional<Layout> flatten_basic(MPI_Datatype type) {
  MPI_Count size = 0, low = 0, extent = 0;
  real.Type_size_x(type, &size);
  real.Type_get_true_extent_x(type, &low, &extent);
  if (size <= 0 || low != 0 || extent != size) return {};
  return one_block(size);
}

// Blocks at places that may be a constant distance apart.
template <class Place, class Length>
std::optional<Layout> flatten_list(Layout layout, std::int64_t inner, std::int64_t count, Length &&length,
                                   Place &&place) {
  if (count < 1 || !layout.repeat(length(0), inner)) return {};
  const std::int64_t begin = place(0), step = count > 1 ? place(1) - begin : 0;
  for (std::int64_t i = 1; i < count; i++)
    if (length(i) != length(0) || place(i) - place(i - 1) != step) return {};
  layout.first += begin;
  if (!layout.repeat(count, step)) return {};
  return layout;
}

std::optional<Layout> flatten_subarray(Layout layout, std::int64_t inner, const std::vector<int> &numbers) {
  const auto dimensions = static_cast<std::size_t>(numbers[0]);
  const bool c_order = numbers.back() == MPI_ORDER_C;
  std::int64_t stride = inner;
  for (std::size_t i = 0; i < dimensions; i++) {
    const std::size_t at = 1 + (c_order ? dimensions - 1 - i : i);
    layout.first += numbers[at + 2 * dimensions] * stride;
    if (!layout.repeat(numbers[at + dimensions], stride)) return {};
    stride *= numbers[at];
  }
  return layout;
}

std::optional<Layout> flatten(MPI_Datatype type, int depth) {
  constexpr int deepest = 8;
  MPI_Count size = 0;
  real.Type_size_x(type, &size);
  if (size <= 0 || depth > deepest) return {};
  constexpr int most = 1 << 20; // more would take longer to look at than to copy
  const Contents contents{type, most};
  const int kind = contents.combiner();
  if (contents.is_basic()) return flatten_basic(type);
  if (contents.parts().size() != 1) return {};
  const std::optional<Layout> part = flatten(contents.parts()[0], depth + 1);
  if (!part) return {};
  Layout layout = *part;
  const std::int64_t inner = extent_of(contents.parts()[0]);
  const auto &numbers = contents.numbers();
  const auto &places = contents.places();
  const auto number = [&](std::size_t i) { return static_cast<std::int64_t>(numbers[i]); };
  const auto count = numbers.empty() ? std::int64_t{0} : number(0);
  const auto has = [&](std::size_t integers, std::size_t addresses) {
    return numbers.size() >= integers && places.size() >= addresses;
  };
  const auto listed = static_cast<std::size_t>(count);

  if (kind == MPI_COMBINER_DUP || kind == MPI_COMBINER_RESIZED) return layout;
  if (count < 1) return {};
  const auto when = [&](bool fits) { return fits ? std::optional{layout} : std::nullopt; };
  if (kind == MPI_COMBINER_CONTIGUOUS) return when(layout.repeat(count, inner));
  if (kind == MPI_COMBINER_VECTOR && has(3, 0))
    return when(layout.repeat(number(1), inner) && layout.repeat(count, number(2) * inner));
  if (kind == MPI_COMBINER_HVECTOR && has(2, 1))
    return when(layout.repeat(number(1), inner) && layout.repeat(count, places[0]));
  if (kind == MPI_COMBINER_SUBARRAY && has(3 * listed + 2, 0))
    return flatten_subarray(layout, inner, numbers);
  const auto of_each = [&](std::int64_t i) { return number(static_cast<std::size_t>(1 + i)); };
  const auto of_all = [&](std::int64_t) { return number(1); };
  const auto address = [&](std::int64_t i) { return std::int64_t{places[static_cast<std::size_t>(i)]}; };
  if (kind == MPI_COMBINER_INDEXED && has(2 * listed + 1, 0))
    return flatten_list(layout, inner, count, of_each,
                        [&](std::int64_t i) { return of_each(count + i) * inner; });
  if (kind == MPI_COMBINER_INDEXED_BLOCK && has(listed + 2, 0))
    return flatten_list(layout, inner, count, of_all, [&](std::int64_t i) { return of_each(1 + i) * inner; });
  if (kind == MPI_COMBINER_HINDEXED && has(listed + 1, listed))
    return flatten_list(layout, inner, count, of_each, address);
  if (kind == MPI_COMBINER_HINDEXED_BLOCK && has(2, listed))
    return flatten_list(layout, inner, count, of_all, address);
  return {};
}

template <std::size_t bytes>
void copy_fixed(std::byte *to, std::int64_t to_stride, const std::byte *from, std::int64_t from_stride,
                std::int64_t count) noexcept {
  for (; count > 0; count--, to += to_stride, from += from_stride) std::memcpy(to, from, bytes);
}

// Blocks of the innermost loop.
void copy_row(std::byte *to, std::int64_t to_stride, const std::byte *from, std::int64_t from_stride,
              std::int64_t block, std::int64_t count) noexcept {
  switch (block) {
  case 4:
    copy_fixed<4>(to, to_stride, from, from_stride, count);
    break;
  case 8:
    copy_fixed<8>(to, to_stride, from, from_stride, count);
    break;
  case 16:
    copy_fixed<16>(to, to_stride, from, from_stride, count);
    break;
  case 24:
    copy_fixed<24>(to, to_stride, from, from_stride, count);
    break;
  case 32:
    copy_fixed<32>(to, to_stride, from, from_stride, count);
    break;
  default:
    for (; count > 0; count--, to += to_stride, from += from_stride)
      copy_bytes(to, from, static_cast<std::size_t>(block));
  }
}

// Two layouts of the same counts, one of which may be a row of bytes: then its strides follow from `block`.
void walk(std::byte *to, const Layout &there, const std::byte *from, const Layout &here,
          std::uint64_t bytes) noexcept {
  const std::int64_t block = here.block, length = here.loops[0].count;
  auto left = static_cast<std::int64_t>(bytes);
  for (std::int64_t k = 0; k < here.loops[2].count; k++)
    for (std::int64_t j = 0; j < here.loops[1].count; j++) {
      if (left <= 0) return;
      std::byte *target = to + there.first + j * there.loops[1].stride + k * there.loops[2].stride;
      const std::byte *source = from + here.first + j * here.loops[1].stride + k * here.loops[2].stride;
      const std::int64_t whole = std::min(length, left / block);
      copy_row(target, there.loops[0].stride, source, here.loops[0].stride, block, whole);
      left -= whole * block;
      if (whole == length) continue;
      std::memcpy(target + whole * there.loops[0].stride, source + whole * here.loops[0].stride,
                  static_cast<std::size_t>(left));
      return;
    }
}

// The same blocks without holes.
Layout packed(Layout layout) noexcept {
  std::int64_t stride = layout.block;
  for (Layout::Loop &loop : layout.loops) {
    loop.stride = stride;
    stride *= loop.count;
  }
  layout.first = 0;
  return layout;
}

} // namespace

std::optional<Layout> flatten(MPI_Datatype type) {
  const std::optional<Layout> layout = flatten(type, 0);
  if (!layout) return {};
  // Open MPI merges adjacent descending blocks into one ascending block. The true extent shows it.
  MPI_Count low = 0, extent = 0;
  real.Type_get_true_extent_x(type, &low, &extent);
  return layout->low() == low && layout->span() == extent ? layout : std::nullopt;
}

// Open MPI 5 gets types within types wrong by itself, and so it would get tokens that arrive in them.
bool packs_types() {
  static const bool does = [] {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    real.Get_library_version(text.data(), &length);
    return !std::string_view{text.data()}.starts_with("Open MPI v5.");
  }();
  return does;
}

void gather(std::byte *to, const std::byte *from, const Layout &layout, std::uint64_t bytes) noexcept {
  walk(to, packed(layout), from, layout, bytes);
}

void scatter(std::byte *to, const Layout &layout, const std::byte *from, std::uint64_t bytes) noexcept {
  walk(to, layout, from, packed(layout), bytes);
}

bool move(std::byte *to, const Layout &there, const std::byte *from, const Layout &here,
          std::uint64_t bytes) noexcept {
  if (there.is_one_block())
    gather(to + there.first, from, here, bytes);
  else if (here.is_one_block())
    scatter(to, there, from + here.first, bytes);
  else if (there.has_same_counts(here))
    walk(to, there, from, here, bytes);
  else
    return false;
  return true;
}

} // namespace haloscope::shm
