#include "watch/summary.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

namespace haloscope::watch {

void Totals::add(const Table &processes) {
  const auto named = [&](std::string_view name) -> const Words & {
    const auto columns = processes.schema().columns;
    const auto found =
        std::ranges::find(columns, name, [](const Column &c) { return std::string_view{c.name}; });
    return processes.column(static_cast<std::size_t>(found - columns.begin()));
  };
  for (const auto value : named("duration")) duration = std::max(duration, std::bit_cast<double>(value));
  for (const auto value : named("dropped")) dropped += value;
  for (const auto value : named("sizes_spilled")) spilled += value;
  for (const auto value : named("open_calls")) open_calls += value;
  for (std::size_t i = 0; i < processes.rows(); i++)
    if (named("watched")[i] == 0) unwatched.push_back(static_cast<std::int64_t>(named("rank")[i]));
  std::ranges::sort(unwatched);
}

Info make_info(const ProcessRecord &any, const Totals &totals, const std::vector<std::int64_t> &missing,
               bool finalized, const char *interface_name) {
  const auto number = [](std::uint64_t value) { return Value{static_cast<std::int64_t>(value)}; };
  return {{"program", {std::string{any.program.data()}}},
          {"command", {std::string{any.command.data()}}},
          {"mpi_library", {std::string{any.library.data()}}},
          {"mpi_abi", {std::string{interface_name}}},
          {"ranks", {std::int64_t{any.size}}},
          {"start", {any.start}},
          {"duration", {totals.duration}},
          {"partial", {!missing.empty() || !finalized}},
          {"missing_ranks", {missing}},
          {"unwatched_ranks", {totals.unwatched}},
          {"open_calls", number(totals.open_calls)},
          {"ended_in", {totals.ended_in}},
          {"exact_times", {any.exact_times}},
          {"sync_collectives", number(any.sync_interval)},
          {"only", {std::string{any.only.data()}}},
          {"from", {any.record_from}},
          {"until", {any.record_until}},
          {"dropped", number(totals.dropped)},
          {"rows_left_out", number(totals.left_out)},
          {"sizes_spilled", number(totals.spilled)},
          {"version", {std::string{HALOSCOPE_VERSION}}}};
}

} // namespace haloscope::watch
