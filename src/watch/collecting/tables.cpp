#include "watch/collecting/tables.hpp"

#include "watch/collecting/columns.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace haloscope::watch {

const Schema &schema_of(TableId id) noexcept { return schemas[static_cast<unsigned>(id)]; }

std::uint64_t word(double value) noexcept { return std::bit_cast<std::uint64_t>(value); }

namespace {

double number(std::uint64_t value) noexcept { return std::bit_cast<double>(value); }

std::uint64_t merge_values(const Column &column, std::uint64_t a, std::uint64_t b) noexcept {
  if (column.type == Type::real)
    return word(column.merge == Merge::sum ? number(a) + number(b) : std::max(number(a), number(b)));
  return column.merge == Merge::sum ? a + b : std::max(a, b);
}

} // namespace

void Table::add_words(TableId of, std::span<const std::uint64_t> row) {
  if (&schema_of(of) != schema_ || row.size() != columns_.size()) throw std::logic_error(schema_->name);
  for (std::size_t i = 0; i < row.size(); i++) columns_[i].push_back(row[i]);
}

void Table::compact() {
  std::vector<const Words *> keys;
  for (std::size_t i = 0; i < columns_.size(); i++)
    if (schema_->columns[i].merge == Merge::key) keys.push_back(&columns_[i]);
  if (keys.size() == columns_.size()) return;
  std::vector<std::size_t> order(rows());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto compare = [&](std::size_t a, std::size_t b) {
    for (const Words *key : keys)
      if ((*key)[a] != (*key)[b]) return (*key)[a] < (*key)[b];
    return false;
  };
  if (!std::ranges::is_sorted(order, compare)) std::ranges::stable_sort(order, compare);

  std::vector<Words> result(columns_.size());
  for (auto &column : result) column.reserve(rows());
  for (std::size_t k = 0; k < order.size(); k++) {
    const bool same = k > 0 && !compare(order[k - 1], order[k]);
    for (std::size_t i = 0; i < columns_.size(); i++) {
      const std::uint64_t value = columns_[i][order[k]];
      if (!same)
        result[i].push_back(value);
      else if (schema_->columns[i].merge != Merge::key)
        result[i].back() = merge_values(schema_->columns[i], result[i].back(), value);
    }
  }
  columns_ = std::move(result);
}

void Table::clear() noexcept {
  for (auto &column : columns_) column.clear();
}

void Table::append(const Table &other) {
  for (std::size_t i = 0; i < columns_.size(); i++)
    columns_[i].insert(columns_[i].end(), other.columns_[i].begin(), other.columns_[i].end());
}

void Table::renumber(std::span<const std::uint64_t> strings, std::span<const std::uint64_t> paths) {
  for (std::size_t i = 0; i < columns_.size(); i++) {
    const Column &column = schema_->columns[i];
    if (!column.path && column.type != Type::string) continue;
    const auto &numbers = column.path ? paths : strings;
    for (auto &value : columns_[i]) value = numbers[value];
  }
}

Words Table::write(std::size_t first, std::size_t rows) const {
  Words words;
  words.reserve(rows * columns_.size());
  for (const auto &column : columns_) {
    const auto part = std::span{column}.subspan(first, rows);
    words.insert(words.end(), part.begin(), part.end());
  }
  return words;
}

void Table::read(std::span<const std::uint64_t> words, std::size_t rows) {
  for (std::size_t i = 0; i < columns_.size(); i++) {
    const auto part = words.subspan(i * rows, rows);
    columns_[i].insert(columns_[i].end(), part.begin(), part.end());
  }
}

std::uint64_t Names::string(std::string_view text) {
  const auto [place, fresh] = string_places_.emplace(text, strings.size());
  if (fresh) strings.emplace_back(text);
  return place->second;
}

std::uint64_t Names::path(std::int64_t parent, std::string_view name, bool communication) {
  const std::uint64_t text = string(name);
  const auto [place, fresh] = path_places_.emplace(std::pair{parent, text}, paths.size());
  if (fresh) paths.push_back({parent, text, communication});
  paths[place->second].communication |= communication;
  return place->second;
}

Names::Renumbering Names::absorb(const Names &other) {
  Renumbering numbers;
  for (const auto &text : other.strings) numbers.strings.push_back(string(text));
  for (const auto &[parent, name, communication] : other.paths) { // parents come first
    const std::int64_t here =
        parent < 0 ? -1 : static_cast<std::int64_t>(numbers.paths.at(static_cast<std::size_t>(parent)));
    numbers.paths.push_back(path(here, other.strings.at(name), communication));
  }
  return numbers;
}

namespace {

void put(std::string &to, std::uint64_t value) {
  to.append(reinterpret_cast<const char *>(&value), sizeof value);
}

std::uint64_t take(std::string_view &from) {
  std::uint64_t value = 0;
  if (from.size() < sizeof value) throw std::length_error("names");
  from.copy(reinterpret_cast<char *>(&value), sizeof value);
  from.remove_prefix(sizeof value);
  return value;
}

} // namespace

std::string Names::pack() const {
  std::string packed;
  put(packed, strings.size());
  for (const auto &text : strings) {
    put(packed, text.size());
    packed += text;
  }
  put(packed, paths.size());
  for (const auto &path : paths) {
    put(packed, static_cast<std::uint64_t>(path.parent));
    put(packed, path.name);
    put(packed, path.communication ? 1 : 0);
  }
  return packed;
}

Names Names::unpack(std::string_view packed) {
  Names names;
  for (std::uint64_t left = take(packed); left > 0; left--) {
    const std::uint64_t length = take(packed);
    names.string(packed.substr(0, length));
    packed.remove_prefix(length);
  }
  for (std::uint64_t left = take(packed); left > 0; left--) {
    const auto parent = static_cast<std::int64_t>(take(packed));
    const std::uint64_t name = take(packed);
    names.path(parent, names.strings.at(name), take(packed) != 0);
  }
  return names;
}

Contents::Contents() {
  for (unsigned i = 0; i < table_count; i++) tables.emplace_back(static_cast<TableId>(i));
}

void Contents::absorb(const Contents &other) {
  const Names::Renumbering numbers = names.absorb(other.names);
  for (unsigned i = 0; i < table_count; i++) {
    Table rows = other.tables[i];
    rows.renumber(numbers.strings, numbers.paths);
    tables[i].append(rows);
  }
  times.insert(times.end(), other.times.begin(), other.times.end());
}

void Contents::compact() {
  for (auto &table : tables) table.compact();
}

} // namespace haloscope::watch
