/* Caliper's configurations, for C and C++. */
#ifndef CALI_CALI_MANAGER_H
#define CALI_CALI_MANAGER_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct s_cali_ConfigManager {
  void *addr;
  int idtor;
} cali_ConfigManager;

/* A text that the library owns, until its `cxx` is given to cali_SHROUD_memory_destructor. */
typedef struct s_cali_SHROUD_capsule_data {
  void *addr;
  int idtor;
} cali_SHROUD_capsule_data;
typedef struct s_cali_SHROUD_array {
  cali_SHROUD_capsule_data cxx;
  union {
    const void *base;
    const char *ccharp;
  } addr;
  int type;
  size_t elem_len;
  size_t size;
  int rank;
  long shape[7];
} cali_SHROUD_array;
void cali_SHROUD_memory_destructor(cali_SHROUD_capsule_data *text);

cali_ConfigManager *cali_ConfigManager_new(cali_ConfigManager *manager);
void cali_ConfigManager_delete(cali_ConfigManager *manager);
void cali_ConfigManager_set_default_parameter(cali_ConfigManager *manager, const char *key,
                                              const char *value);
void cali_ConfigManager_set_default_parameter_for_config(cali_ConfigManager *manager,
                                                         const char *configuration, const char *key,
                                                         const char *value);
void cali_ConfigManager_add_config_spec(cali_ConfigManager *manager, const char *json);
void cali_ConfigManager_add_option_spec(cali_ConfigManager *manager, const char *json);
void cali_ConfigManager_add(cali_ConfigManager *manager, const char *configuration);
bool cali_ConfigManager_error(cali_ConfigManager *manager);
void cali_ConfigManager_error_msg_bufferify(cali_ConfigManager *manager, cali_SHROUD_array *message);
void cali_ConfigManager_start(cali_ConfigManager *manager);
void cali_ConfigManager_stop(cali_ConfigManager *manager);
void cali_ConfigManager_flush(cali_ConfigManager *manager);

#pragma GCC visibility pop
#ifdef __cplusplus
}

#include "ConfigManager.h"
#endif

#endif
