# SPDX-License-Identifier: Apache-2.0
# The runtime for other architectures that hewn has code for, where C's library for them is on this machine (Debian's
# libc6-dev-arm64-cross). Without it the compiler makes objects for them, and says that a library needs the package.
#
# Any Clang compiles for all of them, so these are libraries as others are. Without helpers of the compiler's (outlined atomics): a
# library that hewn makes needs C's alone.
include(CheckCSourceCompiles)
find_package(Threads REQUIRED) # a target of a package is known in the folder that asks for it

#   hewn_add_cross_runtime(ARCHITECTURE TRIPLE [compile flags...])
function(hewn_add_cross_runtime architecture triple)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL architecture OR NOT CMAKE_C_COMPILER_ID MATCHES "Clang" OR HEWN_SANITIZE)
    return()
  endif()
  set(CMAKE_REQUIRED_FLAGS "--target=${triple}")
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
  check_c_source_compiles("#include <pthread.h>\n#include <sys/auxv.h>\nint hewn(void) { return 0; }" HEWN_COMPILES_FOR_${architecture})
  if(NOT HEWN_COMPILES_FOR_${architecture})
    unset(HEWN_COMPILES_FOR_${architecture} CACHE) # the package may be there the next time
    message(STATUS "hewn: no runtime for ${architecture}, since there is no C library for ${triple}")
    return()
  endif()
  set(name hewn_runtime_${architecture})
  hewn_add_runtime(${name} --target=${triple} ${ARGN})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME hewn_runtime
    ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/${triple}")
  set(HEWN_CROSS_RUNTIMES ${HEWN_CROSS_RUNTIMES} "${name}|${triple}" CACHE INTERNAL "")
endfunction()

set(HEWN_CROSS_RUNTIMES "" CACHE INTERNAL "NAME|TRIPLE of each")
hewn_add_cross_runtime(aarch64 aarch64-linux-gnu -mno-outline-atomics)
