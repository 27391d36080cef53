#include "hide/shm/shm_library.hpp"

#include "hide/shm/ahead.hpp"
#include "hide/shm/carried.hpp"
#include "hide/shm/copying.hpp"
#include "hide/shm/receiving.hpp"
#include "hide/shm/sending.hpp"
#include "interpose/report.hpp"
#include "interpose/taking_part.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace haloscope::shm {

namespace {

std::string_view variable(const char *name) {
  const char *text = std::getenv(name); // NOLINT(concurrency-mt-unsafe)
  return text == nullptr ? std::string_view{} : text;
}

[[noreturn]] void refuse(const char *name, const char *wanted) {
  throw std::invalid_argument{std::string{name} + ": \"" + std::string{variable(name)} + "\" is not " +
                              wanted};
}

template <class Number> Number number(const char *name, Number otherwise, Number least, const char *wanted) {
  const std::string_view text = variable(name);
  if (text.empty()) return otherwise;
  Number found{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), found);
  if (error != std::errc{} || end != text.data() + text.size() || !(found >= least)) refuse(name, wanted);
  return found;
}

template <class Word, std::size_t count>
Word word(const char *name, Word otherwise, const std::array<std::pair<const char *, Word>, count> &words,
          const char *wanted) {
  const std::string_view text = variable(name);
  if (text.empty()) return otherwise;
  for (const auto &[spelling, meaning] : words)
    if (text == spelling) return meaning;
  refuse(name, wanted);
}

} // namespace

Options read_options() {
  Options options;
  options.threshold =
      number(threshold_variable, options.threshold, shortest_carried, "a number of bytes, 1024 or more");
  options.chunk =
      number("HALOSCOPE_SHM_CHUNK", options.chunk, shortest_carried, "a number of bytes, 1024 or more");
  options.pool = number("HALOSCOPE_SHM_POOL", options.pool >> 20U, std::size_t{0}, "a number of MiB") << 20U;
  const double patience = number("HALOSCOPE_SHM_PATIENCE", static_cast<double>(options.patience) * 1e-9, 0.0,
                                 "a time in seconds");
  options.patience = std::isfinite(patience) && patience < 1e9 ? static_cast<Moment>(patience * 1e9)
                                                               : Moment{1'000'000'000'000'000'000};
  options.protocol = word("HALOSCOPE_SHM_PROTOCOL", options.protocol,
                          std::to_array<std::pair<const char *, Choice>>({{"dynamic", Choice::dynamic},
                                                                          {"get", Choice::get},
                                                                          {"coop", Choice::coop},
                                                                          {"steal", Choice::steal},
                                                                          {"static", Choice::fixed},
                                                                          {"off", Choice::off}}),
                          "dynamic, get, coop, steal, static or off");
  options.cma = word("HALOSCOPE_SHM_CMA", options.cma,
                     std::to_array<std::pair<const char *, Attach>>(
                         {{"auto", Attach::as_needed}, {"always", Attach::always}, {"never", Attach::never}}),
                     "auto, always or never");
  options.measure =
      word("HALOSCOPE_SHM_MEASURE", options.measure,
           std::to_array<std::pair<const char *, bool>>({{"on", true}, {"off", false}}), "on or off");
  options.output = variable("HALOSCOPE_SHM_OUTPUT");
  return options;
}

ShmLibrary shm; // NOLINT(bugprone-throwing-static-initialization): its containers are empty

namespace {

// The arena of the program's heap, if large blocks of it are shared. Otherwise addresses only, until memory
// is needed.
Arena *own_arena() {
  static Arena *arena = [] {
    using Find = Arena *(*)();
    const auto shared = reinterpret_cast<Find>(dlsym(RTLD_DEFAULT, "haloscope_shared_arena"));
    Arena *found = shared == nullptr ? nullptr : shared();
    for (std::size_t bytes = std::size_t{64} << 30U; found == nullptr && bytes >= std::size_t{64} << 20U;
         bytes /= 4)
      found = Arena::make(bytes);
    return found;
  }();
  return arena;
}

bool says_on_this_rank() {
  int rank = 0;
  real.Comm_rank(MPI_COMM_WORLD, &rank);
  return rank == 0;
}

void start() {
  if (!interpose::do_all_ranks_take_part(interpose::Part::shm, "the shm library copies no messages")) return;
  int level = 0, worst = 0;
  std::string wrong;
  try {
    shm.options = read_options();
  } catch (const std::exception &error) {
    wrong = error.what();
  }
  // Ranks may have been given different words.
  const int mine = wrong.empty() && shm.options.protocol != Choice::off ? 0 : 1;
  real.Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (!wrong.empty())
    interpose::complain(wrong + "; the shm library copies no messages; use haloscope shm to set it");
  if (worst != 0) return;
  shm.threshold_with_holes = packs_types() ? shortest_carried : shm.options.threshold;
  real.Query_thread(&level);
  shm.several_threads = level == MPI_THREAD_MULTIPLE;
  std::string why;
  shm.node = Node::make(own_arena(), why);
  open_lanes(shm.node != nullptr);
  int rank = 0;
  if (shm.node == nullptr) {
    real.Comm_rank(MPI_COMM_WORLD, &rank);
    interpose::complain("rank " + std::to_string(rank) + ": " + why +
                        ", so all messages go by MPI; run haloscope doctor");
    return;
  }
  if (shm.options.cma == Attach::always && !shm.node->may_attach() && says_on_this_rank())
    interpose::complain(
        "HALOSCOPE_SHM_CMA: the system forbids to read the memory of other processes, so messages "
        "from private memory go by MPI; run haloscope doctor");
  shm.transferred = reinterpret_cast<Transferred>(dlsym(RTLD_DEFAULT, "haloscope_transferred"));
  shm.running.store(true, std::memory_order_release);
}

} // namespace

void initialise() {
  const Outermost here;
  try {
    start();
  } catch (const std::exception &error) {
    interpose::complain(std::string{"the shm library copies no messages: "} + error.what());
  }
}

void finalise() noexcept {
  if (!shm.running.load(std::memory_order_acquire)) return;
  const Outermost here;
  try {
    finish_sends();
    close_lanes();
    if (const std::size_t lent = lent_buffers(); lent > 0)
      interpose::complain(
          std::to_string(lent) +
          " receive buffers of the library were never given back: call MPIX_Release_recv_buf for each");
    write_record();
    real.Barrier(shm.node->comm()); // until then others may want our help
  } catch (const std::exception &error) {
    interpose::complain(std::string{"the record of copied messages is lost: "} + error.what());
  }
  shm.running.store(false, std::memory_order_release);
}

} // namespace haloscope::shm
