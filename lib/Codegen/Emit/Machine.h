// SPDX-License-Identifier: Apache-2.0
//
// Description of the target that code is generated for: its properties for LLVM and for the
// runtime. The folder of each target (lib/Target) creates it.
#ifndef HEWN_LIB_CODEGEN_EMIT_MACHINE_H
#define HEWN_LIB_CODEGEN_EMIT_MACHINE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
class Function;
class Module;
} // namespace llvm

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace hewn::target {
class Target;
}

namespace hewn::codegen {

class LinkerTool;

/// Attribute of the functions that are phases of a persistent GPU kernel. It states that all
/// pointer arguments of the function point to global memory.
inline constexpr char kPartAttr[] = "hewn-part";

/// An operating system (or none) that artifacts run on, with its object format.
struct Platform {
  /// Name in --target=CPU@PLATFORM.
  llvm::StringLiteral name;
  /// Operating system and environment in LLVM's triples, such as "linux-gnu".
  llvm::StringLiteral system;
  /// The relocation model of generated code.
  llvm::Reloc::Model relocation;
  /// Links artifacts in the platform's object format.
  const LinkerTool &linker;
  /// True if the runtime for the platform has threads and connects processes. Otherwise, the
  /// calling thread runs all kernels, and a model cannot be partitioned.
  bool hasThreads;
  /// True if one artifact may contain code for several targets, of which the runtime selects one.
  bool hasVariants;
};

/// A device that is separate from the CPU that runs the program. Its kernels are code that the
/// program passes to the device's driver: text such as PTX, or bytes.
class Device {
public:
  /// The thread block of a kernel. `threads` is the number of threads; `registers` the approximate
  /// number of registers per thread, or 0 if few; `sharedBytes` the size of the dynamic shared
  /// memory, which is a single variable, or 0 if there is none. `meets` is true if the kernel has
  /// grid-wide barriers.
  struct Block {
    int64_t threads = 0, registers = 0, sharedBytes = 0;
    bool meets = false;
  };
  virtual ~Device() = default;
  /// Registers the dialects of the device's own ops, in addition to simt (GPU/MachineOps.h).
  virtual void registerDialects(mlir::DialectRegistry &registry) const = 0;
  /// Adds the passes that lower ops of the simt dialect and the device's own ops to instructions.
  /// Code emitted as LLVM IR for tests has calls instead (GPU/SimtFunctions.h).
  virtual void addLowering(mlir::OpPassManager &pm) const = 0;
  /// Links device functions into `module`, a kernel translated to LLVM IR: those that it calls
  /// because the device has no instruction for them.
  virtual llvm::Error link(llvm::Module &module, llvm::Function &kernel) const = 0;
  /// Prepares `module` for the device's code generator. Its function `kernel` runs on thread blocks
  /// as `block` describes.
  virtual void finish(llvm::Module &module, llvm::Function &kernel, const Block &block) const = 0;
  /// Returns the value of --emit for the code of all kernels, such as "ptx".
  virtual llvm::StringRef stage() const = 0;
  /// Joins the code of several kernels.
  virtual std::string join(const std::vector<llvm::StringRef> &kernels) const = 0;
  /// Returns the language of a kernel's code, such as "PTX 7.0", for messages.
  virtual std::string language(llvm::StringRef code) const = 0;
  /// Returns the symbol of the runtime's function table for devices of this kind (services.h).
  virtual std::string table() const = 0;
};

struct TargetSpec {
  /// Name of the target as the user wrote it, such as "host" or "x86-64-v3".
  std::string name;
  std::string triple;
  /// The platform that the artifact runs on; for a device, that of its host.
  const Platform *platform = nullptr;
  /// The family of the target (lib/Target/Base/Target.h).
  const target::Target *family = nullptr;
  std::string cpu;
  /// CPU features in LLVM's syntax, such as "+fma,-sse4a".
  std::string features;
  /// Size in bytes of the widest vectors that are profitable on the target.
  int64_t vectorBytes = 16;
  /// True if the target has FMA instructions.
  bool fusedProducts = true;
  /// True if the target has instructions that convert between float16 and float32
  /// (hasHalfConversions), and between bfloat16 and float32 (hasBfloatConversions). If not,
  /// generated code holds values of the 16-bit type as integers.
  bool hasHalfConversions = true, hasBfloatConversions = true;
  /// CPU features that the code requires, as the bits that services.h defines.
  uint64_t cpuFeatures = 0;
  /// The device that runs the kernels. Null if kernels are object code that the program calls.
  const Device *device = nullptr;
};

} // namespace hewn::codegen

#endif
