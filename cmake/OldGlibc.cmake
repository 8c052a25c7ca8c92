# SPDX-License-Identifier: Apache-2.0
# HEWN_GLIBC: links against an older glibc than that of the machine, so that release binaries run on
# older systems. See docs/decisions/build/old-glibc.md.
#
# tools/setup --release puts libraries without code that have the symbol versions of this glibc,
# and its startup object and libc_nonshared.a, into the cache folder. The compiler driver finds them
# before those of the machine.
set(HEWN_GLIBC "" CACHE STRING "glibc version to link against, such as 2.28 (tools/setup --release); empty: that of the machine")
if(NOT HEWN_GLIBC)
  add_library(HewnOldGlibc INTERFACE)
  return()
endif()
set(glibc "${HEWN_CACHE}/glibc-${HEWN_GLIBC}/${CMAKE_SYSTEM_PROCESSOR}")
if(NOT EXISTS "${glibc}/libc.so.6")
  message(FATAL_ERROR "glibc ${HEWN_GLIBC} not found in ${glibc}: run tools/setup --release, or set HEWN_GLIBC to nothing.")
endif()
# The linker script has an absolute path, so that it is written here.
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/glibc/libc.so" CONTENT "GROUP(${glibc}/libc.so.6 ${glibc}/libc_nonshared.a AS_NEEDED(${glibc}/libld.so.2))\n" @ONLY)
# libgcc_s of the machine calls functions of its newer glibc.
add_link_options("-B${glibc}" "-L${PROJECT_BINARY_DIR}/glibc" "-L${glibc}" -Wl,--allow-shlib-undefined)
# An archive, so that only the binaries that call one of its functions contain it.
add_library(HewnOldGlibc STATIC cmake/OldGlibc.c)
