#include "watch/counting/job.hpp"

#include "interpose/letters.hpp"

#include "watch/counting/masking.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <unistd.h>

namespace haloscope::watch {

namespace {

constexpr std::string_view given_prefix = "HALOSCOPE_META_";
constexpr std::size_t most_environment = std::size_t{16} << 10U;
constexpr int most_ancestors = 8;

constexpr std::array<std::string_view, 12> allowed{"OMP_",      "GOMP_",     "KMP_",       "OMPI_MCA_",
                                                   "PRTE_MCA_", "PMIX_MCA_", "MPIR_CVAR_", "MPICH_",
                                                   "I_MPI_",    "UCX_",      "FI_",        "HALOSCOPE_"};
// Variables that launchers set by themselves, and those that `info` has under different keys.
constexpr std::array<std::string_view, 10> passed_over{"OMPI_MCA_orte_",         "OMPI_MCA_ess",
                                                       "OMPI_MCA_pmix",          "OMPI_MCA_initial_",
                                                       "OMPI_MCA_shmem_RUNTIME", "OMPI_MCA_mca_base_env_list",
                                                       "HALOSCOPE_META_",        "HALOSCOPE_COMMAND",
                                                       "HALOSCOPE_RUN",          "HALOSCOPE_SINCE"};

struct Scheduler {
  const char *name, *identity; // the variable that says that there is a job
  std::array<std::pair<const char *, const char *>, 6> more;
};
constexpr std::array<Scheduler, 4> schedulers{
    {{"slurm",
      "SLURM_JOB_ID",
      {{{"job_name", "SLURM_JOB_NAME"},
        {"partition", "SLURM_JOB_PARTITION"},
        {"account", "SLURM_JOB_ACCOUNT"},
        {"nodes", "SLURM_JOB_NODELIST"},
        {"step", "SLURM_STEP_ID"},
        {"array_task", "SLURM_ARRAY_TASK_ID"}}}},
     {"pbs", "PBS_JOBID", {{{"job_name", "PBS_JOBNAME"}, {"partition", "PBS_QUEUE"}}}},
     {"lsf", "LSB_JOBID", {{{"job_name", "LSB_JOBNAME"}, {"partition", "LSB_QUEUE"}}}},
     {"flux", "FLUX_JOB_ID", {}}}};

constexpr std::array<std::string_view, 16> launchers{
    "mpiexec", "mpirun",     "orterun", "orted",  "prterun", "prted", "prte", "hydra_pmi_proxy",
    "srun",    "slurmstepd", "aprun",   "apinit", "palsd",   "jsrun", "jsmd", "flux-shell"};

std::string variable(const char *name) {
  const char *value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): inside MPI_Init
  return value == nullptr ? "" : value;
}

template <class List> bool begins_with_one(std::string_view name, const List &prefixes) {
  return std::ranges::any_of(prefixes, [&](auto prefix) { return name.starts_with(prefix); });
}

// Each variable's name and value, sorted by name.
Texts variables() {
  Texts found;
  for (char **entry = environ; entry != nullptr && *entry != nullptr; entry++) {
    const std::string_view text{*entry};
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) found.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  std::ranges::sort(found);
  return found;
}

// "PID (name) S PARENT …": the name may have any character in it.
int parent_of(int process, std::string &name) {
  std::ifstream stream{"/proc/" + std::to_string(process) + "/stat"};
  std::string line;
  std::getline(stream, line);
  const std::size_t begin = line.find('('), end = line.rfind(')');
  if (begin == std::string::npos || end == std::string::npos || end + 4 > line.size()) return 0;
  name = line.substr(begin + 1, end - begin - 1);
  int parent = 0;
  std::from_chars(line.data() + end + 4, line.data() + line.size(), parent);
  return parent;
}

// The nearest ancestor that starts ranks; a name of the system has fifteen characters.
std::string launcher() {
  std::string name;
  int process = parent_of(getpid(), name);
  for (int i = 0; i < most_ancestors && process > 1; i++) {
    process = parent_of(process, name);
    for (const auto known : launchers)
      if (name == known.substr(0, 15) || name.starts_with(std::string{known} + "."))
        return std::string{known};
  }
  return {};
}

} // namespace

Texts read_job() {
  Texts job;
  for (const Scheduler &scheduler : schedulers) {
    if (variable(scheduler.identity).empty()) continue;
    job.emplace_back("scheduler", scheduler.name);
    job.emplace_back("job_id", variable(scheduler.identity));
    for (const auto &[key, name] : scheduler.more)
      if (name != nullptr && !variable(name).empty())
        job.emplace_back(key, mask_secrets(key, variable(name)));
    break;
  }
  if (const std::string found = launcher(); !found.empty()) job.emplace_back("launcher", found);
  return job;
}

bool is_on_one_node(int size) {
  const std::string all = std::to_string(size);
  return variable("OMPI_COMM_WORLD_LOCAL_SIZE") == all || variable("MPI_LOCALNRANKS") == all;
}

Texts read_environment() {
  Texts chosen;
  std::size_t bytes = 0;
  for (const auto &[name, value] : variables()) {
    if (!begins_with_one(name, allowed) || begins_with_one(name, passed_over)) continue;
    const std::string text = mask_secrets(name, value);
    bytes += name.size() + text.size();
    if (bytes > most_environment) break;
    chosen.emplace_back(name, text);
  }
  return chosen;
}

Texts read_given_metadata() {
  Texts given;
  for (const auto &[name, value] : variables()) {
    if (!name.starts_with(given_prefix) || name.size() == given_prefix.size()) continue;
    std::string key = name.substr(given_prefix.size());
    std::ranges::transform(key, key.begin(), interpose::to_lower);
    given.emplace_back(key, value);
  }
  return given;
}

} // namespace haloscope::watch
