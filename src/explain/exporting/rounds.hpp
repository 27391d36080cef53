// Collectives as messages, by the algorithms that libraries start from: what one rank sends and receives,
// round after round. A round begins when all of the one before is over.
#pragma once

#include <algorithm>
#include <cstdint>

namespace haloscope::exporting {

// haloscope.explain.export.goal knows these numbers, too.
enum class Pattern : int32_t {
  all_wait,   // dissemination, the same bytes in each round
  all_gather, // dissemination, twice the bytes in each round
  all_to_all, // a partner a round
  from_root,  // a binomial tree
  to_root,    // likewise
  scatter,    // the root, one after the other
  gather,     // likewise
  chain,      // from rank to rank
};

struct Part {
  Pattern pattern;
  int32_t size;  // of the communicator
  int32_t place; // in it
  int32_t root;  // -1: none
  int64_t sent;
  int64_t received;
};

// Calls `send(peer, bytes)` and `receive(peer, bytes)` for each message, and `next()` after each round.
template <class Send, class Receive, class Next>
void each_round(const Part &part, const Send &send, const Receive &receive, const Next &next) {
  const int32_t size = part.size, me = part.place, root = std::max(part.root, 0);
  const auto most = std::max<int64_t>({part.sent, part.received, 1});
  const int64_t each = std::max<int64_t>(part.sent / std::max(size, 1), 1);
  const auto at = [&](int64_t place) { return static_cast<int32_t>((place + size) % size); };
  switch (part.pattern) {
  case Pattern::all_wait:
  case Pattern::all_gather:
    for (int64_t step = 1; step < size; step *= 2) {
      const int64_t parts = part.pattern == Pattern::all_gather ? std::min(step, size - step) : 1;
      const int64_t bytes = parts * std::max<int64_t>(part.sent, 1);
      send(at(me + step), bytes);
      receive(at(me - step), bytes);
      next();
    }
    return;
  case Pattern::all_to_all:
    for (int64_t step = 1; step < size; ++step) {
      send(at(me + step), each);
      receive(at(me - step), each);
      next();
    }
    return;
  case Pattern::from_root: {
    const int32_t from_root = at(int64_t{me} - root);
    int64_t bit = 1;
    while (bit < size && (from_root & bit) == 0) bit *= 2;
    if (from_root != 0) {
      receive(at(int64_t{me} - bit), most);
      next();
    }
    for (bit /= 2; bit > 0; bit /= 2) {
      if (from_root + bit >= size) continue;
      send(at(int64_t{me} + bit), most);
      next();
    }
    return;
  }
  case Pattern::to_root: {
    const int32_t from_root = at(int64_t{me} - root);
    for (int64_t bit = 1; bit < size; bit *= 2) {
      if ((from_root & bit) != 0) {
        send(at(int64_t{me} - bit), most);
        next();
        return;
      }
      if (from_root + bit >= size) continue;
      receive(at(int64_t{me} + bit), most);
      next();
    }
    return;
  }
  case Pattern::scatter:
    if (me != root) receive(root, std::max<int64_t>(part.received, 1));
    for (int32_t place = 0; me == root && place < size; ++place)
      if (place != root) send(place, each);
    next();
    return;
  case Pattern::gather:
    if (me != root) send(root, std::max<int64_t>(part.sent, 1));
    for (int32_t place = 0; me == root && place < size; ++place)
      if (place != root) receive(place, std::max<int64_t>(part.received / size, 1));
    next();
    return;
  case Pattern::chain:
    if (me > 0) {
      receive(me - 1, most);
      next();
    }
    if (me + 1 < size) {
      send(me + 1, most);
      next();
    }
    return;
  }
}

} // namespace haloscope::exporting
