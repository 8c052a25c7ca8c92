# SPDX-License-Identifier: Apache-2.0
# The headers of MLIR that nearly every file reads, compiled once a user and not once a build folder: compiling them takes
# ten seconds, and a precompiled header that is the same file for every checkout lets ccache share all objects between them.
# (CMake's own precompiled headers hold the path of their build folder.)
set(precompiled_headers
  mlir/IR/Builders.h
  mlir/IR/BuiltinOps.h
  mlir/IR/BuiltinTypes.h
  mlir/IR/Dialect.h
  mlir/IR/OpImplementation.h
  mlir/IR/PatternMatch.h
  mlir/Pass/Pass.h
  mlir/Transforms/DialectConversion.h
  mlir/Dialect/Arith/IR/Arith.h
  mlir/Dialect/Func/IR/FuncOps.h
  mlir/Dialect/LLVMIR/LLVMDialect.h
  mlir/Dialect/Linalg/IR/Linalg.h
  mlir/Dialect/Math/IR/Math.h
  mlir/Dialect/MemRef/IR/MemRef.h
  mlir/Dialect/SCF/IR/SCF.h
  mlir/Dialect/Tensor/IR/Tensor.h
  mlir/Dialect/Vector/IR/VectorOps.h)

# hewn_use_precompiled(target) gives the precompiled header to a target whose files all see MLIR.
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  function(hewn_use_precompiled target)
  endfunction()
  return()
endif()

# The flags must be those of the rooms, or clang refuses the header.
string(TOUPPER "${CMAKE_BUILD_TYPE}" config)
get_directory_property(options COMPILE_OPTIONS)
string(REGEX REPLACE "\\$<\\$<COMPILE_LANGUAGE:CXX>:([^>]*)>" "\\1" options "${options}")
list(TRANSFORM options REPLACE "^SHELL:" "")
string(JOIN " " flags ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${config}} -std=c++${CMAKE_CXX_STANDARD} -fPIC ${options} ${LLVM_DEFINITIONS})
list(TRANSFORM precompiled_headers REPLACE "(.+)" "#include <\\1>" OUTPUT_VARIABLE text)
string(JOIN "\n" text "// Made by cmake/HewnPrecompiled.cmake." ${text} "")
string(SHA256 key "${CMAKE_CXX_COMPILER} ${CMAKE_CXX_COMPILER_VERSION} ${LLVM_PACKAGE_VERSION} ${flags} ${text}")
string(SUBSTRING "${key}" 0 16 key)
set(precompiled "${HEWN_CACHE}/precompiled-${key}")

if(NOT EXISTS "${precompiled}/mlir.h.pch")
  message(STATUS "Precompiling MLIR's headers")
  string(RANDOM suffix)
  set(work "${precompiled}.${suffix}")
  file(WRITE "${precompiled}/mlir.h" "${text}")
  separate_arguments(flags NATIVE_COMMAND "${flags}")
  execute_process(
    COMMAND "${CMAKE_CXX_COMPILER}" ${flags} -fpch-instantiate-templates -isystem "${LLVM_INCLUDE_DIR}"
      -x c++-header "${precompiled}/mlir.h" -o "${work}"
    WORKING_DIRECTORY "${precompiled}" COMMAND_ERROR_IS_FATAL ANY)
  # Another build may do the same at this moment; either's file is as good.
  file(RENAME "${work}" "${precompiled}/mlir.h.pch")
endif()

function(hewn_use_precompiled target)
  target_compile_options(${target} PRIVATE "SHELL:-include-pch ${precompiled}/mlir.h.pch")
endfunction()
