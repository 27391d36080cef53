// The object behind the C interface.
#pragma once

#include "hide/halo/exchange.hpp"

#include <haloscope/halo.h>

#include <string>

struct haloscope_halo {
  // Collective; throws Refused on all ranks.
  haloscope_halo(MPI_Comm comm, const std::size_t *sends, const std::size_t *receives,
                 const haloscope_halo_settings &settings);

  haloscope::stencil::Plan plan;
  std::vector<std::size_t> send_bytes, receive_bytes; // a neighbour
  haloscope::stencil::Pages pages;
  std::unique_ptr<haloscope::stencil::Exchange> exchange;
  std::string description;
  bool started = false, fresh = false; // fresh: what was received has not been released
};
