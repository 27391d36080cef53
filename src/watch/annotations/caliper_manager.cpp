// Caliper's ConfigManager, for programs to link: it puts its configuration into the profile when it is
// started, and does nothing else. `haloscope run` writes the .cali files (python/haloscope/explain/caliper).
#include "watch/annotations/caliper.hpp"
#include "watch/annotations/interfaces.hpp"
#include "watch/annotations/run_metadata.hpp"

#include <caliper/ConfigManager.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace haloscope::watch::caliper {

namespace {

constexpr const char *configuration_key = "caliper.config";

struct StartedManagers {
  std::mutex mutex;
  std::string all; // of the process
};
StartedManagers &started_managers() {
  static StartedManagers process;
  return process;
}
std::atomic<bool> has_started{false};

} // namespace

void say(const char *key, const char *value) noexcept {
  if (has_started.load(std::memory_order_relaxed) && std::strcmp(key, configuration_key) == 0) return;
  say_of_run(key, value);
}

void say_configuration(const std::string &configuration) noexcept try {
  if (configuration.empty()) return;
  const std::lock_guard lock{started_managers().mutex};
  std::string &all = started_managers().all;
  all += (all.empty() ? "" : ",") + configuration;
  has_started.store(true, std::memory_order_relaxed);
  say_of_run(configuration_key, all.c_str());
} catch (...) { // NOLINT(bugprone-empty-catch): no memory for it, and nothing that the program should know
}

std::atomic<Use> use{Use::unknown};

Use first_use() noexcept try {
  const Use found = is_wanted(Interface::caliper) ? Use::wanted : Use::unwanted;
  // Of threads that come at the same time, the one that changes it says it.
  Use expected = Use::unknown;
  if (!use.compare_exchange_strong(expected, found)) return found;
  note_use(Interface::caliper);
  const char *wanted = std::getenv("CALI_CONFIG"); // NOLINT(concurrency-mt-unsafe)
  if (wanted != nullptr && found == Use::wanted) say_configuration(wanted);
  return found;
} catch (...) {
  return Use::unwanted;
}

} // namespace haloscope::watch::caliper

namespace cali {

namespace caliper = haloscope::watch::caliper;

struct ConfigManager::Impl {
  std::string wanted, defaults; // `defaults` hold where what was wanted does not say otherwise
};

namespace {

void append(std::string &text, const std::string &more) {
  if (!more.empty()) text += (text.empty() ? "" : ",") + more;
}

} // namespace

ConfigManager::ConfigManager() : state_(std::make_shared<Impl>()) { caliper::is_used(); }
ConfigManager::ConfigManager(const char *configuration) : ConfigManager() { add(configuration); }
ConfigManager::~ConfigManager() = default;

bool ConfigManager::add(const char *configuration) {
  if (configuration != nullptr) append(state_->wanted, configuration);
  return true;
}
bool ConfigManager::add(const char *configuration, argmap_t & /*others*/) { return add(configuration); }

void ConfigManager::set_default_parameter(const char *key, const char *value) {
  if (key != nullptr && value != nullptr) append(state_->defaults, std::string{key} + "=" + value);
}
void ConfigManager::set_default_parameter_for_config(const char * /*configuration*/, const char *key,
                                                     const char *value) {
  set_default_parameter(key, value);
}

// Once: a second start goes on with what there is.
void ConfigManager::start() {
  if (state_->wanted.empty()) return;
  append(state_->wanted, state_->defaults);
  caliper::say_configuration(state_->wanted);
  state_->wanted.clear();
}
void ConfigManager::stop() {}
void ConfigManager::flush() {}

// NOLINTBEGIN(readability-convert-member-functions-to-static,modernize-use-string-view): Caliper's interface
void ConfigManager::load(const char * /*file*/) {}
void ConfigManager::add_config_spec(const char * /*json*/) {}
void ConfigManager::add_option_spec(const char * /*json*/) {}
bool ConfigManager::error() const { return false; }
std::string ConfigManager::error_msg() const { return {}; }
std::string ConfigManager::check(const char * /*configuration*/, bool /*others_are_fine*/) const {
  return {};
}
std::string ConfigManager::check_config_string(const char * /*configuration*/, bool /*others_are_fine*/) {
  return {};
}
std::vector<std::string> ConfigManager::available_configs() { return {}; }
std::vector<std::string> ConfigManager::available_config_specs() const { return {}; }
std::string ConfigManager::get_description_for_spec(const char * /*name*/) const { return {}; }
std::string ConfigManager::get_documentation_for_spec(const char * /*name*/) const { return {}; }
std::vector<std::string> ConfigManager::get_config_docstrings() { return {}; }
// NOLINTEND(readability-convert-member-functions-to-static,modernize-use-string-view)

} // namespace cali
