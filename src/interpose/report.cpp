#include "interpose/report.hpp"

#include "interpose/files.hpp"

#include <cstdlib>
#include <string>
#include <unistd.h>

namespace haloscope::interpose {

bool is_always_on() noexcept {
  const char *given = std::getenv("HALOSCOPE_ALWAYS"); // NOLINT(concurrency-mt-unsafe): read only
  return given != nullptr && *given == '1';
}

void complain(std::string_view message) noexcept try {
  if (is_always_on()) return;
  const std::string line = "haloscope: " + std::string{message} + "\n";
  // One write, so that lines of several ranks do not mix.
  write_whole(STDERR_FILENO, line.data(), line.size());
} catch (...) { // NOLINT(bugprone-empty-catch): no memory for a message, nothing more to be done
}

} // namespace haloscope::interpose
