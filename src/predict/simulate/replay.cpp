// Replays a rank's trace text with SimGrid's own actions, and counts them as recorder.cpp counts calls.
// `location NAME 1|2|0` is SimGrid's note of a place in the program; here it begins a region, begins a
// communication region, or ends one. A plain smpirun -replay passes over it.
#include "predict/simulate/counts.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <simgrid/engine.h>
#include <simgrid/s4u/Actor.hpp>
#include <smpi/smpi.h>
#include <unordered_map>
#include <xbt/replay.hpp>

namespace haloscope::simulate {

namespace {

using Action = simgrid::xbt::ReplayAction; // RANK NAME ARGUMENTS...

int rank_count() {
  static const int count = std::atoi(std::getenv("SMPI_GLOBAL_SIZE")); // NOLINT
  return count;
}

std::int64_t number(const Action &action, std::size_t at, std::int64_t otherwise = 0) {
  return at < action.size() ? static_cast<std::int64_t>(std::strtod(action[at].c_str(), nullptr)) : otherwise;
}

// SimGrid's numbers of datatypes, in bytes; without one it is double.
std::int64_t size_of(const Action &action, std::size_t at) {
  constexpr std::array<std::int64_t, 8> sizes{8, 4, 1, 2, 8, 4, 1, 1};
  const auto type = static_cast<std::size_t>(number(action, at, 0));
  return type < sizes.size() ? sizes[type] : 1;
}

std::string decoded(const std::string &name) {
  std::string text;
  for (std::size_t i = 0; i < name.size(); i++)
    if (name[i] == '%' && i + 2 < name.size()) {
      text += static_cast<char>(std::strtol(name.substr(i + 1, 2).c_str(), nullptr, 16));
      i += 2;
    } else {
      text += name[i];
    }
  return text;
}

struct Message {
  int partner;
  std::int64_t bytes;
};

// Messages that were posted and not waited for yet.
std::vector<Message> &posted(int rank) {
  static auto *const all = new std::unordered_map<int, std::vector<Message>>;
  return (*all)[rank];
}

void message(Rank &rank, const Action &action, double seconds) {
  const std::string &name = action[1];
  const int partner = static_cast<int>(number(action, 2));
  const std::int64_t bytes = number(action, 4) * size_of(action, 5);
  const bool sends = name == "send" || name == "isend", waits = name[0] != 'i';
  if (sends)
    rank.sent(partner, bytes);
  else
    rank.received(partner, bytes);
  if (waits)
    rank.spent_on_message(partner, bytes, seconds);
  else
    posted(rank.number).push_back({partner, bytes});
  const std::string call = std::string("MPI_") + (waits ? "" : "I") +
                           (sends ? (waits ? "Send" : "send") : (waits ? "Recv" : "recv"));
  rank.call(call.c_str(), Kind::p2p, sends ? bytes : 0, seconds, waits && !sends);
}

void waited(Rank &rank, const Action &action, double seconds) {
  std::vector<Message> &messages = posted(rank.number);
  if (action[1] == "waitall") {
    for (const Message &one : messages)
      rank.spent_on_message(one.partner, one.bytes, seconds / static_cast<double>(messages.size()));
    messages.clear();
    rank.call("MPI_Waitall", Kind::p2p, 0, seconds, true);
    return;
  }
  // wait SOURCE DESTINATION TAG
  const int source = static_cast<int>(number(action, 2)), to = static_cast<int>(number(action, 3));
  const int partner = source == rank.number ? to : source;
  const auto found = std::ranges::find(messages, partner, &Message::partner);
  if (found != messages.end()) {
    rank.spent_on_message(partner, found->bytes, seconds);
    messages.erase(found);
  }
  rank.call("MPI_Wait", Kind::p2p, 0, seconds, true);
}

// Where a collective's count and datatype stand, and how many times the count its argument is.
struct Collective {
  const char *operation;
  std::size_t count, datatype;
  bool for_each_rank;
};
const std::map<std::string, Collective> &collectives() {
  static const std::map<std::string, Collective> all{{"barrier", {"Barrier", 0, 0, false}},
                                                     {"bcast", {"Bcast", 2, 4, false}},
                                                     {"reduce", {"Reduce", 2, 5, false}},
                                                     {"allreduce", {"Allreduce", 2, 4, false}},
                                                     {"alltoall", {"Alltoall", 2, 4, true}},
                                                     {"gather", {"Gather", 2, 5, false}},
                                                     {"allgather", {"Allgather", 2, 4, false}},
                                                     {"scatter", {"Scatter", 2, 5, false}},
                                                     {"scan", {"Scan", 2, 4, false}},
                                                     {"exscan", {"Exscan", 2, 4, false}},
                                                     {"alltoallv", {"Alltoallv", 0, 0, false}},
                                                     {"gatherv", {"Gatherv", 2, 0, false}},
                                                     {"allgatherv", {"Allgatherv", 2, 0, false}},
                                                     {"scatterv", {"Scatterv", 0, 0, false}},
                                                     {"reducescatter", {"Reduce_scatter", 0, 0, false}}};
  return all;
}

void collective(Rank &rank, const Action &action, const Collective &what, double seconds) {
  std::int64_t bytes = 0;
  if (what.count != 0)
    bytes = number(action, what.count) * size_of(action, what.datatype ? what.datatype : 99);
  if (what.for_each_rank) bytes *= rank_count();
  if (action[1] == "scatter") bytes = number(action, 4) == rank.number ? bytes * rank_count() : 0;
  rank.collective(what.operation, rank_count(), bytes, seconds);
  rank.call((std::string("MPI_") + what.operation).c_str(), Kind::coll, bytes, seconds, true);
}

void count(Rank &rank, const Action &action, double seconds) {
  static const std::set<std::string> messages{"send", "isend", "recv", "irecv"};
  const auto found = collectives().find(action[1]);
  if (messages.contains(action[1]))
    message(rank, action, seconds);
  else if (action[1] == "wait" || action[1] == "waitall")
    waited(rank, action, seconds);
  else if (found != collectives().end())
    collective(rank, action, found->second, seconds);
}

void place(const Action &action) {
  Rank *rank = this_rank();
  if (rank == nullptr || action.size() < 4) return;
  const std::int64_t what = number(action, 3);
  if (what == 0)
    rank->end(decoded(action[2]), simgrid_get_clock());
  else
    rank->begin(decoded(action[2]), what == 2, simgrid_get_clock());
}

void wrap(const char *name) {
  const action_fun original = xbt_replay_action_get(name);
  xbt_replay_action_register(name, [original](Action &action) {
    const double start = simgrid_get_clock();
    original(action);
    if (Rank *rank = this_rank()) count(*rank, action, simgrid_get_clock() - start);
  });
}

// The table of actions is one for all ranks, and the first rank's smpi_replay_init fills it.
void wrap_all() {
  static bool done = false;
  if (done) return;
  done = true;
  for (const char *name : {"send", "isend", "recv", "irecv", "wait", "waitall"}) wrap(name);
  for (const auto &[name, what] : collectives()) wrap(name.c_str());
  xbt_replay_action_register("location", place);
}

} // namespace

} // namespace haloscope::simulate

int main(int argc, char **argv) {
  const auto *properties = simgrid::s4u::Actor::self()->get_properties();
  const int rank = static_cast<int>(std::strtol(properties->at("rank").c_str(), nullptr, 10));
  smpi_replay_init(properties->at("instance_id").c_str(), rank, 0);
  haloscope::simulate::wrap_all();
  auto &own = haloscope::simulate::start_rank(rank, simgrid_get_clock());
  // The trace's own `finalize` ends the process: what is to be said is said before.
  simgrid::s4u::this_actor::on_exit(
      [&own](bool) { haloscope::simulate::end_rank(own, simgrid_get_clock()); });
  smpi_replay_main(rank, argc > 1 ? argv[1] : nullptr);
  return 0;
}
