#include "watch/counting/metadata.hpp"

#include "watch/counting/job.hpp"
#include "watch/counting/masking.hpp"
#include "watch/counting/state.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace haloscope::watch {

namespace {

constexpr std::size_t most_key = 128, most_value = 4096;
constexpr std::size_t most_of_rank = std::size_t{64} << 10U, most_of_others = std::size_t{4} << 20U;

// A text that may change. Two buffers are used in turn, so that readers of a killed process find either text.
struct ChangingText {
  std::array<char *, 2> texts{};
  std::array<std::size_t, 2> room{};
  unsigned next = 0;

  // Returns where the new text is; nullptr if there is no memory.
  const char *set(std::string_view text) noexcept {
    const unsigned place = next;
    if (room[place] <= text.size()) {
      const std::size_t wanted = std::max(text.size() + 1, 2 * room[place]);
      char *larger = global().arena.make<char>(wanted);
      if (larger == nullptr) return nullptr;
      texts[place] = larger;
      room[place] = wanted;
    }
    std::ranges::copy(text, texts[place]);
    texts[place][text.size()] = '\0';
    next = 1 - next;
    return texts[place];
  }
};

// What the program has said of a key.
struct Said {
  MetadataRecord *record = nullptr;
  ChangingText value;
  std::size_t bytes = 0; // of the longest value
};

struct Metadata {
  std::mutex mutex;
  ProcessRecord *process = nullptr; // from MPI_Init on
  Texts before;                     // MPI_Init
  std::map<std::string, Said, std::less<>> said;
  std::size_t bytes = 0;     // of all that is said
  std::uint64_t dropped = 0; // before MPI_Init
};
Metadata &metadata() { return own<Metadata>(); }

std::string_view cut(const char *text, std::size_t most) { return {text, strnlen(text, most)}; }

const char *copy_text(std::string_view text) noexcept {
  char *copy = global().arena.make<char>(text.size() + 1);
  if (copy != nullptr) std::ranges::copy(text, copy);
  return copy;
}

std::size_t most_of(const ProcessRecord &process) noexcept {
  const std::size_t others = most_of_others / static_cast<std::size_t>(std::max(process.size, 1));
  return process.rank == 0 ? most_of_rank : std::min(most_of_rank, others);
}

// Written before it is linked: a process may be killed meanwhile.
MetadataRecord *record(ProcessRecord &process, MetadataKind kind, std::string_view key, const char *value) {
  auto *made = global().arena.make<MetadataRecord>();
  if (made == nullptr) return nullptr;
  made->kind = kind;
  made->key = copy_text(key);
  made->value = value;
  if (made->key == nullptr || made->value == nullptr) return nullptr;
  made->next = process.metadata.load(std::memory_order_relaxed);
  process.metadata.store(made, std::memory_order_release);
  return made;
}

// Returns false if there is no memory.
bool set_value(ProcessRecord &process, Said &said, std::string_view key, std::string_view value) {
  const char *text = said.value.set(mask_secrets(key, value).substr(0, most_value));
  if (text == nullptr) return false;
  if (said.record != nullptr)
    said.record->value = text;
  else
    said.record = record(process, MetadataKind::user, key, text);
  return said.record != nullptr;
}

// Returns false if it is beyond what the program may say.
bool take_bytes(Metadata &ours, Said &said, std::size_t bytes) {
  const std::size_t more = bytes - std::min(bytes, said.bytes);
  if (ours.bytes + more > (ours.process == nullptr ? most_of_rank : most_of(*ours.process))) return false;
  ours.bytes += more;
  said.bytes += more;
  return true;
}

// Adds the program's metadata, within its limits. Returns false if it is lost.
bool say(std::string_view key, std::string_view value) {
  Metadata &ours = metadata();
  auto known = ours.said.find(key);
  if (known == ours.said.end()) {
    Said first;
    if (!take_bytes(ours, first, key.size() + value.size() + sizeof(MetadataRecord))) return false;
    known = ours.said.emplace(key, first).first;
  } else if (!take_bytes(ours, known->second, key.size() + value.size() + sizeof(MetadataRecord))) {
    return false;
  }
  if (ours.process != nullptr) return set_value(*ours.process, known->second, key, value);
  const auto said = std::ranges::find(ours.before, key, [](const auto &text) { return text.first; });
  if (said != ours.before.end())
    said->second = value;
  else
    ours.before.emplace_back(key, value);
  return true;
}

void say_or_drop(std::string_view key, std::string_view value) {
  if (say(key, value)) return;
  Metadata &ours = metadata();
  if (ours.process == nullptr)
    ours.dropped++;
  else
    ours.process->dropped.fetch_add(1, std::memory_order_relaxed);
}

} // namespace

void add_metadata(const char *key, const char *value) noexcept try {
  if (key == nullptr || value == nullptr || *key == '\0') return;
  if (global().phase.load(std::memory_order_acquire) == Phase::after) return;
  const std::lock_guard lock{metadata().mutex};
  say_or_drop(cut(key, most_key), cut(value, most_value));
} catch (...) { // NOLINT(bugprone-empty-catch): no memory for it, and nothing that the program should know
}

void begin_metadata(ProcessRecord &process) noexcept try {
  const std::lock_guard lock{metadata().mutex};
  metadata().process = &process;
  metadata().bytes = 0;
  metadata().said.clear();
  process.dropped.fetch_add(std::exchange(metadata().dropped, 0), std::memory_order_relaxed);
  if (process.rank == 0) {
    for (const auto &[key, value] : read_job()) record(process, MetadataKind::job, key, copy_text(value));
    for (const auto &[name, value] : read_environment())
      record(process, MetadataKind::environment, name, copy_text(value));
  }
  for (const auto &[key, value] : read_given_metadata())
    say_or_drop(cut(key.c_str(), most_key), cut(value.c_str(), most_value));
  for (const auto &[key, value] : std::exchange(metadata().before, {})) say_or_drop(key, value);
} catch (...) { // NOLINT(bugprone-empty-catch): as above
}

} // namespace haloscope::watch
