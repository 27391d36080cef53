#include "watch/collecting/site_rows.hpp"

#include "watch/collecting/rows.hpp"

#include <array>
#include <cstdio>

namespace haloscope::watch {

namespace {

std::uint32_t short_hash(std::string_view text) noexcept {
  std::uint32_t hash = 0x811C'9DC5U; // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x0100'0193U;
  return hash;
}

std::string hexadecimal(const char *format, unsigned long number) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), format, number);
  return text.data();
}

} // namespace

void SiteRows::add(std::uint64_t path, const Node &node, const SettledTimes &times) {
  for (const Site *site = valid(node.sites); site != nullptr; site = valid(site->next)) {
    const Stack *stack = valid(site->stack);
    const auto function = static_cast<unsigned>(site->function);
    if (stack == nullptr || function >= function_count || site->sums.calls == 0) continue;
    Sum &sum = sums_[{path, text_of(*stack), function}];
    sum.calls += site->sums.calls;
    sum.bytes += site->sums.bytes;
    sum.ticks += static_cast<double>(site->sums.ticks) + times.ticks(site->estimated);
    sum.longest = std::max(sum.longest, site->sums.longest);
  }
}

void SiteRows::finish() {
  for (const auto &[key, sum] : sums_) {
    const auto &[path, stack, function] = key;
    const double seconds = sum.ticks * tick_;
    contents_.append(rows::Sites{.path = path,
                                 .stack = contents_.names.text(stack),
                                 .call = contents_.names.text(function_names[function]),
                                 .ranks = 1,
                                 .calls = sum.calls,
                                 .bytes = sum.bytes,
                                 .time_total = seconds,
                                 .time_squares = seconds * seconds,
                                 .time_max = static_cast<double>(sum.longest) * tick_});
  }
}

const std::string &SiteRows::text_of(const Stack &stack) {
  const auto known = stacks_.find(&stack);
  return known != stacks_.end() ? known->second : stacks_[&stack] = lines_of(stack);
}

// Innermost frame first: docs/format.md.
std::string SiteRows::lines_of(const Stack &stack) {
  std::string lines;
  const Frame *frames = valid(stack.frames, std::min(stack.count, deepest_stack + 1));
  for (unsigned i = 0; frames != nullptr && i < std::min(stack.count, deepest_stack + 1); i++) {
    const Module *module = valid(frames[i].module);
    if (!lines.empty()) lines += '\n';
    lines += (module == nullptr ? "?" : key_of(*module)) + hexadecimal("+%lx", frames[i].offset);
  }
  if (stack.interpreter != nullptr) {
    if (!lines.empty()) lines += '\n';
    lines += text(stack.interpreter);
  }
  return lines;
}

std::string SiteRows::key_of(const Module &module) {
  const auto known = modules_.find(&module);
  if (known != modules_.end()) return known->second;
  const std::string path{text(module.path)};
  const std::string build{module.build.data(), strnlen(module.build.data(), module.build.size())};
  const std::string key = hexadecimal("%08lx", short_hash(path + '\n' + build));
  contents_.append(rows::Modules{.module = contents_.names.text(key),
                                 .file = contents_.names.text(path),
                                 .build = contents_.names.text(build),
                                 .is_program = static_cast<bool>(module.is_program)});
  return modules_[&module] = key;
}

} // namespace haloscope::watch
