/* Caliper's markers for programs that are profiled by Haloscope: docs/reference/caliper.md. The preloaded
 * recorder has these functions. Without it, the libcaliper next to the recorder has the same functions, which
 * do nothing. Thread safety: as the markers of <haloscope/region.h>. */
#ifndef CALI_CALI_H
#define CALI_CALI_H

#include "cali_definitions.h"
#include "common/cali_types.h"
#include "common/cali_variant.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

const char *cali_caliper_version(void);
void cali_init(void);
int cali_is_initialized(void);

/* Regions, which nest. */
void cali_begin_region(const char *name);
void cali_end_region(const char *name);
void cali_begin_phase(const char *name);
void cali_end_phase(const char *name);
void cali_begin_comm_region(const char *name);
void cali_end_comm_region(const char *name);
/* The innermost region of this thread, or `otherwise`. */
const char *cali_get_current_region_or(const char *otherwise);

/* Attributes: names that values are given to. CALI_INV_ID where there is none of that name. */
extern cali_id_t cali_loop_attr_id;
extern cali_id_t cali_annotation_attr_id;
cali_id_t cali_create_attribute(const char *name, cali_attr_type type, int properties);
cali_id_t cali_create_attribute_with_metadata(const char *name, cali_attr_type type, int properties,
                                              int count, const cali_id_t attributes[],
                                              const cali_variant_t values[]);
cali_id_t cali_find_attribute(const char *name);
cali_id_t cali_make_loop_iteration_attribute(const char *loop);
const char *cali_attribute_name(cali_id_t attribute);
cali_attr_type cali_attribute_type(cali_id_t attribute);
int cali_attribute_properties(cali_id_t attribute);

/* A text begins a region of its name, anything else one of the attribute's. */
void cali_begin(cali_id_t attribute);
void cali_begin_double(cali_id_t attribute, double value);
void cali_begin_int(cali_id_t attribute, int value);
void cali_begin_string(cali_id_t attribute, const char *value);
void cali_end(cali_id_t attribute);
void cali_begin_byname(const char *attribute);
void cali_begin_double_byname(const char *attribute, double value);
void cali_begin_int_byname(const char *attribute, int value);
void cali_begin_string_byname(const char *attribute, const char *value);
void cali_end_byname(const char *attribute);

/* A number is a value of the current region's instance. */
void cali_set(cali_id_t attribute, const void *value, size_t size);
void cali_set_double(cali_id_t attribute, double value);
void cali_set_int(cali_id_t attribute, int value);
void cali_set_string(cali_id_t attribute, const char *value);
void cali_set_double_byname(const char *attribute, double value);
void cali_set_int_byname(const char *attribute, int value);
void cali_set_string_byname(const char *attribute, const char *value);

/* About the run. */
void cali_set_global_double_byname(const char *attribute, double value);
void cali_set_global_int_byname(const char *attribute, int value);
void cali_set_global_string_byname(const char *attribute, const char *value);
void cali_set_global_uint_byname(const char *attribute, uint64_t value);

/* What Caliper would measure. These are here so that programs build and run. */
typedef struct _cali_configset_t *cali_configset_t;
typedef int (*cali_entry_proc_fn)(void *argument, cali_id_t attribute, cali_variant_t value);
void cali_config_preset(const char *key, const char *value);
void cali_config_set(const char *key, const char *value);
void cali_config_allow_read_env(int allow);
cali_configset_t cali_create_configset(const char *pairs[][2]);
void cali_delete_configset(cali_configset_t set);
void cali_configset_set(cali_configset_t set, const char *key, const char *value);
cali_id_t cali_create_channel(const char *name, int flags, cali_configset_t set);
void cali_delete_channel(cali_id_t channel);
void cali_activate_channel(cali_id_t channel);
void cali_deactivate_channel(cali_id_t channel);
int cali_channel_is_active(cali_id_t channel);
void cali_flush(int options);
void cali_channel_flush(cali_id_t channel, int options);
void cali_push_snapshot(int scope, int count, const cali_id_t attributes[], const cali_variant_t values[]);
void cali_channel_push_snapshot(cali_id_t channel, int scope, int count, const cali_id_t attributes[],
                                const cali_variant_t values[]);
cali_variant_t cali_get(cali_id_t attribute);
cali_variant_t cali_channel_get(cali_id_t channel, cali_id_t attribute);

#pragma GCC visibility pop
#ifdef __cplusplus
}

/* Programs have these from here. */
#ifndef HALOSCOPE_WITHOUT_STREAMS
#include <iostream>
#include <map>
#include <string>
#endif
#endif

#include "cali_macros.h"

#endif
