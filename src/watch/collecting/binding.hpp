// Where a process may run: CPUs, and the NUMA nodes and sockets that they are of, as lists such as `0-3,8`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace haloscope::watch {

struct Binding {
  std::string cpus, numa_nodes, sockets; // empty: not known
};

// Of this process as it is now; the system's files are below `root`.
Binding read_binding(const std::string &root = "/sys/devices/system");

// The numbers of a list, in order. Anything but a list of numbers below 65536 gives an empty result.
std::vector<int> numbers_of(std::string_view list);
std::string list_of(const std::vector<int> &numbers);

} // namespace haloscope::watch
