// Base of all makers of rows: the records of one process, its share of the tables, and units.
#pragma once

#include "watch/collecting/rows.hpp"
#include "watch/collecting/tables.hpp"
#include "watch/records/reading.hpp"

#include <array>
#include <string_view>
#include <utility>

namespace haloscope::watch {

// Factors for times of one region that have a sample's estimate: of calls that were not stamped, and of
// messages, whose records have all of it.
struct SettledTimes {
  std::array<double, 2> calls{1, 1};
  double messages = 1;

  [[nodiscard]] double ticks(const EstimatedTicks &estimated) const noexcept {
    return calls[0] * static_cast<double>(estimated[0]) + calls[1] * static_cast<double>(estimated[1]);
  }
};

class RowWriter : protected Reading {
public:
  // `tick`: seconds per tick.
  RowWriter(const Arena &arena, const ProcessRecord &process, double tick, Contents &contents) noexcept
      : Reading(arena), process_(process), tick_(tick), contents_(contents) {}

protected:
  const ProcessRecord &process() const noexcept { return process_; }
  double tick() const noexcept { return tick_; }
  double seconds(std::uint64_t ticks) const noexcept { return static_cast<double>(ticks) * tick_; }
  std::int32_t rank() const noexcept { return process_.rank; }

  Table &table(TableId id) { return contents_[id]; }
  template <class Row> void append(const Row &row) { contents_.append(row); }
  // Also adds to the calls of the rank.
  void append_call(const rows::Calls &row) {
    append(row);
    append(rows::RankCalls{.rank = rank(),
                           .call = row.call,
                           .calls = row.calls,
                           .bytes = row.bytes,
                           .time_total = row.time_total,
                           .time_max = row.time_max});
  }
  Text string(std::string_view value) { return contents_.names.text(value); }
  std::uint64_t path(std::int64_t parent, std::string_view name, bool communication) {
    return contents_.names.path(parent, name, communication);
  }
  Text memory(Memory of) { return string(name_of(of)); }
  // The memory of a call: empty for functions that have no buffer.
  Text memory(unsigned function, Memory of) {
    return string(function_has_buffer[function] ? name_of(of) : "");
  }
  Text kind(Kind of) {
    constexpr const char *names[] = {"?", "p2p", "coll", "rma"};
    return string(names[static_cast<unsigned>(of) & 3U]);
  }

  // The bounds of a size in a record, whose top bit marks a range.
  static std::pair<std::uint64_t, std::uint64_t> range_of(std::uint64_t marked) noexcept {
    const std::uint64_t bytes = marked & ~(1ULL << 63U);
    return {bytes, marked == bytes ? bytes : bytes == 0 ? 0 : 2 * bytes - 1};
  }

private:
  const ProcessRecord &process_;
  double tick_;
  Contents &contents_;
};

} // namespace haloscope::watch
