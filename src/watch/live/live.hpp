// Live records as files: which there are, and whether this build can read one.
#pragma once

#include "watch/records/records.hpp"

#include <span>
#include <string>
#include <vector>

namespace haloscope::watch {

// All DIR/*.live, sorted, of the directories that are there.
std::vector<std::string> live_files(std::span<char *const> directories);

bool is_intact(const ProcessRecord &process) noexcept;

// Whether the process is alive and has the record mapped: another may have its number by now.
bool is_running(const ProcessRecord &process, const std::string &path);

// Calls `visit` while the records of a file are mapped. Returns the problem with them, or nullptr.
template <class Visit> const char *with_records(const std::string &path, Visit &&visit) {
  Arena arena;
  if (!arena.open(path.c_str())) return "cannot be read";
  const auto &process = *reinterpret_cast<const ProcessRecord *>(arena.base());
  const bool intact = arena.capacity() >= sizeof process && is_intact(process);
  if (intact) visit(arena, process);
  arena.close();
  return intact ? nullptr : "has no records of this version";
}

} // namespace haloscope::watch
