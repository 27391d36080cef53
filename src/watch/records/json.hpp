// JSON on a stream, as it comes. Text may hold any bytes: those that are no UTF-8 are left to the reader.
#pragma once

#include "interpose/decimal.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace haloscope::watch {

class Json {
public:
  Json &open(char bracket) {
    comma();
    text_ += bracket;
    return *this;
  }
  Json &close(char bracket) {
    text_ += bracket;
    return *this;
  }
  Json &key(const char *name) {
    string(name);
    text_ += ':';
    return *this;
  }
  Json &string(std::string_view value) {
    comma();
    text_ += '"';
    for (const char c : value) add(c);
    text_ += '"';
    return *this;
  }
  Json &number(std::int64_t value) { return raw(std::to_string(value)); }
  Json &number(std::uint64_t value) { return raw(std::to_string(value)); }
  Json &number(double value) {
    return std::isfinite(value) ? raw(interpose::decimal_text(value, 15)) : null();
  }
  Json &truth(bool value) { return raw(value ? "true" : "false"); }
  Json &null() { return raw("null"); }

  // The line, and begins another.
  std::string take() {
    std::string line = std::move(text_) + '\n';
    text_.clear();
    return line;
  }

private:
  Json &raw(std::string_view value) {
    comma();
    text_ += value;
    return *this;
  }
  void comma() {
    if (!text_.empty() && text_.back() != '[' && text_.back() != '{' && text_.back() != ':') text_ += ',';
  }
  void add(char c) {
    if (c == '"' || c == '\\') text_ += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) {
      text_ += c;
      return;
    }
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned char>(c));
    text_ += escape;
  }

  std::string text_;
};

} // namespace haloscope::watch
