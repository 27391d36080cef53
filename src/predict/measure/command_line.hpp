// Options of the measuring programs: `--name value`, all of them written by the driver; on the command line,
// or in a line of text.
#pragma once

#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace measure {

class Options {
public:
  Options(int count, char **words) {
    for (int i = 1; i + 1 < count; i += 2) values_[words[i]] = words[i + 1];
  }
  // Options of a line, with those of `others` for the options that it does not name.
  Options(const Options &others, const std::string &line) : values_(others.values_) {
    std::istringstream words(line);
    for (std::string name, value; words >> name >> value;) values_[name] = value;
  }
  [[nodiscard]] bool has(const std::string &name) const { return values_.contains("--" + name); }
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
    for (const std::string &word : listed(name)) all.push_back(std::strtoll(word.c_str(), nullptr, 10));
    return all;
  }
  // The settings in `name=1,other=2`.
  [[nodiscard]] std::map<std::string, int> settings(const std::string &name) const {
    std::map<std::string, int> all;
    for (const std::string &word : listed(name)) {
      const auto at = word.find('=');
      all[word.substr(0, at)] = static_cast<int>(std::strtol(word.c_str() + at + 1, nullptr, 10));
    }
    return all;
  }

private:
  [[nodiscard]] std::vector<std::string> listed(const std::string &name) const {
    std::vector<std::string> words;
    std::istringstream all(text(name, ""));
    for (std::string word; std::getline(all, word, ',');)
      if (!word.empty()) words.push_back(word);
    return words;
  }

  std::map<std::string, std::string> values_;
};

} // namespace measure
