// A sequence stored by its repetitions. An item is a symbol or a rule, repeated a number of times in a row. A
// rule is a list of items. A part that comes twice in a row becomes a rule at once. So a program that
// iterates keeps a sequence of constant length.
#pragma once

#include "watch/trace/packing.hpp"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace haloscope::watch::trace {

class Repeats {
public:
  // The limit for items in the sequence and in rules. Beyond it, a new segment begins.
  static constexpr std::size_t most = std::size_t{1} << 20U;

  void append(std::uint32_t symbol);
  [[nodiscard]] bool is_full() const noexcept { return size_ + kept_ >= most; }
  [[nodiscard]] std::uint64_t symbols() const noexcept { return symbols_; }
  // Items in the sequence and in rules, which `pack` writes.
  [[nodiscard]] std::size_t items() const noexcept { return size_ + kept_; }
  // Packs the number of rules, then each rule, and last the sequence. Each has its number of items, then the
  // id and the count of each item. Ids of symbols are even: 2 * number. Ids of rules are odd: 2 * number + 1,
  // and refer to earlier rules.
  [[nodiscard]] Bytes pack() const;
  // The sequence itself.
  [[nodiscard]] std::vector<std::uint32_t> expanded() const;

private:
  using Id = std::uint32_t; // as packed
  struct Item {
    Id id;
    std::uint64_t count;
    bool operator==(const Item &) const = default;
  };
  struct Place {
    Item item;
    std::uint64_t hash;    // of all items up to this one
    std::ptrdiff_t before; // where the same item was last; -1: nowhere
  };
  static constexpr unsigned candidates = 48; // places that are looked at for where a repetition began

  void push(Item item);
  void pop();
  void finish_last();
  bool extend_rule();
  bool find_repetition();
  Id rule_of(std::size_t first, std::size_t length);
  void expand(const Item &item, std::vector<std::uint32_t> &to) const;
  [[nodiscard]] std::uint64_t hash(std::size_t first, std::size_t last) const noexcept;
  [[nodiscard]] bool are_equal(std::size_t first, std::size_t second, std::size_t length) const noexcept;

  struct HashOfItem {
    std::size_t operator()(const Item &item) const noexcept {
      const std::uint64_t mixed = (item.id * 0x9E37'79B9'7F4A'7C15U) ^ (item.count * 0xC2B2'AE3D'27D4'EB4FU);
      return mixed ^ mixed >> 29U;
    }
  };

  std::vector<Place> items_; // the first size_ count
  std::size_t size_ = 0, kept_ = 0;
  std::uint64_t symbols_ = 0;
  std::vector<std::uint64_t> powers_{1};
  std::unordered_map<Item, std::ptrdiff_t, HashOfItem> latest_;
  std::vector<std::vector<Item>> rules_;
  std::vector<std::uint64_t> rule_hashes_;
  std::unordered_map<std::uint64_t, Id> rule_places_;
  std::vector<std::ptrdiff_t> due_; // by size: the rule whose body may stand behind it then; -1: none
};

} // namespace haloscope::watch::trace
