#include "watch/collecting/binding.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sched.h>

namespace haloscope::watch {

namespace {

constexpr int most_cpus = 65536;

std::string line_of(const std::string &path) {
  std::ifstream stream{path};
  std::string line;
  std::getline(stream, line);
  return line;
}

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  for (int room = 1024; room <= most_cpus; room *= 4) {
    cpu_set_t *set = CPU_ALLOC(room);
    if (set == nullptr) return cpus;
    const std::size_t bytes = CPU_ALLOC_SIZE(room);
    const bool fits = sched_getaffinity(0, bytes, set) == 0;
    for (int cpu = 0; fits && cpu < room; cpu++)
      if (CPU_ISSET_S(cpu, bytes, set)) cpus.push_back(cpu);
    CPU_FREE(set);
    if (fits) break;
  }
  return cpus;
}

std::vector<int> without(const std::vector<int> &all, const std::vector<int> &some) {
  std::vector<int> rest;
  std::ranges::set_difference(all, some, std::back_inserter(rest));
  return rest;
}

std::string numa_nodes_of(const std::vector<int> &cpus, const std::string &root) {
  std::vector<int> nodes;
  for (const int node : numbers_of(line_of(root + "/node/online"))) {
    const std::vector<int> of_node =
        numbers_of(line_of(root + "/node/node" + std::to_string(node) + "/cpulist"));
    if (without(cpus, of_node).size() < cpus.size()) nodes.push_back(node);
  }
  return list_of(nodes);
}

// A look at one CPU of each socket, as there may be hundreds.
std::string sockets_of(std::vector<int> cpus, const std::string &root) {
  std::vector<int> sockets;
  while (!cpus.empty()) {
    const std::string topology = root + "/cpu/cpu" + std::to_string(cpus.front()) + "/topology/";
    const std::vector<int> number = numbers_of(line_of(topology + "physical_package_id"));
    std::vector<int> beside = numbers_of(line_of(topology + "package_cpus_list"));
    if (beside.empty()) beside = numbers_of(line_of(topology + "core_siblings_list"));
    if (number.size() != 1 || !std::ranges::binary_search(beside, cpus.front())) return {};
    sockets.push_back(number.front());
    cpus = without(cpus, beside);
  }
  std::ranges::sort(sockets);
  return list_of(sockets);
}

} // namespace

std::vector<int> numbers_of(std::string_view list) {
  std::vector<int> numbers;
  const char *at = list.data();
  const char *const end = at + list.size();
  while (at != end) {
    int first = 0;
    auto [next, error] = std::from_chars(at, end, first);
    int last = first;
    if (error == std::errc{} && next != end && *next == '-') {
      const auto second = std::from_chars(next + 1, end, last);
      next = second.ptr;
      error = second.ec;
    }
    if (error != std::errc{} || first < 0 || last < first || last >= most_cpus) return {};
    if (!numbers.empty() && first <= numbers.back()) return {};
    for (int number = first; number <= last; number++) numbers.push_back(number);
    if (next != end && (*next != ',' || next + 1 == end)) return {};
    at = next == end ? end : next + 1;
  }
  return numbers;
}

std::string list_of(const std::vector<int> &numbers) {
  std::string list;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) last++;
    list += (list.empty() ? "" : ",") + std::to_string(numbers[i]);
    if (last > i) list += "-" + std::to_string(numbers[last]);
    i = last + 1;
  }
  return list;
}

Binding read_binding(const std::string &root) {
  const std::vector<int> cpus = allowed_cpus();
  return {list_of(cpus), numa_nodes_of(cpus, root), sockets_of(cpus, root)};
}

} // namespace haloscope::watch
