// Caliper's configuration strings: `spot(output=F.cali,profile.mpi),runtime-report`. The recorder only says
// what was asked for; `haloscope run` reads it again and writes it:
// python/haloscope/explain/caliper/caliper_config.py.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace haloscope::watch::caliper {

struct Known {
  const char *name, *description;
};
// The configurations that are written in the end.
std::span<const Known> known_configurations() noexcept;

// Returns what is wrong with it, or nothing. Names that are neither known nor of the program's own `names`
// are wrong, or go into `others` with their values, if there is one.
std::string fault(std::string_view configuration, const std::set<std::string, std::less<>> &names = {},
                  std::map<std::string, std::string> *others = nullptr);

// The names that a specification in JSON gives: of a configuration, or of an option.
void add_names(std::string_view json, std::set<std::string, std::less<>> &to);

} // namespace haloscope::watch::caliper
