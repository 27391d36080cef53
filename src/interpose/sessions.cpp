#include "interpose/sessions.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>
#include <unistd.h>
#include <vector>

namespace haloscope::interpose {

#if defined(HALOSCOPE_SESSIONS)

namespace {

MPI_Session ours;
bool is_open = false;

} // namespace

SessionWorld open_session_world() noexcept {
  SessionWorld world{-1, 0, MPI_GROUP_NULL};
  if (real.Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &ours) != MPI_SUCCESS) return world;
  is_open = true;
  if (real.Group_from_session_pset(ours, "mpi://WORLD", &world.group) != MPI_SUCCESS) return world;
  int rank = MPI_UNDEFINED;
  real.Group_size(world.group, &world.size);
  real.Group_rank(world.group, &rank);
  if (rank != MPI_UNDEFINED) world.rank = rank;
  return world;
}

void close_session_world() noexcept {
  if (is_open) real.Session_finalize(&ours);
  is_open = false;
}

#else

SessionWorld open_session_world() noexcept { return {-1, 0, MPI_GROUP_NULL}; }
void close_session_world() noexcept {}

#endif

namespace {

std::string content(pid_t process, const char *file) {
  std::ifstream stream{"/proc/" + std::to_string(process) + "/" + file};
  return {std::istreambuf_iterator<char>{stream}, {}};
}

// Whether a process is a rank: launchers set such a variable. A process that cannot be read belongs to a
// different user.
bool is_rank(pid_t process) {
  const std::string environment = '\0' + content(process, "environ");
  static constexpr std::array names{"PMI_RANK=", "PMIX_RANK=", "SLURM_PROCID="};
  return std::ranges::any_of(names, [&](const char *name) {
    return environment.find('\0' + std::string{name}) != std::string::npos;
  });
}

// The words of /proc/PID/stat from the third on: before that is a name, which may hold anything.
std::vector<std::string> status(pid_t process) {
  const std::string text = content(process, "stat");
  std::istringstream words{text.substr(std::min(text.rfind(')') + 1, text.size()))};
  return {std::istream_iterator<std::string>{words}, {}};
}

pid_t parent_of(pid_t process) {
  const auto words = status(process);
  return words.size() < 2 ? 0 : static_cast<pid_t>(std::strtol(words[1].c_str(), nullptr, 10));
}

// The identity of a process. Its number alone may have been used before.
std::string identity(pid_t process) {
  const auto words = status(process);
  return std::to_string(process) + "@" + (words.size() < 20 ? "" : words[19]);
}

} // namespace

std::uint64_t job_identity(const std::string &run) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): inside MPI_Session_init
  const char *given = std::getenv("PMIX_NAMESPACE");
  std::string job = given == nullptr ? "" : given;
  if (job.empty()) {
    pid_t process = getpid(); // alone, if nobody launched it
    while (process > 1 && is_rank(process)) process = parent_of(process);
    job = identity(process);
  }
  return std::hash<std::string>{}(run + ' ' + job) | 1U;
}

} // namespace haloscope::interpose
