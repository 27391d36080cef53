// Finds the quickest of several ways to exchange, by doing so.
#pragma once

#include "hide/halo/chosen_exchange.hpp"

#include <haloscope/halo.h>

#include <vector>

namespace haloscope::halo {

// The ways that there are for a plan; for a certain method just that. Collective.
std::vector<Choice> choices(const Plan &plan, haloscope_halo_method method);

// Median seconds of each, the slowest rank's, by turns; buffers are written and read each time. Collective,
// and the same on all ranks.
std::vector<double> measure(Plan &plan, const std::vector<Choice> &choices,
                            const haloscope_halo_settings &settings);

} // namespace haloscope::halo
