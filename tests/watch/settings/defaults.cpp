// What the recorder takes where the environment says nothing: variable, tab, value, a line each.
#include "watch/annotations/interfaces.hpp"
#include "watch/collecting/settings.hpp"
#include "watch/counting/metadata.hpp"

#include <iostream>

// Nothing is recorded here.
void haloscope::watch::add_metadata(const char *, const char *) noexcept {}

namespace {

bool wants_all() {
  using namespace haloscope::watch;
  for (unsigned i = 0; i < interface_names.size(); i++)
    if (!is_wanted(static_cast<Interface>(i))) return false;
  return true;
}

} // namespace

int main() {
  const auto settings = haloscope::watch::read_settings(true, 2);
  const auto say = [](const char *variable, const auto &value) {
    std::cout << variable << '\t' << value << '\n';
  };
  say("HALOSCOPE_OUTPUT", settings.output);
  say("HALOSCOPE_SERIES", settings.series);
  say("HALOSCOPE_EXACT_TIMES", settings.exact_times);
  say("HALOSCOPE_RANKS", settings.records(0) && settings.records(1) ? "all" : "some");
  say("HALOSCOPE_ONLY", settings.only);
  say("HALOSCOPE_AFTER", settings.after);
  say("HALOSCOPE_UNTIL", settings.until);
  say("HALOSCOPE_SLICE", settings.slice);
  say("HALOSCOPE_SYNC_COLLECTIVES", settings.sync_collectives);
  say("HALOSCOPE_CALLSITES", settings.callsites);
  say("HALOSCOPE_DEPTH", settings.depth);
  say("HALOSCOPE_PHASES", settings.phases);
  say("HALOSCOPE_TRACE", settings.trace);
  say("HALOSCOPE_TRACE_COMPACT", settings.trace_compact);
  say("HALOSCOPE_TRACE_MEMORY", settings.trace_memory >> 20U);
  say("HALOSCOPE_TRACE_SPOOL", settings.trace_spool);
  say("HALOSCOPE_SIZE_LIMIT", settings.size_limit >> 20U);
  say("HALOSCOPE_MEMORY", settings.memory >> 20U);
  say("HALOSCOPE_FINALIZE_TIME", settings.finalize_time);
  say("HALOSCOPE_LIVE", settings.live);
  say("HALOSCOPE_ANNOTATIONS", wants_all() ? "all" : "some");
}
