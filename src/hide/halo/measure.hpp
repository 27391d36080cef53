// Finds the quickest of several ways to exchange, by doing so.
#pragma once

#include "hide/halo/chosen_exchange.hpp"

#include <haloscope/halo.h>

#include <vector>

namespace haloscope::halo {

// The ways that there are for a plan; for a certain method just that. Collective.
std::vector<Choice> choices(const Plan &plan, haloscope_halo_method method);

// Returns the median seconds of each choice on the slowest rank. The choices alternate. Buffers are written
// and read each time. Collective, with the same result on all ranks.
std::vector<double> measure(Plan &plan, const std::vector<Choice> &choices,
                            const haloscope_halo_settings &settings);

} // namespace haloscope::halo
