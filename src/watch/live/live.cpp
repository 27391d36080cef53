#include "watch/live/live.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <system_error>

namespace haloscope::watch {

bool is_intact(const ProcessRecord &process) noexcept {
  const auto ends = [](const auto &text) { return text.back() == '\0'; };
  return process.magic == ProcessRecord::expected_magic && process.layout == record_layout &&
         process.size > 0 && process.rank >= 0 && process.rank < process.size && ends(process.host) &&
         ends(process.program) && ends(process.library) && ends(process.command) && ends(process.output) &&
         ends(process.cpus) && ends(process.numa_nodes) && ends(process.sockets) && ends(process.trace.spool);
}

bool is_running(const ProcessRecord &process, const std::string &path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return false;
  std::ifstream maps{"/proc/" + std::to_string(process.pid) + "/maps"};
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words{line};
    std::string range, rights, offset, device;
    std::uint64_t inode = 0;
    if (words >> range >> rights >> offset >> device >> inode && inode == status.st_ino) return true;
  }
  return false;
}

std::vector<std::string> live_files(std::span<char *const> directories) {
  std::vector<std::string> files;
  for (const char *directory : directories) {
    std::error_code error; // it may be gone by now
    for (std::filesystem::directory_iterator entry{directory, error}, end; !error && entry != end;
         entry.increment(error))
      if (entry->path().extension() == ".live") files.push_back(entry->path().string());
  }
  std::ranges::sort(files);
  return files;
}

} // namespace haloscope::watch
