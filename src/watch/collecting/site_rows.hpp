// The rows of the tables `sites` and `modules` of one process.
#pragma once

#include "watch/collecting/row_writer.hpp"
#include "watch/stacks/sites.hpp"

#include <map>
#include <tuple>

namespace haloscope::watch {

class SiteRows : Reading {
public:
  SiteRows(const Arena &arena, Contents &contents, double tick) noexcept
      : Reading(arena), contents_(contents), tick_(tick) {}

  // Adds one region of one thread.
  void add(std::uint64_t path, const Node &node, const SettledTimes &times);
  // Adds the rows, after all regions. The times of ranks are squared, so the threads of a rank are summed
  // before.
  void finish();

private:
  const std::string &text_of(const Stack &stack);
  std::string lines_of(const Stack &stack);
  std::string key_of(const Module &module);

  using Key = std::tuple<std::uint64_t, std::string, unsigned>; // path, stack, function
  Contents &contents_;
  double tick_;
  struct Sum {
    std::uint64_t calls = 0, bytes = 0;
    double ticks = 0;
    std::uint64_t longest = 0;
  };
  std::map<Key, Sum> sums_;
  std::map<const Module *, std::string> modules_;
  std::map<const Stack *, std::string> stacks_;
};

} // namespace haloscope::watch
