# Lets projects that look for Caliper find Haloscope's library of its interface:
#   cmake -Dcaliper_DIR="$(haloscope where caliper-include)/cmake" -Dadiak_DIR="$(haloscope where caliper-include)/cmake"
get_filename_component(caliper_INCLUDE_DIR "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
include("${CMAKE_CURRENT_LIST_DIR}/unwatched.cmake")
haloscope_unwatched(caliper caliper)
set(caliper_INCLUDE_PATH ${caliper_INCLUDE_DIR})
set(caliper_LIBRARIES caliper)
