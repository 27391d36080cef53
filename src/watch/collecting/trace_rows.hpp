// From the trace of a process to the profile's tables: what it did, put together over its threads here, and
// when, piece by piece later.
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

namespace haloscope::watch::trace {

class TraceRows : Reading {
public:
  // `spool`: where the process's is; the place in the record if it is empty.
  TraceRows(const Arena &arena, const ProcessRecord &process, Contents &contents, std::string spool)
      : Reading(arena), process_(process), contents_(contents),
        spool_(spool.empty() ? process.trace.spool.data() : std::move(spool)) {}
  // A node's path, before `finish`.
  void add(std::uint64_t path, const Node &node) { paths_[place_of(node)] = path; }
  // All rows but those of times, for which it leaves what they are made of. Reads the spool.
  void finish(double tick);

private:
  // What is known of one thread.
  struct Thread {
    std::vector<Symbol> symbols;
    Repeats repeats;
    std::uint64_t segment = 0;
    Progress progress;
    std::uint64_t events = 0; // but those that stand for lost ones
    // Of `repeats`, on the way: after so many symbols there were so many items.
    std::vector<std::pair<std::uint64_t, std::size_t>> sizes;
    void append(std::uint32_t symbol);
    [[nodiscard]] bool is_settled() const;
  };
  std::uint32_t place_of(const Node &node) const noexcept;
  void read_spool();
  void read_rings();
  void read_ring(const Ring &ring);
  void add_rest(std::uint32_t thread, Encoder &encoder);
  void add_piece(const Spooled &piece);
  void end_segment(std::uint32_t number, Thread &thread);
  std::uint64_t structure_of(const std::vector<Symbol> &symbols, const Bytes &packed);
  std::uint64_t hash_of(const Symbol &symbol, std::uint64_t hash);
  Bytes order_of(const Thread &thread, std::vector<Symbol> &symbols);
  void add_symbol(std::uint64_t structure, std::size_t number, const Symbol &symbol);
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
  std::vector<std::shared_ptr<const Spooled>> rest_; // of pieces that are in no spool
  std::uint64_t missing_ = 0;                        // events of a spool that has no end
  std::map<std::uint32_t, bool> told_;               // communicators
  std::set<std::uint64_t> told_structures_;
};

} // namespace haloscope::watch::trace
