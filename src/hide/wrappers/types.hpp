// What each library says to a wrapper of Fortran's that has made a type and freed it.
#pragma once

namespace haloscope::hide {

// Handles of types may mean others from now on.
void forget_types() noexcept;

} // namespace haloscope::hide
