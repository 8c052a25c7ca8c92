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
# that the C library does not use. It is visible in the whole project. The build compiles the model
# again if the model, its external data, or another file that the compile reads changes.
#
# OPTIONS are passed to `hewn compile` unchanged, for example `--dim batch=1..8` or
# `--target=x86-64-v3`. Without --target, the code is for the CPU that compiles. A cross build gets
# the baseline of CMAKE_SYSTEM_PROCESSOR (x86-64-v2 or aarch64) instead.
#
# The weights are embedded in the library. With WEIGHTS_FILE, which takes no value, they are in a
# file, which must be installed in the folder of the application's binary. The target property
# HEWN_WEIGHTS is the path of this file.
#
# A shared library that links <target> does not export the functions of the model and of the runtime
# (linker flag --exclude-libs).
#
# CUSTOM_OPS are files as described in docs/custom-ops.md. If they have no "link", the application
# provides the functions:
#
#     target_link_libraries(application PRIVATE resnet50 my_ops)
# The version whose behavior add_custom_command(DEPFILE) has in the function below.
cmake_policy(VERSION 3.20...3.30)

# Sets `option` to the --target for which a model is compiled if its OPTIONS have none.
function(hewn_default_target target option)
  set(${option} "" PARENT_SCOPE)
  if(CMAKE_CROSSCOMPILING)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
      set(${option} --target=x86-64-v2 PARENT_SCOPE)
    elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
      set(${option} --target=aarch64 PARENT_SCOPE)
    else()
      message(FATAL_ERROR "hewn_add_model(${target}): hewn has no target for CMAKE_SYSTEM_PROCESSOR '${CMAKE_SYSTEM_PROCESSOR}'; name one by OPTIONS --target=...")
    endif()
    return()
  endif()
  get_property(told GLOBAL PROPERTY HEWN_TOLD_HOST)
  if(NOT told)
    set_property(GLOBAL PROPERTY HEWN_TOLD_HOST TRUE)
    message(NOTICE "hewn_add_model(${target}): no --target in OPTIONS, so the code is for this machine's CPU")
  endif()
endfunction()

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

  if(NOT "${arg_OPTIONS}" MATCHES "(^|;)--?target(=|;|$)")
    hewn_default_target(${target} option)
    list(APPEND arg_OPTIONS ${option})
  endif()

  add_custom_command(OUTPUT "${archive}" BYPRODUCTS ${products}
    COMMAND hewn::hewn compile "${model}" -o "${archive}" --quiet "--depfile=${archive}.d" ${arg_OPTIONS}
    DEPENDS "${model}" ${ops} hewn::hewn
    DEPFILE "${archive}.d"
    COMMENT "Compiling ${target}"
    VERBATIM)
  add_custom_target(${target}_compiled DEPENDS "${archive}")

  # A parent folder that links the model may not know Threads::Threads, which is not global.
  # Before glibc 2.34, dladdr is in a library of its own.
  set(libraries ${CMAKE_THREAD_LIBS_INIT} ${CMAKE_DL_LIBS} m)
  add_library(${target} STATIC IMPORTED GLOBAL)
  add_dependencies(${target} ${target}_compiled)
  set_target_properties(${target} PROPERTIES
    IMPORTED_LOCATION "${archive}"
    HEWN_WEIGHTS "${archive}.weights"
    INTERFACE_INCLUDE_DIRECTORIES "${folder};${hewn_INCLUDE_DIR};${hewn_DLPACK_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${libraries}"
    INTERFACE_LINK_OPTIONS "LINKER:--exclude-libs,lib${target}.a")
endfunction()
