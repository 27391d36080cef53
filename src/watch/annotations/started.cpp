#include "watch/annotations/started.hpp"

#include "watch/annotations/open_regions.hpp"

namespace haloscope::watch {

void annotations_started() noexcept { enter_open_regions(); }

} // namespace haloscope::watch
