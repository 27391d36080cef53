#include "summary.hpp"

namespace haloscope::watch {

Info make_info(const ProcessRecord &any, double duration, std::uint64_t dropped, std::uint64_t spilled,
               const std::vector<std::int64_t> &missing, bool finalized, const char *interface_name) {
  const auto number = [](std::uint64_t value) { return Value{static_cast<std::int64_t>(value)}; };
  return {{"program", {std::string{any.program.data()}}},
          {"command", {std::string{any.command.data()}}},
          {"mpi_library", {std::string{any.library.data()}}},
          {"mpi_abi", {std::string{interface_name}}},
          {"ranks", {std::int64_t{any.size}}},
          {"start", {any.start}},
          {"duration", {duration}},
          {"partial", {!missing.empty() || !finalized}},
          {"missing_ranks", {missing}},
          {"exact_times", {any.exact_times}},
          {"dropped", number(dropped)},
          {"sizes_spilled", number(spilled)},
          {"version", {std::string{HALOSCOPE_VERSION}}}};
}

} // namespace haloscope::watch
