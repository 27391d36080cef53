# The build of a library in front of one MPI interface. `preloaded_library` makes a library of the directory that
# includes this file. Its meanings.py defines the generated wrappers.

set(HALOSCOPE_ABI openmpi CACHE STRING "openmpi, mpich, standard or simgrid")
set(HALOSCOPE_MPI_INCLUDE "" CACHE STRING "directories of the MPI's headers")
set(HALOSCOPE_SANITIZE "" CACHE STRING "sanitizers, as in -fsanitize=")
find_package(Python3 REQUIRED COMPONENTS Interpreter)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT DEFINED CMAKE_UNITY_BUILD) # less to build
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 0)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
add_compile_options(-Wall -Wextra -Wno-missing-field-initializers
  # Deprecated functions are wrapped like all others.
  -Wno-deprecated-declarations -fno-plt
  # Preloaded libraries are loaded at the start, so their thread-local variables may be static.
  -ftls-model=initial-exec)
if(HALOSCOPE_SANITIZE)
  add_compile_options(-fsanitize=${HALOSCOPE_SANITIZE} -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=${HALOSCOPE_SANITIZE})
endif()

string(TOUPPER ${HALOSCOPE_ABI} ABI_NAME)
set(ABI_DEFINITION "")
if(HALOSCOPE_ABI STREQUAL standard)
  set(ABI_DEFINITION -DMPI_ABI)
endif()

set(INTERPOSE ${CMAKE_CURRENT_LIST_DIR})
include(${INTERPOSE}/older.cmake)
get_filename_component(SOURCE_ROOT ${INTERPOSE} DIRECTORY)
file(RELATIVE_PATH PACKAGE ${SOURCE_ROOT} ${CMAKE_CURRENT_SOURCE_DIR})
set(GENERATED_ROOT ${CMAKE_CURRENT_BINARY_DIR}/generated)
set(GENERATED ${GENERATED_ROOT}/${PACKAGE})
# Includes name the package of a header.
set(INCLUDE_PATH ${GENERATED_ROOT} ${SOURCE_ROOT})

# Wraps the functions that MPI's headers declare. HEADERS: further generated files of the library. DEPENDS: further
# inputs of its meanings.py.
function(generate_wrappers)
  cmake_parse_arguments(WRAPPERS "" "" "HEADERS;DEPENDS" ${ARGN})
  file(MAKE_DIRECTORY ${GENERATED})
  file(WRITE ${GENERATED}/probe.c "#include <mpi.h>\n")
  set(INCLUDES ${HALOSCOPE_MPI_INCLUDE})
  list(TRANSFORM INCLUDES PREPEND -I)
  set(FILES wrappers.cpp fortran_wrappers.cpp ${WRAPPERS_HEADERS})
  list(TRANSFORM FILES PREPEND ${GENERATED}/)
  list(APPEND FILES ${GENERATED_ROOT}/interpose/real.hpp)
  file(GLOB GENERATORS CONFIGURE_DEPENDS ${INTERPOSE}/*.py)
  add_custom_command(
    OUTPUT ${FILES}
    COMMAND ${CMAKE_CXX_COMPILER} -x c++ -E ${ABI_DEFINITION} -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX
            ${INCLUDES} ${GENERATED}/probe.c -o ${GENERATED}/mpi.i
    COMMAND ${Python3_EXECUTABLE} ${INTERPOSE}/generate.py ${GENERATED}/mpi.i ${HALOSCOPE_ABI}
            ${CMAKE_CURRENT_SOURCE_DIR} ${GENERATED_ROOT}
    DEPENDS ${GENERATORS} ${CMAKE_CURRENT_SOURCE_DIR}/meanings.py ${WRAPPERS_DEPENDS}
    COMMENT "Generating the wrappers" VERBATIM)
  add_custom_target(generated DEPENDS ${FILES})
endfunction()

# Sources: these, the generated ones, and those that find the MPI library. COMPUTES: it calls functions of libm.
function(preloaded_library name)
  cmake_parse_arguments(IS "COMPUTES" "" "" ${ARGN})
  set(SOURCES ${IS_UNPARSED_ARGUMENTS})
  add_library(${name} SHARED ${GENERATED}/wrappers.cpp ${SOURCES} ${INTERPOSE}/active_call.cpp ${INTERPOSE}/library.cpp
              ${INTERPOSE}/report.cpp)
  if(IS_COMPUTES)
    older_glibc(${name} COMPUTES)
  else()
    older_glibc(${name})
  endif()
  # The standard ABI is C's alone: its Fortran bindings are a library of their own that calls MPI_*, as SMPI's do.
  if(HALOSCOPE_ABI MATCHES "openmpi|mpich")
    target_sources(${name} PRIVATE ${GENERATED}/fortran_wrappers.cpp ${INTERPOSE}/fortran.cpp)
  endif()
  if(NOT HALOSCOPE_ABI STREQUAL simgrid)
    target_sources(${name} PRIVATE ${INTERPOSE}/lookups.cpp ${INTERPOSE}/taking_part.cpp)
    # A tail call also where nothing else is optimised; and a sanitizer calls dlsym before it has started.
    set_source_files_properties(${INTERPOSE}/lookups.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON
                                COMPILE_OPTIONS "-foptimize-sibling-calls;-fno-sanitize=all")
  endif()
  add_dependencies(${name} generated)
  target_include_directories(${name} PRIVATE ${INCLUDE_PATH})
  target_include_directories(${name} SYSTEM PRIVATE ${HALOSCOPE_MPI_INCLUDE})
  target_compile_definitions(${name} PRIVATE HALOSCOPE_ABI_${ABI_NAME} OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  target_compile_options(${name} PRIVATE ${ABI_DEFINITION})
  target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS})
  # It is loaded into programs of users, so its symbols and those of libstdc++ are hidden.
  target_link_options(${name} PRIVATE -Wl,--version-script,${CMAKE_CURRENT_SOURCE_DIR}/exports.map)
  if(NOT HALOSCOPE_SANITIZE)
    # Not libgcc: exceptions that pass through wrappers need the unwinder that the program has.
    target_link_options(${name} PRIVATE -static-libstdc++)
  endif()
endfunction()
