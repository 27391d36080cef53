# `older_glibc(target)` lets a library be loaded beside older C libraries than the one that it is built with; with
# HALOSCOPE_OLDER_GLIBC in the environment, beside glibc 2.28 and newer: for what is given to others, on x86-64.
# `older_glibc(target LINKED)`: the object that does it is among those that the target is made of already.
set(OLDER ${CMAKE_CURRENT_LIST_DIR}/older.cpp)

function(older_glibc target)
  if(NOT ARGN)
    target_sources(${target} PRIVATE ${OLDER})
    set_source_files_properties(${OLDER} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  if("$ENV{HALOSCOPE_OLDER_GLIBC}" STREQUAL "")
    return()
  endif()
  target_compile_definitions(${target} PRIVATE HALOSCOPE_OLDER_GLIBC)
  # What the file puts in the place of a function, everything in the library takes.
  file(STRINGS ${OLDER} LINES REGEX "^HALOSCOPE_(OLDER|NEWER)")
  foreach(LINE ${LINES})
    string(REGEX REPLACE "^HALOSCOPE_(OLDER.|NEWER.*__wrap_)([a-z_0-9]+).*" "\\2" NAME "${LINE}")
    target_link_options(${target} PRIVATE -Wl,--wrap=${NAME})
  endforeach()
  target_link_options(${target} PRIVATE -Wl,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 -Wl,--as-needed)
endfunction()
