# SPDX-License-Identifier: Apache-2.0
# Builds the runtime for other architectures that hewn supports, if their C library is installed
# (Debian: libc6-dev-arm64-cross, libc6-dev-amd64-cross). Without it, the compiler can still write
# objects for them, and reports that a library requires the package.
#
# Clang can compile for all targets, so these are normal CMake libraries. They use no helpers of the
# compiler runtime (outlined atomics): a library that hewn generates only requires the C library.
include(CheckCSourceCompiles)
include(HewnFamilies)
find_package(Threads REQUIRED) # imported targets are only visible in this directory scope

#   hewn_add_cross_runtime(ARCHITECTURE TRIPLE [compile flags...])
function(hewn_add_cross_runtime architecture triple)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL architecture OR NOT CMAKE_C_COMPILER_ID MATCHES "Clang" OR HEWN_SANITIZE)
    return()
  endif()
  set(flags --target=${triple} ${ARGN})
  if(CMAKE_CROSSCOMPILING AND CMAKE_HOST_SYSTEM_PROCESSOR STREQUAL architecture)
    # The sysroot does not have the C library of the build machine.
    list(APPEND flags --sysroot=/)
  endif()
  list(JOIN flags " " CMAKE_REQUIRED_FLAGS)
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
  check_c_source_compiles("#include <pthread.h>\n#include <sys/auxv.h>\nint hewn(void) { return 0; }" HEWN_COMPILES_FOR_${architecture})
  if(NOT HEWN_COMPILES_FOR_${architecture})
    # The next configuration checks again, since the package may be installed by then.
    unset(HEWN_COMPILES_FOR_${architecture} CACHE)
    message(STATUS "hewn: no runtime for ${architecture}: C library for ${triple} not found")
    return()
  endif()
  set(name hewn_runtime_${architecture})
  hewn_add_runtime(${name} ${flags})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME hewn_runtime
    ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/${triple}")
  set(HEWN_CROSS_RUNTIMES ${HEWN_CROSS_RUNTIMES} "${name}|${triple}" CACHE INTERNAL "")
endfunction()

# Builds the runtime for a target without a C library, to lib/FOLDER. Needs only Clang and DLPack's
# header, which is copied to a folder of its own, so that no header of a C library is found.
#   hewn_add_freestanding_runtime(FOLDER TRIPLE source...)
function(hewn_add_freestanding_runtime folder triple)
  find_path(HEWN_DLPACK dlpack/dlpack.h)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang" OR HEWN_SANITIZE OR NOT HEWN_DLPACK)
    return()
  endif()
  set(headers "${PROJECT_BINARY_DIR}/freestanding")
  configure_file("${HEWN_DLPACK}/dlpack/dlpack.h" "${headers}/dlpack/dlpack.h" COPYONLY)
  set(name hewn_runtime_${folder})
  add_library(${name} STATIC ${ARGN})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME hewn_runtime ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/${folder}"
    C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF C_VISIBILITY_PRESET hidden
    POSITION_INDEPENDENT_CODE OFF INTERPROCEDURAL_OPTIMIZATION OFF)
  target_include_directories(${name} PRIVATE ${HEWN_RUNTIME_INCLUDE} ${HEWN_RUNTIME_DIR})
  target_compile_options(${name} PRIVATE --target=${triple} -ffreestanding -nostdlibinc "SHELL:-isystem ${headers}"
    "SHELL:-isystem ${HEWN_RUNTIME_DIR}/platform/none" -Os -fno-math-errno -ffunction-sections -fdata-sections
    -fdebug-default-version=4 -Wall -Wextra -Wpedantic -Wconversion)
  set(HEWN_CROSS_RUNTIMES ${HEWN_CROSS_RUNTIMES} "${name}|${folder}" CACHE INTERNAL "")
endfunction()

set(HEWN_CROSS_RUNTIMES "" CACHE INTERNAL "NAME|FOLDER of each")
foreach(archive IN LISTS HEWN_RUNTIME_ARCHIVES)
  string(REPLACE "|" ";" archive "${archive}")
  hewn_add_cross_runtime(${archive})
endforeach()
set(libm "${PROJECT_SOURCE_DIR}/lib/Codegen/Math/Device/libm.c") # the math functions of kernels
if(EXISTS "${libm}")
  list(APPEND HEWN_WASM_SOURCES "${libm}")
endif()
hewn_add_freestanding_runtime(wasm32-unknown wasm32-unknown-unknown ${HEWN_WASM_SOURCES}
  "${HEWN_RUNTIME_DIR}/platform/none/weights.c")
hewn_add_freestanding_runtime(wasm32-wasip1 wasm32-unknown-wasip1 ${HEWN_WASM_SOURCES}
  "${HEWN_RUNTIME_DIR}/platform/wasi/weights.c")
