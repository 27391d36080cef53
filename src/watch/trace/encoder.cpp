#include "watch/trace/encoder.hpp"

#include "watch/trace/request_numbers.hpp"

#include <algorithm>
#include <cstring>

namespace haloscope::watch::trace {

namespace {

std::uint64_t hash_of(const Symbol &symbol) noexcept {
  std::array<std::uint64_t, sizeof symbol / 8> words;
  std::memcpy(words.data(), &symbol, sizeof symbol);
  std::uint64_t hash = 0;
  for (const std::uint64_t word : words) {
    hash = (hash ^ word) * 0x9E37'79B9'7F4A'7C15U;
    hash ^= hash >> 32U;
  }
  return hash;
}

// Receives that may be under way and are remembered.
constexpr std::size_t posted_at_most = 4096;

std::uint64_t size_of(const UnitDetails &details) noexcept {
  return std::uint64_t{details.duration} << 32U | details.size;
}

} // namespace

void Piece::clear() noexcept {
  symbols.clear();
  sequence.clear();
  gaps.clear();
  durations.clear();
}

Encoder::Encoder(const Arena &arena, std::uint32_t thread, std::uint64_t first, bool compact)
    : Reading(arena), thread_(thread), compact_(compact), places_(1024), posted_(posted_at_most) {
  progress_.last = first;
}

void Encoder::resume(std::span<const Symbol> symbols, const Progress &progress) {
  for (const Symbol &symbol : symbols) {
    symbols_.push_back(symbol);
    if (symbols_.size() * 2 > places_.size()) grow();
    places_[place_of(symbol)] = static_cast<std::uint32_t>(symbols_.size());
  }
  progress_ = progress;
}

std::uint64_t Encoder::events() const noexcept {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      piece_.sequence, [&](std::uint32_t number) { return symbols_[number].kind != EventType::lost; }));
}

std::uint64_t Encoder::take_back(const Progress &before) {
  const std::uint64_t events = this->events();
  std::uint64_t lost_already = 0;
  for (const std::uint32_t number : piece_.sequence)
    if (symbols_[number].kind == EventType::lost) lost_already += symbols_[number].bytes;
  for (std::size_t i = 0; i < piece_.symbols.size(); i++) symbols_.pop_back();
  followers_.clear();
  before_ = 0;
  std::ranges::fill(places_, 0U);
  std::ranges::fill(posted_, Posted{}); // who reads will not have them
  for (std::uint32_t i = 0; i < symbols_.size(); i++) places_[place_of(symbols_[i])] = i + 1;
  const std::uint64_t starts = progress_.starts - before.starts, block = progress_.block;
  piece_.clear();
  progress_ = before;
  progress_.block = block;
  take_lost(events + lost_already, starts);
  return events;
}

std::size_t Encoder::place_of(const Symbol &symbol) const noexcept {
  const std::size_t mask = places_.size() - 1;
  std::size_t place = hash_of(symbol) & mask;
  while (places_[place] != 0 && symbols_[places_[place] - 1] != symbol) place = (place + 1) & mask;
  return place;
}

void Encoder::grow() {
  places_.assign(places_.size() * 2, 0);
  for (std::uint32_t i = 0; i < symbols_.size(); i++) places_[place_of(symbols_[i])] = i + 1;
}

// Mostly what comes is what came behind the same symbol before.
void Encoder::add(const Symbol &symbol) {
  const std::uint32_t guess = before_ < followers_.size() ? followers_[before_] : 0;
  if (guess < symbols_.size() && symbols_[guess] == symbol) {
    piece_.sequence.push_back(guess);
    before_ = guess;
    return;
  }
  std::size_t place = place_of(symbol);
  if (places_[place] == 0) {
    symbols_.push_back(symbol);
    piece_.symbols.push_back(symbol);
    if (symbols_.size() * 2 > places_.size()) {
      grow();
      place = place_of(symbol);
    }
    places_[place] = static_cast<std::uint32_t>(symbols_.size());
  }
  const std::uint32_t number = places_[place] - 1;
  piece_.sequence.push_back(number);
  if (followers_.size() < symbols_.size()) followers_.resize(symbols_.size() * 2);
  followers_[before_] = number;
  before_ = number;
}

std::uint64_t Encoder::round_time(std::uint64_t ticks, std::uint64_t &stored) const noexcept {
  stored = compact_ ? length_of_coarse(coarse(ticks)) : ticks;
  return compact_ ? coarse(ticks) : ticks;
}

// A clock that went back stood still.
void Encoder::add_time(std::uint64_t begin) {
  std::uint64_t gap = 0;
  piece_.gaps.push_back(round_time(begin > progress_.last ? begin - progress_.last : 0, gap));
  progress_.last += gap;
}

namespace {

// Visits the first unit of each entry, as far as they are whole: visit(units, how many).
template <class Visit> void each_entry(const TraceBlock &block, Visit &&visit) {
  const std::uint32_t used = std::min(block.used.load(std::memory_order_acquire), TraceBlock::capacity);
  for (std::uint32_t i = 0; i < used;) {
    const std::uint32_t units = units_of(block.units[i].entry);
    if (i + units > used) return;
    visit(&block.units[i], units);
    i += units;
  }
}

} // namespace

std::uint64_t events_of(const TraceBlock &block) noexcept {
  std::uint64_t events = 0;
  each_entry(block, [&](const TraceUnit *unit, std::uint32_t) {
    events += unit->entry != UnitType::none && unit->entry != UnitType::place ? 1 : 0;
  });
  return events;
}

void Encoder::take(const TraceBlock &block) {
  if (block.lost > 0) take_lost(block.lost, block.lost_starts);
  std::uint32_t place = 0;
  each_entry(block, [&](const TraceUnit *unit, std::uint32_t units) {
    const TraceUnit &head = *unit;
    UnitDetails details{-1, -1, 0, 0};
    if (units > 1) std::memcpy(&details, unit + 1, sizeof details);
    LongCallRest rest{};
    if (units > 2) std::memcpy(&rest, unit + 2, sizeof rest);
    if (head.entry == UnitType::place)
      place = head.about;
    else if (head.entry == UnitType::enter || head.entry == UnitType::leave)
      add_region(head);
    else if (head.entry == UnitType::call || head.entry == UnitType::long_call)
      add_call(head, details, units > 2 ? &rest : nullptr, place);
    else if (head.entry != UnitType::none)
      add_part(head, details);
  });
  progress_.block = block.sequence;
}

void Encoder::take_lost(std::uint64_t events, std::uint64_t starts) {
  Symbol symbol;
  symbol.kind = EventType::lost;
  symbol.bytes = events;
  symbol.request = starts;
  progress_.starts += starts;
  add(symbol);
}

void Encoder::add_region(const TraceUnit &head) {
  add_time(head.when);
  Symbol symbol;
  symbol.kind = head.entry == UnitType::enter ? EventType::enter : EventType::leave;
  symbol.node = head.about;
  add(symbol);
}

void Encoder::add_call(const TraceUnit &head, const UnitDetails &details, const LongCallRest *rest,
                       std::uint32_t place) {
  const std::uint64_t size = rest == nullptr ? details.size : size_of(details);
  const std::uint64_t bytes = rest == nullptr ? usual_bytes(head.action, size) : rest->bytes;
  const std::uint64_t end = rest == nullptr ? head.when + details.duration : rest->end;
  Symbol symbol;
  symbol.kind = EventType::call;
  symbol.function = head.function;
  symbol.action = head.action;
  symbol.node = place;
  // How much is completed at once may be a matter of time, and the parts say it: calls stay few symbols.
  symbol.bytes = bytes - (head.action == MessageAction::none ? progress_.completed : 0);
  progress_.completed = 0;
  if (head.action != MessageAction::none) {
    symbol.communicator = head.about;
    symbol.size = size;
    set_partner(symbol, details);
  }
  if (begins_request(head.action)) progress_.starts++;
  if (head.action == MessageAction::posted) note_posted(symbol);
  add_time(head.when);
  std::uint64_t duration = 0;
  const std::uint64_t begin = std::max(head.when, progress_.last);
  piece_.durations.push_back(round_time(end > begin ? end - begin : 0, duration));
  progress_.last += duration;
  add(symbol);
}

void Encoder::add_part(const TraceUnit &head, const UnitDetails &details) {
  Symbol symbol;
  symbol.kind = EventType::part;
  if (head.action == MessageAction::begun_collective) symbol.function = head.function;
  symbol.action = head.action;
  symbol.communicator = head.about;
  symbol.size = size_of(details);
  if (head.action == MessageAction::completed_receive) progress_.completed += symbol.size;
  set_partner(symbol, details);
  const auto thread = static_cast<std::uint32_t>(head.when >> number_bits);
  const std::uint64_t number = head.when & ((std::uint64_t{1} << number_bits) - 1);
  if (begins_request(head.action)) {
    progress_.starts++;
    if (head.action == MessageAction::posted) note_posted(symbol);
  } else if (head.when != 0 && thread == thread_) {
    if (is_as_posted(symbol, number)) {
      symbol = {};
      symbol.kind = EventType::part;
      symbol.action = MessageAction::completed_as_posted;
    }
    symbol.request = progress_.starts - number + 1;
  } else if (head.when != 0) {
    symbol.thread = thread + 1;
    symbol.request = number;
  }
  add(symbol);
}

void Encoder::note_posted(const Symbol &symbol) {
  posted_[progress_.starts % posted_at_most] = {progress_.starts, symbol.size, symbol.communicator,
                                                symbol.partner, symbol.tag};
}

// The receive that a call completes depends on time. If the message has all properties that the receive asked
// for, the symbol stores only that. So there are as many symbols as receives under way.
bool Encoder::is_as_posted(const Symbol &symbol, std::uint64_t number) const noexcept {
  const Posted &posted = posted_[number % posted_at_most];
  return symbol.action == MessageAction::completed_receive && posted.number == number && number != 0 &&
         posted.size == symbol.size && posted.communicator == symbol.communicator &&
         posted.partner == symbol.partner && posted.tag == symbol.tag;
}

void Encoder::set_partner(Symbol &symbol, const UnitDetails &details) const {
  symbol.tag = details.tag < 0 ? -1 : details.tag;
  symbol.partner = details.partner < 0 ? -1 : details.partner;
  const bool is_collective =
      symbol.action == MessageAction::collective || symbol.action == MessageAction::begun_collective;
  if (details.partner < 0 || is_collective) return;
  const std::byte *place = arena().base() + std::size_t{symbol.communicator} * communicator_alignment;
  const auto *of = reinterpret_cast<const Communicator *>(place);
  if (!arena().contains(of, sizeof *of) || of->inter || of->size == 0) return;
  const auto size = static_cast<std::int64_t>(of->size);
  symbol.partner = static_cast<std::int32_t>((details.partner - std::int64_t{of->rank} + size) % size);
}

} // namespace haloscope::watch::trace
