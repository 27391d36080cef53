// Messages that are all on their way before any is waited for.
#ifndef APPS_AMR_POST_HPP
#define APPS_AMR_POST_HPP

#include "../common/mpi.hpp"

#include <span>
#include <vector>

namespace amr {

// Two ranks must post what they tell each other in the same order. Values must stay until `finish`.
class Post {
public:
  explicit Post(int kind) : tag_(3 + kind) {} // after those of the exchange of faces

  void send(int to, std::span<const double> values) {
    MPI_Isend(values.data(), static_cast<int>(values.size()), MPI_DOUBLE, to, tag_, MPI_COMM_WORLD,
              &requests_.emplace_back());
  }
  void receive(int from, std::span<double> values) {
    MPI_Irecv(values.data(), static_cast<int>(values.size()), MPI_DOUBLE, from, tag_, MPI_COMM_WORLD,
              &requests_.emplace_back());
  }
  void finish() {
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    requests_.clear();
  }

private:
  int tag_;
  std::vector<MPI_Request> requests_;
};

} // namespace amr

#endif
