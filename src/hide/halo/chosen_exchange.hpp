// One way to do the whole exchange, ready to run: the way of edges within a node, and that of the others.
#pragma once

#include "hide/halo/carrier.hpp"
#include "hide/halo/shared.hpp"

#include <memory>
#include <string>
#include <vector>

namespace haloscope::halo {

// The description of an exchange.
struct Plan {
  Communicator comm;
  Node node;
  Edges all, inside, outside;     // inside: by shared memory, if so chosen
  std::unique_ptr<Shared> shared; // none where memory cannot be shared
};

enum class Within : std::uint8_t { messages, window, in_place };

struct Choice {
  Within within;
  Way way;
};

// `outside`: there are messages to other nodes.
std::string name(const Choice &choice, bool outside);

class Exchange {
public:
  // The space that an exchange needs for buffers outside of the segment.
  static std::size_t needed(const Choice &choice, const Plan &plan);
  // Collective. The space is the caller's.
  Exchange(const Choice &choice, Plan &plan, std::byte *space);

  // Waits until its reader has released it; none where there is nothing to send.
  std::byte *send_buffer(int neighbour);
  [[nodiscard]] const std::byte *receive_buffer(int neighbour) const noexcept;
  void start();
  bool test();
  void finish();
  void release() noexcept;

private:
  // A neighbour's buffer: in the segment, or of its own.
  struct Place {
    std::byte *own = nullptr;
    std::size_t edge = 0;
    bool shared = false;
  };

  template <class Predicate> void wait(Predicate there);
  void copy();

  Plan *plan_;
  Within within_;
  std::vector<Place> sends_, receives_;
  std::vector<std::byte *> copied_; // for a window: where edges within the node are copied to
  std::unique_ptr<Carrier> carrier_;
  std::size_t arrived_ = 0;
  bool carried_ = true, held_ = false;
};

} // namespace haloscope::halo
