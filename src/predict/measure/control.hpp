// What the ranks of a measuring program tell each other besides what is measured. By messages only:
// the collectives of the library are under test, and may hang.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace measure {

constexpr int kTag = 32001;

struct World {
  int rank = 0;
  int size = 1;

  static World make() {
    World world;
    MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world.size);
    return world;
  }
  [[nodiscard]] bool root() const { return rank == 0; }
};

template <class T> MPI_Datatype type_of();
template <> inline MPI_Datatype type_of<double>() { return MPI_DOUBLE; }
template <> inline MPI_Datatype type_of<long long>() { return MPI_LONG_LONG; }
template <> inline MPI_Datatype type_of<char>() { return MPI_CHAR; }

// All ranks' values, on rank 0; the same number from each.
template <class T> std::vector<std::vector<T>> gathered(const World &world, const std::vector<T> &mine) {
  const int count = static_cast<int>(mine.size());
  std::vector<std::vector<T>> all;
  if (!world.root()) {
    MPI_Send(mine.data(), count, type_of<T>(), 0, kTag, MPI_COMM_WORLD);
    return all;
  }
  all.assign(static_cast<size_t>(world.size), mine);
  for (int rank = 1; rank < world.size; rank++)
    MPI_Recv(all[static_cast<size_t>(rank)].data(), count, type_of<T>(), rank, kTag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  return all;
}

// Rank 0's value, on all ranks.
inline double told(const World &world, double value) {
  if (!world.root()) {
    MPI_Recv(&value, 1, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return value;
  }
  for (int rank = 1; rank < world.size; rank++) MPI_Send(&value, 1, MPI_DOUBLE, rank, kTag, MPI_COMM_WORLD);
  return value;
}

// The largest value of all ranks, on all ranks.
inline double largest(const World &world, double value) {
  for (const auto &other : gathered<double>(world, {value}))
    if (other[0] > value) value = other[0];
  return told(world, value);
}

// A text of each rank, on rank 0; cut at 255 characters.
inline std::vector<std::string> texts(const World &world, const std::string &mine) {
  std::vector<char> padded(256, '\0');
  mine.copy(padded.data(), padded.size() - 1);
  std::vector<std::string> all;
  for (const auto &text : gathered<char>(world, padded)) all.emplace_back(text.data());
  return all;
}

} // namespace measure
