#include "hide/shm/nearness.hpp"

#include <charconv>
#include <dirent.h>
#include <fstream>
#include <string_view>

namespace haloscope::shm {

namespace {

int socket_of(const std::string &processor) {
  std::ifstream file{processor + "/topology/physical_package_id"};
  int found = -1;
  return file >> found ? found : -1;
}

// A processor's directory has one that is called after its node.
int numa_node_of(const std::string &processor) {
  constexpr std::string_view begin = "node";
  DIR *directory = opendir(processor.c_str());
  if (directory == nullptr) return -1;
  int found = -1;
  while (const dirent *entry = readdir(directory)) { // NOLINT(concurrency-mt-unsafe): nobody else has it
    const std::string_view name = entry->d_name;
    if (!name.starts_with(begin)) continue;
    const char *const end = name.data() + name.size();
    int node = -1;
    const auto [next, error] = std::from_chars(name.data() + begin.size(), end, node);
    if (error == std::errc{} && next == end && node >= 0) found = node;
  }
  closedir(directory);
  return found;
}

} // namespace

// The first and the last processor decide. Processors between them belong to a different cache or node only
// with unusual numberings. Then only the order in which helpers are asked is worse.
Locality locality_of(const cpu_set_t &processors, const std::string &directory) {
  int first = -1, last = -1;
  for (int i = 0; i < CPU_SETSIZE; i++) {
    if (!CPU_ISSET(static_cast<std::size_t>(i), &processors)) continue;
    if (first < 0) first = i;
    last = i;
  }
  if (first < 0) return {};
  const auto same = [&](int (*of)(const std::string &)) {
    const int one = of(directory + std::to_string(first));
    return one == of(directory + std::to_string(last)) ? one : -1;
  };
  return {same(socket_of), same(numa_node_of)};
}

Locality own_locality() {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  if (sched_getaffinity(0, sizeof processors, &processors) != 0) return {}; // there are more of them
  return locality_of(processors);
}

Nearness::Nearness(const std::vector<Locality> &ranks, std::size_t me) {
  for (auto &level : levels_) level.assign((ranks.size() + 63) / 64, 0);
  const auto same = [](std::int32_t mine, std::int32_t other) { return mine >= 0 && mine == other; };
  for (std::size_t i = 0; i < ranks.size(); i++) {
    if (i == me) continue;
    const std::size_t level = same(ranks[me].numa, ranks[i].numa)       ? 0
                              : same(ranks[me].socket, ranks[i].socket) ? 1
                                                                        : 2;
    levels_[level][i / 64] |= std::uint64_t{1} << i % 64;
  }
}

} // namespace haloscope::shm
