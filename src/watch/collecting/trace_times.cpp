#include "watch/collecting/trace_times.hpp"

#include "watch/collecting/rows.hpp"

#include <algorithm>
#include <cstring>

namespace haloscope::watch {

void TraceTimes::add(const trace::Spooled &piece, Table &pieces, Table &words) const {
  const trace::SpoolHead &head = piece.head;
  pieces.add(rows::TracePieces{.rank = rank_,
                               .thread = head.thread,
                               .gaps = head.gaps,
                               .durations = head.durations,
                               .bytes = piece.times.size()});
  for (std::size_t first = 0; first < piece.times.size(); first += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, piece.times.data() + first, std::min<std::size_t>(8, piece.times.size() - first));
    words.add(rows::TraceWords{.packed = word});
  }
}

bool TraceTimes::next(Table &pieces, Table &words) {
  if (!is_read_) {
    if (reader_ == nullptr) reader_ = std::make_shared<trace::SpoolReader>(spool_);
    trace::Spooled piece;
    if (reader_->next(piece)) {
      add(piece, pieces, words);
      return true;
    }
    is_read_ = true;
    reader_.reset();
  }
  if (given_ == rest_.size()) return false;
  add(*rest_[given_++], pieces, words);
  return true;
}

} // namespace haloscope::watch
