// Values of nodes between neighbours, by persistent requests made once.
#pragma once

#include "hide/fem/mesh/communicator.hpp"
#include "hide/fem/mesh/nodes.hpp"

#include <vector>

namespace haloscope::fem {

class Exchange {
public:
  Exchange(MPI_Comm communicator, Links links); // collective
  Exchange(Exchange &&) noexcept = default;
  Exchange(const Exchange &) = delete;
  Exchange &operator=(const Exchange &) = delete;
  Exchange &operator=(Exchange &&) = delete;
  ~Exchange();

  // Owners' values to where they are ghosts. `values` is of local nodes: owned ones, then ghosts.
  void forward_start(const double *values);
  void forward_finish(double *values);
  // Ghosts' values to their owners, which add them in the order of ranks.
  void reverse_start(const double *values);
  void reverse_finish(double *values);

  void forward(double *values) { forward_start(values), forward_finish(values); }
  void reverse(double *values) { reverse_start(values), reverse_finish(values); }

private:
  Communicator communicator_;
  Links links_;
  std::vector<double> owned_, ghosts_;         // buffers, neighbour after neighbour
  std::vector<MPI_Request> forward_, reverse_; // receives, then sends
};

} // namespace haloscope::fem
