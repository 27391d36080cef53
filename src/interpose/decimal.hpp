// Numbers as text, and back, alike in all locales: the program may have chosen one with a decimal comma.
// tools/structure.py refuses printf, strtod and others for such numbers in what a program loads.
#pragma once

#include <array>
#include <charconv>
#include <string>
#include <string_view>

namespace haloscope::interpose {

// As "%.*g" in the locale "C", or with `std::chars_format::fixed` as "%.*f".
inline std::string decimal_text(double value, int digits,
                                std::chars_format form = std::chars_format::general) {
  std::array<char, 400> text{}; // the largest number has 309 digits before its point
  auto *const end = std::to_chars(text.data(), text.data() + text.size(), value, form, digits).ptr;
  return {text.data(), end};
}

// The whole text as a number; false if it is none.
inline bool read_decimal(std::string_view text, double &value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

// With the fewest digits, 15 or 17, that identify the value.
inline std::string exact_text(double value) {
  std::string text = decimal_text(value, 15);
  double back = 0;
  return read_decimal(text, back) && back == value ? text : decimal_text(value, 17);
}

} // namespace haloscope::interpose
