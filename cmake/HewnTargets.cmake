# SPDX-License-Identifier: Apache-2.0
# hewn_tablegen, hewn_add_library and hewn_add_tool: how every room says what it is made of.

# hewn_tablegen(TARGET File.td OUT.inc "-flags" [OUT.inc "-flags"]...)
#
# Makes OUT.inc in the build folder that mirrors the current one, so that a file of dialects/Graph is included as
# "dialects/Graph/OUT.inc". TARGET is what hewn_add_library's TABLEGEN takes.
function(hewn_tablegen target file)
  set(LLVM_TARGET_DEFINITIONS ${file})
  set(TABLEGEN_OUTPUT)
  while(ARGN)
    list(POP_FRONT ARGN out flags)
    separate_arguments(flags NATIVE_COMMAND "${flags}")
    mlir_tablegen(${out} ${flags})
  endwhile()
  add_custom_target(${target} DEPENDS ${TABLEGEN_OUTPUT})
endfunction()

# hewn_tidy(target sources...): clang-tidy over a target's sources, as a part of the target `tidy`. It depends on the
# objects (by their path in Ninja's build), so that only what was compiled anew is looked at again.
find_program(HEWN_CLANG_TIDY clang-tidy-22)
add_custom_target(tidy)
function(hewn_tidy name)
  if(NOT HEWN_CLANG_TIDY OR NOT CMAKE_GENERATOR STREQUAL "Ninja")
    return()
  endif()
  foreach(source IN LISTS ARGN)
    if(IS_ABSOLUTE "${source}") # generated
      continue()
    endif()
    set(stamp "${CMAKE_CURRENT_BINARY_DIR}/${source}.tidy")
    add_custom_command(OUTPUT "${stamp}"
      COMMAND "${HEWN_CLANG_TIDY}" --quiet -p "${PROJECT_BINARY_DIR}" "${source}"
      COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
      DEPENDS "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${name}.dir/${source}.o" "${PROJECT_SOURCE_DIR}/.clang-tidy"
      WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
      COMMENT "clang-tidy ${source}")
    list(APPEND stamps "${stamp}")
  endforeach()
  add_custom_target(${name}-tidy DEPENDS ${stamps})
  add_dependencies(tidy ${name}-tidy)
endfunction()

# hewn_add_library(HewnRoom SOURCES a.cpp... [DEPENDS HewnOther...] [TABLEGEN target...] [NO_PRECOMPILED])
#
# One static library a room. DEPENDS are the rooms it may include from (public: they come along), TABLEGEN what must be
# generated before it compiles. NO_PRECOMPILED is for files that see no MLIR header.
function(hewn_add_library name)
  cmake_parse_arguments(arg "NO_PRECOMPILED" "" "SOURCES;DEPENDS;TABLEGEN" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "hewn_add_library(${name}): what is ${arg_UNPARSED_ARGUMENTS}?")
  endif()
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC ${arg_DEPENDS})
  if(NOT arg_NO_PRECOMPILED)
    hewn_use_precompiled(${name})
  endif()
  if(arg_TABLEGEN)
    add_dependencies(${name} ${arg_TABLEGEN})
  endif()
  hewn_tidy(${name} ${arg_SOURCES})
endfunction()

# hewn_add_tool(name SOURCES main.cpp... DEPENDS HewnRoom...)
#
# An executable on all of LLVM.
function(hewn_add_tool name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  # Not -fPIE, which executables get: the precompiled header is for -fPIC.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIC)
  hewn_use_precompiled(${name})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} HewnLLVM)
  # The shared development build exports what the rooms define: hiding the type ids of templates that libMLIR.so has
  # too makes the casts between them fail.
  set_target_properties(${name} PROPERTIES ENABLE_EXPORTS ON)
  hewn_tidy(${name} ${arg_SOURCES})
endfunction()
