// Partitioned messages: each partition is under way for a latency of its own, from when it is ready.
#pragma once

#include "hide/inject/injection.hpp"

#include <vector>

namespace haloscope::inject {

// One end of a partitioned message.
struct Partitions {
  std::shared_ptr<Communicator> communicator;
  bool sends;
  int count; // at this end; the other may cut the message otherwise
  int partner, tag;
  std::vector<Moment> due; // of the sender's partitions, as the stamps come; 0: not yet
};

void begin(Partitions &partitions);
// Sends the stamps of partitions first … last.
void send_stamps(const Partitions &partitions, int first, int last);
// When all, or one of the receiver's partitions, are there; nothing where stamps are missing yet.
std::optional<Moment> all_arrived(Partitions &partitions, bool waits);
std::optional<Moment> one_arrived(Partitions &partitions, int partition);

} // namespace haloscope::inject
