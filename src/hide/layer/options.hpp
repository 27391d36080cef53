// What the environment asks of the layer; docs/reference/stencil.md.
#pragma once

#include "hide/layer/clock.hpp"
#include "hide/layer/heap/threshold.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace haloscope::stencil::layer {

enum class Choice : std::uint8_t { dynamic, get, coop, steal, fixed, off };
enum class Attach : std::uint8_t { as_needed, always, never };

struct Options {
  std::size_t threshold = default_threshold; // bytes of the smallest message that is carried
  Choice protocol = Choice::dynamic;
  std::size_t chunk = 65536;
  std::size_t pool = std::size_t{64} << 20; // bytes that a rank may hold for others, and lend to its program
  Moment patience = 1'000'000;              // until a send that nobody wants is copied
  Attach attach = Attach::as_needed;
  std::string record;
};

// Throws std::invalid_argument with what is wrong, and where.
Options read_options();

} // namespace haloscope::stencil::layer
