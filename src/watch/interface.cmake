# How what stands before one MPI interface is built: the recorder, and the libraries of src/hide.

set(HALOSCOPE_ABI openmpi CACHE STRING "openmpi, mpich or standard")
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
if(NOT DEFINED CMAKE_UNITY_BUILD) # less to build; checkers want files one by one
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 0)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
add_compile_options(-Wall -Wextra -Wno-missing-field-initializers
  # Deprecated functions are wrapped like all others.
  -Wno-deprecated-declarations -fno-plt
  # What is preloaded is there from the start, and so are its threads' variables.
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
set(GENERATED ${CMAKE_CURRENT_BINARY_DIR}/generated)

# What the headers declare decides what is wrapped: SCRIPT mpi.i ARGUMENTS generates FILES.
function(generate_wrappers)
  cmake_parse_arguments(WRAPPERS "" "SCRIPT" "ARGUMENTS;FILES;DEPENDS" ${ARGN})
  file(MAKE_DIRECTORY ${GENERATED})
  file(WRITE ${GENERATED}/probe.c "#include <mpi.h>\n")
  set(INCLUDES ${HALOSCOPE_MPI_INCLUDE})
  list(TRANSFORM INCLUDES PREPEND -I)
  list(TRANSFORM WRAPPERS_FILES PREPEND ${GENERATED}/)
  add_custom_command(
    OUTPUT ${WRAPPERS_FILES}
    COMMAND ${CMAKE_CXX_COMPILER} -x c++ -E ${ABI_DEFINITION} -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX
            ${INCLUDES} ${GENERATED}/probe.c -o ${GENERATED}/mpi.i
    COMMAND ${Python3_EXECUTABLE} ${WRAPPERS_SCRIPT} ${GENERATED}/mpi.i ${WRAPPERS_ARGUMENTS}
    DEPENDS ${WRAPPERS_SCRIPT} ${WRAPPERS_DEPENDS}
    COMMENT "Generating the wrappers" VERBATIM)
  add_custom_target(generated DEPENDS ${WRAPPERS_FILES})
endfunction()
