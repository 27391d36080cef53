# The same for projects that look for Adiak: caliper-config.cmake.
get_filename_component(adiak_INCLUDE_DIRS "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
include("${CMAKE_CURRENT_LIST_DIR}/unwatched.cmake")
haloscope_unwatched(adiak::adiak adiak)
set(adiak_LIBRARIES adiak::adiak)
