#include "watch/collecting/json_text.hpp"
#include "interpose/decimal.hpp"

#include <array>
#include <cstdio>

namespace haloscope::watch {

namespace {

// JSON text is UTF-8: a byte of a name that is not part of a character becomes U+FFFD.
std::size_t character_length(std::string_view rest) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(rest[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  if (length > rest.size()) return 0;
  for (std::size_t i = 1; i < length; i++)
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  if (length > 2) { // overlong forms, surrogates, beyond U+10FFFF
    const unsigned second = byte(1);
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
        (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F))
      return 0;
  }
  return length;
}

struct JsonText {
  std::string operator()(const Value &value) const { return std::visit(*this, value.content); }
  std::string operator()(const std::string &text) const { return quote_json(text); }
  std::string operator()(double number) const { return interpose::decimal_text(number, 17); }
  std::string operator()(std::int64_t number) const { return std::to_string(number); }
  std::string operator()(bool truth) const { return truth ? "true" : "false"; }
  std::string operator()(const Info &entries) const {
    std::string json;
    for (const auto &[key, entry] : entries)
      json += (json.empty() ? "" : ",") + quote_json(key) + ":" + (*this)(entry);
    return "{" + json + "}";
  }
  template <class Item> std::string operator()(const std::vector<Item> &list) const {
    std::string json;
    for (const auto &item : list) json += (json.empty() ? "" : ",") + (*this)(item);
    return "[" + json + "]";
  }
};

} // namespace

std::string quote_json(std::string_view text) {
  std::string json = "\"";
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    if (length == 0) {
      json += "\\ufffd";
    } else if (first < 0x20) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", first);
      json += escape.data();
    } else if (first == '"' || first == '\\') {
      json += '\\';
      json += text[0];
    } else {
      json += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return json + "\"";
}

std::string json_of(const Info &info) { return JsonText{}(info); }

} // namespace haloscope::watch
