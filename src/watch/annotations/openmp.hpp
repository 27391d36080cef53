// OpenMP's parallel regions, by its interface for tools (OMPT), which the runtimes of LLVM and Intel have.
#pragma once

namespace haloscope::watch {

// For the table `processes`: what is known of OpenMP in this process. An empty text: no runtime is loaded.
const char *describe_openmp() noexcept;

} // namespace haloscope::watch
