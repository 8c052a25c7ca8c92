# SPDX-License-Identifier: Apache-2.0
# Toolchain file: builds for AArch64 Linux on a machine of another architecture, with Clang, lld and
# LLVM's binary utilities of the machine, and the headers and libraries of Debian's arm64 packages,
# which tools/setup --release-aarch64 unpacks into the cache folder. Used by tools/release --aarch64.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)

set(cache "$ENV{XDG_CACHE_HOME}")
if(NOT cache)
  set(cache "$ENV{HOME}/.cache")
endif()
set(CMAKE_SYSROOT "${cache}/hewn/sysroot-aarch64")
if(NOT EXISTS "${CMAKE_SYSROOT}/versions")
  message(FATAL_ERROR "Debian's arm64 packages not found in ${CMAKE_SYSROOT}: run tools/setup --release-aarch64.")
endif()

set(CMAKE_C_COMPILER clang-22)
set(CMAKE_CXX_COMPILER clang++-22)
set(CMAKE_C_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_CXX_COMPILER_TARGET aarch64-linux-gnu)
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT -fuse-ld=lld)
endforeach()
# runtime/ops/isolate.cmake calls these.
find_program(CMAKE_LINKER ld.lld-22 REQUIRED)
find_program(CMAKE_OBJCOPY llvm-objcopy-22 REQUIRED)
find_program(CMAKE_AR llvm-ar-22 REQUIRED)
find_program(CMAKE_RANLIB llvm-ranlib-22 REQUIRED)
find_program(CMAKE_STRIP llvm-strip-22 REQUIRED)

# Programs and the CMake packages of LLVM are those of the build machine (HewnDependencies.cmake).
set(CMAKE_FIND_ROOT_PATH "${cache}/hewn/protobuf-aarch64")
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE NEVER)
