// The ConfigManager for C.
#include <caliper/cali-manager.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace {

cali::ConfigManager &manager_of(cali_ConfigManager *handle) {
  return *static_cast<cali::ConfigManager *>(handle->addr);
}

constexpr int made_here = 1; // what `idtor` says of managers that are to be deleted

} // namespace

extern "C" {

cali_ConfigManager *cali_ConfigManager_new(cali_ConfigManager *manager) {
  manager->addr = new cali::ConfigManager;
  manager->idtor = made_here;
  return manager;
}
void cali_ConfigManager_delete(cali_ConfigManager *manager) {
  delete static_cast<cali::ConfigManager *>(manager->addr);
  *manager = {nullptr, 0};
}
void cali_ConfigManager_set_default_parameter(cali_ConfigManager *manager, const char *key,
                                              const char *value) {
  manager_of(manager).set_default_parameter(key, value);
}
void cali_ConfigManager_set_default_parameter_for_config(cali_ConfigManager *manager,
                                                         const char *configuration, const char *key,
                                                         const char *value) {
  manager_of(manager).set_default_parameter_for_config(configuration, key, value);
}
void cali_ConfigManager_add_config_spec(cali_ConfigManager *manager, const char *json) {
  manager_of(manager).add_config_spec(json);
}
void cali_ConfigManager_add_option_spec(cali_ConfigManager *manager, const char *json) {
  manager_of(manager).add_option_spec(json);
}
void cali_ConfigManager_add(cali_ConfigManager *manager, const char *configuration) {
  manager_of(manager).add(configuration);
}
bool cali_ConfigManager_error(cali_ConfigManager *manager) { return manager_of(manager).error(); }

void cali_ConfigManager_error_msg_bufferify(cali_ConfigManager *manager, cali_SHROUD_array *message) {
  const std::string text = manager_of(manager).error_msg();
  char *copy = strdup(text.c_str());
  *message = {};
  message->cxx = {copy, made_here};
  message->addr.ccharp = copy;
  message->size = 1;
  message->elem_len = text.size();
}
void cali_SHROUD_memory_destructor(cali_SHROUD_capsule_data *text) {
  std::free(text->addr);
  *text = {nullptr, 0};
}

void cali_ConfigManager_start(cali_ConfigManager *manager) { manager_of(manager).start(); }
void cali_ConfigManager_stop(cali_ConfigManager *manager) { manager_of(manager).stop(); }
void cali_ConfigManager_flush(cali_ConfigManager *manager) { manager_of(manager).flush(); }
}
