# SPDX-License-Identifier: Apache-2.0
include_guard()

# hewn_add_model(<target> <model.onnx> [WEIGHTS_FILE] [OPTIONS <option>...] [CUSTOM_OPS
# <ops.json>...])
#
# Compiles the model as a part of the build. <target> is a static library:
#
#     hewn_add_model(resnet50 resnet50.onnx OPTIONS --target=x86-64-v3 --dim batch=1)
#     target_link_libraries(application PRIVATE resnet50)      # and in C: #include "resnet50.h"
#
# <target> is also the prefix of the declarations in the header, so it must be a valid C identifier
# that the C library does not use. OPTIONS are passed to `hewn compile` unchanged. The weights are
# embedded in the library, unless WEIGHTS_FILE is given: then they are in a file, which must be
# installed in the folder of the application's binary. The target property HEWN_WEIGHTS is the path
# of this file.
#
# CUSTOM_OPS are files as described in docs/custom-ops.md. If they have no "link", the application
# provides the functions:
#
#     target_link_libraries(application PRIVATE resnet50 my_ops)
function(hewn_add_model target model)
  cmake_parse_arguments(arg "WEIGHTS_FILE" "" "OPTIONS;CUSTOM_OPS" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "hewn_add_model(${target}): unknown argument '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  if(NOT target MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
    message(FATAL_ERROR "hewn_add_model(${target}): the name of the target must be a C identifier")
  endif()
  cmake_path(ABSOLUTE_PATH model BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}.hewn")
  file(MAKE_DIRECTORY "${folder}") # an include directory must exist when CMake runs
  set(archive "${folder}/lib${target}.a")
  set(products "${folder}/${target}.h")
  if(arg_WEIGHTS_FILE)
    list(APPEND products "${archive}.weights")
  else()
    list(APPEND arg_OPTIONS --embed-weights)
  endif()

  set(ops "")
  foreach(file ${arg_CUSTOM_OPS})
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    list(APPEND ops "${file}")
    list(APPEND arg_OPTIONS "--custom-ops=${file}")
  endforeach()

  add_custom_command(OUTPUT "${archive}" BYPRODUCTS ${products}
    COMMAND hewn::hewn compile "${model}" -o "${archive}" --quiet ${arg_OPTIONS}
    DEPENDS "${model}" ${ops} hewn::hewn
    COMMENT "Compiling ${target}"
    VERBATIM)
  add_custom_target(${target}_compiled DEPENDS "${archive}")

  add_library(${target} STATIC IMPORTED)
  add_dependencies(${target} ${target}_compiled)
  set_target_properties(${target} PROPERTIES
    IMPORTED_LOCATION "${archive}"
    HEWN_WEIGHTS "${archive}.weights"
    INTERFACE_INCLUDE_DIRECTORIES "${folder};${hewn_INCLUDE_DIR};${hewn_DLPACK_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;m")
endfunction()
