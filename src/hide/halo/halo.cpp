// One halo with its chosen exchange, and the C interface of <haloscope/halo.h>.
#include "hide/halo/chosen_exchange.hpp"
#include "hide/halo/measure.hpp"
#include "interpose/decimal.hpp"

#include <haloscope/halo.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <new>
#include <string>

// The object behind the C interface.

struct haloscope_halo {
  // Collective; throws Refused on all ranks.
  haloscope_halo(MPI_Comm comm, const std::size_t *sends, const std::size_t *receives,
                 const haloscope_halo_settings &settings);

  haloscope::halo::Plan plan;
  std::vector<std::size_t> send_bytes, receive_bytes; // a neighbour
  haloscope::halo::Pages pages;
  std::unique_ptr<haloscope::halo::Exchange> exchange;
  std::string description;
  bool started = false, fresh = false; // fresh: what was received has not been released
};

namespace haloscope::halo {

namespace {

std::string wrong(const haloscope_halo_settings &settings) {
  if (settings.method < HALOSCOPE_HALO_MEASURE || settings.method > HALOSCOPE_HALO_IN_PLACE)
    return "there is no method " + std::to_string(static_cast<int>(settings.method));
  if (settings.rounds < 3) return "rounds is " + std::to_string(settings.rounds) + ": it must be 3 or more";
  if (!(settings.seconds > 0) || !std::isfinite(settings.seconds))
    return "seconds is " + std::to_string(settings.seconds) + ": it must be a time greater than 0";
  if (settings.sharing < 0)
    return "sharing is " + std::to_string(settings.sharing) + ": it must be 0 or a number of ranks";
  return {};
}

// Collective. Throws on all ranks unless settings make sense, and are the same everywhere.
void check_settings(MPI_Comm comm, const haloscope_halo_settings &settings) {
  agree(comm, wrong(settings));
  const std::array<double, 4> mine{static_cast<double>(settings.method), static_cast<double>(settings.rounds),
                                   settings.seconds, static_cast<double>(settings.sharing)};
  std::array<double, 4> first = mine;
  check(MPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_DOUBLE, 0, comm));
  agree(comm, first == mine ? "" : "its settings are not those of rank 0");
}

// The same ranks without the topology: Open MPI 5 takes a graph that is made on a grid for a grid.
Communicator bare(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  check(MPI_Comm_rank(comm, &rank));
  check(MPI_Comm_split(comm, 0, rank, &made));
  check(MPI_Comm_get_errhandler(comm, &handler));
  check(MPI_Comm_set_errhandler(made, handler));
  check(MPI_Errhandler_free(&handler));
  return Communicator{made};
}

Plan make_plan(MPI_Comm comm, const std::size_t *send_bytes, const std::size_t *receive_bytes,
               const haloscope_halo_settings &settings) {
  Communicator own = bare(comm);
  check_settings(own.get(), settings);
  Edges all = read_edges(comm, own.get(), send_bytes, receive_bytes);
  Node node{own.get(), settings.sharing};
  return {std::move(own), std::move(node), std::move(all), {}, {}, {}};
}

// Edges within the node go by shared memory, where there is any.
void divide(Plan &plan) {
  const auto split = [&](const std::vector<Edge> &all, std::vector<Edge> &inside,
                         std::vector<Edge> &outside) {
    for (const Edge &edge : all) (plan.node.find(edge.rank) >= 0 ? inside : outside).push_back(edge);
  };
  split(plan.all.sends, plan.inside.sends, plan.outside.sends);
  split(plan.all.receives, plan.inside.receives, plan.outside.receives);
}

// Collective. False where memory cannot be shared though there is a use for it.
bool share(Plan &plan) {
  if (all_of(plan.node.comm.get(), !plan.inside.any())) return true;
  plan.shared = Shared::make(plan.node, plan.inside);
  if (plan.shared) return true;
  plan.inside = {};
  plan.outside = plan.all;
  return false;
}

std::string microseconds(double seconds) {
  return interpose::decimal_text(seconds * 1e6, 1, std::chars_format::fixed) + " us";
}

// Collective: the numbers of messages are those of all ranks.
std::string describe(const Plan &plan, const std::vector<Choice> &possible,
                     const std::vector<double> &seconds, const Choice &chosen, bool shared) {
  const std::array<long long, 2> mine{static_cast<long long>(plan.inside.sends.size()),
                                      static_cast<long long>(plan.outside.sends.size())};
  std::array<long long, 2> all{};
  check(MPI_Allreduce(mine.data(), all.data(), 2, MPI_LONG_LONG, MPI_SUM, plan.comm.get()));
  const bool everywhere = all_of(plan.comm.get(), shared), messages = chosen.within == Within::messages;
  std::string text = "halo:";
  if (!messages)
    text += " " + std::to_string(all[0]) + " messages within nodes " +
            (chosen.within == Within::window ? "copied by the receiver" : "read in place");
  if (messages || all[1] > 0)
    text += (messages ? " " + std::to_string(all[0] + all[1]) + " messages by "
                      : ", " + std::to_string(all[1]) + " by ") +
            name(chosen.way);
  if (messages && has_shm_library()) text += ", offered to the shm library";
  if (!everywhere) text += "; on some node memory cannot be shared";
  for (std::size_t i = 0; i < seconds.size(); i++)
    text += (i == 0 ? "; measured: " : ", ") + name(possible[i], all[1] > 0) + " " + microseconds(seconds[i]);
  return text;
}

} // namespace

} // namespace haloscope::halo

haloscope_halo::haloscope_halo(MPI_Comm comm, const std::size_t *sends, const std::size_t *receives,
                               const haloscope_halo_settings &settings)
    : plan(haloscope::halo::make_plan(comm, sends, receives, settings)) {
  using namespace haloscope::halo;
  send_bytes.resize(static_cast<std::size_t>(plan.all.send_count));
  receive_bytes.resize(static_cast<std::size_t>(plan.all.receive_count));
  for (const Edge &edge : plan.all.sends) send_bytes[static_cast<std::size_t>(edge.neighbour)] = edge.bytes;
  for (const Edge &edge : plan.all.receives)
    receive_bytes[static_cast<std::size_t>(edge.neighbour)] = edge.bytes;
  const auto method = settings.method;
  divide(plan);
  const bool wanted = method == HALOSCOPE_HALO_MEASURE || method >= HALOSCOPE_HALO_WINDOW;
  const bool shared = !wanted || share(plan);
  const std::vector<Choice> possible = choices(plan, method);
  Choice chosen = possible.front();
  std::vector<double> seconds;
  if (possible.size() > 1 && !all_of(plan.comm.get(), !plan.all.any())) {
    seconds = measure(plan, possible, settings);
    chosen = possible[static_cast<std::size_t>(std::ranges::min_element(seconds) - seconds.begin())];
  }
  description = describe(plan, possible, seconds, chosen, shared);
  if (chosen.within == Within::messages) plan.shared.reset();
  const std::size_t bytes = Exchange::needed(chosen, plan);
  pages = Pages{bytes};
  agree(plan.comm.get(), pages.data() == nullptr && bytes > 0 ? "no memory for the buffers" : "");
  exchange = std::make_unique<Exchange>(chosen, plan, pages.data());
}

namespace {

using haloscope::halo::Failed;
using haloscope::halo::Refused;

thread_local std::string halo_error; // NOLINT: a line a thread

int refuse(int code, std::string text) {
  halo_error = std::move(text);
  return code;
}

// Turns exceptions into MPI's error codes: none leaves the library.
template <class Function> int guard(Function function) noexcept {
  try {
    return function();
  } catch (const Refused &refused) {
    return refuse(MPI_ERR_ARG, refused.what());
  } catch (const Failed &failed) {
    return refuse(failed.code, "halo: MPI failed with code " + std::to_string(failed.code));
  } catch (const std::bad_alloc &) {
    return refuse(MPI_ERR_NO_MEM, "halo: out of memory");
  }
}

template <class Sizes> bool is_one_of(int neighbour, const Sizes &sizes) {
  if (neighbour >= 0 && static_cast<std::size_t>(neighbour) < sizes.size()) return true;
  refuse(MPI_ERR_ARG,
         "halo: there is no neighbour " + std::to_string(neighbour) + " of " + std::to_string(sizes.size()));
  return false;
}

std::size_t size_of(int neighbour, const std::vector<std::size_t> &sizes) {
  return is_one_of(neighbour, sizes) ? sizes[static_cast<std::size_t>(neighbour)] : 0;
}

int end_exchange(haloscope_halo &halo) {
  halo.started = false;
  halo.fresh = true;
  return MPI_SUCCESS;
}

} // namespace

extern "C" {

haloscope_halo_settings haloscope_halo_defaults() { return {HALOSCOPE_HALO_MEASURE, 30, 0.5, 0}; }

int haloscope_halo_create(MPI_Comm comm, const size_t *send_bytes, const size_t *receive_bytes,
                          const haloscope_halo_settings *settings, haloscope_halo **made) {
  *made = nullptr;
  if (comm == MPI_COMM_NULL) return refuse(MPI_ERR_ARG, "halo: the communicator is MPI_COMM_NULL");
  return guard([&] {
    int inter = 0;
    haloscope::halo::check(MPI_Comm_test_inter(comm, &inter));
    if (inter != 0) return refuse(MPI_ERR_ARG, "halo: the communicator is an intercommunicator");
    const haloscope_halo_settings own = settings == nullptr ? haloscope_halo_defaults() : *settings;
    *made = new haloscope_halo{comm, send_bytes, receive_bytes, own};
    return MPI_SUCCESS;
  });
}

// For halo.f90, whose communicators are integers.
int haloscope_halo_create_fortran(MPI_Fint comm, const size_t *send_bytes, const size_t *receive_bytes,
                                  haloscope_halo **made) {
  return haloscope_halo_create(MPI_Comm_f2c(comm), send_bytes, receive_bytes, nullptr, made);
}

void haloscope_halo_free(haloscope_halo *halo) { delete halo; }

const char *haloscope_halo_error() { return halo_error.c_str(); }

const char *haloscope_halo_description(const haloscope_halo *halo) { return halo->description.c_str(); }

int haloscope_halo_send_count(const haloscope_halo *halo) {
  return static_cast<int>(halo->send_bytes.size());
}

int haloscope_halo_receive_count(const haloscope_halo *halo) {
  return static_cast<int>(halo->receive_bytes.size());
}

size_t haloscope_halo_send_bytes(const haloscope_halo *halo, int neighbour) {
  return size_of(neighbour, halo->send_bytes);
}

size_t haloscope_halo_receive_bytes(const haloscope_halo *halo, int neighbour) {
  return size_of(neighbour, halo->receive_bytes);
}

void *haloscope_halo_send_buffer(haloscope_halo *halo, int neighbour) {
  if (!is_one_of(neighbour, halo->send_bytes) || halo->started) return nullptr;
  void *found = nullptr;
  guard([&] {
    found = halo->exchange->send_buffer(neighbour);
    return MPI_SUCCESS;
  });
  return found;
}

const void *haloscope_halo_receive_buffer(haloscope_halo *halo, int neighbour) {
  if (!is_one_of(neighbour, halo->receive_bytes) || !halo->fresh) return nullptr;
  return halo->exchange->receive_buffer(neighbour);
}

int haloscope_halo_start(haloscope_halo *halo) {
  if (halo->started) return refuse(MPI_ERR_REQUEST, "halo: started again before it was finished");
  return guard([&] {
    halo->fresh = false;
    halo->exchange->start();
    halo->started = true;
    return MPI_SUCCESS;
  });
}

int haloscope_halo_test(haloscope_halo *halo, int *there) {
  *there = 0;
  if (!halo->started) return refuse(MPI_ERR_REQUEST, "halo: tested before it was started");
  return guard([&] {
    *there = halo->exchange->test() ? 1 : 0;
    return *there != 0 ? end_exchange(*halo) : MPI_SUCCESS;
  });
}

int haloscope_halo_finish(haloscope_halo *halo) {
  if (!halo->started) return refuse(MPI_ERR_REQUEST, "halo: finished before it was started");
  return guard([&] {
    halo->exchange->finish();
    return end_exchange(*halo);
  });
}

int haloscope_halo_release(haloscope_halo *halo) {
  if (halo->started) return refuse(MPI_ERR_REQUEST, "halo: released before it was finished");
  halo->fresh = false;
  halo->exchange->release();
  return MPI_SUCCESS;
}
}
