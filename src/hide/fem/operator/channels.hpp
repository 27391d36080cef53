// The operator's messages: persistent requests to and from each neighbour, one buffer a direction.
#pragma once

#include "hide/fem/mesh/communicator.hpp"
#include "hide/fem/mesh/exchange.hpp"

#include <span>
#include <vector>

namespace haloscope::fem {

class Channels {
public:
  Channels(MPI_Comm communicator, const Links &links); // collective
  Channels(const Channels &) = delete;
  Channels &operator=(const Channels &) = delete;
  ~Channels();

  // Neighbour after neighbour, by rank. `owned` nodes are known to a neighbour, `ghosts` are its own.
  [[nodiscard]] std::span<const std::int32_t> owned() const noexcept { return owned_; }
  [[nodiscard]] std::span<const std::int32_t> ghosts() const noexcept { return ghosts_; }

  struct Direction {
    std::vector<double> sent, received;
    std::vector<MPI_Request> sends, receives;
  };
  Direction input;  // owned nodes' values go where these are ghosts
  Direction output; // ghosts' contributions go to their owners

  // The same at once, for vectors of local nodes: ghosts get their owners' values, or owners' sums.
  void bring(double *values);
  void add(double *values);

private:
  Communicator communicator_;
  std::vector<std::int32_t> owned_, ghosts_;
};

} // namespace haloscope::fem
