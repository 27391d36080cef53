// The ranks' clocks, translated into rank 0's: an offset from the fastest of some round trips, and
// from the second time on the drift since the first. As in ReproMPI (Hunold and Carpen-Amarie).
#pragma once

#include <mpi.h>

#include "predict/measure/control.hpp"

namespace measure {

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
  // What the offset may be wrong by: half of the fastest round trip, of the worst rank.
  [[nodiscard]] double error() const { return error_; }

private:
  static constexpr int kRounds = 30;
  static constexpr double kApart = 0.5; // seconds, for a drift that is more than noise

  static void answer(int rank) {
    for (int round = 0; round < kRounds; round++) {
      double time = 0;
      MPI_Recv(&time, 1, MPI_DOUBLE, rank, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      time = MPI_Wtime();
      MPI_Send(&time, 1, MPI_DOUBLE, rank, kTag, MPI_COMM_WORLD);
    }
  }

  void ask() {
    double shortest = 1e9;
    double offset = 0;
    double at = 0;
    for (int round = 0; round < kRounds; round++) {
      const double sent = MPI_Wtime();
      double theirs = sent;
      MPI_Send(&theirs, 1, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD);
      MPI_Recv(&theirs, 1, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
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
    drift_ = at - first_ > kApart ? (offset - first_offset_) / (at - first_) : 0;
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
