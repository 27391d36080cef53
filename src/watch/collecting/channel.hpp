// Messages between ranks that do not wait for ever: a rank may never come to MPI_Finalize.
#pragma once

#include "watch/collecting/tables.hpp"

#include <mpi.h>

#include <exception>
#include <memory>

namespace haloscope::watch {

// A rank that did not answer in time.
struct LateRank : std::exception {
  explicit LateRank(int late) noexcept : rank(late) {}
  int rank;
};

// A message is words, and only a long one takes two of MPI's: the first one says how many words there are.
// Messages between two ranks are in order. Throws LateRank after `patience` seconds without an answer.
class Channel {
public:
  Channel(MPI_Comm comm, double patience) : comm_(comm), patience_(patience) {}
  void send(const Words &words, int to) const;
  [[nodiscard]] Words receive(int from) const;

private:
  static constexpr std::size_t at_once = 4096;

  void send_buffer(Words words, int to) const;
  [[nodiscard]] Words receive_buffer(std::size_t room, int from) const;
  void wait(MPI_Request request, int other, std::unique_ptr<Words> &buffer) const;

  MPI_Comm comm_;
  double patience_; // seconds
};

} // namespace haloscope::watch
