#include "watch/annotations/open_regions.hpp"

extern "C" {
#define HALOSCOPE_EXPORT __attribute__((visibility("default")))
HALOSCOPE_EXPORT void cali_begin_region(const char *name) { haloscope::watch::open_region(0, name, false); }
HALOSCOPE_EXPORT void cali_end_region(const char *name) { haloscope::watch::close_region(0, name); }
}
