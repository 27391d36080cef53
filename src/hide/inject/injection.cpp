#include "hide/inject/held.hpp"
#include "interpose/report.hpp"
#include "interpose/sessions.hpp"
#include "interpose/taking_part.hpp"

#include <cstdlib>
#include <exception>
#include <string>
#include <unistd.h>

namespace haloscope::inject {

State state; // NOLINT(bugprone-throwing-static-initialization): its containers are empty

namespace {

// Throws the error. Every rank has the same text, so all ranks complain or none.
bool read_plan() {
  if (!state.sources.empty()) return true;
  const char *text = std::getenv("HALOSCOPE_INJECT"); // NOLINT(concurrency-mt-unsafe)
  if (text == nullptr || *text == '\0') return false;
  state.plan = latencies::parse(text);
  return !state.plan.is_idle();
}

bool has_plan() {
  try {
    return read_plan();
  } catch (const std::exception &error) {
    interpose::complain(std::string{"HALOSCOPE_INJECT: "} + error.what() +
                        "; nothing is injected; use haloscope inject to set it");
    return false;
  }
}

// The draws of a spawned world are others than those of the world that spawned it.
void start() {
  if (!state.sources.empty()) return;
  const auto rank = static_cast<std::uint64_t>(state.world_rank);
  const std::uint64_t seed = state.plan.seed + (state.spawned != 0 ? 0x5351'0000'0000'0000U : 0);
  for (std::uint64_t link = 0; link < 2; link++)
    state.sources.emplace_back(state.plan.links[link], seed, rank, link);
}

// Guards the functions here, which only programs with sessions call at the same time.
std::mutex lifecycle;
unsigned sessions = 0;      // that the program has open
bool world_is_open = false; // from MPI_Init to MPI_Finalize

void close_journal() {
  state.journal.close();
  state.journal = {};
}

void stop() {
  state.running.store(false, std::memory_order_release);
  state.library.reset();
}

} // namespace

void initialise() {
  const std::lock_guard lock{lifecycle};
  if (!has_plan() || !interpose::do_all_ranks_take_part(interpose::Part::inject, "nothing is injected"))
    return;
  if (!state.running.load()) forget_all();
  int level = 0;
  real.Query_thread(&level);
  state.several_threads = state.several_threads || level == MPI_THREAD_MULTIPLE;
  MPI_Comm parent;
  if (real.Comm_get_parent(&parent) != MPI_SUCCESS) parent = MPI_COMM_NULL;
  real.Comm_rank(MPI_COMM_WORLD, &state.world_rank);
  if (!begin_world()) {
    interpose::complain("nothing is injected: MPI has no communicator left");
    return;
  }
  if (parent != MPI_COMM_NULL) attach(parent);
  const MPI_Comm stamps = communicator_of(MPI_COMM_WORLD)->stamps;
  state.library = stamps;
  // The same moment on all ranks, that of rank 0's coming here; and its process, for a world that was
  // spawned.
  struct {
    Moment begin = now();
    int process = getpid();
  } first;
  if (real.Bcast(&first, sizeof first, MPI_BYTE, 0, stamps) != MPI_SUCCESS) return;
  if (state.begin == 0) state.begin = first.begin;
  state.spawned = parent == MPI_COMM_NULL ? 0 : first.process;
  start();
  state.journal.open();
  world_is_open = true;
  state.running.store(true, std::memory_order_release);
}

void finalise() noexcept {
  const std::lock_guard lock{lifecycle};
  if (!world_is_open) return;
  world_is_open = false;
  const Outermost here;
  if (sessions == 0)
    stop();
  else
    state.library.reset();
  try {
    sweep_freed(true);
    drop_stamps(*communicator_of(MPI_COMM_WORLD));
    if (sessions == 0) close_journal();
  } catch (const std::exception &error) {
    interpose::complain(std::string{"the record of injected latencies is lost: "} + error.what());
  }
}

void write_all() noexcept try {
  const Lock lock;
  state.journal.flush();
} catch (const std::exception &error) {
  interpose::complain(std::string{"the record of injected latencies is lost: "} + error.what());
}

// Without MPI_Init: ranks know each other, but there is no communicator by which they could talk.
void start_session() noexcept try {
  const std::lock_guard lock{lifecycle};
  if (sessions++ > 0 || world_is_open || !has_plan()) return;
  const interpose::SessionWorld world = interpose::open_session_world();
  if (world.rank < 0) return; // a process outside all worlds
  forget_all();
  state.several_threads = true; // each session has a thread level of its own
  state.world = world.group;
  state.world_rank = world.rank;
  state.nodes.assign(static_cast<std::size_t>(world.size), 0);
  state.nodes[static_cast<std::size_t>(world.rank)] = own_node();
  if (state.begin == 0) state.begin = now();
  start();
  state.journal.open();
  state.running.store(true, std::memory_order_release);
} catch (const std::exception &error) {
  interpose::complain(std::string{"nothing is injected: "} + error.what());
}

void finish_session() noexcept try {
  const std::lock_guard lock{lifecycle};
  if (sessions > 0) sessions--;
  if (sessions > 0) return;
  if (!world_is_open) {
    if (state.running.load()) close_journal();
    stop();
  }
  interpose::close_session_world();
} catch (const std::exception &error) {
  interpose::complain(std::string{"the record of injected latencies is lost: "} + error.what());
}

} // namespace haloscope::inject
