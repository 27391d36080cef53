// From the trace of a process to the profile's tables. The structure is merged over the threads here. The
// times follow later, piece by piece (trace_times.hpp).
#pragma once

#include "watch/collecting/tables.hpp"
#include "watch/records/records.hpp"
#include "watch/trace/repeats.hpp"
#include "watch/trace/spool.hpp"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>

namespace haloscope::watch {

class TraceRows : Reading {
public:
  // `spool`: where the process's is; the place in the record if it is empty.
  TraceRows(const Arena &arena, const ProcessRecord &process, Contents &contents, std::string spool)
      : Reading(arena), process_(process), contents_(contents),
        spool_(spool.empty() ? process.trace.spool.data() : std::move(spool)) {}
  // A node's path, before `finish`.
  void add(std::uint64_t path, const Node &node) { paths_[place_of(node)] = path; }
  // Adds all rows except those of times, and prepares these. Reads the spool.
  void finish(double tick);

private:
  // The state of one thread.
  struct Thread {
    std::vector<trace::Symbol> symbols;
    trace::Repeats repeats;
    std::uint64_t segment = 0;
    trace::Progress progress;
    std::uint64_t events = 0; // but those that stand for lost ones
    // The growth of `repeats`: numbers of symbols, each with the number of items at that time.
    std::vector<std::pair<std::uint64_t, std::size_t>> sizes;
    void append(std::uint32_t symbol);
    [[nodiscard]] bool is_settled() const;
  };
  std::uint32_t place_of(const Node &node) const noexcept;
  void read_spool();
  void read_rings();
  void read_ring(const TraceRing &ring);
  void add_rest(std::uint32_t thread, trace::Encoder &encoder);
  void add_piece(const trace::Spooled &piece);
  void end_segment(std::uint32_t number, Thread &thread);
  std::uint64_t structure_of(const std::vector<trace::Symbol> &symbols, const trace::Bytes &packed);
  std::uint64_t hash_of(const trace::Symbol &symbol, std::uint64_t hash);
  trace::Bytes order_of(const Thread &thread, std::vector<trace::Symbol> &symbols);
  void add_symbol(std::uint64_t structure, std::size_t number, const trace::Symbol &symbol);
  void add_communicators(const Thread &thread);
  void add_clock(double tick);
  std::uint64_t identity_of(std::uint32_t communicator) const noexcept;
  const std::string &path_text(std::uint64_t path);

  const ProcessRecord &process_;
  Contents &contents_;
  std::string spool_;
  std::unordered_map<std::uint32_t, std::uint64_t> paths_; // by place of the node
  std::unordered_map<std::uint64_t, std::string> path_texts_;
  std::map<std::uint32_t, Thread> threads_;
  std::vector<std::shared_ptr<const trace::Spooled>> rest_; // of pieces that are in no spool
  std::uint64_t missing_ = 0;                               // events of a spool that has no end
  std::set<std::uint64_t> stored_communicators_;            // identities
  std::set<std::uint64_t> stored_structures_;
};

} // namespace haloscope::watch
