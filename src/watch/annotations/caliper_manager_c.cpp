// The ConfigManager for C.
#include <caliper/cali-manager.h>

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
void cali_ConfigManager_add_config_spec(cali_ConfigManager * /*manager*/, const char * /*json*/) {}
void cali_ConfigManager_add_option_spec(cali_ConfigManager * /*manager*/, const char * /*json*/) {}
void cali_ConfigManager_add(cali_ConfigManager *manager, const char *configuration) {
  manager_of(manager).add(configuration);
}
bool cali_ConfigManager_error(cali_ConfigManager * /*manager*/) { return false; }
void cali_ConfigManager_error_msg_bufferify(cali_ConfigManager * /*manager*/, cali_SHROUD_array *message) {
  *message = {};
  message->addr.ccharp = "";
}
void cali_SHROUD_memory_destructor(cali_SHROUD_capsule_data *text) { *text = {nullptr, 0}; }

void cali_ConfigManager_start(cali_ConfigManager *manager) { manager_of(manager).start(); }
void cali_ConfigManager_stop(cali_ConfigManager * /*manager*/) {}
void cali_ConfigManager_flush(cali_ConfigManager * /*manager*/) {}
}
