#include "watch/collecting/naming.hpp"

#include "watch/records/schema.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

namespace haloscope::watch {

namespace {

constexpr std::size_t longest_name = 255; // of file systems, in bytes
constexpr std::size_t most_of_name = 128; // as in python/haloscope/watch/leftovers.py
constexpr int most_names = 1 << 20U;
// <linux/fs.h>; the C library's own names are younger than some machines.
constexpr unsigned no_replace = 1;
constexpr unsigned exchange = 2;

[[noreturn]] void fail_naming(const char *what, int error) {
  throw std::system_error(error, std::generic_category(), what);
}

std::string cut_name(const std::string &path, std::size_t most) {
  return path.substr(0, std::min(path.size(), path.rfind('/') + 1 + most));
}

std::string number_name(const std::string &path, int number) {
  const std::string suffix = path.ends_with(".halo") ? ".halo" : "";
  const std::string ending = (number == 1 ? "" : "-" + std::to_string(number)) + suffix;
  return cut_name(path.substr(0, path.size() - suffix.size()), longest_name - ending.size()) + ending;
}

bool rename_how(const std::string &from, const std::string &to, unsigned how) {
  return syscall(SYS_renameat2, AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), how) == 0;
}

bool is_unsupported(int error) { return error == EINVAL || error == ENOSYS || error == ENOTSUP; }

// Return 0 or the error: EEXIST where the name is taken.
int rename_new(const std::string &from, const std::string &to) {
  if (rename_how(from, to, no_replace)) return 0;
  if (!is_unsupported(errno)) return errno;
  if (link(from.c_str(), to.c_str()) == 0) return unlink(from.c_str()) == 0 ? 0 : errno;
  if (errno == EEXIST || access(to.c_str(), F_OK) == 0) return EEXIST;
  // A file system without any of it: what comes between the two is lost.
  return std::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

// A file that the user or a different program of this run has made is never replaced. An empty file is:
// mktemp leaves one to be filled.
bool is_replaceable(const std::string &path, std::uint64_t since) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return false;
  struct stat status{};
  std::array<unsigned char, magic.size()> begin{};
  const bool regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  const bool profile = regular &&
                       read(file, begin.data(), begin.size()) == static_cast<ssize_t>(begin.size()) &&
                       begin == magic;
  close(file);
  const auto changed = static_cast<std::uint64_t>(status.st_mtim.tv_sec) * 1'000'000'000U +
                       static_cast<std::uint64_t>(status.st_mtim.tv_nsec);
  return (regular && status.st_size == 0) || (profile && (since == 0 || changed <= since));
}

} // namespace

NewFile create_beside(const std::string &path) {
  struct stat there{};
  if (stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode))
    fail_naming("open", EEXIST); // a device, and nothing that a file may replace
  std::string name = cut_name(path, most_of_name) + ".part-" + std::to_string(getpid());
  for (int i = 0; i < 100; i++) {
    const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file >= 0) return {file, name};
    if (errno != EEXIST) fail_naming("open", errno);
    name += '+';
  }
  fail_naming("open", EEXIST);
}

std::string give_name(const std::string &file, const std::string &path, std::uint64_t since) {
  for (int number = 1; number < most_names; number++) {
    const std::string name = number_name(path, number);
    const int error = rename_new(file, name);
    if (error == 0) return name;
    if (error != EEXIST) fail_naming("rename", error);
    if (!is_replaceable(name, since)) continue;
    if (!rename_how(file, name, exchange)) {
      if (is_unsupported(errno) && std::rename(file.c_str(), name.c_str()) == 0) return name;
      fail_naming("rename", errno);
    }
    // Now `file` is what had the name. Another program of this run may just have given it to its profile:
    // that goes on to the next one.
    if (is_replaceable(file, since)) {
      unlink(file.c_str());
      return name;
    }
  }
  fail_naming("rename", EEXIST);
}

} // namespace haloscope::watch
