// Messages that the shm library has copied, for HALOSCOPE_SHM_OUTPUT and for the recorder.
#pragma once

#include "hide/shm/copying.hpp"

namespace haloscope::shm {

// Counts a message of `bytes` to or from this world rank. The time is in nanoseconds.
void note(Protocol protocol, int partner, std::uint64_t bytes, const Copied &how, Moment time);

// Why a message of at least the threshold went by MPI.
enum class Reason : std::uint8_t { memory, datatype, buffered, pool, late, node, tried, faster };
inline constexpr std::size_t reasons = 8;
inline constexpr const char *reason_names[reasons] = {"memory", "datatype", "buffered", "pool",
                                                      "late",   "node",     "tried",    "faster"};
void note_passed(Reason reason, std::uint64_t bytes) noexcept;
void write_record();

} // namespace haloscope::shm
