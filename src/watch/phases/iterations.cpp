#include "watch/phases/iterations.hpp"

#include <algorithm>
#include <map>
#include <ranges>

namespace haloscope::watch {

namespace {

class Completion {
public:
  Completion(Pattern &pattern, const Stretches &functions, std::span<const Seen> calls)
      : pattern_(pattern), functions_(functions), calls_(calls), typical_(pattern.forms.front().length),
        like_{pattern.example - typical_, pattern.example} {}

  void run() {
    find_forms();
    std::vector<std::size_t> begins{pattern_.ends.front() + 1};
    while (const std::size_t length = form_before(begins.back())) {
      // A program's start exchanges as it does now and then; what makes the difference are collectives.
      if (pattern_.view == View::exchanges && length != typical_) break;
      begins.push_back(begins.back() - length);
    }
    for (const std::size_t begin : std::views::reverse(begins)) ends_.push_back(begin);
    for (std::size_t i = 1; i < pattern_.ends.size(); i++) add_between(ends_.back(), pattern_.ends[i] + 1);
    while (const std::size_t length = form_behind(ends_.back(), calls_.size()))
      ends_.push_back(ends_.back() + length);
    // Each end becomes the index of the last call. A sequence that begins with an iteration has no call
    // before it. That first iteration is recognised by its remaining calls (phases.cpp).
    std::erase(ends_, 0U);
    for (std::size_t &end : ends_) end--;
    pattern_.ends = std::move(ends_);
  }

private:
  bool is_form(std::size_t begin, std::size_t end) const {
    const auto found = forms_.find(end - begin);
    return found != forms_.end() && std::ranges::count(found->second, functions_(begin, end)) > 0;
  }
  // The length of the shortest form that lies there; 0: none does.
  std::size_t form_before(std::size_t end) const {
    for (const auto &[length, hashes] : forms_)
      if (length <= end && is_form(end - length, end)) return length;
    return 0;
  }
  std::size_t form_behind(std::size_t begin, std::size_t end) const {
    for (const auto &[length, hashes] : forms_)
      if (begin + length <= end && is_form(begin, begin + length)) return length;
    return 0;
  }

  // Whole iterations that occurred more than once, unless shorter ones make them up.
  void find_forms() {
    std::map<Form, std::pair<std::size_t, std::size_t>> seen; // how often, where
    for (std::size_t i = 1; i < pattern_.ends.size(); i++) {
      const std::size_t begin = pattern_.ends[i - 1] + 1, end = pattern_.ends[i] + 1;
      if (end - begin > 4 * typical_ + 64) continue;
      auto &[times, place] = seen[{end - begin, functions_(begin, end)}];
      times++;
      place = begin;
    }
    forms_[typical_].push_back(pattern_.forms.front().functions);
    for (const auto &[form, at] : seen) {
      const auto &[times, begin] = at;
      if (times < 2 || form == pattern_.forms.front() || !is_whole(begin, begin + form.length) ||
          is_made_up(begin, begin + form.length))
        continue;
      forms_[form.length].push_back(form.functions);
      pattern_.forms.push_back(form);
    }
  }

  bool is_made_up(std::size_t begin, std::size_t end) const {
    std::vector<bool> reached(end - begin + 1);
    reached[0] = true;
    for (std::size_t at = begin; at < end; at++)
      if (reached[at - begin])
        for (const auto &[length, hashes] : forms_)
          if (at + length <= end && is_form(at, at + length)) reached[at + length - begin] = true;
    return reached.back();
  }

  // Whether most calls of the iteration `like_` are there.
  bool is_whole(std::size_t begin, std::size_t end) const {
    std::map<std::uint16_t, std::size_t> left;
    for (std::size_t i = like_.first; i < like_.second; i++) left[calls_[i].function]++;
    std::size_t found = 0;
    for (std::size_t i = begin; i < end; i++)
      if (const auto at = left.find(calls_[i].function); at != left.end() && at->second > 0) {
        at->second--;
        found++;
      }
    return 4 * found >= 3 * (like_.second - like_.first);
  }

  void add_between(std::size_t begin, std::size_t end) {
    if (end <= begin) return;
    if (is_form(begin, end))
      like_ = {begin, end};
    else if (!is_whole(begin, end))
      return; // what is done now and then, before the next iteration
    else if (end - begin > like_.second - like_.first)
      divide(begin, end);
    ends_.push_back(end);
  }

  // Places known forms from the begin on, and up to the end. Unknown calls in between belong to the next
  // iteration.
  void divide(std::size_t begin, std::size_t end) {
    std::vector<std::size_t> step(end - begin + 1); // of the form that leads on to the end; 0: none does
    for (std::size_t at = end; at-- > begin;)
      for (const auto &[length, hashes] : forms_)
        if (at + length <= end && (at + length == end || step[at + length - begin] > 0) &&
            is_form(at, at + length)) {
          step[at - begin] = length;
          break;
        }
    std::size_t at = begin;
    while (step[at - begin] == 0) {
      const std::size_t length = form_behind(at, end - 1);
      if (length == 0) break;
      ends_.push_back(at += length);
    }
    const bool is_known = step[at - begin] > 0;
    while (at < end && step[at - begin] == 0) at++;
    if (at < end && !is_known) at += step[at - begin], add_inner(at, end);
    while (at < end) at += step[at - begin], add_inner(at, end);
  }
  void add_inner(std::size_t at, std::size_t end) {
    if (at < end) ends_.push_back(at);
  }

  Pattern &pattern_;
  const Stretches &functions_;
  std::span<const Seen> calls_;
  std::size_t typical_;
  std::pair<std::size_t, std::size_t> like_;                // the form met last
  std::map<std::size_t, std::vector<std::uint64_t>> forms_; // by length
  std::vector<std::size_t> ends_;                           // one behind the last calls
};

} // namespace

void complete_pattern(Pattern &pattern, const Stretches &functions, std::span<const Seen> calls) {
  Completion(pattern, functions, calls).run();
}

} // namespace haloscope::watch
