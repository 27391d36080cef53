// The profile's `info`, from what the processes say of themselves.
#pragma once

#include "watch/collecting/profile.hpp"
#include "watch/records/records.hpp"

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
  // One rank. Time in MPI and sums are over its regions.
  struct Rank {
    std::uint64_t host;
    double duration, mpi_time;
    bool there, watched;
  };
  struct Said {
    std::uint64_t kind, key, value, ranks, first;
  };

  void add_processes(const Table &rows);
  void add_ranks(const Table &rows);
  void add_metadata(const Table &rows);
  [[nodiscard]] Rank *rank(std::uint64_t number);
  [[nodiscard]] Info roll_up(const Names &names) const;
  [[nodiscard]] Info hosts(const Names &names) const;
  void add_said(Info &info, const Names &names) const;

  std::uint64_t dropped_ = 0, spilled_ = 0, open_calls_ = 0;
  std::vector<Rank> ranks_;
  std::vector<double> sums_;
  std::vector<Said> said_;
};

// `missing`: ranks without records; `finalized`: the others all came to MPI_Finalize.
Info make_info(const ProcessRecord &any, const Totals &totals, const Names &names,
               const std::vector<std::int64_t> &missing, bool finalized, const char *interface_name);

} // namespace haloscope::watch
