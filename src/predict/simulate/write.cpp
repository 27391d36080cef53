// The counts as lines of tab-separated words; python/haloscope/predict/simulate makes a profile of them.
#include "predict/simulate/counts.hpp"

#include <cstdio>
#include <cstdlib>

namespace haloscope::simulate {

namespace {

const char *name(Kind kind) { return kind == Kind::p2p ? "p2p" : kind == Kind::coll ? "coll" : "other"; }

class Lines {
public:
  explicit Lines(std::FILE *file) : file_(file) {}
  Lines &operator<<(std::int64_t number) { return put("%lld", static_cast<long long>(number)); }
  Lines &operator<<(int number) { return *this << std::int64_t{number}; }
  Lines &operator<<(double number) { return put("%.17g", number); }
  Lines &operator<<(const char *word) { return put("%s", word); }
  Lines &operator<<(const Quantities &values) {
    for (const std::int64_t value : values) *this << value;
    return *this;
  }
  Lines &operator<<(const Tally &tally) {
    return *this << tally.calls << tally.bytes << tally.total << tally.longest;
  }
  // A name may hold anything: as hexadecimal digits.
  Lines &operator<<(const std::string &text) {
    separate();
    for (const char c : text) std::fprintf(file_, "%02x", static_cast<unsigned char>(c));
    return *this;
  }
  void end() {
    std::fputc('\n', file_);
    first_ = true;
  }

private:
  template <class Value> Lines &put(const char *form, Value value) {
    separate();
    // NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): one of the three above
    std::fprintf(file_, form, value);
    return *this;
  }
  void separate() {
    if (!first_) std::fputc('\t', file_);
    first_ = false;
  }

  std::FILE *file_;
  bool first_ = true;
};

std::FILE *open_output() {
  const char *place = std::getenv("HALOSCOPE_SIMULATED"); // NOLINT(concurrency-mt-unsafe): one thread
  return place != nullptr ? std::fopen(place, "w") : nullptr;
}

void write_rank(Lines &lines, const Rank &rank) {
  lines << "process" << rank.number << rank.host << rank.start << rank.stop << rank.unmatched_begins
        << rank.unmatched_ends;
  lines.end();
  for (const auto &[path, region] : rank.regions) {
    lines << "region" << path << rank.number << region.instances << region.time << region.coll_bytes
          << region.largest << region.p2p_time << region.coll_time << region.other_time << region.wait_time
          << static_cast<std::int64_t>(region.destinations.size())
          << static_cast<std::int64_t>(region.sources.size()) << region.sums << region.inclusive.least
          << region.inclusive.most << region.exclusive.least << region.exclusive.most;
    lines.end();
    for (const auto &[partner, traffic] : region.partners) {
      lines << "partner" << path << rank.number << partner << traffic.sends << traffic.bytes_sent
            << traffic.recvs << traffic.bytes_recv << traffic.time;
      lines.end();
    }
  }
}

void write_tallies(Lines &lines, const World &world) {
  for (const auto &[key, tally] : world.calls) {
    lines << "call" << std::get<0>(key) << std::get<1>(key) << tally;
    lines.end();
  }
  for (const auto &[key, tally] : world.sizes) {
    lines << "size" << std::get<0>(key) << name(std::get<1>(key)) << std::get<2>(key) << tally;
    lines.end();
  }
  for (const auto &[key, tally] : world.collectives) {
    lines << "collective" << std::get<0>(key) << std::get<1>(key) << std::get<2>(key) << std::get<3>(key)
          << tally;
    lines.end();
  }
  for (const auto &[call, calls] : world.unaccounted) {
    lines << "unaccounted" << call << calls;
    lines.end();
  }
}

} // namespace

void write_abort(int rank, int code) {
  if (std::FILE *file = open_output()) {
    std::fprintf(file, "aborted\t%d\t%d\n", rank, code);
    std::fclose(file);
  }
}

void World::write() const {
  std::FILE *file = open_output();
  if (file == nullptr) return;
  Lines lines(file);
  for (std::size_t i = 0; i < paths.size(); i++) {
    lines << "path" << static_cast<int>(i) << paths[i].parent << int{paths[i].communication} << paths[i].name;
    lines.end();
  }
  for (const auto &[number, rank] : ranks) write_rank(lines, rank);
  write_tallies(lines, *this);
  lines << "whole";
  lines.end();
  std::fclose(file);
}

} // namespace haloscope::simulate
