// The regions that a thread has open, through markers of all kinds. Some ends do not name their region, and
// programs begin regions before MPI_Init and end them after MPI_Finalize.
//
// Budget of a begin and an end: that of the records (regions.cpp), plus a load each, or one store and a few
// loads for markers of others. Regions that begin before recording are kept by name, and entered when
// recording starts.
#pragma once

#include <cstdint>

namespace haloscope::watch {

// The kind of Haloscope's own markers.
inline constexpr std::uint64_t own_marker = ~std::uint64_t{0};

// `kind` is the caller's: an end looks for the innermost one of the same kind.
void open_region(std::uint64_t kind, const char *name, bool communication) noexcept;
// Ends the innermost region of that kind (and of that name if one is given) with all regions inside it. An
// end without a begin is counted.
void close_region(std::uint64_t kind, const char *name = nullptr) noexcept;
// Haloscope's own markers name their regions when they end: the records know those that were begun while
// recording, so these are not in the list.
void begin_marked(const char *name, bool communication) noexcept;
void end_marked(const char *name) noexcept;
// The same for interfaces in which an end without a begin means that the begin was not recorded.
void close_region_if_open(std::uint64_t kind) noexcept;
// Whether this thread has one of that kind open.
bool is_open(std::uint64_t kind) noexcept;
// Ends the only region of that kind as soon as nothing is open inside: for ranges that may overlap others.
void close_region_late(std::uint64_t kind) noexcept;
// A number of the current instance of the region that is open.
void give_value(const char *name, double value) noexcept;
// The name of the innermost region, of whatever kind, or nullptr.
const char *innermost_region() noexcept;

// Enters what this thread has open already.
void enter_open_regions() noexcept;

} // namespace haloscope::watch
