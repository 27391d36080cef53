#include "hide/shm/carried.hpp"
#include "interpose/decimal.hpp"
#include "interpose/files.hpp"
#include "interpose/report.hpp"

#include <array>
#include <cstdio>
#include <fcntl.h>
#include <map>
#include <string>
#include <tuple>
#include <unistd.h>

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

std::string rows_text(int rank) {
  std::string text;
  const auto add = [&](const auto &...fields) {
    std::string row = std::to_string(rank);
    ((row += ',', row += fields), ...);
    text += row + '\n';
  };
  const auto number = [](auto value) { return std::to_string(value); };
  for (const auto &[key, sum] : sums) {
    const auto &[partner, bytes, protocol] = key;
    add(number(partner), number(bytes), name(protocol), number(sum.messages), number(sum.chunks),
        number(sum.helpers),
        interpose::decimal_text(static_cast<double>(sum.time) * 1e-9, 9, std::chars_format::fixed));
  }
  // A row for all partners and sizes together.
  for (std::size_t i = 0; i < reasons; i++)
    if (passed[i].messages > 0)
      add("", number(passed[i].bytes), std::string{"MPI ("} + reason_names[i] + ")",
          number(passed[i].messages), "", "", "");
  return text;
}

} // namespace

void write_record() {
  if (shm.options.output.empty()) return;
  Node &node = *shm.node;
  const int rank = node.peer(node.me()).world_rank;
  const std::string path = shm.options.output + ".part-" + std::to_string(rank);
  const std::string aside = path + ".new";
  const std::string text = rows_text(rank);
  const int file = open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  bool written = file >= 0 && interpose::write_whole(file, text.data(), text.size());
  if (file >= 0) written = close(file) == 0 && written;
  if (!written || std::rename(aside.c_str(), path.c_str()) != 0)
    interpose::complain(path + ": cannot write the record of copied messages; check its directory");
  sums.clear();
  passed = {};
}

} // namespace haloscope::shm
