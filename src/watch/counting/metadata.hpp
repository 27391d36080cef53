// Metadata of a run from the program or the libraries in it: texts by key, which become entries of `info`.
#pragma once

namespace haloscope::watch {

struct ProcessRecord;

// Adds an entry. Any thread may call it before MPI_Init and while recording. After MPI_Finalize it is
// ignored. The latest value of a key counts. Secrets are masked. Longer keys than 128 bytes and longer values
// than 4096 bytes are cut. The limit is 64 KiB per rank, and 4 MiB for all ranks except rank 0.
void add_metadata(const char *key, const char *value) noexcept;

// Moves the entries from before MPI_Init into the records of the process.
void begin_metadata(ProcessRecord &process) noexcept;

} // namespace haloscope::watch
