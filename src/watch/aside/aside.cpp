// Where everything is watched: a program that is linked to another MPI is started again without the recorder,
// before it has begun. Handles of another MPI may not even fit into the arguments of our functions.
#include "interpose/library.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace haloscope::watch {

namespace {

constexpr std::string_view variable = "LD_PRELOAD=", recorder = "libhaloscope-watch.so";

// The preloaded libraries without recorders.
std::string without_recorders(std::string_view value) {
  std::string rest{variable};
  while (!value.empty()) {
    const std::size_t end = std::min(value.find_first_of(": "), value.size());
    const std::string_view word = value.substr(0, end);
    if (!word.empty() && !word.ends_with(recorder)) {
      if (rest.size() > variable.size()) rest += ':';
      rest += word;
    }
    value.remove_prefix(std::min(end + 1, value.size()));
  }
  return rest;
}

[[gnu::constructor]] void step_aside(int /*count*/, char **arguments, char **environment) {
  if (interpose::library_fits(dlsym(RTLD_DEFAULT, "PMPI_Init"))) return;
  std::string preloaded;
  std::vector<char *> changed;
  for (char **entry = environment; *entry != nullptr; entry++) {
    const std::string_view text{*entry};
    if (!text.starts_with(variable)) {
      changed.push_back(*entry);
      continue;
    }
    preloaded = without_recorders(text.substr(variable.size()));
    if (preloaded == text) return; // it came here in another way, and would come again
    changed.push_back(preloaded.data());
  }
  changed.push_back(nullptr);
  if (!preloaded.empty()) execve("/proc/self/exe", arguments, changed.data());
}

} // namespace

} // namespace haloscope::watch
