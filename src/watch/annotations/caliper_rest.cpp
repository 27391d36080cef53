// The measuring part of Caliper's interface. Programs build and run with it, but it measures nothing.
#include "watch/annotations/caliper.hpp"

#define HALOSCOPE_WITHOUT_STREAMS
#include <caliper/cali-mpi.h>
#include <caliper/cali.h>
#include <caliper/cali_datatracker.h>

extern "C" {

const char *cali_caliper_version() { return "2.14.0 (Haloscope)"; }
void cali_init() { haloscope::watch::caliper::is_used(); }
void cali_mpi_init() { cali_init(); }
int cali_is_initialized() { return 1; }

void cali_config_preset(const char * /*key*/, const char * /*value*/) {}
void cali_config_set(const char * /*key*/, const char * /*value*/) {}
void cali_config_allow_read_env(int /*allow*/) {}
cali_configset_t cali_create_configset(const char * /*pairs*/[][2]) { return nullptr; }
void cali_delete_configset(cali_configset_t /*set*/) {}
void cali_configset_set(cali_configset_t /*set*/, const char * /*key*/, const char * /*value*/) {}

cali_id_t cali_create_channel(const char * /*name*/, int /*flags*/, cali_configset_t /*set*/) {
  return CALI_INV_ID;
}
void cali_delete_channel(cali_id_t /*channel*/) {}
void cali_activate_channel(cali_id_t /*channel*/) {}
void cali_deactivate_channel(cali_id_t /*channel*/) {}
int cali_channel_is_active(cali_id_t /*channel*/) { return 0; }
void cali_flush(int /*options*/) {}
void cali_channel_flush(cali_id_t /*channel*/, int /*options*/) {}

void cali_push_snapshot(int /*scope*/, int /*count*/, const cali_id_t /*attributes*/[],
                        const cali_variant_t /*values*/[]) {}
void cali_channel_push_snapshot(cali_id_t /*channel*/, int /*scope*/, int /*count*/,
                                const cali_id_t /*attributes*/[], const cali_variant_t /*values*/[]) {}
cali_variant_t cali_get(cali_id_t /*attribute*/) { return cali_make_empty_variant(); }
cali_variant_t cali_channel_get(cali_id_t /*channel*/, cali_id_t /*attribute*/) {
  return cali_make_empty_variant();
}

void cali_datatracker_track(const void * /*place*/, const char * /*label*/, size_t /*bytes*/) {}
void cali_datatracker_track_dimensional(const void * /*place*/, const char * /*label*/,
                                        size_t /*element_bytes*/, const size_t * /*dimensions*/,
                                        size_t /*count*/) {}
void cali_datatracker_untrack(const void * /*place*/) {}
}
