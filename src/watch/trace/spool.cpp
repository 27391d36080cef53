#include "watch/trace/spool.hpp"

#include "interpose/files.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace haloscope::watch::trace {

namespace {

template <class T> void append(Bytes &to, const T *from, std::size_t count) {
  const auto *bytes = reinterpret_cast<const unsigned char *>(from);
  to.insert(to.end(), bytes, bytes + count * sizeof(T));
}

// A checksum that is faster than a CRC, on which this thread would spend its time.
std::uint32_t sum_of(std::span<const unsigned char> bytes) noexcept {
  std::uint64_t sum = 0x9E37'79B9'7F4A'7C15U;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    sum = (sum ^ word) * 0xC2B2'AE3D'27D4'EB4FU;
    sum ^= sum >> 29U;
  }
  for (const unsigned char byte : bytes) sum = (sum ^ byte) * 0x0000'0100'0000'01B3U;
  return static_cast<std::uint32_t>(sum ^ sum >> 32U);
}

} // namespace

Spooled pack(const Piece &piece, std::uint32_t thread, const Progress &progress) {
  Spooled packed;
  packed.symbols = piece.symbols;
  for (const std::uint32_t symbol : piece.sequence) put_number(packed.sequence, symbol);
  put_column(packed.times, piece.gaps);
  put_column(packed.times, piece.durations);
  packed.head = {SpoolHead::expected,
                 0,
                 thread,
                 static_cast<std::uint32_t>(piece.symbols.size()),
                 static_cast<std::uint32_t>(packed.sequence.size()),
                 static_cast<std::uint32_t>(packed.times.size()),
                 static_cast<std::uint32_t>(piece.gaps.size()),
                 static_cast<std::uint32_t>(piece.durations.size()),
                 piece.sequence.size(),
                 progress};
  return packed;
}

SpoolWriter::SpoolWriter(const std::string &path) noexcept
    : file_(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) {
  if (file_ >= 0 && file_ <= STDERR_FILENO) { // the program started with its output closed
    const int other = fcntl(file_, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(file_);
    file_ = other;
  }
}

SpoolWriter::~SpoolWriter() {
  if (file_ >= 0) close(file_);
}

bool SpoolWriter::add(const Spooled &piece) noexcept try {
  if (file_ < 0) return false;
  Bytes bytes;
  append(bytes, &piece.head, 1);
  append(bytes, piece.symbols.data(), piece.symbols.size());
  append(bytes, piece.sequence.data(), piece.sequence.size());
  append(bytes, piece.times.data(), piece.times.size());
  const std::uint32_t checksum = sum_of(std::span{bytes}.subspan(8));
  for (unsigned b = 0; b < 4; b++) bytes[4 + b] = static_cast<unsigned char>(checksum >> 8U * b);
  if (!interpose::write_at(file_, bytes.data(), bytes.size(), size_)) {
    interpose::resize_file(file_, size_); // if that fails: a part is not read, either
    return false;
  }
  size_ += bytes.size();
  return true;
} catch (const std::exception &) {
  return false;
}

SpoolReader::SpoolReader(const std::string &path) noexcept {
  if (path.empty()) return;
  file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  struct stat status{};
  if (file_ >= 0 && fstat(file_, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid())
    size_ = static_cast<std::uint64_t>(status.st_size);
}

SpoolReader::~SpoolReader() {
  if (file_ >= 0) close(file_);
}

bool SpoolReader::read(void *to, std::size_t bytes) noexcept {
  if (bytes > size_ - offset_) return false;
  auto *next = static_cast<unsigned char *>(to);
  while (bytes > 0) {
    const ssize_t got = pread(file_, next, bytes, static_cast<off_t>(offset_));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    next += got;
    offset_ += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool SpoolReader::next(Spooled &piece) {
  SpoolHead &head = piece.head;
  if (!read(&head, sizeof head) || head.magic != SpoolHead::expected) return false;
  const std::uint64_t bytes =
      std::uint64_t{head.symbols} * sizeof(Symbol) + head.sequence_bytes + head.time_bytes;
  if (bytes > size_ - offset_) return false;
  Bytes all(sizeof head + bytes);
  std::memcpy(all.data(), &head, sizeof head);
  if (!read(all.data() + sizeof head, bytes) || sum_of(std::span{all}.subspan(8)) != head.checksum)
    return false;
  const unsigned char *next = all.data() + sizeof head;
  piece.symbols.resize(head.symbols);
  std::memcpy(piece.symbols.data(), next, piece.symbols.size() * sizeof(Symbol));
  next += piece.symbols.size() * sizeof(Symbol);
  piece.sequence.assign(next, next + head.sequence_bytes);
  piece.times.assign(next + head.sequence_bytes, next + head.sequence_bytes + head.time_bytes);
  return true;
}

} // namespace haloscope::watch::trace
