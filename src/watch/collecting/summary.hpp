// The profile's `info`, from what the processes say of themselves.
#pragma once

#include "watch/collecting/profile.hpp"
#include "watch/records/records.hpp"

#include <array>
#include <map>

namespace haloscope::watch {

// Sums over the rows of a profile.
class Totals {
public:
  std::uint64_t left_out = 0; // rows, by the profile's writer
  std::uint64_t lost = 0;     // events of the trace
  std::string ended_in;       // in words, what ranks were in that did not end by themselves

  // The rows of a table, in any order of tables.
  void add(TableId id, const Table &rows);
  // Keys of `info` that say so; `names` are those of the rows.
  [[nodiscard]] Info info(const Names &names) const;

private:
  // Times in MPI by kind, of which the last is a part of the others; over all regions.
  using Times = std::array<double, 7>;
  struct Rank {
    std::uint64_t host;
    double duration;
    Times times; // of all threads
    bool there, watched;
  };
  struct Said {
    std::uint64_t kind, key, value, ranks, first;
  };

  void add_processes(const Table &rows);
  void add_times(const Table &rows, bool is_main);
  void add_counts(const Table &rows);
  void add_metadata(const Table &rows);
  [[nodiscard]] Rank *rank(std::uint64_t number);
  [[nodiscard]] Times times_of(std::size_t rank) const;
  [[nodiscard]] Info roll_up(const Names &names) const;
  [[nodiscard]] Info hosts(const Names &names) const;
  void add_said(Info &info, const Names &names) const;

  std::uint64_t dropped_ = 0, spilled_ = 0, open_calls_ = 0;
  std::vector<Rank> ranks_;
  std::map<std::uint64_t, Times> main_; // of the main thread, if others call MPI
  std::vector<double> sums_;
  std::vector<Said> said_;
};

// `missing`: ranks without records; `finalized`: the others all came to MPI_Finalize.
Info make_info(const ProcessRecord &any, const Totals &totals, const Names &names,
               const std::vector<std::int64_t> &missing, bool finalized, const char *interface_name);

} // namespace haloscope::watch
