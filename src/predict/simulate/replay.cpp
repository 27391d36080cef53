// Replays a rank's trace text with SimGrid's own actions, delayed as requested, and counts them as the
// recorder counts calls. `location NAME 1|2|0` is SimGrid's note of a place in the program; here it begins a
// region, begins a communication region, or ends one. A plain smpirun -replay passes over it.
#include "predict/simulate/delays.hpp"
#include "watch/families.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <span>
#include <xbt/replay.hpp>

namespace haloscope::simulate {

namespace {

using namespace watch;

using Action = simgrid::xbt::ReplayAction; // RANK NAME ARGUMENTS...

Delays &delays() {
  static auto *const all = new Delays; // never destroyed: ranks end in any order
  return *all;
}

void sleep_until(double time) {
  if (time > simgrid::s4u::Engine::get_clock()) simgrid::s4u::this_actor::sleep_until(time);
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

std::string decode(const std::string &name) {
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

// A posted message that the trace has not waited for yet. SimGrid does not expose the request: the recorder
// knows it by a handle that is unique in the simulation.
struct alignas(64) Posted {
  int partner, tag;
  std::int64_t bytes;
  bool receives;
};
using PostedMessages = std::vector<std::unique_ptr<Posted>>;

MPI_Request handle_of(Posted &posted) { return reinterpret_cast<MPI_Request>(&posted); }

MPI_Status arrival(int source, int tag, std::int64_t bytes) {
  MPI_Status status{};
  status.MPI_SOURCE = source;
  status.MPI_TAG = tag;
  status.count = static_cast<int>(bytes);
  return status;
}

template <class Replay> void message(const Action &action, Replay &&replay) {
  const std::string &name = action[1];
  const int self = static_cast<int>(number(action, 0));
  const int partner = static_cast<int>(number(action, 2)), tag = static_cast<int>(number(action, 3));
  const std::int64_t bytes = number(action, 4) * size_of(action, 5);
  const bool receives = name == "recv" || name == "irecv";
  if (!receives && delays().of_messages()) delays().depart(self, partner, tag);
  if (name == "send") {
    send({Function::Send, partner, tag}, bytes, MPI_BYTE, partner, MPI_COMM_WORLD, replay);
  } else if (name == "recv") {
    receive({Function::Recv, partner, tag}, bytes, MPI_BYTE, partner, MPI_COMM_WORLD, MPI_STATUS_IGNORE,
            [&](MPI_Status *status) {
              *status = arrival(partner, tag, bytes);
              const int result = replay();
              sleep_until(delays().arrival(partner, self, tag));
              return result;
            });
  } else {
    Posted &posted = *own<PostedMessages>().emplace_back(new Posted{partner, tag, bytes, receives});
    MPI_Request handle = handle_of(posted);
    if (receives)
      post_receive({Function::Irecv, partner, tag}, bytes, MPI_BYTE, partner, MPI_COMM_WORLD, &handle,
                   replay);
    else
      post_send({Function::Isend, partner, tag}, bytes, MPI_BYTE, partner, MPI_COMM_WORLD, &handle, replay);
  }
}

template <class Replay> void wait_for_all(const Action &action, Replay &&replay) {
  const int self = static_cast<int>(number(action, 0));
  const PostedMessages messages = std::move(own<PostedMessages>());
  own<PostedMessages>().clear();
  std::vector<MPI_Request> handles;
  for (const auto &posted : messages) handles.push_back(handle_of(*posted));
  wait_all({Function::Waitall}, static_cast<int>(handles.size()), handles.data(), MPI_STATUSES_IGNORE,
           [&](MPI_Status *statuses) {
             for (const auto &posted : messages)
               *statuses++ = arrival(posted->partner, posted->tag, posted->bytes);
             const int result = replay();
             double last = 0;
             for (const auto &posted : messages)
               if (posted->receives)
                 last = std::max(last, delays().arrival(posted->partner, self, posted->tag));
             sleep_until(last);
             return result;
           });
}

// wait SOURCE DESTINATION TAG
template <class Replay> void wait_for_one(const Action &action, Replay &&replay) {
  auto &messages = own<PostedMessages>();
  const int source = static_cast<int>(number(action, 2)), to = static_cast<int>(number(action, 3)),
            tag = static_cast<int>(number(action, 4));
  const bool receives = source != number(action, 0), is_own = source == to; // of its own, both ends are here
  const int partner = receives ? source : to;
  const auto found = std::ranges::find_if(messages, [&](const auto &posted) {
    return posted->partner == partner && posted->tag == tag && (is_own || posted->receives == receives);
  });
  std::unique_ptr<Posted> posted;
  if (found != messages.end()) {
    posted = std::move(*found);
    messages.erase(found);
  }
  MPI_Request handle = posted == nullptr ? MPI_REQUEST_NULL : handle_of(*posted);
  wait({Function::Wait}, &handle, MPI_STATUS_IGNORE, [&](MPI_Status *status) {
    *status = arrival(partner, tag, posted == nullptr ? 0 : posted->bytes);
    const int result = replay();
    if (posted != nullptr && posted->receives) sleep_until(delays().arrival(source, to, tag));
    return result;
  });
}

// The ranks that get data from others in a collective.
enum class Gets : std::uint8_t { all, others, root };

// The positions of a collective's count, datatype and root, and the factor of its count.
struct Replayed {
  Function function;
  std::size_t count, datatype;
  bool for_each_rank;
  Gets gets = Gets::all;
  std::size_t root = 0;
};
const std::map<std::string, Replayed> &replayed_collectives() {
  static const std::map<std::string, Replayed> all{
      {"barrier", {Function::Barrier, 0, 0, false}},
      {"bcast", {Function::Bcast, 2, 4, false, Gets::others, 3}},
      {"reduce", {Function::Reduce, 2, 5, false, Gets::root, 4}},
      {"allreduce", {Function::Allreduce, 2, 4, false}},
      {"alltoall", {Function::Alltoall, 2, 4, true}},
      {"gather", {Function::Gather, 2, 5, false, Gets::root, 4}},
      {"allgather", {Function::Allgather, 2, 4, false}},
      {"scatter", {Function::Scatter, 2, 5, false, Gets::others, 4}},
      {"scan", {Function::Scan, 2, 4, false}},
      {"exscan", {Function::Exscan, 2, 4, false}},
      {"alltoallv", {Function::Alltoallv, 0, 0, false}},
      {"gatherv", {Function::Gatherv, 2, 0, false}},
      {"allgatherv", {Function::Allgatherv, 2, 0, false}},
      {"scatterv", {Function::Scatterv, 0, 0, false}},
      {"reducescatter", {Function::Reduce_scatter, 0, 0, false}}};
  return all;
}

bool gets_data(const Action &action, const Replayed &what) {
  if (what.gets == Gets::all) return true;
  return (number(action, what.root) == number(action, 0)) == (what.gets == Gets::root);
}

template <class Replay> void replay_collective(const Action &action, const Replayed &what, Replay &&replay) {
  collective(
      {what.function}, MPI_COMM_WORLD,
      [&](const Collective &on) {
        const std::uint64_t ranks = on.communicator.size;
        std::uint64_t bytes = 0;
        if (what.count != 0)
          bytes = static_cast<std::uint64_t>(number(action, what.count) *
                                             size_of(action, what.datatype ? what.datatype : 99));
        if (what.for_each_rank) bytes *= ranks;
        if (action[1] == "scatter") bytes = number(action, 4) == on.communicator.rank ? bytes * ranks : 0;
        return bytes;
      },
      [&] {
        const int result = replay();
        if (delays().of_messages() && gets_data(action, what))
          sleep_until(delays().collective_end(static_cast<int>(number(action, 0))));
        return result;
      });
}

void compute(const Action &action) {
  if (action.size() > 2)
    delays().compute(static_cast<int>(number(action, 0)), std::strtod(action[2].c_str(), nullptr));
}

void place(const Action &action) {
  ThreadState *state = this_thread();
  if (state == nullptr || action.size() < 4) return;
  const std::int64_t what = number(action, 3);
  const std::string name = decode(action[2]);
  if (what == 0)
    end_region(*state, name.c_str());
  else
    begin_region(*state, name.c_str(), what == 2);
}

template <class Count> void wrap(const std::string &name, Count &&count) {
  const action_fun original = xbt_replay_action_get(name.c_str());
  xbt_replay_action_register(name.c_str(), [original, count](Action &action) {
    count(action, [&] {
      original(action);
      return MPI_SUCCESS;
    });
  });
}

// The table of actions is one for all ranks, and the first rank's smpi_replay_init fills it.
void wrap_all() {
  static bool done = false;
  if (done) return;
  done = true;
  for (const char *name : {"send", "isend", "recv", "irecv"})
    wrap(name, [](const Action &action, auto &&replay) { message(action, replay); });
  wrap("wait", [](const Action &action, auto &&replay) { wait_for_one(action, replay); });
  wrap("waitall", [](const Action &action, auto &&replay) { wait_for_all(action, replay); });
  for (const auto &[name, what] : replayed_collectives())
    wrap(name, [&what](const Action &action, auto &&replay) { replay_collective(action, what, replay); });
  xbt_replay_action_register("location", place);
  if (delays().of_computing()) xbt_replay_action_register("compute", compute);
}

} // namespace

} // namespace haloscope::simulate

[[gnu::visibility("default")]] int main(int argc, char **argv) {
  const auto *properties = simgrid::s4u::Actor::self()->get_properties();
  const int rank = static_cast<int>(std::strtol(properties->at("rank").c_str(), nullptr, 10));
  smpi_replay_init(properties->at("instance_id").c_str(), rank, 0);
  haloscope::interpose::resolve(nullptr);
  haloscope::watch::ranks_compute = false;
  haloscope::simulate::delays().enter(rank);
  haloscope::simulate::wrap_all();
  haloscope::watch::start_recording();
  // The trace's own `finalize` ends the process, so recording finishes before.
  simgrid::s4u::this_actor::on_exit([](bool) { haloscope::watch::finish_recording(); });
  smpi_replay_main(rank, argc > 1 ? argv[1] : nullptr);
  return 0;
}
