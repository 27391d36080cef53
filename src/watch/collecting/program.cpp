#include "watch/collecting/program.hpp"

#include "interpose/letters.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <string_view>
#include <unistd.h>

namespace haloscope::watch {

namespace {

std::string last_part(const std::string &path) { return path.substr(path.rfind('/') + 1); }

// python, python3.12t, pypy3
bool is_python(std::string_view name) {
  if (!name.starts_with("python") && !name.starts_with("pypy")) return false;
  name.remove_prefix(name.starts_with("python") ? 6 : 4);
  if (name.ends_with('t')) name.remove_suffix(1);
  return std::ranges::all_of(name, [](char c) { return interpose::is_digit(c) || c == '.'; });
}

struct StartedProgram {
  std::string name; // empty: a text, or what stands on standard input
  std::size_t next; // the word after it
  bool module;
};

// The word after a word of options, if the last of them wants one; `-m` ends the options, as does `-c`.
StartedProgram read_options(const std::vector<std::string> &words, std::size_t at) {
  for (; at < words.size() && words[at].size() > 1 && words[at][0] == '-'; at++) {
    const std::string &word = words[at];
    if (word == "--") return {at + 1 < words.size() ? words[at + 1] : "", at + 2, false};
    if (word[1] == '-') {
      if (word == "--check-hash-based-pycs" || word == "--profile") at++;
      continue;
    }
    const std::size_t wanting = word.find_first_of("cmWXQr", 1);
    if (wanting == std::string::npos) continue;
    if (word[wanting] == 'c') return {"", words.size(), false};
    const bool attached = wanting + 1 < word.size() && word != "-rc"; // mpi4py's own
    if (word[wanting] == 'm') {
      const std::string name = attached                ? word.substr(wanting + 1)
                               : at + 1 < words.size() ? words[at + 1]
                                                       : "";
      return {name, at + (attached ? 1 : 2), true};
    }
    if (!attached) at++;
  }
  return {at < words.size() && words[at] != "-" ? words[at] : "", at + 1, false};
}

} // namespace

std::string program_name(const std::string &executable, const std::vector<std::string> &words) {
  const std::string own = last_part(executable);
  if (!is_python(own)) return own.empty() ? "program" : own;
  StartedProgram started = read_options(words, 0);
  // python -m mpi4py script.py
  if (started.module && (started.name == "mpi4py" || started.name == "mpi4py.run")) {
    const StartedProgram within = read_options(words, started.next);
    if (!within.name.empty()) started = within;
  }
  const std::string name = started.module ? started.name : last_part(started.name);
  return name.empty() ? own : name;
}

std::string program_name() {
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  const std::string executable{path.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
  std::ifstream stream{"/proc/self/cmdline"};
  std::vector<std::string> words;
  for (std::string word; std::getline(stream, word, '\0');) words.push_back(word);
  if (!words.empty()) words.erase(words.begin());
  return program_name(executable, words);
}

} // namespace haloscope::watch
