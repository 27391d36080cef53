// The markers' side of the recorder: a table that headers find through an ELF note, and plain
// functions for languages that look symbols up by name.
#include <haloscope/region.h>

#include "watch/counting/marking.hpp"
#include "watch/counting/metadata.hpp"
#include "watch/counting/open_regions.hpp"

namespace haloscope::watch {

namespace {

void begin(const char *name, int communication) noexcept { begin_marked(name, communication != 0); }

void end(const char *name, int /*communication*/) noexcept { end_marked(name); }

void value(const char *name, double number) noexcept {
  if (ThreadState *state = marking_thread()) record_value(*state, name, number);
}

} // namespace

} // namespace haloscope::watch

extern "C" {

__attribute__((visibility("hidden"))) extern const haloscope_recorder haloscope_recorder_table;
[[gnu::used]] const haloscope_recorder haloscope_recorder_table = {2,
                                                                   0,
                                                                   haloscope::watch::begin,
                                                                   haloscope::watch::end,
                                                                   haloscope::watch::value,
                                                                   haloscope::watch::add_metadata};

// The note (region.h): its descriptor is the distance to the table.
__asm__(".pushsection .note.haloscope,\"a\",%note\n"
        ".balign 4\n"
        ".long 10\n" // with the terminating zero
        ".long 4\n"
        ".long 1\n"
        ".asciz \"Haloscope\"\n"
        ".balign 4\n"
        "1: .long haloscope_recorder_table - 1b\n"
        ".popsection\n");

#define HALOSCOPE_EXPORT __attribute__((visibility("default")))
HALOSCOPE_EXPORT void haloscope_region_begin(const char *name) { haloscope::watch::begin(name, 0); }
HALOSCOPE_EXPORT void haloscope_region_end(const char *name) { haloscope::watch::end(name, 0); }
HALOSCOPE_EXPORT void haloscope_comm_region_begin(const char *name) { haloscope::watch::begin(name, 1); }
HALOSCOPE_EXPORT void haloscope_comm_region_end(const char *name) { haloscope::watch::end(name, 1); }
HALOSCOPE_EXPORT void haloscope_value(const char *name, double number) {
  haloscope::watch::value(name, number);
}
HALOSCOPE_EXPORT void haloscope_metadata(const char *key, const char *value) {
  haloscope::watch::add_metadata(key, value);
}
}
