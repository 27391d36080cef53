#include "watch/collecting/settings.hpp"

#include "interpose/letters.hpp"
#include "interpose/report.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
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
                             [](char c) { return interpose::is_letter_or_digit(c) || c == '_' || c == '-'; });
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

// Reads one setting.
struct Reader {
  bool speak;

  void operator()(std::string &to, const TextSetting &setting) const { to = text(setting); }
  void operator()(bool &to, const TextSetting &setting) const { to = flag(setting, speak); }
  template <class Number> void operator()(Number &to, const NumberSetting &setting) const {
    to = number<Number>(setting, speak) * static_cast<Number>(setting.factor);
  }
};

bool is_given(const TextSetting &setting) { return !environment(setting.variable).empty(); }

// What no declaration can say: defaults that this machine decides, and settings that depend on others.
void adapt(Settings &settings, bool speak) {
  if (!is_given(declared::live) && access(settings.live.c_str(), W_OK) != 0) settings.live = "/tmp";
  if (!is_given(declared::trace_spool)) settings.trace_spool = environment("TMPDIR", "/tmp");
  if (!is_name(settings.run)) {
    reject(speak, declared::run, settings.run, "made of letters, digits, - and _");
    settings.run.clear();
  }
  settings.trace = settings.trace || settings.trace_compact;
  if (settings.slice > 0) settings.slice = std::max(settings.slice, 1e-3); // shorter ones are useless
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

Ranges read_ranges(const std::string &given, bool speak, int size) {
  if (given.empty()) return {};
  Ranges ranges = parse_ranges(given);
  if (ranges.empty()) reject(speak, declared::ranks, given, "a list of ranks such as 0,8-15");
  if (ranges.empty() || std::ranges::any_of(ranges, [&](const auto &range) { return range.first < size; }))
    return ranges;
  const std::string expected =
      "a list with one of the " + std::to_string(size) + (size == 1 ? " rank" : " ranks");
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
  for (const char *variable : job_variables)
    if (name.empty()) name = environment(variable);
  std::ranges::replace_if(name, [](char c) { return !interpose::is_letter_or_digit(c) && c != '.'; }, '_');
  return name.empty() ? "0" : name;
}

} // namespace

bool Settings::records(int rank) const {
  return ranges.empty() || std::ranges::any_of(ranges, [&](const auto &range) {
           return range.first <= rank && rank <= range.second;
         });
}

Settings read_settings(bool speak, int size) {
  Settings settings{};
  read_each(settings, Reader{speak});
  adapt(settings, speak);
  settings.ranges = read_ranges(settings.ranks, speak, size);
  return settings;
}

std::string expand(const std::string &pattern, int ranks, const std::string &program) {
  std::string result;
  for (std::size_t i = 0; i < pattern.size(); i++) {
    const char letter = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    const auto *const form = std::ranges::find(moments, letter, &Moment::letter);
    if (form != moments.end())
      result += moment(form->form);
    else if (letter == 'n')
      result += std::to_string(ranks);
    else if (letter == 'p')
      result += program;
    else if (letter == 'j')
      result += job_name();
    else
      result += pattern[i];
    if (form != moments.end() || (letter != '\0' && std::strchr("npj%", letter) != nullptr)) i++;
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
