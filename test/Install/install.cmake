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

function(build source folder)
  must("${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${source}" -B "${folder}" "-DCMAKE_PREFIX_PATH=${WORK}/prefix"
    "-DEXPECTED_VERSION=${VERSION}")
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

# If the model changes, the build recompiles only the model.
must("${CMAKE_COMMAND}" --build "${WORK}/edges")
if(output MATCHES "Compiling")
  message(FATAL_ERROR "a second build compiled the model again:\n${output}")
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
