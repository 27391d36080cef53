#include "watch/collecting/profile.hpp"

#include "interpose/files.hpp"

#include "watch/collecting/columns.hpp"
#include "watch/collecting/json_text.hpp"
#include "watch/collecting/naming.hpp"
#include "watch/records/compress.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace haloscope::watch {

namespace {

constexpr std::array<unsigned char, 8> version{format_major, 0, 0, 0, format_minor};

constexpr std::size_t most_chunk_rows = std::size_t{1} << 19U;

template <class T> std::span<const unsigned char> bytes_of(const T *data, std::size_t count) {
  return {reinterpret_cast<const unsigned char *>(data), count * sizeof(T)};
}

// All lowest bytes, then all second bytes, …: small numbers leave long runs of zeros.
std::vector<unsigned char> shuffle(std::span<const std::uint64_t> values) {
  std::vector<unsigned char> bytes(values.size() * 8);
  for (std::size_t b = 0; b < 8; b++)
    for (std::size_t i = 0; i < values.size(); i++)
      bytes[b * values.size() + i] = static_cast<unsigned char>(values[i] >> 8 * b);
  return bytes;
}

[[noreturn]] void fail(const char *what) { throw std::system_error(errno, std::generic_category(), what); }

} // namespace

ProfileWriter::ProfileWriter(std::string path, std::uint64_t limit)
    : path_(std::move(path)), limit_(limit), chunks_(table_count) {
  NewFile made = create_beside(path_);
  file_ = made.descriptor;
  temporary_ = std::move(made.path);
  try {
    write(magic.data(), magic.size());
    write(version.data(), version.size());
  } catch (...) {
    close(file_);
    unlink(temporary_.c_str());
    throw;
  }
}

ProfileWriter::~ProfileWriter() {
  if (file_ < 0) return;
  close(file_);
  unlink(temporary_.c_str());
}

void ProfileWriter::write(const void *data, std::size_t bytes) {
  offset_ += bytes;
  if (!interpose::write_whole(file_, data, bytes)) fail("write");
}

ProfileWriter::StoredColumn ProfileWriter::store(std::span<const std::uint64_t> values, bool noise,
                                                 bool packed_already) {
  const auto raw = bytes_of(values.data(), values.size());
  const std::vector<unsigned char> packed =
      packed_already ? std::vector<unsigned char>{} : deflate(shuffle(values), noise);
  const auto stored = packed.empty() ? raw : std::span<const unsigned char>{packed};
  const StoredColumn column{offset_, stored.size(), crc32(stored), packed.empty() ? 0 : 1};
  write(stored.data(), stored.size());
  return column;
}

namespace {

bool is_of_trace(TableId id) noexcept {
  return id >= TableId::trace_sequences && id <= TableId::trace_clocks;
}

// Grows with ranks times something; the rest says what happened in few words.
bool is_detail(TableId id) noexcept {
  switch (id) {
  case TableId::rank_calls:
  case TableId::partners:
  case TableId::neighbors:
  case TableId::series:
  case TableId::instances:
  case TableId::values:
  case TableId::slices:
  case TableId::phases:
  case TableId::metadata:
    return true;
  default:
    return is_of_trace(id);
  }
}

bool is_of_series(TableId id) noexcept {
  return id == TableId::series || id == TableId::instances || id == TableId::values;
}

} // namespace

bool ProfileWriter::is_useless(TableId id) const noexcept {
  return (without_series_ && is_of_series(id)) || (without_trace_ && is_of_trace(id));
}

// Rows of `instances` need the rows of `series`, and an incomplete trace is useless. Chunks that are already
// in the file stay there, in tables that the reader ignores.
void ProfileWriter::leave_out(TableId id, std::size_t rows) {
  left_out_ += rows;
  if (is_of_trace(id) && !without_trace_) {
    without_trace_ = true;
    for (unsigned other = 0; other < table_count; other++)
      if (is_of_trace(static_cast<TableId>(other)))
        for (const Chunk &chunk : chunks_[other]) left_out_ += chunk.rows;
  }
  if (without_series_ || (id != TableId::series && id != TableId::instances)) return;
  without_series_ = true;
  for (const TableId of_series : {TableId::series, TableId::instances, TableId::values})
    for (const Chunk &chunk : chunks_[static_cast<unsigned>(of_series)]) left_out_ += chunk.rows;
}

void ProfileWriter::take_back(std::uint64_t offset) {
  if (lseek(file_, static_cast<off_t>(offset), SEEK_SET) < 0 || !interpose::resize_file(file_, offset))
    fail("truncate");
  offset_ = offset;
}

void ProfileWriter::add(TableId id, const Table &rows) {
  const bool limited = limit_ != 0 && is_detail(id);
  if (limited && (offset_ >= limit_ || is_useless(id))) {
    leave_out(id, rows.rows());
    return;
  }
  const auto columns = rows.schema().columns;
  for (std::size_t first = 0; first < rows.rows(); first += most_chunk_rows) {
    const std::uint64_t before = offset_;
    Chunk chunk{std::min(most_chunk_rows, rows.rows() - first), {}};
    for (std::size_t i = 0; i < columns.size(); i++)
      chunk.columns.push_back(
          store(std::span{rows.column(i)}.subspan(first, chunk.rows), columns[i].noise, columns[i].packed));
    if (limited && offset_ > limit_) {
      take_back(before);
      leave_out(id, rows.rows() - first);
      return;
    }
    chunks_[static_cast<unsigned>(id)].push_back(std::move(chunk));
  }
}

void ProfileWriter::add_paths(const Names &names) {
  std::array<Words, 4> columns;
  for (const auto &path : names.paths) {
    columns[0].push_back(columns[0].size());
    columns[1].push_back(static_cast<std::uint64_t>(path.parent));
    columns[2].push_back(path.name);
    columns[3].push_back(path.communication ? 1 : 0);
  }
  paths_.rows = names.paths.size();
  for (const auto &column : columns) paths_.columns.push_back(store(column));
}

std::string ProfileWriter::directory(const Names &names, const Info &info) const {
  std::string json = "{\"info\":" + json_of(info) + ",\n\"strings\":[";
  for (const auto &text : names.strings) json += (json.back() == '[' ? "" : ",") + quote_json(text);
  json += "],\n\"tables\":[";
  const auto put_chunk = [&](const Chunk &chunk) {
    json += (json.back() == '[' ? "" : ",") + std::string{"{\"rows\":"} + std::to_string(chunk.rows) +
            ",\"columns\":[";
    for (const auto &column : chunk.columns)
      json += (json.back() == '[' ? "[" : ",[") + std::to_string(column.offset) + "," +
              std::to_string(column.bytes) + "," + std::to_string(column.checksum) + "," +
              std::to_string(column.encoding) + "]";
    json += "]}";
  };
  json += std::string{R"({"name":"paths","columns":)"} + path_columns + R"(,"chunks":[)";
  put_chunk(paths_);
  json += "]}";
  static constexpr const char *types[] = {"integer", "real", "string"};
  for (unsigned t = 0; t < table_count; t++) {
    const auto id = static_cast<TableId>(t);
    const Schema &schema = schema_of(id);
    const std::string name = (is_useless(id) ? "unused_" : "") + std::string{schema.name};
    json += std::string{",\n{\"name\":"} + quote_json(name) + ",\"columns\":[";
    for (const auto &column : schema.columns)
      json += (json.back() == '[' ? "[" : ",[") + quote_json(column.name) + "," +
              quote_json(types[static_cast<unsigned>(column.type)]) + "," + quote_json(column.unit) + "]";
    json += "],\"chunks\":[";
    for (const auto &chunk : chunks_[t]) put_chunk(chunk);
    json += "]}";
  }
  return json + "]}\n";
}

std::string ProfileWriter::finish(const Names &names, const Info &info, std::uint64_t since) {
  add_paths(names);
  const std::string json = directory(names, info);
  struct {
    std::uint64_t offset, length;
    std::uint32_t directory_checksum, checksum;
    std::array<unsigned char, trailer_end.size()> end;
  } trailer{offset_, json.size(), crc32(bytes_of(json.data(), json.size())), 0, trailer_end};
  static_assert(sizeof trailer == trailer_bytes);
  trailer.checksum = crc32(bytes_of(&trailer, 1).first(20), crc32(version, crc32(magic)));
  write(json.data(), json.size());
  write(&trailer, sizeof trailer);
  if (fsync(file_) != 0 && errno != EINVAL && errno != EROFS) fail("fsync");
  const int file = std::exchange(file_, -1);
  try {
    if (close(file) != 0) fail("close");
    return give_name(temporary_, path_, since);
  } catch (...) {
    unlink(temporary_.c_str());
    throw;
  }
}

} // namespace haloscope::watch
