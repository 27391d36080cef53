// The name of the running program, as a user would call it.
#pragma once

#include <string>
#include <vector>

namespace haloscope::watch {

// The executable's name; of a Python program, its script's or module's.
std::string program_name();
// The same of a command line, whose words follow the name of the executable.
std::string program_name(const std::string &executable, const std::vector<std::string> &words);

} // namespace haloscope::watch
