#include "watch/trace/trace_times.hpp"

#include "watch/collecting/tables.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace haloscope::watch::trace {

void TraceTimes::add(const Spooled &piece, Table &pieces, Table &words) const {
  const SpoolHead &head = piece.head;
  const std::array<std::uint64_t, 5> row{rank_, head.thread, head.gaps, head.durations, piece.times.size()};
  pieces.add(row);
  for (std::size_t first = 0; first < piece.times.size(); first += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, piece.times.data() + first, std::min<std::size_t>(8, piece.times.size() - first));
    words.add({&word, 1});
  }
}

bool TraceTimes::next(Table &pieces, Table &words) {
  if (!is_read_) {
    if (reader_ == nullptr) reader_ = std::make_shared<SpoolReader>(spool_);
    Spooled piece;
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

} // namespace haloscope::watch::trace
