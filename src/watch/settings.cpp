#include "watch/settings.hpp"

#include "interpose/report.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <string_view>
#include <unistd.h>

namespace haloscope::watch {

namespace {

std::string environment(const char *name, const char *otherwise = "") {
  const char *value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): inside MPI_Init
  return value == nullptr || *value == '\0' ? otherwise : value;
}

void reject(bool speak, const char *name, const std::string &value, const char *expected) {
  if (speak)
    interpose::complain(std::string{name} + "='" + value + "' is not " + expected + "; using the default");
}

bool is_name(const std::string &text) {
  return std::ranges::all_of(text,
                             [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; });
}

template <class Number>
Number number(const char *name, Number otherwise, unsigned long most, const char *unit, bool speak,
              unsigned long least = 1) {
  const std::string text = environment(name);
  if (text.empty()) return otherwise;
  Number value{};
  const char *end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, value);
  const bool fits = value >= static_cast<Number>(least) && value <= static_cast<Number>(most);
  if (error == std::errc{} && next == end && fits) return value;
  const std::string expected =
      std::string{"a number of "} + unit + " from " + std::to_string(least) + " to " + std::to_string(most);
  reject(speak, name, text, expected.c_str());
  return otherwise;
}

// As the clock goes: a slice of less than a millisecond is no history.
void read_times(Settings &settings, bool speak) {
  const auto seconds = [&](const char *name, double otherwise) {
    return number(name, otherwise, 100'000'000, "seconds", speak, 0);
  };
  settings.slice_seconds = seconds("HALOSCOPE_SLICE", settings.slice_seconds);
  if (settings.slice_seconds > 0) settings.slice_seconds = std::max(settings.slice_seconds, 1e-3);
  settings.record_from = seconds("HALOSCOPE_FROM", settings.record_from);
  settings.record_until = seconds("HALOSCOPE_UNTIL", settings.record_until);
  if (settings.record_until == 0 || settings.record_until > settings.record_from) return;
  reject(speak, "HALOSCOPE_UNTIL", environment("HALOSCOPE_UNTIL"), "later than HALOSCOPE_FROM");
  settings.record_until = 0;
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
  const std::string text = environment("HALOSCOPE_RANKS");
  if (text.empty()) return {};
  Ranges ranges = parse_ranges(text);
  if (ranges.empty()) reject(speak, "HALOSCOPE_RANKS", text, "a list of ranks such as 0,8-15");
  if (ranges.empty() || std::ranges::any_of(ranges, [&](const auto &range) { return range.first < size; }))
    return ranges;
  const std::string expected = "a list with one of the " + std::to_string(size) + " ranks";
  reject(speak, "HALOSCOPE_RANKS", text, expected.c_str());
  return {};
}

} // namespace

bool Settings::records(int rank) const {
  return ranks.empty() || std::ranges::any_of(ranks, [&](const auto &range) {
           return range.first <= rank && rank <= range.second;
         });
}

Settings read_settings(bool speak, int size) {
  Settings settings;
  settings.output = environment("HALOSCOPE_OUTPUT", "%p-%n-%d.halo");
  settings.command = environment("HALOSCOPE_COMMAND");
  settings.series = environment("HALOSCOPE_SERIES");
  settings.live = environment("HALOSCOPE_LIVE", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
  settings.run = environment("HALOSCOPE_RUN");
  if (!is_name(settings.run)) {
    reject(speak, "HALOSCOPE_RUN", settings.run, "made of letters, digits, - and _");
    settings.run.clear();
  }
  const std::string exact = environment("HALOSCOPE_EXACT_TIMES", "0");
  settings.exact_times = exact == "1";
  if (exact != "0" && exact != "1") reject(speak, "HALOSCOPE_EXACT_TIMES", exact, "0 or 1");
  settings.memory = number("HALOSCOPE_MEMORY", settings.memory >> 20U, 65536, "MiB", speak) << 20U;
  settings.finalize_time = number("HALOSCOPE_FINALIZE_TIME", settings.finalize_time, 86400, "seconds", speak);
  constexpr auto longest = std::numeric_limits<std::int64_t>::max();
  settings.since = number("HALOSCOPE_SINCE", settings.since, longest, "nanoseconds", speak, 0);
  settings.ranks = read_ranks(speak, size);
  settings.only = environment("HALOSCOPE_ONLY");
  read_times(settings, speak);
  settings.sync_interval =
      number("HALOSCOPE_SYNC_COLLECTIVES", settings.sync_interval, 1'000'000, "collectives", speak, 0);
  settings.size_limit = number("HALOSCOPE_SIZE_LIMIT", settings.size_limit >> 20U, 1U << 30U, "MiB", speak, 0)
                        << 20U;
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
      const std::time_t now = std::time(nullptr);
      std::tm local{};
      std::array<char, 32> text{};
      localtime_r(&now, &local);
      std::strftime(text.data(), text.size(), "%Y%m%d-%H%M%S", &local);
      result += text.data();
    } else {
      result += pattern[i];
      if (next == '%') i++;
      continue;
    }
    i++;
  }
  return result;
}

} // namespace haloscope::watch
