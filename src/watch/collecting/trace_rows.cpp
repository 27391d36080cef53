#include "watch/collecting/trace_rows.hpp"

#include "watch/collecting/rows.hpp"
#include "watch/collecting/trace_times.hpp"
#include "watch/trace/draining.hpp"

#include <algorithm>
#include <cstring>

namespace haloscope::watch {

namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9E37'79B9'7F4A'7C15U;
  return hash ^ hash >> 32U;
}
std::uint64_t mixed(std::uint64_t hash, std::string_view text) noexcept {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x0000'0100'0000'01B3U;
  return mixed(hash, text.size());
}
std::uint64_t as_word(std::int64_t value) noexcept { return static_cast<std::uint64_t>(value); }

// A sequence is stored as rules in two cases: the rules have at most `least_irregular` bytes, or they have
// stopped growing and have a byte per `events_a_byte` events or less.
constexpr std::size_t least_irregular = 1024, events_a_byte = 2;

template <class Visit> void each_word(const trace::Bytes &bytes, Visit &&visit) {
  for (std::size_t first = 0; first < bytes.size(); first += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + first, std::min<std::size_t>(8, bytes.size() - first));
    visit(first / 8, word);
  }
}

std::string_view name_of(const trace::Symbol &symbol) noexcept {
  if (symbol.kind != EventType::call && symbol.action != MessageAction::begun_collective) return "";
  return symbol.function < function_count ? function_names[symbol.function] : "?";
}

} // namespace

std::uint32_t TraceRows::place_of(const Node &node) const noexcept {
  const auto *place = reinterpret_cast<const std::byte *>(&node);
  return static_cast<std::uint32_t>(static_cast<std::size_t>(place - arena().base()) / node_alignment);
}

void TraceRows::finish(double tick) {
  if (!process_.trace.wanted) return;
  read_spool();
  read_rings();
  for (auto &[number, thread] : threads_) {
    add_communicators(thread);
    end_segment(number, thread);
  }
  add_clock(tick);
  contents_.times.emplace_back(as_word(process_.rank), spool_, std::move(rest_));
}

void TraceRows::read_spool() {
  trace::SpoolReader reader{spool_};
  for (trace::Spooled piece; reader.next(piece);) add_piece(piece);
}

// Events that the process has not written to the spool before its end.
void TraceRows::read_rings() {
  for (const TraceRing *ring = valid(process_.trace.rings.load()); ring != nullptr;
       ring = valid(ring->following))
    if (ring->count > 0 && valid(ring->blocks, ring->count) != nullptr) read_ring(*ring);
}

void TraceRows::read_ring(const TraceRing &ring) {
  Thread &thread = threads_[ring.thread];
  std::map<std::uint64_t, const TraceBlock *> blocks; // by sequence
  for (std::uint32_t i = 0; i < ring.count; i++)
    if (ring.blocks[i].state.load() != TraceBlock::free) blocks[ring.blocks[i].sequence] = &ring.blocks[i];
  trace::Encoder encoder{arena(), ring.thread, process_.first.tick, process_.trace.compact};
  if (thread.progress.last != 0) encoder.resume(thread.symbols, thread.progress);
  // Events that the spool has lost, and all events after them.
  std::uint64_t missing = ring.spooled - std::min(ring.spooled, thread.events);
  // A copy: the process may be running still, and take the block for something else meanwhile.
  const auto copy = std::make_unique<TraceBlock>();
  for (const auto &[sequence, block] : blocks) {
    if (sequence <= encoder.progress().block) continue;
    std::memcpy(static_cast<void *>(copy.get()), block, sizeof *copy);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (block->sequence != sequence || block->state.load() == TraceBlock::free) break;
    if (missing == 0 && sequence == encoder.progress().block + 1) {
      encoder.take(*copy);
      add_rest(ring.thread, encoder);
    } else {
      missing += trace::events_of(*copy);
    }
  }
  if (missing == 0) return;
  missing_ += missing;
  encoder.take_lost(missing, 0);
  add_rest(ring.thread, encoder);
}

void TraceRows::add_rest(std::uint32_t thread, trace::Encoder &encoder) {
  if (encoder.piece().sequence.empty()) return;
  const auto piece = std::make_shared<trace::Spooled>(pack(encoder.piece(), thread, encoder.progress()));
  encoder.next_piece();
  add_piece(*piece);
  rest_.push_back(piece);
}

void TraceRows::add_piece(const trace::Spooled &piece) {
  Thread &thread = threads_[piece.head.thread];
  thread.symbols.insert(thread.symbols.end(), piece.symbols.begin(), piece.symbols.end());
  thread.progress = piece.head.progress;
  std::span<const unsigned char> rest{piece.sequence};
  for (std::uint64_t i = 0; i < piece.head.events && !rest.empty(); i++) {
    if (thread.repeats.is_full()) end_segment(piece.head.thread, thread);
    const std::uint64_t symbol = trace::take_number(rest);
    if (symbol >= thread.symbols.size()) return; // no recorder wrote this file
    if (thread.symbols[symbol].kind != EventType::lost) thread.events++;
    thread.append(static_cast<std::uint32_t>(symbol));
  }
}

void TraceRows::Thread::append(std::uint32_t symbol) {
  repeats.append(symbol);
  const std::uint64_t count = repeats.symbols();
  if (sizes.empty() || count > sizes.back().first + sizes.back().first / 16)
    sizes.emplace_back(count, repeats.items());
}

// Whether the second half of the events had hardly anything that was not there before: a program that
// iterates, however seldom it has done so yet.
bool TraceRows::Thread::is_settled() const {
  const auto half = std::ranges::lower_bound(sizes, repeats.symbols() / 2, {},
                                             &std::pair<std::uint64_t, std::size_t>::first);
  return half != sizes.end() && repeats.items() <= half->second + half->second / 4;
}

// If the order of events depends on time, as the order of arriving messages does, rules would be as long as
// the run. Then the order is stored per thread, and threads share only the symbols.
void TraceRows::end_segment(std::uint32_t number, Thread &thread) {
  const std::uint64_t events = thread.repeats.symbols();
  if (events == 0) return;
  trace::Bytes packed = thread.repeats.pack();
  const bool is_regular =
      packed.size() <= least_irregular || (packed.size() * events_a_byte <= events && thread.is_settled());
  std::vector<trace::Symbol> symbols = thread.symbols;
  trace::Bytes order;
  if (!is_regular) {
    order = order_of(thread, symbols);
    packed.clear();
  }
  const std::uint64_t structure = structure_of(symbols, packed);
  contents_.append(rows::TraceSequences{.rank = process_.rank,
                                        .thread = number,
                                        .segment = thread.segment,
                                        .structure = structure,
                                        .events = events,
                                        .order = order.size()});
  if (stored_structures_.insert(structure).second) {
    for (std::size_t i = 0; i < symbols.size(); i++) add_symbol(structure, i, symbols[i]);
    each_word(packed, [&](std::uint64_t position, std::uint64_t word) {
      contents_.append(
          rows::TraceRules{.structure = structure, .position = position, .packed = word, .ranks = 1});
    });
  }
  each_word(order, [&](std::uint64_t position, std::uint64_t word) {
    contents_.append(rows::TraceOrders{.rank = process_.rank,
                                       .thread = number,
                                       .segment = thread.segment,
                                       .position = position,
                                       .packed = word});
  });
  thread.segment++;
  thread.repeats = {};
  thread.sizes.clear();
}

// The symbols in an order that threads have in common, and the sequence in their numbers.
trace::Bytes TraceRows::order_of(const Thread &thread, std::vector<trace::Symbol> &symbols) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> sorted; // hash, number
  sorted.reserve(symbols.size());
  for (std::uint32_t i = 0; i < symbols.size(); i++) sorted.emplace_back(hash_of(symbols[i], 0), i);
  std::ranges::sort(sorted);
  std::vector<std::uint32_t> numbers(symbols.size());
  for (std::uint32_t i = 0; i < sorted.size(); i++) {
    numbers[sorted[i].second] = i;
    symbols[i] = thread.symbols[sorted[i].second];
  }
  trace::Bytes plain, order;
  for (const std::uint32_t symbol : thread.repeats.expanded()) trace::put_number(plain, numbers[symbol]);
  trace::put_bytes(order, plain);
  return order;
}

// Hashes meanings, not the numbers that only this process uses.
std::uint64_t TraceRows::hash_of(const trace::Symbol &symbol, std::uint64_t hash) {
  hash = mixed(hash, name_of(symbol));
  hash = mixed(hash, path_text(paths_[symbol.node]));
  hash = mixed(hash, identity_of(symbol.communicator));
  for (const std::uint64_t value :
       {static_cast<std::uint64_t>(symbol.kind), static_cast<std::uint64_t>(symbol.action),
        as_word(symbol.partner), as_word(symbol.tag), std::uint64_t{symbol.thread}, symbol.bytes, symbol.size,
        symbol.request})
    hash = mixed(hash, value);
  return hash;
}

// The same for all threads that do the same; positive. Those with the same symbols are next to each other,
// and in one place however often they did it, so that rows pack as well in each run.
std::uint64_t TraceRows::structure_of(const std::vector<trace::Symbol> &symbols, const trace::Bytes &packed) {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325U;
  for (const trace::Symbol &symbol : symbols) hash = hash_of(symbol, hash);
  const std::string_view rules{reinterpret_cast<const char *>(packed.data()), packed.size()};
  return (hash >> 48U) << 47U | mixed(hash, rules) >> 17U;
}

const std::string &TraceRows::path_text(std::uint64_t path) {
  std::string &text = path_texts_[path];
  if (!text.empty()) return text;
  const Names::Path &node = contents_.names.paths[path];
  std::string made = node.parent < 0 ? "" : path_text(static_cast<std::uint64_t>(node.parent));
  made += '\0';
  made += contents_.names.strings[node.name];
  return path_texts_[path] = made;
}

void TraceRows::add_symbol(std::uint64_t structure, std::size_t number, const trace::Symbol &symbol) {
  contents_.append(rows::TraceSymbols{.structure = structure,
                                      .symbol = number,
                                      .kind = static_cast<unsigned>(symbol.kind),
                                      .call = contents_.names.text(name_of(symbol)),
                                      .path = paths_[symbol.node],
                                      .bytes = symbol.bytes,
                                      .action = static_cast<unsigned>(symbol.action),
                                      .communicator = identity_of(symbol.communicator),
                                      .partner = symbol.partner,
                                      .tag = symbol.tag,
                                      .size = symbol.size,
                                      .thread = symbol.thread,
                                      .request = symbol.request,
                                      .ranks = 1});
}

std::uint64_t TraceRows::identity_of(std::uint32_t communicator) const noexcept {
  const Communicator *of = this->communicator(communicator);
  return of == nullptr ? 0 : of->identity;
}

// Stretches of world ranks that follow each other evenly.
void TraceRows::add_communicators(const Thread &thread) {
  for (const trace::Symbol &symbol : thread.symbols) {
    const Communicator *of = communicator(symbol.communicator);
    if (of == nullptr || of->identity == 0 || !stored_communicators_.insert(of->identity).second) continue;
    const std::uint64_t count = of->inter ? of->remote_size : of->size;
    const std::int32_t *ranks = of->ranks == nullptr ? nullptr : valid(of->ranks, count);
    const auto world = [&](std::uint64_t i) -> std::int64_t {
      if (ranks != nullptr) return ranks[i];
      if (of->id == 0) return static_cast<std::int64_t>(i);
      return of->stride == 0 ? -1 : of->first_rank + static_cast<std::int64_t>(i) * of->stride;
    };
    const Text name = contents_.names.text(text(of->name));
    for (std::uint64_t first = 0; first < count;) {
      const std::int64_t stride = first + 1 < count ? world(first + 1) - world(first) : 0;
      std::uint64_t last = first + 1;
      while (last < count && world(last) - world(last - 1) == stride) last++;
      contents_.append(rows::TraceCommunicators{.communicator = of->identity,
                                                .members = of->inter ? of->members : 0,
                                                .name = name,
                                                .size = count,
                                                .position = first,
                                                .count = last - first,
                                                .world = world(first),
                                                .stride = stride,
                                                .ranks = 1});
      first = last;
    }
  }
}

void TraceRows::add_clock(double tick) {
  std::uint64_t lost = process_.trace.lost.load() + missing_;
  for (const TraceRing *ring = valid(process_.trace.rings.load()); ring != nullptr;
       ring = valid(ring->following))
    lost += ring->all_lost;
  contents_.append(rows::TraceClocks{.rank = process_.rank,
                                     .machine = process_.trace.machine,
                                     .zero = process_.first.tick,
                                     .nanosecond = process_.first.nanosecond,
                                     .tick = tick,
                                     .offset_begin = process_.trace.offset_begin,
                                     .offset_end = process_.trace.offset_end,
                                     .lost = lost});
}

} // namespace haloscope::watch
