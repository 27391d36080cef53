# Makes a target of a library that stands beside the recorder for the MPI on PATH. It is built if need be.
function(haloscope_unwatched target library)
  if(TARGET ${target})
    return()
  endif()
  find_program(HALOSCOPE haloscope REQUIRED)
  execute_process(
    COMMAND ${HALOSCOPE} where lib
    OUTPUT_VARIABLE DIRECTORY OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE STATUS)
  if(NOT STATUS EQUAL 0)
    message(FATAL_ERROR "haloscope where lib failed: see above")
  endif()
  add_library(${target} SHARED IMPORTED GLOBAL)
  get_filename_component(HEADERS "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/.." ABSOLUTE)
  set_target_properties(${target} PROPERTIES
    IMPORTED_LOCATION "${DIRECTORY}/lib${library}.so"
    INTERFACE_INCLUDE_DIRECTORIES "${HEADERS}")
endfunction()
