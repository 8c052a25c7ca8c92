// SPDX-License-Identifier: Apache-2.0
//
// The machine that code is generated for, as LLVM and the runtime name it. A target's folder fills it.
#ifndef HEWN_LIB_CODEGEN_EMIT_MACHINE_H
#define HEWN_LIB_CODEGEN_EMIT_MACHINE_H

#include <cstdint>
#include <string>

namespace hewn::codegen {

struct MachineSpec {
  /// As the user wrote it: "host", "x86-64-v3".
  std::string name;
  std::string triple;
  std::string cpu;
  /// LLVM's list: "+fma,-sse4a".
  std::string features;
  /// The widest vector that is worth using.
  int64_t vectorBytes = 16;
  /// What the code needs of the processor: bits of services.h.
  uint64_t cpuFeatures = 0;
};

} // namespace hewn::codegen

#endif
