#include "interpose/report.hpp"

#include <string>
#include <unistd.h>

namespace haloscope::interpose {

void complain(std::string_view message) noexcept try {
  const std::string line = "haloscope: " + std::string{message} + "\n";
  // One write, so that lines of several ranks do not mix.
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;
} catch (...) { // NOLINT(bugprone-empty-catch): no memory for a message, nothing more to be done
}

} // namespace haloscope::interpose
