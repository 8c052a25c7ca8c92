# SPDX-License-Identifier: Apache-2.0
# What is in libhewn_runtime.a: less than 100 KB of code, and no call of what a library must not do.
#   cmake -DARCHIVE=libhewn_runtime.a -DNM=nm -P archive.cmake
find_program(SIZE NAMES size llvm-size llvm-size-22 REQUIRED)
execute_process(COMMAND ${SIZE} -t ${ARCHIVE} OUTPUT_VARIABLE sizes COMMAND_ERROR_IS_FATAL ANY)
if(NOT sizes MATCHES "([0-9]+)[\t ]+[0-9]+[\t ]+[0-9]+[\t ]+[0-9]+[\t ]+[0-9a-f]+[\t ]+\\(TOTALS\\)")
  message(FATAL_ERROR "what does this say?\n${sizes}")
endif()
message(STATUS "${CMAKE_MATCH_1} bytes of text")
if(CMAKE_MATCH_1 GREATER 100000)
  message(FATAL_ERROR "the runtime has ${CMAKE_MATCH_1} bytes of text; 100,000 are allowed")
endif()

execute_process(COMMAND ${NM} -u ${ARCHIVE} OUTPUT_VARIABLE undefined COMMAND_ERROR_IS_FATAL ANY)
foreach(name abort exit _exit printf fprintf vfprintf puts fputs fwrite __assert_fail setlocale strerror malloc calloc realloc
             getenv __cxa_throw _Znwm exp log cos sqrt)
  if(undefined MATCHES "U ${name}[\r\n]")
    message(FATAL_ERROR "the runtime calls ${name}")
  endif()
endforeach()

# Mutable globals: none. (The tables are constant; position-independent code has them in .data.rel.ro.)
execute_process(COMMAND ${NM} ${ARCHIVE} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL " [bBcCdD] [A-Za-z_0-9.]+" globals "${symbols}")
list(FILTER globals EXCLUDE REGEX " [dD] (hewn_rt_table|hewn_device_cuda|hewn_default_allocator|([A-Za-z_]+\\.)?names[.0-9]*)$")
if(globals)
  message(FATAL_ERROR "the runtime has mutable globals: ${globals}")
endif()
