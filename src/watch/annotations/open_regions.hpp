// The regions that a thread has open through two sorts of interfaces: ends that do not name their region
// (Caliper's), and programs that begin regions before MPI_Init.
//
// Budget of a begin and an end: the cost of the recorder's own markers, plus one store and a few loads in the
// thread's memory each. Regions that begin before recording are kept by name, and entered when recording
// starts.
#pragma once

#include <cstdint>

namespace haloscope::watch {

// `kind` is the caller's: an end looks for the innermost one of the same kind.
void open_region(std::uint64_t kind, const char *name, bool communication) noexcept;
// Ends the innermost region of that kind (and of that name if one is given) with all regions inside it. An
// end without a begin is counted.
void close_region(std::uint64_t kind, const char *name = nullptr) noexcept;
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
// Ends it in the records, when recording does: programs end some after MPI_Finalize.
void leave_open_regions() noexcept;

} // namespace haloscope::watch
