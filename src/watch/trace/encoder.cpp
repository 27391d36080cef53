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

} // namespace

void Piece::clear() noexcept {
  symbols.clear();
  sequence.clear();
  gaps.clear();
  durations.clear();
}

Encoder::Encoder(const Arena &arena, std::uint32_t thread, std::uint64_t first, bool compact)
    : Reading(arena), thread_(thread), compact_(compact), places_(1024) {
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

std::uint64_t Encoder::take_back(const Progress &before) {
  std::uint64_t events = 0, lost_already = 0;
  for (const std::uint32_t number : piece_.sequence) {
    const Symbol &symbol = symbols_[number];
    (symbol.kind == Kind::lost ? lost_already : events) += symbol.kind == Kind::lost ? symbol.bytes : 1;
  }
  for (std::size_t i = 0; i < piece_.symbols.size(); i++) symbols_.pop_back();
  followers_.clear();
  before_ = 0;
  std::ranges::fill(places_, 0U);
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

std::uint64_t Encoder::rounded(std::uint64_t ticks, std::uint64_t &as_told) const noexcept {
  as_told = compact_ ? length_of_coarse(coarse(ticks)) : ticks;
  return compact_ ? coarse(ticks) : ticks;
}

// A clock that went back stood still.
void Encoder::add_time(std::uint64_t begin) {
  std::uint64_t gap = 0;
  piece_.gaps.push_back(rounded(begin > progress_.last ? begin - progress_.last : 0, gap));
  progress_.last += gap;
}

void Encoder::take(const Block &block) {
  if (block.lost > 0) take_lost(block.lost, block.lost_starts);
  const std::uint32_t used = std::min(block.used.load(std::memory_order_acquire), Block::capacity);
  for (std::uint32_t i = 0; i < used; i++) {
    const Slot &slot = block.slots[i];
    if (slot.kind == Kind::call && i + 1 < used) {
      CallRest rest;
      std::memcpy(&rest, &block.slots[++i], sizeof rest);
      add_call(slot, rest);
    } else if (slot.kind == Kind::part) {
      add_part(slot);
    } else if (slot.kind == Kind::enter || slot.kind == Kind::leave) {
      add_time(slot.when);
      Symbol symbol;
      symbol.kind = slot.kind;
      symbol.node = slot.communicator;
      add(symbol);
    }
  }
  progress_.block = block.sequence;
}

void Encoder::take_lost(std::uint64_t events, std::uint64_t starts) {
  Symbol symbol;
  symbol.kind = Kind::lost;
  symbol.bytes = events;
  symbol.request = starts;
  progress_.starts += starts;
  add(symbol);
}

void Encoder::add_call(const Slot &slot, const CallRest &rest) {
  Symbol symbol;
  symbol.kind = Kind::call;
  symbol.function = slot.function;
  symbol.action = slot.action;
  symbol.node = rest.node;
  // How much is completed at once may be a matter of time, and the parts say it: calls stay few symbols.
  symbol.bytes = rest.bytes - (slot.action == Action::none ? progress_.completed : 0);
  progress_.completed = 0;
  if (slot.action != Action::none) {
    symbol.communicator = slot.communicator;
    symbol.size = slot.size;
    tell_partner(symbol, slot);
  }
  if (begins_request(slot.action)) progress_.starts++;
  add_time(slot.when);
  std::uint64_t duration = 0;
  const std::uint64_t begin = std::max(slot.when, progress_.last);
  piece_.durations.push_back(rounded(rest.end > begin ? rest.end - begin : 0, duration));
  progress_.last += duration;
  add(symbol);
}

void Encoder::add_part(const Slot &slot) {
  Symbol symbol;
  symbol.kind = Kind::part;
  if (slot.action == Action::begun_collective) symbol.function = slot.function;
  symbol.action = slot.action;
  symbol.communicator = slot.communicator;
  symbol.size = slot.size;
  if (slot.action == Action::completed_receive) progress_.completed += slot.size;
  tell_partner(symbol, slot);
  const auto thread = static_cast<std::uint32_t>(slot.when >> number_bits);
  const std::uint64_t number = slot.when & ((std::uint64_t{1} << number_bits) - 1);
  if (begins_request(slot.action)) {
    progress_.starts++;
  } else if (slot.when != 0 && thread == thread_) {
    symbol.request = progress_.starts - number + 1;
  } else if (slot.when != 0) {
    symbol.thread = thread + 1;
    symbol.request = number;
  }
  add(symbol);
}

void Encoder::tell_partner(Symbol &symbol, const Slot &slot) const {
  symbol.tag = slot.tag < 0 ? -1 : slot.tag;
  symbol.partner = slot.partner < 0 ? -1 : slot.partner;
  const bool is_collective = slot.action == Action::collective || slot.action == Action::begun_collective;
  if (slot.partner < 0 || is_collective) return;
  const std::byte *place = arena().base() + std::size_t{slot.communicator} * communicator_alignment;
  const auto *of = reinterpret_cast<const Communicator *>(place);
  if (!arena().contains(of, sizeof *of) || of->inter || of->size == 0) return;
  const auto size = static_cast<std::int64_t>(of->size);
  symbol.partner = static_cast<std::int32_t>((slot.partner - std::int64_t{of->rank} + size) % size);
}

} // namespace haloscope::watch::trace
