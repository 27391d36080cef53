// Delays in a replay: latencies of messages as `haloscope inject` adds them, a factor of each rank's
// computing, and memory bandwidth that the ranks of a host share. SMPI runs all ranks as contexts of one
// thread.
#pragma once

#include "predict/latencies/plan.hpp"

#include <deque>
#include <map>
#include <simgrid/forward.h>
#include <tuple>
#include <vector>

namespace haloscope::simulate {

class Delays {
public:
  // Reads HALOSCOPE_INJECT, HALOSCOPE_COMPUTE_FACTORS and HALOSCOPE_CORE_SPEED.
  Delays();

  // The calling rank, before any rank communicates.
  void enter(int rank);

  [[nodiscard]] bool of_messages() const noexcept { return !plan_.is_idle(); }
  [[nodiscard]] bool of_computing() const noexcept { return !factors_.empty() || core_speed_ > 0; }

  // Draws the latency of a message that is sent now.
  void depart(int from, int to, int tag);
  // Returns when the oldest message that has not been received is there.
  double arrival(int from, int to, int tag);
  // Returns when a collective that is complete now lets its caller go on.
  double collective_end(int rank);
  // Computes. A rank of a host whose ranks share memory gets at most the speed of a core.
  void compute(int rank, double flops) const;

private:
  double draw(int rank, latencies::Link link);

  struct Rank {
    const simgrid::s4u::Host *host = nullptr;
    std::vector<latencies::Source> sources; // one per class of links
    std::uint64_t drawn[2]{};
  };
  latencies::Plan plan_;
  std::vector<double> factors_; // rank r has the one at r modulo their number
  double core_speed_ = 0;       // flops per second; 0: ranks share no memory
  std::vector<Rank> ranks_;
  const simgrid::s4u::Host *first_host_ = nullptr;
  bool spans_hosts_ = false;
  std::map<std::tuple<int, int, int>, std::deque<double>> arrivals_; // by sender, receiver and tag
};

} // namespace haloscope::simulate
