// `nearness where DIRECTORY PROCESSOR…`: the socket and the NUMA node of these, by the files in a directory.
// `nearness order ME RANK:SOCKET:NUMA…`: in which order the ranks are visited, all of which are in the mask.
#include "hide/layer/nearness.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using namespace haloscope;

namespace {

int where(int count, char **words) {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  for (int i = 1; i < count; i++) CPU_SET(std::strtoul(words[i], nullptr, 10), &processors);
  const layer::Locality found = layer::locality_of(processors, std::string{words[0]} + "/cpu");
  std::printf("%d %d\n", found.socket, found.numa);
  return 0;
}

int order(int count, char **words) {
  std::vector<layer::Locality> ranks(static_cast<std::size_t>(count - 1));
  halo::HelperMask<> mask;
  for (int i = 1; i < count; i++) {
    unsigned long rank = 0;
    layer::Locality at;
    if (std::sscanf(words[i], "%lu:%d:%d", &rank, &at.socket, &at.numa) != 3) return 2;
    ranks.at(rank) = at;
    mask.set(rank);
  }
  const layer::Nearness nearness{ranks, std::strtoul(words[0], nullptr, 10)};
  const bool stopped = nearness.visit(mask, [](std::size_t rank) {
    std::printf("%zu ", rank);
    return false;
  });
  std::puts("");
  // The first that says true is the last.
  std::size_t visits = 0;
  const bool ended = nearness.visit(mask, [&](std::size_t) { return ++visits == 1; });
  return stopped || (count > 2 && (!ended || visits != 1)) ? 1 : 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  return std::string{argv[1]} == "where" ? where(argc - 2, argv + 2) : order(argc - 2, argv + 2);
}
