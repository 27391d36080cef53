// A communicator of one's own, and errors of input that all its ranks agree on.
#pragma once

#include <mpi.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace haloscope::fem {

// An error of input: one line on what happened, to what, and what to do. All ranks throw the same one, so
// that none is left waiting.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

// Collective. Each rank passes the error that it found, "" if none. If any rank found one, all throw the
// message of the lowest of these ranks.
void agree(MPI_Comm communicator, const std::string &wrong);

// A communicator of one's own: no message of others can be taken for one's own.
class Communicator {
public:
  Communicator() = default;
  explicit Communicator(MPI_Comm parent) { MPI_Comm_dup(parent, &handle_); }
  Communicator(const Communicator &) = delete;
  Communicator &operator=(const Communicator &) = delete;
  Communicator(Communicator &&other) noexcept : handle_(std::exchange(other.handle_, MPI_COMM_NULL)) {}
  Communicator &operator=(Communicator &&other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Communicator() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (handle_ != MPI_COMM_NULL && finalized == 0) MPI_Comm_free(&handle_);
  }

  [[nodiscard]] MPI_Comm get() const noexcept { return handle_; }
  [[nodiscard]] int rank() const noexcept {
    int rank = 0;
    MPI_Comm_rank(handle_, &rank);
    return rank;
  }
  [[nodiscard]] int size() const noexcept {
    int size = 0;
    MPI_Comm_size(handle_, &size);
    return size;
  }

private:
  MPI_Comm handle_ = MPI_COMM_NULL;
};

} // namespace haloscope::fem
