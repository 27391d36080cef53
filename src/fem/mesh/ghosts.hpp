// Values of nodes between their owners and the neighbours that have them as ghosts, by persistent requests
// that are made once.
#pragma once

#include "fem/mesh/communicator.hpp"
#include "fem/mesh/nodes.hpp"

#include <span>
#include <vector>

namespace haloscope::fem {

class Ghosts {
public:
  // The messages that carry one more number behind the nodes' values.
  enum class Extra : std::uint8_t { none, to_ghosts, to_owners };

  Ghosts(MPI_Comm communicator, const Links &links, Extra extra = Extra::none); // collective
  Ghosts(Ghosts &&) noexcept = default;
  Ghosts(const Ghosts &) = delete;
  Ghosts &operator=(const Ghosts &) = delete;
  Ghosts &operator=(Ghosts &&) = delete;
  ~Ghosts();

  // Neighbour after neighbour, by rank. `owned` nodes are known to a neighbour, `ghosts` are its own.
  [[nodiscard]] std::span<const std::int32_t> owned() const noexcept { return owned_; }
  [[nodiscard]] std::span<const std::int32_t> ghosts() const noexcept { return ghosts_; }

  struct Direction {
    std::vector<double> sent, received;
    std::vector<MPI_Request> sends, receives;
    std::vector<std::size_t> sent_at, received_at;       // where each node's value is
    std::vector<std::size_t> sent_extra, received_extra; // where each message's number is, if they have one
  };
  Direction to_ghosts; // owners' values
  Direction to_owners; // ghosts' contributions

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
  std::vector<std::int32_t> owned_, ghosts_;
};

} // namespace haloscope::fem
