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

# How many sources of a room are compiled as one. Half of what compiling one takes is reading headers, so batches halve the time of a
# whole build (tools/build, and so tools/quickstart and tools/test, ask for it in new build folders); one change compiles its batch,
# so who works on single files leaves it at 0.
set(HEWN_UNITY 0 CACHE STRING "How many sources of a library or tool are compiled as one; 0: each by itself")

# hewn_batches(OUT target sources...): the files to compile for these sources: themselves, or with HEWN_UNITY files in the build folder
# that include them. Not CMake's UNITY_BUILD, whose files name the sources by absolute paths (before CMake 3.29), so that ccache finds
# nothing of another checkout. DEBUG_TYPE is each source's own.
function(hewn_batches out name)
  list(LENGTH ARGN number)
  if(HEWN_UNITY LESS 2 OR number LESS 2)
    set(${out} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE room)
  set(batches "")
  while(ARGN)
    set(text "// Made by cmake/HewnTargets.cmake: sources of ${name} that are compiled as one.\n")
    foreach(i RANGE 1 ${HEWN_UNITY})
      list(POP_FRONT ARGN source)
      if(NOT source)
        break()
      elseif(IS_ABSOLUTE "${source}") # generated
        cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_BINARY_DIR}")
      else()
        set(source "${room}/${source}")
      endif()
      string(APPEND text "#include \"${source}\"\n#undef DEBUG_TYPE\n")
    endforeach()
    list(LENGTH batches number)
    set(batch "${CMAKE_CURRENT_BINARY_DIR}/${name}Batch${number}.cpp")
    file(CONFIGURE OUTPUT "${batch}" CONTENT "${text}" @ONLY)
    list(APPEND batches "${batch}")
  endwhile()
  set(${out} ${batches} PARENT_SCOPE)
endfunction()

# hewn_tidy(target sources...): clang-tidy over a target's sources, as a part of the target `tidy`. It depends on the
# objects (by their path in Ninja's build), so that only what was compiled anew is looked at again.
find_program(HEWN_CLANG_TIDY clang-tidy-22)
if(HEWN_UNITY GREATER 1)
  add_custom_target(tidy COMMAND "${CMAKE_COMMAND}" -E echo "tidy: sources have no objects of their own here: cmake --preset dev -DHEWN_UNITY=0"
    COMMAND "${CMAKE_COMMAND}" -E false VERBATIM)
else()
  add_custom_target(tidy)
endif()
function(hewn_tidy name)
  if(HEWN_UNITY GREATER 1 OR NOT HEWN_CLANG_TIDY OR NOT CMAKE_GENERATOR STREQUAL "Ninja")
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

# hewn_add_library(HewnRoom SOURCES a.cpp... [LLVM_SOURCES b.cpp...] [DEPENDS HewnOther...] [TABLEGEN target...] [NO_PRECOMPILED])
#
# One static library a room. LLVM_SOURCES are those with `using namespace llvm`: in batches of their own, because `Value` and `Type` would be
# either's beside `using namespace mlir`. DEPENDS are the rooms it may include from (public: they come along), TABLEGEN what must be
# generated before it compiles. NO_PRECOMPILED is for files that see no MLIR header.
function(hewn_add_library name)
  cmake_parse_arguments(arg "NO_PRECOMPILED" "" "SOURCES;LLVM_SOURCES;DEPENDS;TABLEGEN" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "hewn_add_library(${name}): what is ${arg_UNPARSED_ARGUMENTS}?")
  endif()
  hewn_batches(sources ${name} ${arg_SOURCES})
  hewn_batches(llvm_sources ${name}LLVM ${arg_LLVM_SOURCES})
  add_library(${name} STATIC ${sources} ${llvm_sources})
  target_link_libraries(${name} PUBLIC ${arg_DEPENDS})
  if(NOT arg_NO_PRECOMPILED)
    hewn_use_precompiled(${name})
  endif()
  if(arg_TABLEGEN)
    add_dependencies(${name} ${arg_TABLEGEN})
  endif()
  hewn_tidy(${name} ${arg_SOURCES} ${arg_LLVM_SOURCES})
endfunction()

# hewn_add_tool(name SOURCES main.cpp... DEPENDS HewnRoom...)
#
# An executable on all of LLVM.
function(hewn_add_tool name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  hewn_batches(sources ${name} ${arg_SOURCES})
  add_executable(${name} ${sources})
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

# hewn_add_shipped_tool(name SOURCES source.cpp... DEPENDS HewnRoom...)
#
# A tool that users get. Its sources define `int NAME_main(int argc, char **argv)` (a dash is an underscore), as the tools of LLVM that can be
# one binary do, and `main` is made here. With LLVM's archives it is a part of libhewn_compiler.so (cmake/SharedCompiler.cmake), where all of LLVM
# is once for all tools and for Python.
function(hewn_add_shipped_tool name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  string(MAKE_C_IDENTIFIER "${name}" tool)
  set(driver "${CMAKE_CURRENT_BINARY_DIR}/${name}-driver.cpp")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/Driver.cpp.in" "${driver}" @ONLY)
  if(NOT HEWN_STATIC_LLVM)
    hewn_add_tool(${name} ${ARGN})
    target_sources(${name} PRIVATE "${driver}")
    return()
  endif()
  hewn_batches(sources ${name} ${arg_SOURCES})
  add_library(${name}-objects OBJECT ${sources})
  target_link_libraries(${name}-objects PUBLIC ${arg_DEPENDS})
  hewn_use_precompiled(${name}-objects)
  hewn_tidy(${name}-objects ${arg_SOURCES})
  add_executable(${name} "${driver}")
  set_property(GLOBAL APPEND PROPERTY HEWN_SHIPPED_TOOLS ${name})
endfunction()
