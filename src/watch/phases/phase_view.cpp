#include "watch/phases/phase_view.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unwind.h>

namespace haloscope::watch {

namespace {

constexpr auto blocks = functions_that([](std::string_view name) {
  return is_named(name,
                  {"MPI_Send", "MPI_Ssend", "MPI_Rsend", "MPI_Bsend", "MPI_Recv", "MPI_Mrecv", "MPI_Send_c",
                   "MPI_Ssend_c", "MPI_Rsend_c", "MPI_Bsend_c", "MPI_Recv_c", "MPI_Mrecv_c"});
});

// A value that is no form's sum of functions.
constexpr std::uint64_t no_form = 1;

std::uint32_t mixed(std::initializer_list<std::uint64_t> values) noexcept {
  std::uint64_t sum = 0;
  for (const std::uint64_t value : values) sum = (sum + stretch_weight(value)) * stretch_factor;
  return static_cast<std::uint32_t>(sum >> 32U);
}

bool is_collective(const Phases::Call &call) noexcept { return (call.what & is_a_collective) != 0; }

// `before`: what the collective before it had.
std::uint16_t symbol_of(const Phases::Call &call, std::uint32_t before) noexcept {
  return collective_symbol(call.function, call.partner, (call.what - before) & ~is_a_collective);
}

void add_symbol(Phases::Window &window, std::uint16_t symbol) noexcept {
  const std::uint64_t sum = window.sums[window.count % Phases::Window::most];
  window.count++;
  window.sums[window.count % Phases::Window::most] = sum * stretch_factor + stretch_weight(symbol);
}

// Whether the newest symbols are the form.
bool is_at_end(const Phases &phases) noexcept {
  const Phases::Window &window = phases.window;
  const std::size_t length = phases.typical.size();
  if (length >= Phases::Window::most || window.count - window.end < length) return false;
  const std::uint64_t now = window.sums[window.count % Phases::Window::most];
  const std::uint64_t then = window.sums[(window.count - length) % Phases::Window::most];
  return now - then * window.power == phases.form;
}

void look_at(Phases &phases, const Phases::Call &call) noexcept {
  Phases::Window &window = phases.window;
  phases.functions = no_form;
  phases.is_late = false;
  if (!is_collective(call)) {
    window.exchanged |= exchange_bit(call.function);
    return;
  }
  if (window.exchanged != 0) {
    add_symbol(window, exchange_symbol(window.exchanged));
    window.exchanged = 0;
    if (is_at_end(phases)) {
      phases.is_late = true;
      window.end = window.count;
      phases.functions = phases.form;
    }
  }
  add_symbol(window, symbol_of(call, window.before));
  window.before = call.what;
  if (phases.is_late || !is_at_end(phases)) return;
  window.end = window.count;
  phases.functions = phases.form;
}

// An iteration ends with each visit of the function that it ends with: that is known one call later.
void look_for_visit(Phases &phases, const Phases::Call &call) noexcept {
  const bool is_visited = phases.last.contains(call.from);
  phases.is_late = !is_visited && phases.window.is_visited;
  phases.functions = phases.is_late ? phases.form : no_form;
  phases.window.is_visited = is_visited;
}

void follow_visits(Phases &phases) noexcept {
  phases.window.is_visited = false;
  for (std::uint64_t i = phases.end; i < phases.calls; i++)
    look_for_visit(phases, phases.ring[i % Phases::remembered]);
  phases.functions = no_form;
}

// Functions begin where their information for unwinding does; 0 where there is none.
class Beginnings {
public:
  std::uintptr_t of(std::uintptr_t from) {
    const auto [known, is_new] = known_.try_emplace(from, 0);
    // The call itself lies before the address that it returns to.
    auto *call = reinterpret_cast<void *>(from - 1); // NOLINT(performance-no-int-to-ptr)
    if (is_new) known->second = reinterpret_cast<std::uintptr_t>(_Unwind_FindEnclosingFunction(call));
    return known->second;
  }

private:
  std::unordered_map<std::uintptr_t, std::uintptr_t> known_;
};

void follow_collectives(Phases &phases) noexcept {
  Phases::Window &window = phases.window;
  window = {};
  window.power = 1;
  for (std::size_t i = 0; i < phases.typical.size(); i++) window.power *= stretch_factor;
  const std::uint64_t oldest = phases.calls - std::min<std::uint64_t>(phases.calls, Phases::remembered);
  for (std::uint64_t i = phases.end; i > oldest; i--) {
    const Phases::Call &call = phases.ring[(i - 1) % Phases::remembered];
    if (!is_collective(call)) continue;
    window.before = call.what;
    break;
  }
  for (std::uint64_t i = phases.end; i < phases.calls; i++)
    look_at(phases, phases.ring[i % Phases::remembered]);
  phases.functions = no_form;
}

} // namespace

std::vector<Seen> seen_calls(const Phases &phases) {
  const std::uint64_t count = std::min<std::uint64_t>(phases.calls, Phases::remembered);
  std::vector<Seen> calls;
  calls.reserve(count);
  Phases::Call before{};
  std::uint32_t collective = 0;
  Beginnings beginnings;
  for (std::uint64_t i = phases.calls - count; i < phases.calls; i++) {
    const Phases::Call &call = phases.ring[i % Phases::remembered];
    const auto partner = static_cast<std::uint32_t>(call.partner);
    const auto sends = static_cast<std::uint16_t>(call.sends - before.sends);
    const bool together = is_collective(call);
    const std::uint32_t what = together ? is_a_collective : call.what;
    const std::uint16_t symbol = call_symbol(call.function, call.from);
    calls.push_back({.exact = mixed({symbol, partner, sends, what, call.bytes - before.bytes}),
                     .coarse = mixed({symbol, partner, sends}),
                     .symbol = symbol,
                     .function = call.function,
                     .whole = together ? symbol_of(call, collective) : std::uint16_t{0},
                     .is_blocking = blocks[call.function],
                     .is_collective = together,
                     .tick = call.tick,
                     .place = static_cast<std::uint32_t>(calls.size() + 1),
                     .sent = call.bytes - before.bytes,
                     .from = call.from,
                     .code = beginnings.of(call.from)});
    before = call;
    if (together) collective = call.what;
  }
  return calls;
}

void look_at_newest(Phases &phases) noexcept {
  const Phases::Call &call = phases.ring[(phases.calls - 1) % Phases::remembered];
  if (phases.view == View::collectives)
    look_at(phases, call);
  else if (phases.view == View::functions)
    look_for_visit(phases, call);
  else if (!is_collective(call))
    phases.functions = phases.functions * stretch_factor + stretch_weight(symbol_of(call));
}

std::uint64_t latest_end(const Phases &phases) noexcept {
  const std::size_t typical = phases.typical.size();
  const std::uint64_t calls = phases.record->length;
  switch (phases.view) {
  case View::exchanges:
    return phases.end + 4 * std::max(calls, std::uint64_t{phases.longest}) + 256;
  case View::collectives:
  case View::functions:
    return phases.end + 8 * calls + Phases::remembered / 2;
  case View::calls:
    break;
  }
  return phases.end + std::min(phases.longest, 4 * typical) + 2 * typical + 16;
}

void follow(Phases &phases) noexcept {
  phases.functions = 0;
  phases.is_late = false;
  if (phases.view == View::collectives)
    follow_collectives(phases);
  else if (phases.view == View::functions)
    follow_visits(phases);
  else
    for (std::uint64_t i = phases.end; i < phases.calls; i++) {
      const Phases::Call &call = phases.ring[i % Phases::remembered];
      if (phases.view == View::exchanges && is_collective(call)) continue;
      phases.functions = phases.functions * stretch_factor + stretch_weight(symbol_of(call));
    }
  phases.pause = std::max(phases.calls + 1, latest_end(phases));
}

} // namespace haloscope::watch
