// Kinds of characters, alike in all locales: a Turkish one does not make "id" of "ID".
// tools/structure.py refuses isalnum, tolower and others in what a program loads.
#pragma once

namespace haloscope::interpose {

constexpr bool is_space(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

constexpr bool is_upper(char c) noexcept { return c >= 'A' && c <= 'Z'; }

constexpr char to_lower(char c) noexcept { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr bool is_letter_or_digit(char c) noexcept {
  return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z');
}

} // namespace haloscope::interpose
