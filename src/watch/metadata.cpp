#include "watch/metadata.hpp"

#include "watch/state.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace haloscope::watch {

namespace {

constexpr std::size_t most_key = 128, most_value = 4096;
constexpr std::size_t most_of_rank = std::size_t{64} << 10U, most_of_others = std::size_t{4} << 20U;

struct Said {
  std::string key, value;
};

struct Metadata {
  std::mutex mutex;
  ProcessRecord *process = nullptr; // from MPI_Init on
  std::vector<Said> before;         // MPI_Init
  std::size_t bytes = 0;            // taken of what a rank may say
};
Metadata &metadata() { return own<Metadata>(); }

std::string_view cut(const char *text, std::size_t most) { return {text, strnlen(text, most)}; }

const char *kept(std::string_view text) noexcept {
  char *copy = global().arena.make<char>(text.size() + 1);
  if (copy != nullptr) std::ranges::copy(text, copy);
  return copy;
}

// Written before it is linked: a process may be killed meanwhile.
void record(ProcessRecord &process, std::string_view key, std::string_view value) noexcept {
  const std::size_t others = most_of_others / static_cast<std::size_t>(std::max(process.size, 1));
  const std::size_t most = process.rank == 0 ? most_of_rank : std::min(most_of_rank, others);
  const std::size_t bytes = key.size() + value.size() + sizeof(MetadataRecord);
  if (metadata().bytes + bytes > most) return;
  auto *made = global().arena.make<MetadataRecord>();
  if (made == nullptr) return;
  made->key = kept(key);
  made->value = kept(value);
  if (made->key == nullptr || made->value == nullptr) return;
  metadata().bytes += bytes;
  made->next = process.metadata.load(std::memory_order_relaxed);
  process.metadata.store(made, std::memory_order_release);
}

void remember(std::string_view key, std::string_view value) {
  if (metadata().bytes + key.size() + value.size() > most_of_rank) return;
  metadata().bytes += key.size() + value.size();
  metadata().before.push_back({std::string{key}, std::string{value}});
}

} // namespace

void add_metadata(const char *key, const char *value) noexcept try {
  if (key == nullptr || value == nullptr || *key == '\0') return;
  const Phase phase = global().phase.load(std::memory_order_acquire);
  if (phase == Phase::after) return;
  const std::lock_guard lock{metadata().mutex};
  const std::string_view short_key = cut(key, most_key), short_value = cut(value, most_value);
  if (metadata().process == nullptr)
    remember(short_key, short_value);
  else
    record(*metadata().process, short_key, short_value);
} catch (...) { // NOLINT(bugprone-empty-catch): no memory for it, and nothing that the program should know
}

void begin_metadata(ProcessRecord &process) noexcept try {
  const std::lock_guard lock{metadata().mutex};
  metadata().process = &process;
  metadata().bytes = 0;
  for (const auto &[key, value] : metadata().before) record(process, key, value);
  metadata().before.clear();
} catch (...) { // NOLINT(bugprone-empty-catch): as above
}

} // namespace haloscope::watch
