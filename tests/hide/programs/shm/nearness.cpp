// `nearness where DIRECTORY PROCESSOR…`: the socket and NUMA node of processors, from files in a directory.
// `nearness order ME RANK:SOCKET:NUMA…`: the order in which ranks are visited, if all are in the mask.
#include "hide/shm/nearness.hpp"

#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

using namespace haloscope;

namespace {

// Parses numbers separated by colons; returns none if there is other text.
std::vector<int> numbers(std::string_view text) {
  std::vector<int> found;
  const char *at = text.data();
  const char *const end = at + text.size();
  for (;; at++) {
    int number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc{}) return {};
    found.push_back(number);
    at = next;
    if (at == end) return found;
    if (*at != ':') return {};
  }
}

bool is_below(int number, std::size_t end) { return number >= 0 && static_cast<std::size_t>(number) < end; }

int where(int count, char **words) {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  for (int i = 1; i < count; i++) {
    const auto processor = numbers(words[i]);
    if (processor.size() != 1 || !is_below(processor[0], CPU_SETSIZE)) return 2;
    CPU_SET(static_cast<std::size_t>(processor[0]), &processors);
  }
  const shm::Locality found = shm::locality_of(processors, std::string{words[0]} + "/cpu");
  std::printf("%d %d\n", found.socket, found.numa);
  return 0;
}

int order(int count, char **words) {
  std::vector<shm::Locality> ranks(static_cast<std::size_t>(count - 1));
  halo::HelperMask<> mask;
  if (ranks.size() > halo::HelperMask<>::ranks) return 2;
  for (int i = 1; i < count; i++) {
    const auto place = numbers(words[i]); // rank, socket, NUMA node
    if (place.size() != 3 || !is_below(place[0], ranks.size())) return 2;
    const auto rank = static_cast<std::size_t>(place[0]);
    ranks[rank] = {place[1], place[2]};
    mask.set(rank);
  }
  const auto me = numbers(words[0]);
  if (me.size() != 1 || !is_below(me[0], ranks.size())) return 2;
  const shm::Nearness nearness{ranks, static_cast<std::size_t>(me[0])};
  const bool stopped = nearness.visit(mask, [](std::size_t rank) {
    std::printf("%zu ", rank);
    return false;
  });
  std::puts("");
  // The visit ends at the first true.
  std::size_t visits = 0;
  const bool ended = nearness.visit(mask, [&](std::size_t) { return ++visits == 1; });
  return stopped || (count > 2 && (!ended || visits != 1)) ? 1 : 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  return std::string{argv[1]} == "where" ? where(argc - 2, argv + 2) : order(argc - 2, argv + 2);
}
