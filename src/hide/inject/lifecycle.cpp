#include "injection.hpp"
#include "report.hpp"

#include <cstdlib>
#include <exception>
#include <string>

namespace haloscope::inject {

State state; // NOLINT(bugprone-throwing-static-initialization): its containers are empty
thread_local bool inside = false;

namespace {

// Throws what is wrong; every rank has the same text, so all say so or none.
bool read_plan() {
  const char *text = std::getenv("HALOSCOPE_INJECT"); // NOLINT(concurrency-mt-unsafe)
  if (text == nullptr || *text == '\0') return false;
  state.plan = parse(text);
  return !state.plan.is_idle();
}

} // namespace

void initialise() {
  if (state.running) return;
  try {
    if (!read_plan()) return;
  } catch (const std::exception &error) {
    watch::complain(std::string{"HALOSCOPE_INJECT: "} + error.what() +
                    "; nothing is injected; let haloscope inject set it");
    return;
  }
  int level = 0;
  real.Query_thread(&level);
  state.several_threads = level == MPI_THREAD_MULTIPLE;
  real.Comm_rank(MPI_COMM_WORLD, &state.world_rank);
  find_nodes();
  attach(MPI_COMM_WORLD);
  synchronise_clock();
  const Communicator *world = communicator_of(MPI_COMM_WORLD);
  state.library = &world->stamps;
  // The same moment on all ranks, that of rank 0's coming here.
  state.begin = now();
  real.Bcast(&state.begin, sizeof state.begin, MPI_BYTE, 0, world->stamps);
  const auto rank = static_cast<std::uint64_t>(state.world_rank);
  const Plan &plan = state.plan;
  for (std::uint64_t link = 0; link < 2; link++)
    state.sources.emplace_back(plan.links[link], plan.seed, rank, link);
  state.running.store(true, std::memory_order_release);
}

void finalise() noexcept {
  if (!state.running.exchange(false)) return;
  const bool before = inside;
  inside = true;
  state.library = nullptr;
  try {
    // Stamps of messages that nobody received have tags of their own; rows must not meet them.
    Communicator *world = communicator_of(MPI_COMM_WORLD);
    MPI_Comm fresh;
    real.Comm_dup(world->stamps, &fresh);
    const MPI_Comm used = world->stamps;
    world->stamps = fresh;
    write_journal();
    world->stamps = used;
    real.Comm_free(&fresh);
  } catch (const std::exception &error) {
    watch::complain(std::string{"the record of what was injected is lost: "} + error.what());
  }
  inside = before;
}

} // namespace haloscope::inject
