// Control messages between the ranks of a node: a queue per directed pair, made when it is first used, a
// queue of tasks per rank, and the set of ranks that are free to help. All of it is in regions of bounded
// size, one per rank.
#pragma once

#include "hide/halo/queues.hpp"

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace haloscope::halo {

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

  // The size of each rank's region for `ranks` ranks. `pairs`: the number of ranks to which one rank can
  // send.
  static std::size_t bytes(std::size_t ranks, std::size_t pairs) noexcept {
    return sizeof(Head) + ranks * sizeof(Offset) + line + pairs * sizeof(Queue);
  }

  // The regions of all ranks, as this one sees them, from zeros. Whoever uses another's region waits until
  // that one has been here.
  Channels(const std::vector<std::span<std::byte>> &regions, std::size_t me);

  // False: the queue is full, or this rank sends to more others than there is room for.
  bool send(int to, const Control &message) noexcept;
  bool receive(int from, Control &message) noexcept;

  Tasks &own_tasks() noexcept { return heads_[me_]->tasks; }
  [[nodiscard]] const Tasks &tasks_of(int rank) const noexcept {
    return heads_[static_cast<std::size_t>(rank)]->tasks;
  }
  // The ranks of the node that are free; the first one keeps it for all.
  [[nodiscard]] HelperMask<> &free() noexcept { return heads_.front()->free; }
  // Ranks that offer tasks. Only their queues are read, so the pages of the other queues are never touched.
  [[nodiscard]] HelperMask<> &offering() noexcept { return heads_.front()->offering; }

private:
  // A region begins with it; the offsets of queues to each rank, the owner's queues, follow.
  struct Head {
    Tasks tasks;
    HelperMask<> free, offering;
  };
  using Offset = std::atomic<std::uint64_t>;

  [[nodiscard]] Offset &directory(std::size_t from, std::size_t to) const noexcept;

  std::size_t me_;
  std::vector<Head *> heads_;
  Pool pool_;
  std::vector<Queue *> outgoing_, incoming_;
};

} // namespace haloscope::halo
