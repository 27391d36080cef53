// Caliper's configurations, as programs start them. The profile records the request, and `haloscope run`
// writes the output when the program has ended.
#ifndef CALI_CONFIGMANAGER_H
#define CALI_CONFIGMANAGER_H

#include <map>
#include <memory>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace cali {

class ConfigManager {
  struct Impl;
  std::shared_ptr<Impl> state_;

public:
  using argmap_t = std::map<std::string, std::string>;

  ConfigManager();
  explicit ConfigManager(const char *configuration);
  ~ConfigManager();

  // Adds a configuration, which is recorded by `start`; always true, as it is not read here.
  bool add(const char *configuration);
  // `others` stays as it is.
  bool add(const char *configuration, argmap_t &others);
  void load(const char *file);
  void add_config_spec(const char *json);
  void add_option_spec(const char *json);
  void set_default_parameter(const char *key, const char *value);
  void set_default_parameter_for_config(const char *configuration, const char *key, const char *value);

  bool error() const;
  std::string error_msg() const;
  // Always empty.
  std::string check(const char *configuration, bool others_are_fine = false) const;

  void start();
  void stop();
  void flush();

  std::vector<std::string> available_config_specs() const;
  std::string get_description_for_spec(const char *name) const;
  std::string get_documentation_for_spec(const char *name) const;
  static std::vector<std::string> available_configs();
  static std::vector<std::string> get_config_docstrings();
  static std::string check_config_string(const char *configuration, bool others_are_fine = false);
};

} // namespace cali
#pragma GCC visibility pop

#endif
