// Communication between the ranks of a measuring program outside of the measurement, and their common clock.
// It uses only messages: the library's collectives are under test, and may hang.
//
// Clock translates a rank's clock into rank 0's. It uses an offset from the fastest of several round trips,
// and from the second time on the drift since the first, as in ReproMPI (Hunold and Carpen-Amarie).
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace measure {

constexpr int tag = 32001;

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
template <class T> std::vector<std::vector<T>> gather(const World &world, const std::vector<T> &mine) {
  const int count = static_cast<int>(mine.size());
  std::vector<std::vector<T>> all;
  if (!world.root()) {
    MPI_Send(mine.data(), count, type_of<T>(), 0, tag, MPI_COMM_WORLD);
    return all;
  }
  all.assign(static_cast<size_t>(world.size), mine);
  for (int rank = 1; rank < world.size; rank++)
    MPI_Recv(all[static_cast<size_t>(rank)].data(), count, type_of<T>(), rank, tag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  return all;
}

// Rank 0's value, on all ranks.
inline double broadcast(const World &world, double value) {
  if (!world.root()) {
    MPI_Recv(&value, 1, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return value;
  }
  for (int rank = 1; rank < world.size; rank++) MPI_Send(&value, 1, MPI_DOUBLE, rank, tag, MPI_COMM_WORLD);
  return value;
}

// Rank 0's text, on all ranks.
inline std::string broadcast(const World &world, const std::string &text) {
  std::vector<char> letters(static_cast<size_t>(broadcast(world, static_cast<double>(text.size()))));
  const int count = static_cast<int>(letters.size());
  if (!world.root()) {
    MPI_Recv(letters.data(), count, MPI_CHAR, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return {letters.begin(), letters.end()};
  }
  for (int rank = 1; rank < world.size; rank++)
    MPI_Send(text.data(), count, MPI_CHAR, rank, tag, MPI_COMM_WORLD);
  return text;
}

// The largest value of all ranks, on all ranks.
inline double largest(const World &world, double value) {
  for (const auto &other : gather<double>(world, {value}))
    if (other[0] > value) value = other[0];
  return broadcast(world, value);
}

// A text of each rank, on rank 0; cut at 255 characters.
inline std::vector<std::string> texts(const World &world, const std::string &mine) {
  std::vector<char> padded(256, '\0');
  mine.copy(padded.data(), padded.size() - 1);
  std::vector<std::string> all;
  for (const auto &text : gather<char>(world, padded)) all.emplace_back(text.data());
  return all;
}

class Clock {
public:
  // Every rank calls it; takes about 30 round trips with each rank.
  void synchronise(const World &world) {
    if (world.root()) {
      for (int rank = 1; rank < world.size; rank++) answer(rank);
    } else {
      ask();
    }
    error_ = largest(world, error_);
  }

  // Rank 0's time, now or when this rank's clock shows `local`.
  [[nodiscard]] double global() const { return global(MPI_Wtime()); }
  [[nodiscard]] double global(double local) const {
    return local + offset_ + drift_ * (local - synchronised_);
  }
  // The possible error of the offset: half of the fastest round trip, on the worst rank.
  [[nodiscard]] double error() const { return error_; }

private:
  static constexpr int rounds = 30;
  static constexpr double apart = 0.5; // seconds, for a drift that is more than noise

  static void answer(int rank) {
    for (int round = 0; round < rounds; round++) {
      double time = 0;
      MPI_Recv(&time, 1, MPI_DOUBLE, rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      time = MPI_Wtime();
      MPI_Send(&time, 1, MPI_DOUBLE, rank, tag, MPI_COMM_WORLD);
    }
  }

  void ask() {
    double shortest = 1e9;
    double offset = 0;
    double at = 0;
    for (int round = 0; round < rounds; round++) {
      const double sent = MPI_Wtime();
      double theirs = sent;
      MPI_Send(&theirs, 1, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD);
      MPI_Recv(&theirs, 1, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      const double received = MPI_Wtime();
      if (received - sent >= shortest) continue;
      shortest = received - sent;
      at = (sent + received) / 2;
      offset = theirs - at;
    }
    if (first_ < 0) {
      first_ = at;
      first_offset_ = offset;
    }
    drift_ = at - first_ > apart ? (offset - first_offset_) / (at - first_) : 0;
    offset_ = offset;
    synchronised_ = at;
    error_ = shortest / 2;
  }

  double offset_ = 0;
  double drift_ = 0;
  double synchronised_ = 0;
  double first_ = -1;
  double first_offset_ = 0;
  double error_ = 0;
};

} // namespace measure
