# SPDX-License-Identifier: Apache-2.0
# cmake -DBUILD=<build folder> -DWORK=<scratch folder> -DEXAMPLE=<examples/c> -DGENERATOR=<name> -P install.cmake
#
# Installs hewn into a fresh prefix, builds examples/c against it, runs that, and compares what it prints.
function(must)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(result)
    message(FATAL_ERROR "${ARGN}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE "${WORK}")
must("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/prefix")
must("${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${EXAMPLE}" -B "${WORK}/edges" "-DCMAKE_PREFIX_PATH=${WORK}/prefix")
must("${CMAKE_COMMAND}" --build "${WORK}/edges")
must("${WORK}/edges/edges")

file(READ "${CMAKE_CURRENT_LIST_DIR}/edges.txt" expected)
if(NOT output STREQUAL expected)
  message(FATAL_ERROR "examples/c printed\n${output}\nand not\n${expected}")
endif()
