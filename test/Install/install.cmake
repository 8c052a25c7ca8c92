# SPDX-License-Identifier: Apache-2.0
# cmake -DBUILD=<build folder> -DWORK=<scratch folder> -DEXAMPLE=<examples/c> -DGENERATOR=<name>
# -DVERSION=<major.minor> -P install.cmake
#
# Installs hewn into an empty prefix, moves the prefix, builds examples/c and a C++ consumer against
# it, runs both and compares their output.
function(must)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(result)
    message(FATAL_ERROR "${ARGN}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(same what expected)
  if(NOT output STREQUAL expected)
    message(FATAL_ERROR "${what} printed\n${output}\nand not\n${expected}")
  endif()
endfunction()

# Configures and builds. A build without --target says once that the code is for this machine.
function(build source folder)
  must("${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${source}" -B "${folder}" "-DCMAKE_PREFIX_PATH=${WORK}/prefix"
    "-DEXPECTED_VERSION=${VERSION}")
  string(REGEX MATCHALL "so the code is for this machine's CPU" told "${output}")
  list(LENGTH told count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "${count} messages about the CPU:\n${output}")
  endif()
  must("${CMAKE_COMMAND}" --build "${folder}")
endfunction()

file(REMOVE_RECURSE "${WORK}")
must("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/first")
file(RENAME "${WORK}/first" "${WORK}/prefix")  # an installation is relocatable

build("${EXAMPLE}" "${WORK}/edges")
must("${WORK}/edges/edges")
file(READ "${CMAKE_CURRENT_LIST_DIR}/edges.txt" expected)
same("examples/c" "${expected}")

build("${CMAKE_CURRENT_LIST_DIR}/consumer" "${WORK}/consumer")
must("${WORK}/consumer/consumer")
same("the consumer" "1 128, arena 0 bytes
dimension 'batch' is 5; the model was compiled for 1..4
8
")

# A second build compiles no model, and a build after a change of a file in OPTIONS only those that
# use the file.
foreach(folder edges consumer)
  must("${CMAKE_COMMAND}" --build "${WORK}/${folder}")
  if(output MATCHES "Compiling")
    message(FATAL_ERROR "a second build compiled the model again:\n${output}")
  endif()
endforeach()
file(TOUCH "${WORK}/consumer/ops.json")
must("${CMAKE_COMMAND}" --build "${WORK}/consumer")
if(NOT output MATCHES "Compiling custom" OR output MATCHES "Compiling line")
  message(FATAL_ERROR "a change of ops.json compiled not just the model that uses it:\n${output}")
endif()

file(READ "${WORK}/consumer/exports.txt" exports)
if(NOT exports MATCHES "^[0-9a-f]+ T plugin_run\n$")
  message(FATAL_ERROR "the plug-in exports more than its function:\n${exports}")
endif()

# A cross build compiles for the processor of the target, or fails when it is configured.
set(cross "${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${CMAKE_CURRENT_LIST_DIR}/cross" "-DCMAKE_PREFIX_PATH=${WORK}/prefix"
  -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY "-DCMAKE_FIND_ROOT_PATH=${WORK}/nothing"
  -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY)
file(GLOB_RECURSE runtime "${WORK}/prefix/libhewn_runtime.a")
list(FILTER runtime INCLUDE REGEX "/aarch64-linux-gnu/")
must(${cross} -B "${WORK}/aarch64" -DCMAKE_SYSTEM_PROCESSOR=aarch64)
if(runtime)
  must("${CMAKE_COMMAND}" --build "${WORK}/aarch64" --target line_compiled)
  must("${WORK}/prefix/bin/hewn" info "${WORK}/aarch64/line.hewn/libline.a")
  if(NOT output MATCHES "archive for aarch64")
    message(FATAL_ERROR "a cross build for aarch64 compiled for another processor:\n${output}")
  endif()
else()
  message(STATUS "no runtime for aarch64: a cross build is only configured")
endif()
execute_process(COMMAND ${cross} -B "${WORK}/riscv64" -DCMAKE_SYSTEM_PROCESSOR=riscv64
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
string(REGEX REPLACE "[ \n]+" " " output "${output}") # CMake wraps the message
if(result EQUAL 0 OR NOT output MATCHES "hewn has no target for CMAKE_SYSTEM_PROCESSOR 'riscv64'")
  message(FATAL_ERROR "a cross build for riscv64 was configured:\n${output}")
endif()

# hewn.pc, for a program that links an object.
find_program(PKG_CONFIG NAMES pkg-config pkgconf)
find_program(CC NAMES cc clang-22 REQUIRED)
if(PKG_CONFIG)
  file(GLOB_RECURSE pc "${WORK}/prefix/hewn.pc")
  cmake_path(GET pc PARENT_PATH pc)
  must("${CMAKE_COMMAND}" -E env "PKG_CONFIG_PATH=${pc}" "${PKG_CONFIG}" --cflags --libs hewn)
  separate_arguments(flags UNIX_COMMAND "${output}")
  must("${WORK}/prefix/bin/hewn" compile "${EXAMPLE}/sobel.onnxtxt" -o "${WORK}/sobel.o" --quiet)
  must("${CC}" "${EXAMPLE}/edges.c" "${WORK}/sobel.o" "-I${WORK}" ${flags} -o "${WORK}/linked")
  must("${WORK}/linked")
  same("the program that was linked by pkg-config" "${expected}")
else()
  message(STATUS "pkg-config not found: hewn.pc is not tested")
endif()

# The installed tools find the runtime relative to their own location.
must("${WORK}/prefix/bin/hewn" compile "${EXAMPLE}/sobel.onnxtxt" -o "${WORK}/libsobel.so")
must("${WORK}/prefix/bin/hewn-opt" --version)
if(EXISTS "${WORK}/prefix/bin/hewn-lsp-server")  # only if LLVM is linked as a shared library
  must("${WORK}/prefix/bin/hewn-lsp-server" --help)
endif()

# The Python package is installed with its subfolders.
file(GLOB_RECURSE found "${WORK}/prefix/onnxruntime_pybind11_state.py")
if(NOT found MATCHES "/hewn/compat/onnxruntime/capi/")
  message(FATAL_ERROR "hewn.compat.onnxruntime was not installed")
endif()
