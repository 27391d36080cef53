#include "hide/shm/carried.hpp"
#include "interpose/decimal.hpp"
#include "interpose/report.hpp"

#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>

namespace haloscope::shm {

namespace {

struct Sum {
  std::uint64_t messages = 0, chunks = 0, helpers = 0;
  Moment time = 0;
};
std::map<std::tuple<int, std::uint64_t, Protocol>, Sum>
    sums; // NOLINT(bugprone-throwing-static-initialization)

struct Passed {
  std::uint64_t messages = 0, bytes = 0;
};
std::array<Passed, reasons> passed;

} // namespace

void note(Protocol protocol, int partner, std::uint64_t bytes, const Copied &how, Moment time) {
  if (!shm.options.output.empty()) {
    Sum &sum = sums[{partner, bytes, protocol}];
    sum.messages++;
    sum.chunks += how.chunks;
    sum.helpers += how.helpers;
    sum.time += time;
  }
  if (shm.transferred != nullptr)
    shm.transferred(name(protocol), bytes, how.chunks, how.helpers, static_cast<std::uint64_t>(time));
}

void note_passed(Reason reason, std::uint64_t bytes) noexcept {
  Passed &sum = passed[static_cast<std::size_t>(reason)];
  sum.messages++;
  sum.bytes += bytes;
}

namespace {

bool write_rows(std::FILE *file, int rank) {
  bool written = true;
  for (const auto &[key, sum] : sums) {
    const auto &[partner, bytes, protocol] = key;
    written =
        std::fprintf(
            file, "%d,%d,%llu,%s,%llu,%llu,%llu,%s\n", rank, partner, static_cast<unsigned long long>(bytes),
            name(protocol), static_cast<unsigned long long>(sum.messages),
            static_cast<unsigned long long>(sum.chunks), static_cast<unsigned long long>(sum.helpers),
            interpose::decimal_text(static_cast<double>(sum.time) * 1e-9, 9, std::chars_format::fixed)
                .c_str()) > 0 &&
        written;
  }
  // A row for all partners and sizes together.
  for (std::size_t i = 0; i < reasons; i++)
    if (passed[i].messages > 0)
      written = std::fprintf(file, "%d,,%llu,MPI (%s),%llu,,,\n", rank,
                             static_cast<unsigned long long>(passed[i].bytes), reason_names[i],
                             static_cast<unsigned long long>(passed[i].messages)) > 0 &&
                written;
  return written;
}

} // namespace

void write_record() {
  if (shm.options.output.empty()) return;
  Node &node = *shm.node;
  const int rank = node.peer(node.me()).world_rank;
  const std::string path = shm.options.output + "." + std::to_string(rank);
  const std::string aside = path + ".part";
  std::FILE *file = std::fopen(aside.c_str(), "w");
  bool written = file != nullptr && write_rows(file, rank);
  if (file != nullptr) written = std::fclose(file) == 0 && written;
  if (!written || std::rename(aside.c_str(), path.c_str()) != 0)
    interpose::complain(path + ": cannot write the record of copied messages; check its directory");
  sums.clear();
  passed = {};
}

} // namespace haloscope::shm
