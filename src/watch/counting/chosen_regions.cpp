#include "watch/counting/chosen_regions.hpp"

#include <algorithm>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

namespace haloscope::watch {

namespace {

using RegionNames = std::vector<std::string>;
RegionNames &series_regions() {
  static RegionNames regions;
  return regions;
}
RegionNames &only_regions() {
  static RegionNames regions;
  return regions;
}

void add_lines(RegionNames &to, std::string_view rest) {
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (end > 0) to.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

bool take_suffix(std::string_view &text, char last) noexcept {
  if (!text.ends_with(last)) return false;
  text.remove_suffix(1);
  return true;
}

// Removes a name from the end of a path (docs/format.md). There, a backslash precedes each / and backslash.
// One also precedes <program>, which is the name of the root only.
bool take_name(std::string_view &path, const Node &node) noexcept {
  const std::string_view name{node.name};
  for (const char c : std::views::reverse(name))
    if (!take_suffix(path, c) || ((c == '/' || c == '\\') && !take_suffix(path, '\\'))) return false;
  return node.parent == nullptr || name != root_name || take_suffix(path, '\\');
}

// `wanted`: a path, or the end of one.
bool is_path_of(std::string_view wanted, const Node &node) noexcept {
  if (!take_name(wanted, node)) return false;
  if (wanted.empty()) return true;
  return node.parent != nullptr && take_suffix(wanted, '/') && is_path_of(wanted, *node.parent);
}

// A name may also be given as the program has it.
bool is_one_of(const RegionNames &names, const Node &node) noexcept {
  return std::ranges::any_of(
      names, [&](const std::string &wanted) { return wanted == node.name || is_path_of(wanted, node); });
}

} // namespace

void set_series(const char *regions) noexcept { add_lines(series_regions(), regions); }
void set_only(const char *regions) noexcept { add_lines(only_regions(), regions); }
bool counts_outside() noexcept { return only_regions().empty(); }

bool keeps_series(const Node &node) noexcept { return is_one_of(series_regions(), node); }
bool is_only(const Node &node) noexcept { return is_one_of(only_regions(), node); }

} // namespace haloscope::watch
