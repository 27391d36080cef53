// Caliper's ConfigManager: takes what is asked for, and says it in the profile when it is started.
#include "watch/annotations/caliper.hpp"
#include "watch/annotations/configuration.hpp"
#include "watch/annotations/interfaces.hpp"
#include "watch/annotations/said.hpp"

#include <caliper/ConfigManager.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace haloscope::watch::caliper {

namespace {

constexpr const char *configuration_key = "caliper.config";

struct Started {
  std::mutex mutex;
  std::string all; // of the process
};
Started &started() {
  static Started process;
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
  const std::lock_guard lock{started().mutex};
  std::string &all = started().all;
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
  std::string error;
  std::set<std::string, std::less<>> names; // that the program has added
};

namespace {

std::string with_comma(std::string text, const char *more) {
  if (more == nullptr || *more == '\0') return text;
  return std::move(text) + (text.empty() ? "" : ",") + more;
}

} // namespace

ConfigManager::ConfigManager() : state_(std::make_shared<Impl>()) { caliper::is_used(); }
ConfigManager::ConfigManager(const char *configuration) : ConfigManager() { add(configuration); }
ConfigManager::~ConfigManager() = default;

bool ConfigManager::add(const char *configuration) {
  if (configuration == nullptr) return true;
  std::string fault = caliper::fault(configuration, state_->names);
  if (fault.empty())
    state_->wanted = with_comma(state_->wanted, configuration);
  else
    state_->error = std::move(fault);
  return !error();
}

bool ConfigManager::add(const char *configuration, argmap_t &others) {
  if (configuration == nullptr) return true;
  std::string fault = caliper::fault(configuration, state_->names, &others);
  if (fault.empty())
    state_->wanted = with_comma(state_->wanted, configuration);
  else
    state_->error = std::move(fault);
  return !error();
}

void ConfigManager::load(const char *file) {
  std::FILE *opened = file == nullptr ? nullptr : std::fopen(file, "re");
  if (opened == nullptr) {
    state_->error = "Could not open " + std::string{file == nullptr ? "" : file};
    return;
  }
  std::string text(1U << 16U, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), opened));
  std::fclose(opened);
  caliper::add_names(text, state_->names);
}

void ConfigManager::add_config_spec(const char *json) {
  if (json != nullptr) caliper::add_names(json, state_->names);
}
void ConfigManager::add_option_spec(const char *json) { add_config_spec(json); }

void ConfigManager::set_default_parameter(const char *key, const char *value) {
  if (key == nullptr || value == nullptr) return;
  state_->defaults = with_comma(state_->defaults, (std::string{key} + "=" + value).c_str());
}
void ConfigManager::set_default_parameter_for_config(const char * /*configuration*/, const char *key,
                                                     const char *value) {
  set_default_parameter(key, value);
}

bool ConfigManager::error() const { return !state_->error.empty(); }
std::string ConfigManager::error_msg() const { return state_->error; }

std::string ConfigManager::check(const char *configuration, bool others_are_fine) const {
  argmap_t others;
  return caliper::fault(configuration == nullptr ? "" : configuration, state_->names,
                        others_are_fine ? &others : nullptr);
}
std::string ConfigManager::check_config_string(const char *configuration, bool others_are_fine) {
  argmap_t others;
  return caliper::fault(configuration == nullptr ? "" : configuration, {},
                        others_are_fine ? &others : nullptr);
}

// Once: a second start goes on with what there is.
void ConfigManager::start() {
  if (state_->wanted.empty()) return;
  caliper::say_configuration(with_comma(state_->wanted, state_->defaults.c_str()));
  state_->wanted.clear();
}
void ConfigManager::stop() {}
void ConfigManager::flush() {}

std::vector<std::string> ConfigManager::available_configs() {
  std::vector<std::string> names;
  for (const caliper::Known &known : caliper::known_configurations()) names.emplace_back(known.name);
  return names;
}
// NOLINTBEGIN(readability-convert-member-functions-to-static): so programs call them
std::vector<std::string> ConfigManager::available_config_specs() const { return available_configs(); }
std::string ConfigManager::get_description_for_spec(const char *name) const {
  for (const caliper::Known &known : caliper::known_configurations())
    if (name != nullptr && std::strcmp(known.name, name) == 0) return known.description;
  return {};
}
std::string ConfigManager::get_documentation_for_spec(const char *name) const {
  return std::string{name == nullptr ? "" : name} + "\n " + get_description_for_spec(name);
}
// NOLINTEND(readability-convert-member-functions-to-static)
std::vector<std::string> ConfigManager::get_config_docstrings() {
  std::vector<std::string> texts;
  for (const caliper::Known &known : caliper::known_configurations())
    texts.push_back(std::string{known.name} + "\n " + known.description);
  return texts;
}

} // namespace cali
