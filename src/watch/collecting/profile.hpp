// Writes a profile, docs/format.md. The file appears under its name when it is whole.
#pragma once

#include "watch/collecting/tables.hpp"

#include <string>
#include <variant>

namespace haloscope::watch {

struct InfoEntry;
using Info = std::vector<InfoEntry>;
struct Value {
  std::variant<std::string, double, std::int64_t, bool, std::vector<std::int64_t>, std::vector<double>,
               std::vector<std::string>, Info>
      content;
};
struct InfoEntry {
  std::string key;
  Value value;
};

class ProfileWriter {
public:
  // Creates a file in the directory of `path`. If `limit` is not 0, tables with a row per rank and partner,
  // instance or slice are left out when the file would exceed it. Throws std::system_error.
  explicit ProfileWriter(std::string path, std::uint64_t limit = 0);
  ~ProfileWriter(); // removes what is not finished
  ProfileWriter(const ProfileWriter &) = delete;
  ProfileWriter &operator=(const ProfileWriter &) = delete;

  // Rows that were left out.
  [[nodiscard]] std::uint64_t left_out() const noexcept { return left_out_; }
  // Appends the rows, in chunks of at most 4 MiB a column; empty tables leave no chunk.
  void add(TableId id, const Table &rows);
  // Writes the directory and gives the file its name (naming.hpp), which is returned. Throws
  // std::system_error.
  std::string finish(const Names &names, const Info &info, std::uint64_t since = 0);

private:
  struct StoredColumn {
    std::uint64_t offset, bytes;
    std::uint32_t checksum;
    int encoding;
  };
  struct Chunk {
    std::size_t rows;
    std::vector<StoredColumn> columns;
  };
  [[nodiscard]] bool is_useless(TableId id) const noexcept;
  void leave_out(TableId id, std::size_t rows);
  void take_back(std::uint64_t offset);
  StoredColumn store(std::span<const std::uint64_t> values, bool noise = false, bool packed = false);
  void add_paths(const Names &names);
  void write(const void *data, std::size_t bytes);
  std::string directory(const Names &names, const Info &info) const;

  std::string path_, temporary_;
  std::uint64_t limit_;
  int file_ = -1;
  std::uint64_t offset_ = 0, left_out_ = 0;
  bool without_series_ = false, without_trace_ = false;
  std::vector<std::vector<Chunk>> chunks_;
  Chunk paths_{};
};

} // namespace haloscope::watch
