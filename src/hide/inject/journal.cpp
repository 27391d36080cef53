#include "hide/inject/injection.hpp"
#include "interpose/decimal.hpp"
#include "interpose/files.hpp"
#include "interpose/report.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace haloscope::inject {

namespace {

constexpr std::size_t block = 256; // rows: few microseconds to write

std::string variable(const char *name) {
  const char *value = std::getenv(name); // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

std::string world() { return std::to_string(state.world_rank) + "-of-" + std::to_string(state.nodes.size()); }

// A spawned program has its own record, in the directory of the record of its parent.
std::string own_path() {
  std::string path = variable("HALOSCOPE_INJECT_OUTPUT");
  if (path.empty()) return path;
  const std::size_t end = path.size() - (path.ends_with(".csv") ? 4 : 0);
  if (state.spawned != 0) path.insert(end, "-spawned-" + std::to_string(state.spawned));
  return path + ".part-" + world();
}

} // namespace

void Journal::open() {
  if (file_ >= 0) return;
  path_ = own_path();
  if (path_.empty()) return;
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (file_ < 0) interpose::complain(path_ + ": cannot write this rank's record of injected latencies");
  rows_.reserve(block);
}

void Journal::add(const Row &row) {
  latencies_++;
  sum_ += row.latency;
  longest_ = std::max(longest_, row.latency);
  if (file_ < 0) return;
  rows_.push_back(row);
  rows_.back().sent -= state.begin;
  if (rows_.size() == block) flush();
}

void Journal::flush() {
  if (file_ < 0 || rows_.empty()) return;
  const std::size_t bytes = rows_.size() * sizeof(Row);
  const bool whole = interpose::write_whole(file_, rows_.data(), bytes);
  rows_.clear();
  if (whole) {
    written_ += bytes;
    return;
  }
  const std::string why = std::strerror(errno); // NOLINT(concurrency-mt-unsafe)
  interpose::resize_file(file_, written_);      // without a part of a row
  interpose::complain(path_ + ": " + why +
                      "; further injected latencies of this rank are not written; check the limit of file "
                      "sizes and the disk");
  ::close(file_);
  file_ = -1;
}

void Journal::close() {
  flush();
  if (file_ >= 0) ::close(file_);
  file_ = -1;
  const std::string summary = variable("HALOSCOPE_INJECT_SUMMARY");
  const int file = summary.empty() ? -1 : ::open(summary.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return; // on another node
  const std::string line = std::to_string(state.spawned) + ' ' + world() + ' ' + std::to_string(latencies_) +
                           ' ' + interpose::decimal_text(sum_, 9) + ' ' +
                           interpose::decimal_text(longest_, 9) + '\n';
  interpose::write_whole(file, line.data(), line.size());
  ::close(file);
}

} // namespace haloscope::inject
