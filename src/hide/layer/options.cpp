#include "hide/layer/options.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace haloscope::stencil::layer {

namespace {

std::string_view variable(const char *name) {
  const char *text = std::getenv(name); // NOLINT(concurrency-mt-unsafe)
  return text == nullptr ? std::string_view{} : text;
}

[[noreturn]] void refuse(const char *name, const char *wanted) {
  throw std::invalid_argument{std::string{name} + ": \"" + std::string{variable(name)} + "\" is not " +
                              wanted};
}

template <class Number> Number number(const char *name, Number otherwise, Number least, const char *wanted) {
  const std::string_view text = variable(name);
  if (text.empty()) return otherwise;
  Number found{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), found);
  if (error != std::errc{} || end != text.data() + text.size() || !(found >= least)) refuse(name, wanted);
  return found;
}

template <class Word, std::size_t count>
Word word(const char *name, Word otherwise, const std::array<std::pair<const char *, Word>, count> &words,
          const char *wanted) {
  const std::string_view text = variable(name);
  if (text.empty()) return otherwise;
  for (const auto &[spelling, meaning] : words)
    if (text == spelling) return meaning;
  refuse(name, wanted);
}

} // namespace

Options read_options() {
  constexpr std::size_t shortest = 1024; // longer than any token
  Options options;
  options.threshold =
      number(threshold_variable, options.threshold, shortest, "a number of bytes, 1024 or more");
  options.chunk =
      number("HALOSCOPE_STENCIL_CHUNK", options.chunk, shortest, "a number of bytes, 1024 or more");
  options.pool = number("HALOSCOPE_STENCIL_POOL", options.pool >> 20U, std::size_t{0}, "a number of MiB")
                 << 20U;
  const double patience = number("HALOSCOPE_STENCIL_PATIENCE", static_cast<double>(options.patience) * 1e-9,
                                 0.0, "a time in seconds");
  options.patience = std::isfinite(patience) && patience < 1e9 ? static_cast<Moment>(patience * 1e9)
                                                               : Moment{1'000'000'000'000'000'000};
  options.protocol = word("HALOSCOPE_STENCIL_PROTOCOL", options.protocol,
                          std::to_array<std::pair<const char *, Choice>>({{"dynamic", Choice::dynamic},
                                                                          {"get", Choice::get},
                                                                          {"coop", Choice::coop},
                                                                          {"steal", Choice::steal},
                                                                          {"static", Choice::fixed},
                                                                          {"off", Choice::off}}),
                          "dynamic, get, coop, steal, static or off");
  options.attach =
      word("HALOSCOPE_STENCIL_CMA", options.attach,
           std::to_array<std::pair<const char *, Attach>>(
               {{"auto", Attach::as_needed}, {"always", Attach::always}, {"never", Attach::never}}),
           "auto, always or never");
  options.record = variable("HALOSCOPE_STENCIL_RECORD");
  return options;
}

} // namespace haloscope::stencil::layer
