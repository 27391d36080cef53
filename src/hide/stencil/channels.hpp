// Control messages between the ranks of a node: a queue a directed pair, made when it is first used; a queue
// of tasks a rank; and who is free to help. All of it lies in a segment of bounded size.
#pragma once

#include "control_queue.hpp"
#include "helper_mask.hpp"
#include "pool.hpp"
#include "segment.hpp"
#include "task_queue.hpp"

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

namespace haloscope::stencil {

// Half a line: kind and whatever goes with it.
struct Control {
  std::uint32_t kind = 0, tag = 0;
  std::uint64_t words[7]{};
};

class Channels {
public:
  static constexpr std::size_t messages = 64, tasks = 64, task_words = 6;
  using Queue = ControlQueue<Control, messages>;
  using Tasks = TaskQueue<task_words, tasks>;

  // Collective over the ranks of a node. `pairs`: to so many others can a rank send. Nothing on all of them
  // where memory cannot be shared.
  static std::optional<Channels> make(MPI_Comm node, std::size_t pairs);

  // False: the queue is full, or this rank sends to more others than there is room for.
  bool send(int to, const Control &message) noexcept;
  bool receive(int from, Control &message) noexcept;

  Tasks &own_tasks() noexcept { return heads_[me_]->tasks; }
  [[nodiscard]] const Tasks &tasks_of(int rank) const noexcept {
    return heads_[static_cast<std::size_t>(rank)]->tasks;
  }
  // The ranks of the node that are free; the first one keeps it for all.
  [[nodiscard]] HelperMask<> &free() noexcept { return heads_.front()->free; }

private:
  // A region begins with it; the offsets of queues to each rank, the owner's queues, follow.
  struct Head {
    Tasks tasks;
    HelperMask<> free;
  };
  using Offset = std::atomic<std::uint64_t>;

  Channels(Segment segment, int me, int ranks);
  [[nodiscard]] Offset &directory(std::size_t from, std::size_t to) const noexcept;

  Segment segment_;
  std::size_t me_;
  std::vector<Head *> heads_;
  Pool pool_;
  std::vector<Queue *> outgoing_, incoming_;
};

} // namespace haloscope::stencil
