#include "watch/collecting/message_rows.hpp"

#include "watch/collecting/rows.hpp"

#include <algorithm>

namespace haloscope::watch {

void MessageRows::add(RegionTotals &region, const Node &node, const SettledTimes &times) {
  add_partners(region, node, times);
  each(node.messages, [&](const MessageRecord &record) { add_message(region, record, times); });
}

void MessageRows::add(const CommunicatorUse &use) {
  const Communicator *communicator = valid(use.communicator);
  if (communicator != nullptr && use.calls > 0) add_communicator(*communicator, use.calls, use.bytes);
}

// Messages for which there was no message record, and those of neighbourhood collectives.
void MessageRows::add_partners(RegionTotals &region, const Node &node, const SettledTimes &times) {
  for (const Partner *partner = valid(node.partners); partner != nullptr; partner = valid(partner->next)) {
    const std::int64_t other = partner->rank;
    const Traffic &neighbor = partner->neighbor;
    if (neighbor.sends > 0 || neighbor.recvs > 0)
      append(rows::Neighbors{.path = region.path,
                             .rank = rank(),
                             .partner = other,
                             .traffic = rows::traffic(neighbor),
                             .time = 0.0});
    const Traffic &p2p = partner->p2p;
    if (p2p.sends == 0 && p2p.recvs == 0 && partner->ticks == 0) continue;
    if (p2p.sends > 0) region.destinations.insert(other);
    if (p2p.recvs > 0) region.sources.insert(other);
    append(rows::Partners{.path = region.path,
                          .rank = rank(),
                          .partner = other,
                          .traffic = rows::traffic(p2p),
                          .time = times.messages * seconds(partner->ticks)});
  }
}

// A message record counts for a partner, a size, the call that sent it and a communicator.
void MessageRows::add_message(RegionTotals &region, const MessageRecord &record, const SettledTimes &times) {
  const Partner *partner = valid(record.partner);
  if (partner == nullptr) return;
  const std::uint64_t size = bytes_of_what(record.key.what);
  const std::uint64_t message = message_of_what(record.key.what);
  const Memory of = memory_of_what(record.key.what);
  const bool received = message == arrived || message == exchanged;
  const auto messages = static_cast<std::int64_t>(record.messages);
  Traffic traffic{};
  if (received)
    add_receives(traffic, messages, size);
  else
    add_sends(traffic, messages, size);
  const std::int64_t other = partner->rank;
  if (traffic.sends > 0) {
    region.destinations.insert(other);
    region.largest = std::max(region.largest, size);
  }
  if (traffic.recvs > 0) region.sources.insert(other);
  // A call that sends and receives counts once for its communicator, as a send.
  if (message != exchanged)
    if (const Communicator *used = communicator(static_cast<std::uint32_t>(record.key.channel >> 32U)))
      add_communicator(*used, record.messages, traffic.bytes_sent);
  if (record.messages == 0 && record.ticks == 0) return;
  const double time = times.messages * seconds(record.ticks);
  append(rows::Partners{.path = region.path,
                        .rank = rank(),
                        .partner = other,
                        .traffic = rows::traffic(traffic),
                        .time = time});
  append(rows::Sizes{.path = region.path,
                     .kind = kind(Kind::p2p),
                     .memory = memory(of),
                     .bytes = size,
                     .bytes_upper = size,
                     .messages = traffic.sends,
                     .time_total = time});
  if (message >= sent && message - sent < function_count && traffic.sends > 0)
    append_call(rows::Calls{.path = region.path,
                            .call = string(function_names[message - sent]),
                            .memory = memory(static_cast<unsigned>(message - sent), of),
                            .calls = traffic.sends,
                            .bytes = traffic.bytes_sent,
                            .time_total = 0.0,
                            .time_max = 0.0});
}

void MessageRows::add_communicator(const Communicator &communicator, std::uint64_t calls,
                                   std::uint64_t bytes) {
  // A rank counts once per communicator, also if several threads use it.
  const bool brief = communicator.brief; // the record is that of the last of many
  const auto identity = std::pair{brief ? 0 : communicator.members,
                                  std::string{brief ? other_communicators : text(communicator.name)}};
  const std::uint64_t ranks = communicators_.insert(identity).second ? 1 : 0;
  append(rows::Communicators{.name = string(identity.second),
                             .size = brief ? 0 : communicator.size,
                             .members = identity.first,
                             .ranks = ranks,
                             .calls = calls,
                             .bytes = bytes});
}

} // namespace haloscope::watch
