#include "watch/trace/repeats.hpp"

namespace haloscope::watch::trace {

namespace {

constexpr std::uint64_t base = 0x9E37'79B9'7F4A'7C15U;

} // namespace

// Places of `hash`: from `first`, up to `last` without it.
std::uint64_t Repeats::hash(std::size_t first, std::size_t last) const noexcept {
  const std::uint64_t before = first == 0 ? 0 : items_[first - 1].hash;
  return items_[last - 1].hash - before * powers_[last - first];
}

bool Repeats::are_equal(std::size_t first, std::size_t second, std::size_t length) const noexcept {
  for (std::size_t i = 0; i < length; i++)
    if (items_[first + i].item != items_[second + i].item) return false;
  return true;
}

void Repeats::push(Item item) {
  if (items_.size() == size_) {
    items_.resize(size_ == 0 ? 64 : 2 * size_);
    due_.resize(items_.size() + 1, -1);
    while (powers_.size() <= items_.size()) powers_.push_back(powers_.back() * base);
  }
  const std::uint64_t before = size_ == 0 ? 0 : items_[size_ - 1].hash;
  const auto [place, fresh] = latest_.try_emplace(item, -1);
  items_[size_] = {item, before * base + HashOfItem{}(item) + 1, place->second};
  place->second = static_cast<std::ptrdiff_t>(size_++);
  if ((item.id & 1U) == 0) return;
  const std::size_t due = size_ + rules_[item.id >> 1U].size();
  if (due >= due_.size()) due_.resize(due + 1, -1);
  due_[due] = static_cast<std::ptrdiff_t>(size_ - 1);
}

void Repeats::pop() {
  const Place &last = items_[--size_];
  if (last.before < 0)
    latest_.erase(last.item);
  else
    latest_[last.item] = last.before;
}

void Repeats::append(std::uint32_t symbol) {
  symbols_++;
  const Id id = symbol << 1U;
  if (size_ > 0 && items_[size_ - 1].item.id == id) {
    const std::uint64_t count = items_[size_ - 1].item.count;
    pop();
    push({id, count + 1});
    return;
  }
  // The run that was last has its length only now.
  finish_last();
  push({id, 1});
}

void Repeats::finish_last() {
  while (size_ > 0 && (extend_rule() || find_repetition())) {
  }
}

// Whether the last items are those of the rule before them, which then comes once more.
bool Repeats::extend_rule() {
  const std::ptrdiff_t place = size_ < due_.size() ? due_[size_] : -1;
  if (place < 0 || static_cast<std::size_t>(place) >= size_) return false;
  const auto at = static_cast<std::size_t>(place);
  const Item rule = items_[at].item;
  if ((rule.id & 1U) == 0) return false;
  const std::vector<Item> &body = rules_[rule.id >> 1U];
  if (at + 1 + body.size() != size_ || hash(at + 1, size_) != rule_hashes_[rule.id >> 1U]) return false;
  for (std::size_t i = 0; i < body.size(); i++)
    if (items_[at + 1 + i].item != body[i]) return false;
  for (std::size_t i = 0; i <= body.size(); i++) pop();
  push({rule.id, rule.count + 1});
  return true;
}

// Whether the last items came just before as well: both become a rule.
bool Repeats::find_repetition() {
  const auto last = static_cast<std::ptrdiff_t>(size_ - 1);
  std::ptrdiff_t place = items_[size_ - 1].before;
  for (unsigned i = 0; i < candidates && place >= 0;
       i++, place = items_[static_cast<std::size_t>(place)].before) {
    const auto length = static_cast<std::size_t>(last - place);
    if (2 * length > size_) return false;
    if (hash(size_ - length, size_) != hash(size_ - 2 * length, size_ - length)) continue;
    if (!are_equal(size_ - length, size_ - 2 * length, length)) continue;
    const Id id = rule_of(size_ - length, length);
    for (std::size_t k = 0; k < 2 * length; k++) pop();
    if (size_ > 0 && items_[size_ - 1].item.id == id) { // it stood there already
      const std::uint64_t count = items_[size_ - 1].item.count;
      pop();
      push({id, count + 2});
    } else {
      push({id, 2});
    }
    return true;
  }
  return false;
}

Repeats::Id Repeats::rule_of(std::size_t first, std::size_t length) {
  std::vector<Item> body;
  body.reserve(length);
  for (std::size_t i = 0; i < length; i++) body.push_back(items_[first + i].item);
  const std::uint64_t its_hash = hash(first, first + length);
  const auto found = rule_places_.find(its_hash);
  if (found != rule_places_.end() && rules_[found->second] == body) return found->second << 1U | 1U;
  const auto number = static_cast<Id>(rules_.size());
  kept_ += body.size();
  rules_.push_back(std::move(body));
  rule_hashes_.push_back(its_hash);
  rule_places_[its_hash] = number;
  return number << 1U | 1U;
}

// As deep as rules are nested: each is longer than those in it.
void Repeats::expand(const Item &item, std::vector<std::uint32_t> &to) const {
  for (std::uint64_t i = 0; i < item.count; i++)
    if ((item.id & 1U) == 0)
      to.push_back(item.id >> 1U);
    else
      for (const Item &inner : rules_[item.id >> 1U]) expand(inner, to);
}

std::vector<std::uint32_t> Repeats::expanded() const {
  std::vector<std::uint32_t> sequence;
  sequence.reserve(symbols_);
  for (std::size_t i = 0; i < size_; i++) expand(items_[i].item, sequence);
  return sequence;
}

Bytes Repeats::pack() const {
  Repeats whole = *this; // with its last run finished
  whole.finish_last();
  Bytes bytes;
  put_number(bytes, whole.rules_.size());
  const auto put = [&](const Item &item) {
    put_number(bytes, item.id);
    put_number(bytes, item.count);
  };
  for (const auto &body : whole.rules_) {
    put_number(bytes, body.size());
    for (const Item &item : body) put(item);
  }
  put_number(bytes, whole.size_);
  for (std::size_t i = 0; i < whole.size_; i++) put(whole.items_[i].item);
  return bytes;
}

} // namespace haloscope::watch::trace
