// The regions that the user has chosen by name or path.
#pragma once

#include "watch/records/records.hpp"

namespace haloscope::watch {

// Lists of names or paths, one per line. Called before the first region begins.
void set_series(const char *regions) noexcept;
void set_only(const char *regions) noexcept;

// Whether the region keeps all its instances.
bool keeps_series(const Node &node) noexcept;
// Whether only this region, those chosen with it, and all regions inside them count.
bool is_only(const Node &node) noexcept;
// Whether all regions count, because none was chosen.
bool counts_outside() noexcept;

} // namespace haloscope::watch
