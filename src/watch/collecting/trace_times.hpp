// The times of a process's trace, as rows of the profile: a piece at a time, so that no process holds all.
#pragma once

#include "watch/trace/spool.hpp"

#include <memory>
#include <string>
#include <vector>

namespace haloscope::watch {

class Table;

class TraceTimes {
public:
  // The pieces in the file at `spool`, then the `rest`, which are in none.
  TraceTimes(std::uint64_t rank, std::string spool, std::vector<std::shared_ptr<const trace::Spooled>> rest)
      : rank_(rank), spool_(std::move(spool)), rest_(std::move(rest)) {}
  // Adds the rows of the next piece. Returns false if there is none.
  bool next(Table &pieces, Table &words);

private:
  void add(const trace::Spooled &piece, Table &pieces, Table &words) const;

  std::uint64_t rank_;
  std::string spool_;
  std::vector<std::shared_ptr<const trace::Spooled>> rest_;
  std::shared_ptr<trace::SpoolReader> reader_;
  bool is_read_ = false;
  std::size_t given_ = 0;
};

} // namespace haloscope::watch
