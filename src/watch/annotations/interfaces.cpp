#include "watch/annotations/interfaces.hpp"

#include "watch/counting/metadata.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>

namespace haloscope::watch {

namespace {

constexpr unsigned bit(Interface interface) noexcept { return 1U << static_cast<unsigned>(interface); }
constexpr unsigned all = (1U << interface_names.size()) - 1;

struct WantedInterfaces {
  unsigned interfaces = 0;
  std::string unknown;
};

void add_word(WantedInterfaces &wanted, std::string_view word) {
  const auto *const found = std::ranges::find(interface_names, word);
  if (found != interface_names.end())
    wanted.interfaces |= 1U << static_cast<unsigned>(found - interface_names.begin());
  else if (!word.empty() && word != "none")
    wanted.unknown += (wanted.unknown.empty() ? "" : ",") + std::string{word};
}

WantedInterfaces read_wanted() {
  const char *value = std::getenv(declared::annotations.variable); // NOLINT(concurrency-mt-unsafe)
  std::string_view text = value == nullptr ? "" : value;
  if (text.empty() || text == "all") return {all, {}};
  WantedInterfaces wanted;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    add_word(wanted, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return wanted;
}

const WantedInterfaces &wanted_interfaces() {
  static const auto *const read = new WantedInterfaces{read_wanted()};
  return *read;
}

std::atomic<unsigned> used{0};

// Lists the interfaces in the order of the enumeration. The lock is needed because the latest value of a key
// counts.
[[gnu::noinline, gnu::cold]] void say_used(Interface interface) noexcept try {
  static std::mutex mutex;
  const std::lock_guard lock{mutex};
  const unsigned now = used.fetch_or(bit(interface)) | bit(interface);
  std::string names;
  for (unsigned i = 0; i < interface_names.size(); i++)
    if ((now >> i & 1U) != 0) names += (names.empty() ? "" : ", ") + std::string{interface_names[i]};
  add_metadata("annotations", names.c_str());
} catch (...) { // NOLINT(bugprone-empty-catch): no memory for it
}

} // namespace

bool is_wanted(Interface interface) noexcept {
  return (wanted_interfaces().interfaces & bit(interface)) != 0;
}

void note_use(Interface interface) noexcept {
  if (__builtin_expect((used.load(std::memory_order_relaxed) & bit(interface)) == 0, 0)) say_used(interface);
}

const char *unknown_interfaces() noexcept {
  return wanted_interfaces().unknown.empty() ? nullptr : wanted_interfaces().unknown.c_str();
}

} // namespace haloscope::watch
