# SPDX-License-Identifier: Apache-2.0
# Finds LLVM, MLIR, lld, protobuf, ONNX and Python. tools/setup installs all of them.

# "22" alone is refused by the packages' version files: they compare major and minor.
set(MLIR_DIR "/usr/lib/llvm-22/lib/cmake/mlir" CACHE PATH "MLIR's CMake package")
find_package(MLIR 22.1 REQUIRED CONFIG)
find_package(LLD 22.1 REQUIRED CONFIG HINTS "${MLIR_DIR}/../lld")
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
separate_arguments(llvm_definitions NATIVE_COMMAND ${LLVM_DEFINITIONS})
add_definitions(${llvm_definitions})

# The ONNX library lies in the user's cache, where tools/setup built it, in the version that Python uses too.
file(STRINGS "${PROJECT_SOURCE_DIR}/tools/requirements/tools.txt" onnx_version REGEX "^onnx==")
string(REPLACE "onnx==" "" onnx_version "${onnx_version}")
set(HEWN_CACHE "$ENV{XDG_CACHE_HOME}")
if(NOT HEWN_CACHE)
  set(HEWN_CACHE "$ENV{HOME}/.cache")
endif()
string(APPEND HEWN_CACHE "/hewn")
set(onnx_suffix "")
set(setup_option "")
set(protobuf_kind "")
if(HEWN_STATIC_LLVM) # with a protobuf of its own, which Debian has no position-independent archive of
  set(onnx_suffix "-static")
  set(setup_option " --release")
  set(protobuf_kind CONFIG HINTS "${HEWN_CACHE}/protobuf-static/lib/cmake/protobuf" NO_DEFAULT_PATH)
endif()
set(ONNX_DIR "${HEWN_CACHE}/onnx-${onnx_version}${onnx_suffix}/lib/cmake/ONNX" CACHE PATH "ONNX's CMake package")
if(NOT EXISTS "${ONNX_DIR}/ONNXConfig.cmake")
  message(FATAL_ERROR "There is no ONNX library in ${ONNX_DIR}: run tools/setup${setup_option}, or set ONNX_DIR.")
endif()
find_package(Protobuf REQUIRED ${protobuf_kind}) # ONNX's package does not look for it
find_package(ONNX REQUIRED CONFIG)

# (Who builds a wheel says which Python it is for.)
set(venv "$ENV{HEWN_VENV}")
if(NOT venv)
  set(venv "${PROJECT_SOURCE_DIR}/.venv")
endif()
set(Python_EXECUTABLE "${venv}/bin/python" CACHE FILEPATH "The Python that has tools/requirements/tools.txt")
if(NOT EXISTS "${Python_EXECUTABLE}")
  message(FATAL_ERROR "There is no ${Python_EXECUTABLE}: run tools/setup, or set HEWN_VENV.")
endif()
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS Development.SABIModule)

# All of LLVM that a binary of ours links. Libraries that only compile against it get its headers from above: naming
# a component library (MLIRArithDialect, LLVMX86CodeGen) would bring archives *and* libLLVM.so into one binary.
add_library(HewnLLVM INTERFACE)
if(HEWN_STATIC_LLVM)
  include(StaticLLVM)
else()
  target_link_libraries(HewnLLVM INTERFACE lldELF lldCommon MLIR LLVM z zstd)
endif()
