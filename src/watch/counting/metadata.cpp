#include "watch/counting/metadata.hpp"

#include "watch/counting/job.hpp"
#include "watch/counting/masking.hpp"
#include "watch/counting/state.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace haloscope::watch {

namespace {

constexpr std::size_t most_key = 128, most_value = 4096;
constexpr std::size_t most_of_rank = std::size_t{64} << 10U, most_of_others = std::size_t{4} << 20U;

struct Metadata {
  std::mutex mutex;
  ProcessRecord *process = nullptr; // from MPI_Init on
  Texts before;                     // MPI_Init, as it was said
  std::size_t bytes = 0;            // taken of what a rank may say
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
void record(ProcessRecord &process, MetadataKind kind, std::string_view key, std::string_view value) {
  auto *made = global().arena.make<MetadataRecord>();
  if (made == nullptr) return;
  made->kind = kind;
  made->key = copy_text(key);
  made->value = copy_text(value);
  if (made->key == nullptr || made->value == nullptr) return;
  made->next = process.metadata.load(std::memory_order_relaxed);
  process.metadata.store(made, std::memory_order_release);
}

// Adds the program's metadata, within its limits.
void say(std::string_view key, std::string_view value) {
  Metadata &ours = metadata();
  const std::size_t bytes = key.size() + value.size() + sizeof(MetadataRecord);
  if (ours.bytes + bytes > (ours.process == nullptr ? most_of_rank : most_of(*ours.process))) return;
  ours.bytes += bytes;
  if (ours.process == nullptr)
    ours.before.emplace_back(key, value);
  else
    record(*ours.process, MetadataKind::user, key, mask_secrets(key, value).substr(0, most_value));
}

} // namespace

void add_metadata(const char *key, const char *value) noexcept try {
  if (key == nullptr || value == nullptr || *key == '\0') return;
  if (global().phase.load(std::memory_order_acquire) == Phase::after) return;
  const std::lock_guard lock{metadata().mutex};
  say(cut(key, most_key), cut(value, most_value));
} catch (...) { // NOLINT(bugprone-empty-catch): no memory for it, and nothing that the program should know
}

void begin_metadata(ProcessRecord &process) noexcept try {
  const std::lock_guard lock{metadata().mutex};
  metadata().process = &process;
  metadata().bytes = 0;
  if (process.rank == 0) {
    for (const auto &[key, value] : read_job()) record(process, MetadataKind::job, key, value);
    for (const auto &[name, value] : read_environment())
      record(process, MetadataKind::environment, name, value);
  }
  for (const auto &[key, value] : read_given_metadata())
    say(cut(key.c_str(), most_key), cut(value.c_str(), most_value));
  for (const auto &[key, value] : std::exchange(metadata().before, {})) say(key, value);
} catch (...) { // NOLINT(bugprone-empty-catch): as above
}

} // namespace haloscope::watch
