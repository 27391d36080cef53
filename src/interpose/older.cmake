# `older_glibc(target)` lets a library be loaded beside older C libraries than the one that it is built with; with
# HALOSCOPE_OLDER_GLIBC in the environment, with glibc 2.28 and newer, for released wheels.
# `older_glibc(target LINKED)`: the target's objects already include the one that does it.
# `older_glibc(target COMPUTES)`: it calls functions of libm.
set(OLDER ${CMAKE_CURRENT_LIST_DIR}/older.cpp)

function(older_glibc target)
  cmake_parse_arguments(IS "LINKED;COMPUTES" "" "" ${ARGN})
  if(NOT IS_LINKED)
    target_sources(${target} PRIVATE ${OLDER})
    set_source_files_properties(${OLDER} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  if("$ENV{HALOSCOPE_OLDER_GLIBC}" STREQUAL "")
    return()
  endif()
  target_compile_definitions(${target} PRIVATE HALOSCOPE_OLDER_GLIBC)
  set(KINDS "OLDER|NEWER")
  if(IS_COMPUTES)
    target_compile_definitions(${target} PRIVATE HALOSCOPE_COMPUTES)
    target_link_libraries(${target} PRIVATE m)
    string(APPEND KINDS "|COMPUTED")
  endif()
  # What the file puts in the place of a function, everything in the library takes.
  file(STRINGS ${OLDER} LINES REGEX "^HALOSCOPE_(${KINDS})")
  foreach(LINE ${LINES})
    string(REGEX REPLACE "^HALOSCOPE_(OLDER.|COMPUTED.|NEWER.*__wrap_)([a-z_0-9]+).*" "\\2" NAME "${LINE}")
    target_link_options(${target} PRIVATE -Wl,--wrap=${NAME})
  endforeach()
  target_link_options(${target} PRIVATE -Wl,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 -Wl,--as-needed)
endfunction()
