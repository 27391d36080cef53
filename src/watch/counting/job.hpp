// Metadata from a process's environment: the launcher, the job of a batch system, and variables that control
// MPI and OpenMP.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace haloscope::watch {

using Texts = std::vector<std::pair<std::string, std::string>>;

// `scheduler`, `job_id` … and `launcher`, as far as they are known.
Texts read_job();
// Whether the launcher says that all `size` ranks are on this node.
bool is_on_one_node(int size);
// The variables whose names an allow-list has, sorted, secrets masked, 16 KiB at most.
Texts read_environment();
// HALOSCOPE_META_CASE=x: `case` is x.
Texts read_given_metadata();

} // namespace haloscope::watch
