// Facts of a run that Adiak finds out by itself.
#include <adiak.h>

#include "watch/annotations/adiak_types.hpp"
#include "watch/annotations/run_metadata.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <link.h>
#include <pwd.h>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

namespace adiak = haloscope::watch::adiak;

int say(const char *name, const std::string &value) {
  return value.empty() ? -1 : adiak_namevalue(name, adiak_general, nullptr, "%s", value.c_str());
}

std::string contents(const char *path) {
  std::string text(std::size_t{8} << 10U, '\0');
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t bytes = file < 0 ? 0 : read(file, text.data(), text.size());
  if (file >= 0) close(file);
  text.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return text;
}

std::string executable_path() {
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  return length <= 0 ? std::string{} : std::string{path.data(), static_cast<std::size_t>(length)};
}

std::string host() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// A node's name without its number: of `quartz1532`, `quartz`.
std::string cluster() {
  std::string name = host();
  name.resize(std::min(name.find('.'), name.size()));
  name.resize(name.find_last_not_of("0123456789-") + 1);
  return name;
}

double seconds(const timeval &time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

rusage resource_usage() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage;
}

// Since 1970, when this process began.
double start_time() {
  const std::string stat = contents("/proc/self/stat");
  const std::size_t name_end = stat.rfind(')');
  timespec up{};
  if (name_end == std::string::npos || clock_gettime(CLOCK_BOOTTIME, &up) != 0) return 0;
  // The 22nd field; the third follows the name.
  std::size_t at = name_end + 2;
  for (int field = 3; field < 22 && at != std::string::npos; field++) at = stat.find(' ', at) + 1;
  const unsigned long long ticks = std::strtoull(stat.c_str() + at, nullptr, 10);
  const double since_boot = static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
  timeval now{};
  gettimeofday(&now, nullptr);
  return seconds(now) - (static_cast<double>(up.tv_sec) + 1e-9 * static_cast<double>(up.tv_nsec)) +
         since_boot;
}

int one_more_library(dl_phdr_info *object, std::size_t /*size*/, void *all) {
  auto &names = *static_cast<std::string *>(all);
  if (object->dlpi_name != nullptr && *object->dlpi_name == '/')
    names += (names.empty() ? "" : ",") + std::string{object->dlpi_name};
  return 0;
}

// These grow until the end.
struct Asked {
  bool walltime, systime, cputime;
} asked{};

} // namespace

extern "C" {

int adiak_adiakversion() { return say("adiakversion", "0.4.1"); }
int adiak_user() {
  std::array<char, 4096> room{};
  passwd entry{}, *found = nullptr;
  if (getpwuid_r(getuid(), &entry, room.data(), room.size(), &found) != 0 || found == nullptr) return -1;
  const std::string_view real{entry.pw_gecos == nullptr ? "" : entry.pw_gecos};
  return say("user", real.empty() ? entry.pw_name : std::string{real.substr(0, real.find(','))});
}
int adiak_uid() {
  std::array<char, 4096> room{};
  passwd entry{}, *found = nullptr;
  if (getpwuid_r(getuid(), &entry, room.data(), room.size(), &found) != 0 || found == nullptr)
    return say("uid", std::to_string(getuid()));
  return say("uid", entry.pw_name);
}
int adiak_launchdate() { return say("launchdate", std::to_string(static_cast<long>(start_time()))); }
int adiak_launchday() {
  constexpr long day = 86'400;
  return say("launchday", std::to_string(static_cast<long>(start_time()) / day * day));
}
int adiak_executablepath() { return say("executablepath", executable_path()); }
int adiak_executable() {
  const std::string path = executable_path();
  return say("executable", path.substr(path.rfind('/') + 1));
}
int adiak_workdir() {
  std::array<char, 4096> path{};
  return getcwd(path.data(), path.size()) == nullptr ? -1 : say("working_directory", path.data());
}
int adiak_libraries() {
  std::string names;
  dl_iterate_phdr(one_more_library, &names);
  return say("libraries", "[" + names + "]");
}
int adiak_cmdline() {
  std::string words = contents("/proc/self/cmdline");
  while (!words.empty() && words.back() == '\0') words.pop_back();
  for (char &c : words)
    if (c == '\0') c = ' ';
  return say("cmdline", words);
}
int adiak_hostname() { return say("hostname", host()); }
int adiak_clustername() { return say("cluster", cluster()); }

int adiak_walltime() {
  asked.walltime = true;
  timeval now{};
  gettimeofday(&now, nullptr);
  return say("walltime", adiak::text_of(seconds(now) - start_time()));
}
int adiak_systime() {
  asked.systime = true;
  return say("systime", adiak::text_of(seconds(resource_usage().ru_stime)));
}
int adiak_cputime() {
  asked.cputime = true;
  return say("cputime", adiak::text_of(seconds(resource_usage().ru_utime)));
}

// The profile knows these of its own: `ranks`, `hosts`, `library`.
int adiak_job_size() { return 0; }
int adiak_hostlist() { return 0; }
int adiak_num_hosts() { return 0; }
int adiak_mpi_version() { return 0; }
int adiak_mpi_library() { return 0; }
int adiak_mpi_library_version() { return 0; }

int adiak_collect_all() {
  for (int (*const one)() :
       {adiak_adiakversion,       adiak_user,           adiak_uid,       adiak_launchdate,  adiak_launchday,
        adiak_executable,         adiak_executablepath, adiak_workdir,   adiak_libraries,   adiak_cmdline,
        adiak_hostname,           adiak_clustername,    adiak_walltime,  adiak_systime,     adiak_cputime,
        adiak_job_size,           adiak_hostlist,       adiak_num_hosts, adiak_mpi_version, adiak_mpi_library,
        adiak_mpi_library_version})
    one();
  return 0;
}

void adiak_fini() {
  if (asked.walltime) adiak_walltime();
  if (asked.systime) adiak_systime();
  if (asked.cputime) adiak_cputime();
}
}
