#include "watch/collecting/settings.hpp"

#include "interpose/report.hpp"
#include "watch/records/declared.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace haloscope::watch {

namespace {

std::string environment(const char *name, const char *otherwise = "") {
  const char *value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): inside MPI_Init
  return value == nullptr || *value == '\0' ? otherwise : value;
}
std::string text(const TextSetting &setting) { return environment(setting.variable, setting.initial); }

// Names the option, if there is one: whether it was given as a variable is unknown here.
template <class Setting>
void reject(bool speak, const Setting &setting, const std::string &value, const char *expected) {
  const std::string variable = setting.variable;
  const std::string name = setting.option == nullptr
                               ? variable + "='" + value + "'"
                               : std::string{setting.option} + " '" + value + "' (" + variable + ")";
  if (speak) interpose::complain(name + " is not " + expected + "; using the default");
}

bool flag(const TextSetting &setting, bool speak) {
  const std::string given = text(setting);
  if (given != "0" && given != "1") reject(speak, setting, given, "0 or 1");
  return given == "1";
}

bool is_name(const std::string &text) {
  return std::ranges::all_of(text,
                             [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; });
}

template <class Number> Number number(const NumberSetting &setting, bool speak) {
  const auto otherwise = static_cast<Number>(setting.initial);
  const std::string text = environment(setting.variable);
  if (text.empty()) return otherwise;
  Number value{};
  const char *end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, value);
  const bool fits = value >= static_cast<Number>(setting.least) && value <= static_cast<Number>(setting.most);
  if (error == std::errc{} && next == end && fits) return value;
  const std::string expected = std::string{"a number of "} + setting.unit + " from " +
                               std::to_string(setting.least) + " to " + std::to_string(setting.most);
  reject(speak, setting, text, expected.c_str());
  return otherwise;
}

// Slices shorter than a millisecond are useless.
void read_times(Settings &settings, bool speak) {
  settings.slice = number<double>(declared::slice, speak);
  if (settings.slice > 0) settings.slice = std::max(settings.slice, 1e-3);
  settings.after = number<double>(declared::after, speak);
  settings.until = number<double>(declared::until, speak);
  if (settings.until == 0 || settings.until > settings.after) return;
  reject(speak, declared::until, environment(declared::until.variable), "later than HALOSCOPE_AFTER");
  settings.until = 0;
}

using Ranges = std::vector<std::pair<int, int>>;

// "0,8-15"; empty if it is not such a list.
Ranges parse_ranges(std::string_view text) {
  Ranges ranges;
  const char *at = text.data();
  const char *const end = at + text.size();
  for (;; at++) {
    std::pair<int, int> range;
    auto [next, error] = std::from_chars(at, end, range.first);
    range.second = range.first;
    if (error == std::errc{} && next != end && *next == '-') {
      const auto last = std::from_chars(next + 1, end, range.second);
      next = last.ptr;
      error = last.ec;
    }
    if (error != std::errc{} || range.first < 0 || range.second < range.first) return {};
    ranges.push_back(range);
    at = next;
    if (at == end) return ranges;
    if (*at != ',') return {};
  }
}

Ranges read_ranks(bool speak, int size) {
  const std::string given = text(declared::ranks);
  if (given.empty()) return {};
  Ranges ranges = parse_ranges(given);
  if (ranges.empty()) reject(speak, declared::ranks, given, "a list of ranks such as 0,8-15");
  if (ranges.empty() || std::ranges::any_of(ranges, [&](const auto &range) { return range.first < size; }))
    return ranges;
  const std::string expected = "a list with one of the " + std::to_string(size) + " ranks";
  reject(speak, declared::ranks, given, expected.c_str());
  return {};
}

std::string moment(const char *form) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  std::array<char, 32> text{};
  localtime_r(&now, &local);
  std::strftime(text.data(), text.size(), form, &local);
  return text.data();
}

// The number of the batch job, with characters that a file name may have.
std::string job_name() {
  std::string name;
  for (const char *variable : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID"})
    if (name.empty()) name = environment(variable);
  std::ranges::replace_if(name, [](unsigned char c) { return std::isalnum(c) == 0 && c != '.'; }, '_');
  return name.empty() ? "0" : name;
}

} // namespace

bool Settings::records(int rank) const {
  return ranks.empty() || std::ranges::any_of(ranks, [&](const auto &range) {
           return range.first <= rank && rank <= range.second;
         });
}

Settings read_settings(bool speak, int size) {
  Settings settings{};
  settings.output = text(declared::output);
  settings.command = environment("HALOSCOPE_COMMAND");
  settings.series = text(declared::series);
  settings.only = text(declared::only);
  settings.live = environment(declared::live.variable,
                              access(declared::live.initial, W_OK) == 0 ? declared::live.initial : "/tmp");
  constexpr TextSetting run{"HALOSCOPE_RUN", nullptr, ""};
  settings.run = text(run);
  if (!is_name(settings.run)) {
    reject(speak, run, settings.run, "made of letters, digits, - and _");
    settings.run.clear();
  }
  settings.exact_times = flag(declared::exact_times, speak);
  settings.memory = number<std::size_t>(declared::memory, speak) << 20U;
  settings.finalize_time = number<double>(declared::finalize_time, speak);
  constexpr NumberSetting since{"HALOSCOPE_SINCE", nullptr, 0, 0, std::numeric_limits<std::int64_t>::max(),
                                "nanoseconds"};
  settings.since = number<std::uint64_t>(since, speak);
  settings.ranks = read_ranks(speak, size);
  read_times(settings, speak);
  settings.sync_collectives = number<unsigned>(declared::sync_collectives, speak);
  settings.callsites = flag(declared::callsites, speak);
  settings.depth = number<unsigned>(declared::depth, speak);
  settings.phases = number<unsigned>(declared::phases, speak) != 0;
  settings.trace_compact = flag(declared::trace_compact, speak);
  settings.trace = flag(declared::trace, speak) || settings.trace_compact;
  settings.trace_memory = number<std::size_t>(declared::trace_memory, speak) << 20U;
  settings.trace_spool = environment(declared::trace_spool.variable, environment("TMPDIR", "/tmp").c_str());
  settings.size_limit = number<std::uint64_t>(declared::size_limit, speak) << 20U;
  return settings;
}

std::string expand(const std::string &pattern, int ranks, const std::string &program) {
  std::string result;
  for (std::size_t i = 0; i < pattern.size(); i++) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (next == 'n') {
      result += std::to_string(ranks);
    } else if (next == 'p') {
      result += program;
    } else if (next == 'd') {
      result += moment("%Y%m%d-%H%M%S");
    } else if (next == 'D') {
      result += moment("%Y-%m-%d");
    } else if (next == 'j') {
      result += job_name();
    } else {
      result += pattern[i];
      if (next == '%') i++;
      continue;
    }
    i++;
  }
  return result;
}

void make_directories_of(const std::string &file) noexcept {
  for (std::size_t slash = file.find('/', 1); slash != std::string::npos; slash = file.find('/', slash + 1)) {
    const std::string directory = file.substr(0, slash),
                      parent = file.substr(0, file.rfind('/', slash - 1) + 1);
    struct stat status{};
    if (mkdir(directory.c_str(), 0777) == 0 && stat(parent.c_str(), &status) == 0)
      chmod(directory.c_str(), status.st_mode & 07777U);
  }
}

} // namespace haloscope::watch
