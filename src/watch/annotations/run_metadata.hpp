// Texts about the run that other people's interfaces bring.
#pragma once

namespace haloscope::watch {

// A row of `info`: metadata.hpp. Nothing in libcaliper and libadiak, which are without a recorder.
void say_of_run(const char *key, const char *value) noexcept;

} // namespace haloscope::watch
