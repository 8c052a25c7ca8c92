# SPDX-License-Identifier: Apache-2.0
# Finds LLVM, MLIR, lld, protobuf, ONNX and Python. tools/setup installs all of them.

# Versions in find_package need a minor version: the version files of LLVM's packages compare major
# and minor versions, so "22" would not match LLVM 22.1.
set(MLIR_DIR "/usr/lib/llvm-22/lib/cmake/mlir" CACHE PATH "MLIR's CMake package")
find_package(MLIR 22.1 REQUIRED CONFIG)
find_package(LLD 22.1 REQUIRED CONFIG HINTS "${MLIR_DIR}/../lld")
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
if(CMAKE_CROSSCOMPILING)
  # The programs and CMake packages of LLVM are those of the build machine, the headers and archives
  # those of the sysroot.
  foreach(variable LLVM_INCLUDE_DIR LLVM_INCLUDE_DIRS LLVM_LIBRARY_DIR LLVM_LIBRARY_DIRS MLIR_INCLUDE_DIRS LLD_INCLUDE_DIRS)
    list(TRANSFORM ${variable} PREPEND "${CMAKE_SYSROOT}")
  endforeach()
  file(STRINGS "${LLVM_INCLUDE_DIR}/llvm/Config/llvm-config.h" version REGEX "define LLVM_VERSION_STRING")
  if(NOT version MATCHES "\"${LLVM_PACKAGE_VERSION}\"")
    message(FATAL_ERROR "${CMAKE_SYSROOT} does not have LLVM ${LLVM_PACKAGE_VERSION}, as this machine does: delete it and run tools/setup --release-aarch64.")
  endif()
endif()
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
separate_arguments(llvm_definitions NATIVE_COMMAND ${LLVM_DEFINITIONS})
add_definitions(${llvm_definitions})

# The ONNX library is in the user's cache, where tools/setup built it. Its version is that of the
# Python package.
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
# A build with static LLVM links the protobuf that tools/setup built: Debian has no
# position-independent archive of it.
if(HEWN_STATIC_LLVM)
  set(onnx_suffix "-static")
  set(setup_option " --release")
  if(CMAKE_CROSSCOMPILING)
    set(onnx_suffix "-${CMAKE_SYSTEM_PROCESSOR}")
    set(setup_option " --release-${CMAKE_SYSTEM_PROCESSOR}")
  endif()
  set(protobuf_kind CONFIG HINTS "${HEWN_CACHE}/protobuf${onnx_suffix}/lib/cmake/protobuf" NO_DEFAULT_PATH)
endif()
set(ONNX_DIR "${HEWN_CACHE}/onnx-${onnx_version}${onnx_suffix}/lib/cmake/ONNX" CACHE PATH "ONNX's CMake package")
if(NOT EXISTS "${ONNX_DIR}/ONNXConfig.cmake")
  message(FATAL_ERROR "ONNX library not found in ${ONNX_DIR}: run tools/setup${setup_option}, or set ONNX_DIR.")
endif()
# dagre, a JavaScript library for the HTML pages, is in the cache, too.
set(HEWN_DAGRE_DIR "${HEWN_CACHE}/dagre-0.8.5" CACHE PATH "Folder of dagre.min.js and the licenses of its parts")
if(NOT EXISTS "${HEWN_DAGRE_DIR}/dagre.min.js")
  message(FATAL_ERROR "dagre.min.js not found in ${HEWN_DAGRE_DIR}: run tools/setup${setup_option}, or set HEWN_DAGRE_DIR.")
endif()
# ONNX's CMake package requires protobuf but does not find it itself.
find_package(Protobuf REQUIRED ${protobuf_kind})
find_package(ONNX REQUIRED CONFIG)

# Python is that of the virtual environment, unless Python_EXECUTABLE is already set, as in the
# build of a wheel.
set(venv "$ENV{HEWN_VENV}")
if(NOT venv)
  set(venv "${PROJECT_SOURCE_DIR}/.venv")
endif()
set(Python_EXECUTABLE "${venv}/bin/python" CACHE FILEPATH "The Python that has tools/requirements/tools.txt")
if(NOT EXISTS "${Python_EXECUTABLE}")
  message(FATAL_ERROR "${Python_EXECUTABLE} not found: run tools/setup, or set HEWN_VENV.")
endif()
if(CMAKE_CROSSCOMPILING)
  # The sysroot has the headers of the Python that runs here, for the target.
  execute_process(COMMAND "${Python_EXECUTABLE}" -c "import sys; print('python%d.%d' % sys.version_info[:2])"
    OUTPUT_VARIABLE python OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(Python_INCLUDE_DIR "${CMAKE_SYSROOT}/usr/include/${python}" CACHE PATH "Python's headers for the target" FORCE)
endif()
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS Development.SABIModule)

# The LLVM libraries that hewn's binaries link. Libraries that only compile against LLVM use the
# include directories above: linking a component library (MLIRArithDialect, LLVMX86CodeGen) would
# put archives and libLLVM.so into the same binary.
add_library(HewnLLVM INTERFACE)
if(HEWN_STATIC_LLVM)
  include(StaticLLVM)
else()
  target_link_libraries(HewnLLVM INTERFACE lldELF lldWasm lldCommon MLIR LLVM z zstd)
endif()
