#include "hide/shm/prefix.hpp"

#include "hide/shm/contents.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace haloscope::shm {

using interpose::real;

// The elements of an array that a subarray or a distributed array has: per dimension, those of its indices.
// The last dimension varies fastest.
struct Grid {
  std::vector<std::int64_t> sizes;
  std::vector<std::vector<std::int64_t>> indices;

  explicit Grid(std::size_t dimensions) : sizes(dimensions), indices(dimensions) {}
  void reverse() {
    std::ranges::reverse(sizes);
    std::ranges::reverse(indices);
  }
};

namespace {

Grid subarray(const std::vector<int> &numbers) {
  const auto dimensions = static_cast<std::size_t>(numbers[0]);
  Grid grid{dimensions};
  for (std::size_t i = 0; i < dimensions; i++) {
    grid.sizes[i] = numbers[1 + i];
    for (int j = 0; j < numbers[1 + dimensions + i]; j++)
      grid.indices[i].push_back(numbers[1 + 2 * dimensions + i] + j);
  }
  if (numbers.back() != MPI_ORDER_C) grid.reverse();
  return grid;
}

// MPI 4.1, 5.1.4: the processes are a grid in C's order.
Grid distributed(const std::vector<int> &numbers) {
  int rank = numbers[1];
  const auto dimensions = static_cast<std::size_t>(numbers[2]);
  Grid grid{dimensions};
  for (std::size_t i = dimensions; i-- > 0;) {
    const std::int64_t size = numbers[3 + i], kind = numbers[3 + dimensions + i],
                       given = numbers[3 + 2 * dimensions + i];
    const int processes = numbers[3 + 3 * dimensions + i], own = rank % processes;
    rank /= processes;
    std::int64_t block = given;
    if (kind == MPI_DISTRIBUTE_NONE) block = size;
    if (kind != MPI_DISTRIBUTE_NONE && given == MPI_DISTRIBUTE_DFLT_DARG)
      block = kind == MPI_DISTRIBUTE_BLOCK ? (size + processes - 1) / processes : 1;
    grid.sizes[i] = size;
    for (std::int64_t j = 0; j < size; j++)
      if (kind == MPI_DISTRIBUTE_NONE || j / block % processes == own) grid.indices[i].push_back(j);
  }
  if (numbers.back() != MPI_ORDER_C) grid.reverse();
  return grid;
}

} // namespace

bool Prefix::pass(MPI_Datatype type, std::byte *place, std::int64_t count) {
  MPI_Count size = 0;
  real.Type_size_x(type, &size);
  const std::int64_t extent = extent_of(type);
  for (std::int64_t i = 0; size > 0 && i < count && left_ > 0; i++)
    if (!pass_parts(type, place + i * extent)) return false;
  return true;
}

bool Prefix::pass_parts(MPI_Datatype type, std::byte *place) {
  const Contents contents{type};
  if (contents.is_basic()) {
    MPI_Count size = 0, low = 0, extent = 0;
    real.Type_size_x(type, &size);
    real.Type_get_true_extent_x(type, &low, &extent);
    const auto bytes = static_cast<std::uint64_t>(size);
    if (extent == size) {
      pass_bytes(place, bytes);
      return true;
    }
    // A value and its index, with a hole between them (MPI_SHORT_INT and others).
    constexpr std::uint64_t index = sizeof(int);
    pass_bytes(place, bytes - index);
    pass_bytes(place + (bytes - 1) / index * index, index);
    return true;
  }
  if (!contents.is_read()) return false;
  const auto &numbers = contents.numbers();
  const auto &places = contents.places();
  const MPI_Datatype part = contents.parts().front();
  const std::int64_t inner = extent_of(part);
  const std::int64_t count = numbers.empty() ? 0 : numbers[0];
  const auto number = [&](std::int64_t i) { return std::int64_t{numbers[static_cast<std::size_t>(i)]}; };
  const auto address = [&](std::int64_t i) { return std::int64_t{places[static_cast<std::size_t>(i)]}; };
  // Blocks of so many parts, at so many bytes.
  const auto blocks = [&](auto &&length, auto &&distance) {
    for (std::int64_t i = 0; i < count && left_ > 0; i++) {
      const bool mixed = contents.combiner() == MPI_COMBINER_STRUCT;
      const MPI_Datatype own = mixed ? contents.parts()[static_cast<std::size_t>(i)] : part;
      if (!pass(own, place + distance(i), length(i))) return false;
    }
    return true;
  };
  const auto each = [&](std::int64_t i) { return number(1 + i); };
  const auto all = [&](std::int64_t) { return number(1); };
  switch (contents.combiner()) {
  case MPI_COMBINER_DUP:
  case MPI_COMBINER_RESIZED:
    return pass(part, place, 1);
  case MPI_COMBINER_CONTIGUOUS:
    return pass(part, place, count);
  case MPI_COMBINER_VECTOR:
    return blocks(all, [&](std::int64_t i) { return i * number(2) * inner; });
  case MPI_COMBINER_HVECTOR:
    return blocks(all, [&](std::int64_t i) { return i * address(0); });
  case MPI_COMBINER_INDEXED:
    return blocks(each, [&](std::int64_t i) { return each(count + i) * inner; });
  case MPI_COMBINER_INDEXED_BLOCK:
    return blocks(all, [&](std::int64_t i) { return each(1 + i) * inner; });
  case MPI_COMBINER_HINDEXED:
  case MPI_COMBINER_STRUCT:
    return blocks(each, address);
  case MPI_COMBINER_HINDEXED_BLOCK:
    return blocks(all, address);
  case MPI_COMBINER_SUBARRAY:
    return pass_grid(part, place, subarray(numbers));
  case MPI_COMBINER_DARRAY:
    return pass_grid(part, place, distributed(numbers));
  default:
    return false;
  }
}

bool Prefix::pass_grid(MPI_Datatype part, std::byte *place, const Grid &grid) {
  const std::int64_t inner = extent_of(part);
  if (std::ranges::any_of(grid.indices, [](const auto &own) { return own.empty(); })) return true;
  std::vector<std::size_t> at(grid.sizes.size(), 0);
  while (left_ > 0) {
    std::int64_t element = 0;
    for (std::size_t i = 0; i < at.size(); i++) element = element * grid.sizes[i] + grid.indices[i][at[i]];
    if (!pass(part, place + element * inner, 1)) return false;
    std::size_t i = at.size();
    while (i > 0 && ++at[i - 1] == grid.indices[i - 1].size()) at[--i] = 0;
    if (i == 0) break;
  }
  return true;
}

void Prefix::pass_bytes(std::byte *place, std::uint64_t bytes) noexcept {
  const std::uint64_t part = std::min(bytes, left_);
  if (direction_ == Direction::unpack)
    std::memcpy(place, packed_, part);
  else
    std::memcpy(packed_, place, part);
  packed_ += part;
  left_ -= part;
}

} // namespace haloscope::shm
