// The object behind the C interface.
#pragma once

#include "hide/overlap/phase.hpp"

#include <haloscope/overlap.h>

#include <vector>

// Phases point to the settings: it is neither copied nor moved.
struct haloscope_overlap {
  haloscope_overlap_settings settings;
  std::size_t items;
  std::vector<haloscope::overlap::Phase> phases;
};

namespace haloscope::overlap {

int run(haloscope_overlap &overlap, Phase &phase, const haloscope_overlap_pattern &pattern,
        haloscope_overlap_times &times);

} // namespace haloscope::overlap
