#include "watch/collecting/alignment.hpp"

#include "watch/collecting/channel.hpp"
#include "watch/counting/state.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace haloscope::watch {

namespace {

constexpr int rounds = 16; // the shortest of so many round trips counts

std::vector<int> first_ranks; // of each machine

std::uint64_t read_machine() {
  std::ifstream stream{"/proc/sys/kernel/random/boot_id"};
  std::string identity;
  std::getline(stream, identity);
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325U;
  for (const char c : identity) hash = (hash ^ static_cast<unsigned char>(c)) * 0x0000'0100'0000'01B3U;
  return hash >> 1U; // a positive number for every reader
}

double now() noexcept { return 1e-9 * static_cast<double>(nanoseconds()); }
double number(std::uint64_t word) noexcept {
  double value = 0;
  __builtin_memcpy(&value, &word, sizeof value);
  return value;
}

// The other's clock less ours, seen when a message was shortest on its way.
double ask(const Channel &channel, int other) {
  double shortest = std::numeric_limits<double>::infinity(), difference = 0;
  for (int i = 0; i < rounds; i++) {
    const double begin = now();
    channel.send({1}, other);
    const double there = number(channel.receive(other).front());
    const double end = now();
    if (end - begin >= shortest) continue;
    shortest = end - begin;
    difference = there - (begin + end) / 2;
  }
  return difference;
}

} // namespace

unsigned long this_machine() noexcept {
  static const std::uint64_t machine = read_machine();
  return machine;
}

void find_machines(MPI_Comm comm) {
  int size = 0;
  real.Comm_size(comm, &size);
  const std::uint64_t mine = this_machine();
  Words all(static_cast<std::size_t>(size));
  real.Allgather(&mine, 8, MPI_BYTE, all.data(), 8, MPI_BYTE, comm);
  first_ranks.clear();
  Words seen;
  for (std::size_t rank = 0; rank < all.size(); rank++) {
    if (std::ranges::find(seen, all[rank]) != seen.end()) continue;
    seen.push_back(all[rank]);
    first_ranks.push_back(static_cast<int>(rank));
  }
}

double clock_offset(const Channel &channel, int rank) {
  if (first_ranks.size() < 2) return 0;
  if (rank == 0) {
    for (std::size_t i = 1; i < first_ranks.size(); i++)
      channel.send({word(-ask(channel, first_ranks[i]))}, first_ranks[i]);
    return 0;
  }
  if (std::ranges::find(first_ranks, rank) == first_ranks.end()) return 0;
  for (int i = 0; i < rounds; i++) {
    [[maybe_unused]] const Words question = channel.receive(0);
    channel.send({word(now())}, 0);
  }
  return number(channel.receive(0).front());
}

} // namespace haloscope::watch
