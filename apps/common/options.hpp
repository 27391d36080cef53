// Command lines of the bundled applications: an option is declared once, next to the variable that it sets.
// Help, defaults and checks are made from that declaration.
#ifndef APPS_COMMON_OPTIONS_HPP
#define APPS_COMMON_OPTIONS_HPP

#include <array>
#include <charconv>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace apps {

using Int3 = std::array<int, 3>;

// An error in a command line, as one line.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <typename Number> bool read_value(std::string_view text, Number &value) {
  const char *begin = text.data();
  const char *end = begin + text.size();
  const auto result = std::from_chars(begin, end, value);
  return result.ec == std::errc{} && result.ptr == end;
}

inline bool read_value(std::string_view text, std::string &value) {
  value = text;
  return true;
}

inline bool read_value(std::string_view text, bool &value) {
  value = true;
  return text.empty();
}

inline bool read_value(std::string_view text, Int3 &value) {
  const auto first = text.find(',');
  const auto last = text.rfind(',');
  if (first == std::string_view::npos || first == last) return false;
  return read_value(text.substr(0, first), value[0]) &&
         read_value(text.substr(first + 1, last - first - 1), value[1]) &&
         read_value(text.substr(last + 1), value[2]);
}

template <typename Value> std::string show_value(const Value &value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

inline std::string show_value(bool) { return {}; }

inline std::string show_value(const Int3 &v) {
  return std::to_string(v[0]) + ',' + std::to_string(v[1]) + ',' + std::to_string(v[2]);
}

class Options {
public:
  // `dashes` stand before each name: one, where another program's flags are taken over that has one.
  Options(std::string program, std::string purpose, std::string dashes = "--")
      : program_(std::move(program)), purpose_(std::move(purpose)), dashes_(std::move(dashes)) {}

  // Declares --NAME; the variable's present value is the default. A bool takes no value; a value of
  // several words is read as if they were one, with commas between them.
  template <typename Value>
  void add(const std::string &name, Value &variable, const std::string &form, const std::string &help,
           int words = 1) {
    entries_.push_back({dashes_ + name, form, help, show_value(variable), words,
                        [&variable](std::string_view text) { return read_value(text, variable); }});
  }

  // Sets the variables. Returns false when help was asked for; throws UsageError.
  bool parse(int argc, char **argv) const {
    for (int i = 1; i < argc; ++i) {
      std::string name = argv[i];
      if (name == "--help" || name == "-h" || name == dashes_ + "help") return false;
      const auto equals = name.find('=');
      std::string value;
      if (equals != std::string::npos) {
        value = name.substr(equals + 1);
        name.resize(equals);
      }
      const Entry &entry = find(name);
      if (equals == std::string::npos && !entry.form.empty()) {
        if (i + entry.words >= argc) throw UsageError(name + " needs a value: " + name + ' ' + entry.form);
        value = argv[++i];
        for (int word = 1; word < entry.words; ++word) value = value + ',' + argv[++i];
      }
      if (!entry.set(value))
        throw UsageError("'" + value + "' is not a value for " + name + ": expected " +
                         (entry.form.empty() ? "none" : entry.form));
    }
    return true;
  }

  std::string help() const {
    std::string text = "Usage: mpiexec -n RANKS " + program_ + " [OPTIONS]\n\n" + purpose_ + "\n\nOptions:\n";
    for (const Entry &entry : entries_) {
      std::string left = "  " + entry.name + ' ' + entry.form;
      left.resize(std::max<std::size_t>(left.size() + 1, 26), ' ');
      text += left + entry.help;
      text += entry.shown.empty() ? "\n" : " [" + entry.shown + "]\n";
    }
    return text;
  }

private:
  struct Entry {
    std::string name, form, help, shown;
    int words = 1;
    std::function<bool(std::string_view)> set;
  };

  const Entry &find(const std::string &name) const {
    for (const Entry &entry : entries_)
      if (entry.name == name) return entry;
    throw UsageError("unknown option '" + name + "'; " + program_ + " --help lists all");
  }

  std::string program_, purpose_, dashes_;
  std::vector<Entry> entries_;
};

} // namespace apps

#endif
