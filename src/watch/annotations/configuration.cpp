#include "watch/annotations/configuration.hpp"

#include <algorithm>
#include <array>

namespace haloscope::watch::caliper {

namespace {

constexpr std::array known{
    Known{"runtime-report", "A tree of the regions with their times, after the program has ended"},
    Known{"spot", "A .cali file with times, and with communication where comm.stats asks for it"},
    Known{"runtime-profile", "A .cali file, as of spot"},
    Known{"hatchet-region-profile", "A .cali file, as of spot"},
    Known{"mpi-report", "The time in each MPI function, after the program has ended"},
};

// Caliper has more: programs may ask for them, and get a remark.
constexpr std::array<std::string_view, 16> of_caliper{"alloc-report",
                                                      "callpath-sample-report",
                                                      "cuda-activity-profile",
                                                      "cuda-activity-report",
                                                      "event-trace",
                                                      "hatchet-sample-profile",
                                                      "io-report",
                                                      "kernel-report",
                                                      "loop-report",
                                                      "memory-report",
                                                      "none",
                                                      "openmp-report",
                                                      "rocm-activity-report",
                                                      "sample-profile",
                                                      "sample-report",
                                                      "sampling-report"};

// Options without a dot in their name; the many with one are taken as they come.
constexpr std::array<std::string_view, 14> options{"aggregate_across_ranks",
                                                   "callpath",
                                                   "flush.on.exit",
                                                   "iteration_interval",
                                                   "level",
                                                   "max_column_width",
                                                   "order_as",
                                                   "output",
                                                   "show_kernels",
                                                   "show_regions",
                                                   "summary",
                                                   "target_loops",
                                                   "time_interval",
                                                   "timeseries"};

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

bool is_known(std::string_view name, const std::set<std::string, std::less<>> &names) {
  const auto is_name = [&](const Known &one) { return name == one.name; };
  return name.find('.') != std::string_view::npos || std::ranges::any_of(known, is_name) ||
         std::ranges::count(of_caliper, name) > 0 || std::ranges::count(options, name) > 0 ||
         names.contains(name);
}

// Where a word ends: at a comma or a parenthesis outside quotation marks.
std::size_t end_of_word(std::string_view text) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); i++) {
    if (text[i] == '\\') {
      i++;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && (text[i] == ',' || text[i] == '(' || text[i] == ')')) {
      return i;
    }
  }
  return text.size();
}

} // namespace

std::span<const Known> known_configurations() noexcept { return known; }

std::string fault(std::string_view configuration, const std::set<std::string, std::less<>> &names,
                  std::map<std::string, std::string> *others) {
  bool inside = false;
  while (!configuration.empty()) {
    const std::size_t end = end_of_word(configuration);
    const std::string_view word = trimmed(configuration.substr(0, end));
    const std::string_view name = trimmed(word.substr(0, word.find('=')));
    const char delimiter = end < configuration.size() ? configuration[end] : ',';
    if (!word.empty() && !inside && !is_known(name, names)) {
      if (others == nullptr) return "Unknown config or parameter: " + std::string{name};
      const bool has_value = word.size() > name.size();
      (*others)[std::string{name}] = has_value ? trimmed(word.substr(word.find('=') + 1)) : "true";
    }
    if (delimiter == '(' && (inside || word.empty())) return "Unexpected ( in " + std::string{configuration};
    if (delimiter == ')' && !inside) return "Unexpected ) in " + std::string{configuration};
    if (delimiter != ',') inside = delimiter == '(';
    configuration.remove_prefix(std::min(end + 1, configuration.size()));
  }
  return inside ? "Expected ) at the end" : "";
}

void add_names(std::string_view json, std::set<std::string, std::less<>> &to) {
  for (const std::string_view key : {"\"name\"", "'name'"}) {
    for (std::size_t at = json.find(key); at != std::string_view::npos; at = json.find(key, at + 1)) {
      const std::string_view rest = json.substr(at + key.size());
      const std::size_t begin = rest.find_first_of("\"'");
      if (begin == std::string_view::npos) return;
      const std::size_t end = rest.find(rest[begin], begin + 1);
      if (end == std::string_view::npos) return;
      to.emplace(rest.substr(begin + 1, end - begin - 1));
    }
  }
}

} // namespace haloscope::watch::caliper
