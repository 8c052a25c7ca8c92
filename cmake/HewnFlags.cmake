# SPDX-License-Identifier: Apache-2.0
# Language standards, warnings, compiler launcher and linker of all targets, including the runtime.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(HEWN_CCACHE ccache)
if(HEWN_CCACHE)
  # ccache needs this sloppiness setting to have hits for sources with precompiled headers. The base
  # directory lets checkouts with the same content share objects.
  set(launcher "${CMAKE_COMMAND}" -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${HEWN_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${launcher}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${launcher}")
endif()

if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_link_options(-fuse-ld=lld)
  # A time stamp in the precompiled header would change its hash in every build and defeat ccache.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

add_compile_options(-Wall -Wextra -Wno-unused-parameter -ffunction-sections -fdata-sections
                    "$<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>")
if(HEWN_SANITIZE)
  # Sanitizer builds leave out the vptr check, which requires RTTI of LLVM's classes. The LLVM
  # packages do not provide this RTTI.
  add_compile_options(-fsanitize=${HEWN_SANITIZE} -fno-sanitize=vptr -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${HEWN_SANITIZE})
endif()
