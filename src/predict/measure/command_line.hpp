// Options of the measuring programs: `--name value`, all of them written by the driver.
#pragma once

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace measure {

class Options {
public:
  Options(int count, char **words) {
    for (int i = 1; i + 1 < count; i += 2) values_[words[i]] = words[i + 1];
  }
  [[nodiscard]] std::string text(const std::string &name, const std::string &otherwise) const {
    const auto found = values_.find("--" + name);
    return found == values_.end() ? otherwise : found->second;
  }
  [[nodiscard]] double number(const std::string &name, double otherwise) const {
    return std::strtod(text(name, std::to_string(otherwise)).c_str(), nullptr);
  }
  [[nodiscard]] long long integer(const std::string &name, long long otherwise) const {
    return std::strtoll(text(name, std::to_string(otherwise)).c_str(), nullptr, 10);
  }
  [[nodiscard]] std::vector<long long> integers(const std::string &name) const {
    std::vector<long long> all;
    std::string word;
    for (const char c : text(name, "") + ",") {
      if (c != ',') {
        word += c;
      } else if (!word.empty()) {
        all.push_back(std::strtoll(word.c_str(), nullptr, 10));
        word.clear();
      }
    }
    return all;
  }

private:
  std::map<std::string, std::string> values_;
};

} // namespace measure
