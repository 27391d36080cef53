// Text as JSON.
#pragma once

#include <string>

namespace measure {

inline std::string quote(const std::string &text) {
  std::string all = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') all += '\\';
    all += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return all + "\"";
}

} // namespace measure
