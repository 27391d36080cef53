// Which send a receive is of: the k-th of one sender, receiver, communicator and tag is of the k-th such
// send, as messages do not overtake each other.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "explain/export/columns.hpp"

namespace haloscope::exporting {

class Flows {
public:
  // Rows are in the order in which their rank started them; partners are world ranks.
  explicit Flows(const Columns &trace)
      : of_receive_(static_cast<size_t>(trace.receives.ends.count), -1),
        is_received_(static_cast<size_t>(trace.sends.ends.count)) {
    std::vector<int64_t> next(is_received_.size(), -1);
    std::unordered_map<Key, Queue, Hash> queues;
    const Messages &sends = trace.sends;
    for (int64_t row = 0; row < sends.ends.count; ++row) {
      append(queues[{sends.rank[row], sends.partner[row], sends.communicator[row], sends.tag[row]}], next,
             row);
    }
    const Messages &receives = trace.receives;
    for (int64_t row = 0; row < receives.ends.count; ++row) {
      const auto found = queues.find(
          {receives.partner[row], receives.rank[row], receives.communicator[row], receives.tag[row]});
      if (receives.ends.completed[row] >= 0 && found != queues.end()) take(found->second, next, trace, row);
    }
  }

  // The row of the message's send; -1: none is known that began before the receive was over.
  int64_t of_receive(int64_t row) const { return of_receive_[static_cast<size_t>(row)]; }
  bool is_received(int64_t row) const { return is_received_[static_cast<size_t>(row)]; }

private:
  struct Key {
    int32_t sender, receiver, communicator, tag;
    bool operator==(const Key &) const = default;
  };
  struct Hash {
    size_t operator()(const Key &key) const {
      uint64_t mixed =
          uint64_t{static_cast<uint32_t>(key.sender)} << 32 | static_cast<uint32_t>(key.receiver);
      mixed = (mixed ^ mixed >> 31) * 0x9e3779b97f4a7c15U;
      mixed ^= uint64_t{static_cast<uint32_t>(key.communicator)} << 32 | static_cast<uint32_t>(key.tag);
      return (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9U;
    }
  };
  // Sends that have no receive yet: a list through `next`.
  struct Queue {
    int64_t first = -1;
    int64_t last = -1;
  };

  static void append(Queue &queue, std::vector<int64_t> &next, int64_t row) {
    if (queue.first < 0)
      queue.first = row;
    else
      next[static_cast<size_t>(queue.last)] = row;
    queue.last = row;
  }

  void take(Queue &queue, const std::vector<int64_t> &next, const Columns &trace, int64_t row) {
    const int64_t send = queue.first;
    if (send < 0) return;
    queue.first = next[static_cast<size_t>(send)];
    const int64_t begin = trace.call_begin[trace.sends.ends.started[send]];
    if (begin < trace.call_end[trace.receives.ends.completed[row]]) {
      of_receive_[static_cast<size_t>(row)] = send;
      is_received_[static_cast<size_t>(send)] = true;
    }
  }

  std::vector<int64_t> of_receive_;
  std::vector<bool> is_received_;
};

} // namespace haloscope::exporting
