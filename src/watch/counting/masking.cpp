#include "watch/counting/masking.hpp"

#include "interpose/letters.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace haloscope::watch {

namespace {

constexpr std::string_view mask = "***";
constexpr unsigned deepest_quotes = 8;

using interpose::is_letter_or_digit;
using interpose::is_space;

bool is_one_of(char c, std::string_view those) { return those.find(c) != std::string_view::npos; }

std::string lower(std::string_view text) {
  std::string result{text};
  std::ranges::transform(result, result.begin(), interpose::to_lower);
  return result;
}

// my_token2, authToken, TOKEN; not tokens, tokenizer
bool says_token(std::string_view name) {
  std::string part;
  const auto is_token = [&] {
    while (!part.empty() && interpose::is_digit(part.back())) part.pop_back();
    return part.ends_with("token") || part == "sshpass" || part == "jwt";
  };
  for (const char c : name) {
    if (is_letter_or_digit(c)) {
      part += interpose::to_lower(c);
      continue;
    }
    if (is_token()) return true;
    part.clear();
  }
  return is_token();
}

bool is_secret(std::string_view name) {
  constexpr std::array<std::string_view, 8> words{"password", "passwd",    "passphrase", "secret",
                                                  "apikey",   "accesskey", "privatekey", "credential"};
  std::string flat;
  std::ranges::copy_if(lower(name), std::back_inserter(flat), is_letter_or_digit);
  return flat == "pass" || flat == "auth" || says_token(name) ||
         std::ranges::any_of(words, [&](auto word) { return flat.find(word) != std::string::npos; });
}

// The name before a separator: of letters, digits, `_`, `.` and `-`, perhaps in quotation marks.
std::string_view name_before(std::string_view text, std::size_t separator) {
  std::size_t end = separator;
  while (end > 0 && (text[end - 1] == '"' || text[end - 1] == '\'')) end--;
  std::size_t begin = end;
  while (begin > 0 && (is_letter_or_digit(text[begin - 1]) || is_one_of(text[begin - 1], "_.-"))) begin--;
  return text.substr(begin, end - begin);
}

// Returns the begin of the value after a secret's name; npos: none. std::token::x is itself a name.
std::size_t find_value(std::string_view word) {
  for (std::size_t i = 1; i < word.size(); i++) {
    const bool separates =
        word[i] == '=' || (word[i] == ':' && word[i - 1] != ':' && !word.substr(i).starts_with("::"));
    if (separates && is_secret(name_before(word, i))) return i + 1;
  }
  return std::string_view::npos;
}

// user:password@host, with or without a scheme; a password may hold anything but blanks.
std::string without_login(std::string_view word) {
  const std::size_t scheme = word.find("://");
  const std::size_t begin = scheme == std::string_view::npos ? 0 : scheme + 3;
  const std::size_t colon = word.find(':', begin), at = word.rfind('@');
  if (colon == std::string_view::npos || at == std::string_view::npos || at <= colon + 1)
    return std::string{word};
  return std::string{word.substr(0, colon + 1)} + std::string{mask} + std::string{word.substr(at)};
}

struct Word {
  std::string_view raw;
  std::string content; // without quotation marks and backslashes
};

// The next word from `at` on, as a shell divides them; a quotation without an end goes to the end.
Word next_word(std::string_view text, std::size_t at) {
  Word word;
  char quote = '\0';
  std::size_t i = at;
  for (; i < text.size() && (quote != '\0' || !is_space(text[i])); i++) {
    if (text[i] == quote)
      quote = '\0';
    else if (quote == '\0' && (text[i] == '\'' || text[i] == '"'))
      quote = text[i];
    else if (text[i] == '\\' && quote != '\'' && i + 1 < text.size())
      word.content += text[++i];
    else
      word.content += text[i];
  }
  word.raw = text.substr(at, i - at);
  return word;
}

std::string masked_words(std::string_view text, unsigned depth);

// --auth-token, not --url=https://secret.org
bool asks_for_secret(std::string_view option) {
  const auto is_of_name = [](char c) { return is_letter_or_digit(c) || is_one_of(c, "_.-"); };
  return option.starts_with('-') && std::ranges::all_of(option, is_of_name) && is_secret(option);
}

bool is_command(std::string_view content) { return std::ranges::any_of(content, is_space); }

// Masks the secrets inside one word. `wanted`: the next word is a secret.
std::string masked_content(const std::string &content, unsigned depth, bool &wanted) {
  const std::size_t value = find_value(content);
  // `--password='my own'` is one value; `sh -c 'app --password x'` is a command line of its own.
  const bool is_value = value != std::string::npos && !is_command(content.substr(0, value));
  if (!is_value && is_command(content) && depth < deepest_quotes) return masked_words(content, depth + 1);
  std::string known = without_login(content.substr(0, value));
  if (!is_value) return known;
  wanted = value == content.size() && content.back() == ':';
  return known + (value == content.size() ? "" : std::string{mask});
}

std::string masked_word(const Word &word, unsigned depth, bool &wanted) {
  const bool is_option = word.content.starts_with('-');
  const bool is_secret_itself = wanted && !is_option;
  const std::string text = lower(word.content);
  wanted = !is_secret_itself && (text == "bearer" || text == "basic" || asks_for_secret(text));
  if (is_secret_itself) return std::string{mask};
  const std::string now = masked_content(word.content, depth, wanted);
  return now == word.content ? std::string{word.raw} : quoted_word(now);
}

std::string masked_words(std::string_view text, unsigned depth) {
  std::string result;
  bool wanted = false;
  for (std::size_t at = 0; at < text.size();) {
    if (is_space(text[at])) {
      result += text[at++];
      continue;
    }
    const Word word = next_word(text, at);
    result += masked_word(word, depth, wanted);
    at += word.raw.size();
  }
  return result;
}

} // namespace

std::string quoted_word(std::string_view word) {
  const auto is_plain = [](char c) { return is_letter_or_digit(c) || is_one_of(c, "_@%+=:,./-*"); };
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return std::string{word};
  std::string result = "'";
  for (const char c : word) result += c == '\'' ? std::string{"'\"'\"'"} : std::string{c};
  return result + "'";
}

std::string mask_secrets(std::string_view text) { return masked_words(text, 0); }

std::string mask_secrets(std::string_view name, std::string_view value) {
  return is_secret(name) ? std::string{mask} : mask_secrets(value);
}

} // namespace haloscope::watch
