// From the units of a thread to symbols, their sequence and their times. A symbol has all properties of an
// event except its time, so events that differ only in time are one symbol. Ranks of partners are relative to
// the own rank, so that most ranks have the same symbols.
#pragma once

#include "watch/records/reading.hpp"
#include "watch/records/trace_ring.hpp"
#include "watch/trace/packing.hpp"

#include <vector>

namespace haloscope::watch::trace {

struct Symbol {
  std::uint16_t function = 0;
  EventType kind = EventType::none;
  MessageAction action = MessageAction::none;
  std::uint32_t node = 0;         // place in the arena
  std::uint32_t communicator = 0; // its number
  std::int32_t partner = -1; // of a message: ranks after the own one; of an inter-communicator, and the root
                             // of a collective: the rank itself. -1: none, or any
  std::int32_t tag = -1;
  std::uint32_t thread = 0;  // that began the request, + 1; 0: this one
  std::uint64_t bytes = 0;   // of the call, less what its parts completed; of what was lost: events
  std::uint64_t size = 0;    // of the message or the collective
  std::uint64_t request = 0; // what is completed: 1 for the request that the thread began last; of what was
                             // lost: requests; of another thread's: its number
  bool operator==(const Symbol &) const = default;
};
static_assert(sizeof(Symbol) == 48);

// The events of one thread in an interval of time.
struct Piece {
  std::vector<Symbol> symbols;         // that were not there before, numbered on
  std::vector<std::uint32_t> sequence; // numbers of symbols
  std::vector<std::uint64_t> gaps;     // ticks from the end of the event before: calls, and regions' two ends
  std::vector<std::uint64_t> durations; // ticks, of calls
  void clear() noexcept;
};
// Where a thread was after that.
struct Progress {
  std::uint64_t last = 0;      // tick at which the last event ended, as its times have it
  std::uint64_t starts = 0;    // requests
  std::uint64_t block = 0;     // sequence of the last one that was taken
  std::uint64_t completed = 0; // bytes of receives whose call is still to come
};

// The arguments of a posted receive.
struct Posted {
  std::uint64_t number = 0;
  std::uint64_t size = 0;
  std::uint32_t communicator = 0;
  std::int32_t partner = -1;
  std::int32_t tag = -1;
};

class Encoder : Reading {
public:
  // `compact`: times to within 1 %. Communicators are those in the arena.
  Encoder(const Arena &arena, std::uint32_t thread, std::uint64_t first, bool compact);
  // Continues from the state of a different encoder.
  void resume(std::span<const Symbol> symbols, const Progress &progress);

  void take(const TraceBlock &block);
  // Adds the loss of events after the last block.
  void take_lost(std::uint64_t events, std::uint64_t starts);

  [[nodiscard]] const Piece &piece() const noexcept { return piece_; }
  // Events of the piece, without lost ones.
  [[nodiscard]] std::uint64_t events() const noexcept;
  [[nodiscard]] const Progress &progress() const noexcept { return progress_; }
  void next_piece() noexcept { piece_.clear(); }
  // The piece was lost: the next one begins with that. Returns how many events more that are than were lost
  // before.
  std::uint64_t take_back(const Progress &before);

private:
  void add(const Symbol &symbol);
  void add_time(std::uint64_t begin);
  void add_region(const TraceUnit &head);
  // `place`: of the region; `rest`: where the details do not say it all.
  void add_call(const TraceUnit &head, const UnitDetails &details, const LongCallRest *rest,
                std::uint32_t place);
  void add_part(const TraceUnit &head, const UnitDetails &details);
  void set_partner(Symbol &symbol, const UnitDetails &details) const;
  void note_posted(const Symbol &symbol);
  [[nodiscard]] bool is_as_posted(const Symbol &symbol, std::uint64_t number) const noexcept;
  std::uint64_t round_time(std::uint64_t ticks, std::uint64_t &stored) const noexcept;
  void grow();
  [[nodiscard]] std::size_t place_of(const Symbol &symbol) const noexcept;

  std::uint32_t thread_;
  bool compact_;
  std::vector<Symbol> symbols_;
  std::vector<std::uint32_t> places_;    // hash table of symbols' numbers + 1
  std::vector<std::uint32_t> followers_; // of each symbol, the one that came behind it last
  std::uint32_t before_ = 0;             // the symbol that came last
  std::vector<Posted> posted_;           // by number: the last ones
  Piece piece_;
  Progress progress_;
};

// Events that its units are.
std::uint64_t events_of(const TraceBlock &block) noexcept;

} // namespace haloscope::watch::trace
