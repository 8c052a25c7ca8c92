# SPDX-License-Identifier: Apache-2.0
# HewnLLVM as archives: what release binaries and the wheel link, so that they need no LLVM on the machine.
#
# The packages' own targets cannot be used: each has libLLVM.so in its link interface, and with both kinds in one
# binary MLIR's registries exist twice. So the archives are named by path, as one group.
set(llvm_lib "${LLVM_LIBRARY_DIRS}")
file(GLOB mlir_archives "${llvm_lib}/libMLIR*.a")
list(FILTER mlir_archives EXCLUDE REGEX "libMLIR(CAPI|Test|Lsp|.*Test\\.a|.*TestPasses|.*Main\\.a)")
file(GLOB llvm_archives "${llvm_lib}/libLLVM*.a")
list(FILTER llvm_archives EXCLUDE REGEX "Exegesis|libLLVMTestingSupport|libLLVMTestingAnnotations")

# lld initializes every target that LLVM was built with, which would pull all of their code generators into the binary
# (138 MB instead of 63). These empty definitions come first and keep all out but the three that hewn compiles for.
set(stubs "// Made by cmake/StaticLLVM.cmake.\n")
foreach(target IN LISTS LLVM_TARGETS_TO_BUILD)
  if(NOT target MATCHES "^(X86|AArch64|NVPTX)$")
    foreach(part Target TargetInfo TargetMC AsmPrinter AsmParser Disassembler)
      string(APPEND stubs "extern \"C\" void LLVMInitialize${target}${part}() {}\n")
    endforeach()
  endif()
endforeach()
# LLVM's link-time optimizer asks for Polly, of which there is no archive.
string(APPEND stubs [[
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Plugins/PassPlugin.h"
llvm::PassPluginLibraryInfo getPollyPluginInfo();
llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "none", "0", [](llvm::PassBuilder &) {}};
}
]])
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/StaticStubs.cpp" CONTENT "${stubs}" @ONLY)
add_library(HewnStaticStubs OBJECT "${PROJECT_BINARY_DIR}/StaticStubs.cpp")

target_link_libraries(HewnLLVM INTERFACE
  $<TARGET_OBJECTS:HewnStaticStubs>
  -Wl,--start-group ${mlir_archives} ${llvm_archives} "${llvm_lib}/liblldELF.a" "${llvm_lib}/liblldCommon.a" -Wl,--end-group
  libz.a libzstd.a ${CMAKE_DL_LIBS} m pthread)
target_link_options(HewnLLVM INTERFACE -Wl,--gc-sections -Wl,-Bsymbolic)
