# SPDX-License-Identifier: Apache-2.0
# libhewn_compiler.so: the compiler, its tools and static LLVM. It only exports the functions of
# hewn/compiler.h and the entry points of the tools, so that a process can also load another LLVM,
# protobuf or C++ library.
get_property(tools GLOBAL PROPERTY HEWN_SHIPPED_TOOLS)
set(exported "hewn_compil*;")
foreach(tool IN LISTS tools)
  string(MAKE_C_IDENTIFIER "${tool}" entry)
  string(APPEND exported " extern \"C++\" { \"${entry}_main(int, char**)\"; };")
endforeach()
set(exports "${PROJECT_BINARY_DIR}/hewn_compiler.exports")
file(CONFIGURE OUTPUT "${exports}" CONTENT "{ global: ${exported} local: *; };\n" @ONLY)

add_library(hewn_compiler SHARED)
set_target_properties(hewn_compiler PROPERTIES LINKER_LANGUAGE CXX EXPORT_NAME compiler LINK_DEPENDS "${exports}")
foreach(tool IN LISTS tools)
  target_sources(hewn_compiler PRIVATE $<TARGET_OBJECTS:${tool}-objects>)
  target_link_libraries(${tool} PRIVATE hewn_compiler HewnOldGlibc)
  target_link_options(${tool} PRIVATE -static-libstdc++ -Wl,--as-needed)
endforeach()
# Link all objects of the compiler library, because the linker would leave out functions of
# compiler.h that no tool calls.
target_link_libraries(hewn_compiler PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,HewnCompiler>" HewnPipelines HewnLLVM)
# libgcc_s is not linked statically: the unwinder of GCC 12's static library calls _dl_find_object,
# which glibc has since 2.35.
target_link_options(hewn_compiler PRIVATE "-Wl,--version-script=${exports}" -static-libstdc++ -Wl,-z,defs -Wl,--as-needed)
target_include_directories(hewn_compiler INTERFACE $<INSTALL_INTERFACE:include>)
