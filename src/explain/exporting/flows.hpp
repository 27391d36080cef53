// The send of each receive. The k-th receive of a sender, receiver, communicator and tag belongs to the k-th
// such send, because messages do not overtake each other.
//
// All ranks go through their messages together, in order of time. So the messages in memory are about those
// under way at one time. Results are in a file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "explain/exporting/columns.hpp"
#include "explain/exporting/spill.hpp"

namespace haloscope::exporting {

class Flows {
public:
  // Rows are in the order in which their rank started them. Nothing is in `file`.
  Flows(const Columns &trace, int file)
      : trace_(trace), of_receive_(file, 0),
        is_received_(file, (trace.receives.ends.count / block + 1) * block * int64_t{8}) {
    std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns;
    const Ranks senders(trace.sends.ends), receivers(trace.receives.ends);
    std::vector<Rank> ranks;
    if (senders.is_sorted() && receivers.is_sorted()) {
      for (int64_t l = 0; l < trace.locations; ++l) {
        const int32_t rank = trace.ranks[l];
        if (l == 0 || rank != trace.ranks[l - 1]) ranks.push_back({senders.of(rank), receivers.of(rank)});
      }
    } else {
      ranks.push_back({senders.of(0), receivers.of(0)});
    }
    for (size_t i = 0; i < ranks.size(); ++i) turns.emplace(INT64_MIN, i);
    while (!turns.empty()) {
      const size_t rank = turns.top().second;
      turns.pop();
      const int64_t next = go_on(ranks[rank], turns.empty() ? INT64_MAX : turns.top().first);
      if (next != INT64_MAX) turns.emplace(next, rank);
    }
  }

  // The row of the message's send; -1: none is known that began before the receive was over.
  int64_t of_receive(int64_t row) { return of_receive_.get(row) - 1; }
  bool is_received(int64_t row) { return (is_received_.get(row / 64) >> (row % 64) & 1) != 0; }

private:
  static constexpr int64_t block = 4096;
  static constexpr int turn = 256; // rows a rank goes on, at least
  using Turn = std::pair<int64_t, size_t>;

  // The remaining events of a rank.
  struct Rank {
    Range sends;
    Range receives;
  };
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
  // Messages of which one end is known: rows of sends, or of receives. A list in `nodes_`.
  struct Queue {
    int64_t first = -1;
    int64_t last = -1;
    bool is_of_sends = false;
  };
  struct Node {
    int64_t row;
    int64_t next;
  };

  // When a row was started. A call that is not known was before all others.
  int64_t begin(const Ends &ends, int64_t row) const {
    const int64_t call = ends.started[row];
    return call < 0 ? INT64_MIN : trace_.call_begin(call);
  }

  // Goes on beyond `until`, and by a turn's rows at least; returns the time of what comes next.
  int64_t go_on(Rank &rank, int64_t until) {
    const Messages &sends = trace_.sends, &receives = trace_.receives;
    for (int64_t done = 0;; ++done) {
      const int64_t send = rank.sends.size() > 0 ? begin(sends.ends, rank.sends.first) : INT64_MAX;
      const int64_t receive =
          rank.receives.size() > 0 ? begin(receives.ends, rank.receives.first) : INT64_MAX;
      const int64_t next = std::min(send, receive);
      if (next == INT64_MAX || (done >= turn && next > until)) return next;
      if (send <= receive)
        sent(rank.sends.first++);
      else
        posted(rank.receives.first++);
    }
  }

  void sent(int64_t row) {
    const Messages &sends = trace_.sends;
    if (sends.partner[row] >= 0)
      meet({sends.ends.rank[row], sends.partner[row], sends.communicator[row], sends.tag[row]}, row, true);
  }

  void posted(int64_t row) {
    const Messages &receives = trace_.receives;
    if (receives.partner[row] >= 0 && receives.ends.completed[row] >= 0) {
      meet({receives.partner[row], receives.ends.rank[row], receives.communicator[row], receives.tag[row]},
           row, false);
    }
  }

  void meet(const Key &key, int64_t row, bool is_send) {
    Queue &queue = queues_[key];
    if (queue.first < 0 || queue.is_of_sends == is_send)
      append(queue, row, is_send);
    else if (const int64_t other = remove(queue); is_send)
      join(row, other);
    else
      join(other, row);
    if (queues_.size() > most_queues_) sweep();
  }

  void join(int64_t send, int64_t receive) {
    if (trace_.sends.ends.started[send] < 0) return; // there is no call to show it from
    if (begin(trace_.sends.ends, send) >= trace_.call_end(trace_.receives.ends.completed[receive])) return;
    of_receive_.set(receive, send + 1);
    is_received_.set(send / 64, is_received_.get(send / 64) | int64_t{1} << (send % 64));
  }

  void append(Queue &queue, int64_t row, bool is_send) {
    const int64_t node = free_ < 0 ? static_cast<int64_t>(nodes_.size()) : free_;
    if (free_ < 0) {
      nodes_.push_back({row, -1});
    } else {
      free_ = at(free_).next;
      at(node) = {row, -1};
    }
    if (queue.first < 0)
      queue.first = node;
    else
      at(queue.last).next = node;
    queue.last = node;
    queue.is_of_sends = is_send;
  }

  int64_t remove(Queue &queue) {
    const int64_t node = queue.first;
    queue.first = at(node).next;
    at(node).next = free_;
    free_ = node;
    return at(node).row;
  }

  Node &at(int64_t node) { return nodes_[static_cast<size_t>(node)]; }

  // Removes empty queues: a program may use a different tag for each message.
  void sweep() {
    std::erase_if(queues_, [](const auto &entry) { return entry.second.first < 0; });
    most_queues_ = std::max(fewest_queues, 2 * queues_.size());
  }

  static constexpr size_t fewest_queues = 65536;
  const Columns &trace_;
  Spill of_receive_, is_received_;
  std::unordered_map<Key, Queue, Hash> queues_;
  size_t most_queues_ = fewest_queues;
  std::vector<Node> nodes_;
  int64_t free_ = -1;
};

} // namespace haloscope::exporting
