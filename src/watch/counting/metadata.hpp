// What a program, or what is loaded into it, says of its run: texts by key, which become rows of `info`.
#pragma once

namespace haloscope::watch {

struct ProcessRecord;

// From any thread: before MPI_Init, while recording, and not after MPI_Finalize, when it is ignored. What is
// said last of a key holds. Secrets are masked. Keys have up to 128 bytes and values up to 4096, what is
// longer is cut; a rank says 64 KiB at most, and ranks but 0 have 4 MiB in all.
void add_metadata(const char *key, const char *value) noexcept;

// Takes what was said before MPI_Init into the records of the process.
void begin_metadata(ProcessRecord &process) noexcept;

} // namespace haloscope::watch
