// The columns of a profile (docs/format.md), how rows of several ranks become one, and how they
// travel. Every value is 64 bits: integers, doubles and indices into a list of strings alike.
#pragma once

#include "watch/collecting/trace_times.hpp"
#include "watch/records/schema.hpp"

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace haloscope::watch {

enum class Type : std::uint8_t { integer, real, string };
// The rule for a column when rows with equal keys are merged.
enum class Merge : std::uint8_t { key, sum, most };

struct Column {
  const char *name;
  Type type;
  Merge merge;
  const char *unit = "";
  bool path = false;   // an index into the list of paths
  bool noise = false;  // values are never alike: there is nothing to look for when compressing
  bool packed = false; // nor would they become fewer bytes at all
};

struct Schema {
  const char *name;
  std::span<const Column> columns;
};

inline constexpr unsigned table_count = static_cast<unsigned>(TableId::count);
const Schema &schema_of(TableId id) noexcept;

using Words = std::vector<std::uint64_t>;

std::uint64_t word(double value) noexcept;

// The values of a row (watch/rows.hpp). They have no default, and each converts from its own kind alone: a
// row that misses a column, or has a value of another kind, does not compile.
// Rows are written with the numbers themselves, so the constructors are implicit.
struct Integer {
  template <std::integral Number>
  // NOLINTNEXTLINE(misc-explicit-constructor)
  constexpr Integer(Number number) noexcept : value(static_cast<std::uint64_t>(number)) {}
  std::uint64_t value;
};
struct Real {
  template <std::floating_point Number>
  // NOLINTNEXTLINE(misc-explicit-constructor)
  constexpr Real(Number number) noexcept : value(number) {}
  double value;
};
struct Text {
  explicit constexpr Text(std::uint64_t index) noexcept : string(index) {}
  std::uint64_t string; // an index of Names
};

class Table {
public:
  explicit Table(TableId id) : schema_(&schema_of(id)), columns_(schema_->columns.size()) {}

  [[nodiscard]] const Schema &schema() const noexcept { return *schema_; }
  [[nodiscard]] std::size_t rows() const noexcept { return columns_.front().size(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return rows() * columns_.size() * 8; }
  [[nodiscard]] const Words &column(std::size_t i) const noexcept { return columns_[i]; }

  // Throws std::logic_error if it is a row of another table.
  template <class Row> void add(const Row &row) {
    static_assert(std::is_trivially_copyable_v<Row> && sizeof(Row) % sizeof(std::uint64_t) == 0);
    const auto words = std::bit_cast<std::array<std::uint64_t, sizeof(Row) / sizeof(std::uint64_t)>>(row);
    add_words(Row::table, words);
  }
  // Sorts rows; those with equal keys become one. Rows that are keys alone stay as they are.
  void compact();
  void clear() noexcept;
  void append(const Table &other);
  // Columns that refer to strings or paths, in a process's own numbers, to common numbers.
  void renumber(std::span<const std::uint64_t> strings, std::span<const std::uint64_t> paths);

  // Returns some of the rows in the layout of messages: column after column.
  [[nodiscard]] Words write(std::size_t first, std::size_t rows) const;
  void read(std::span<const std::uint64_t> words, std::size_t rows);

private:
  // One value per column, in the schema's order.
  void add_words(TableId of, std::span<const std::uint64_t> row);

  const Schema *schema_;
  std::vector<Words> columns_;
};

// The region tree and all text of a profile; indices are positions.
struct Names {
  struct Path {
    std::int64_t parent;
    std::uint64_t name; // string
    bool communication;
  };
  std::vector<std::string> strings;
  std::vector<Path> paths;

  std::uint64_t string(std::string_view text);
  Text text(std::string_view text) { return Text{string(text)}; }
  std::uint64_t path(std::int64_t parent, std::string_view name, bool communication);

  // Takes over what `other` has; gives for each of its indices the one here.
  struct Renumbering {
    Words strings, paths;
  };
  Renumbering absorb(const Names &other);

  [[nodiscard]] std::string pack() const;
  static Names unpack(std::string_view packed);

private:
  std::unordered_map<std::string, std::uint64_t> string_places_;
  std::map<std::pair<std::int64_t, std::uint64_t>, std::uint64_t> path_places_;
};

// All that one process, or a part of the tree of processes, has to say.
struct Contents {
  Names names;
  std::vector<Table> tables;
  std::vector<TraceTimes> times; // of traces: rows of two of the tables, which are made last

  Contents();
  Table &operator[](TableId id) { return tables[static_cast<unsigned>(id)]; }
  template <class Row> void append(const Row &row) { (*this)[Row::table].add(row); }
  // Adds another's: names, then rows, with equal keys put together.
  void absorb(const Contents &other);
  void compact();
};

} // namespace haloscope::watch
