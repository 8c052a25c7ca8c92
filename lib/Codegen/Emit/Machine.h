// SPDX-License-Identifier: Apache-2.0
//
// The machine that code is generated for, as LLVM and the runtime name it. A target's folder fills it.
#ifndef HEWN_LIB_CODEGEN_EMIT_MACHINE_H
#define HEWN_LIB_CODEGEN_EMIT_MACHINE_H

#include "llvm/ADT/StringRef.h"
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

namespace hewn::codegen {

struct MachineSpec;

/// On functions that are parts of a device's kernel: all pointers that they are given are of the device's memory.
inline constexpr char kPartAttr[] = "hewn-part";

/// A machine beside the one that runs the program: kernels are text that the program hands to its driver.
class Device {
public:
  /// A kernel's block: its threads, the registers that each wants, about, 0: few; and bytes of its shared memory, which is one variable of
  /// so many that it is given when launched, 0: none. `meets`: whether all blocks wait for each other.
  struct Block {
    int64_t threads = 0, registers = 0, sharedBytes = 0;
    bool meets = false;
  };
  virtual ~Device() = default;
  /// The dialects of ops that the machine has beside those of the dialect `grid` (Grid/MachineOps.h).
  virtual void registerDialects(mlir::DialectRegistry &registry) const = 0;
  /// Adds the passes that make instructions of the ops of the dialect `grid` and of the machine's own. Code that stays LLVM IR for a test has
  /// calls instead (Grid/GridFunctions.h).
  virtual void addLowering(mlir::OpPassManager &pm) const = 0;
  /// Links in what a translated module calls and the device has no instruction for.
  virtual llvm::Error link(llvm::Module &module, llvm::Function &kernel) const = 0;
  /// Turns such a module, whose `kernel` runs on blocks of that kind, into one that the machine's code generator takes.
  virtual void finish(llvm::Module &module, llvm::Function &kernel, const Block &block) const = 0;
  /// The texts of kernels as one.
  virtual std::string join(const std::vector<llvm::StringRef> &kernels) const = 0;
  /// What such a text is, for messages: "PTX 7.0".
  virtual std::string language(llvm::StringRef text) const = 0;
  /// The symbol of the runtime's functions for such devices (services.h).
  virtual std::string table() const = 0;
};

struct MachineSpec {
  /// As the user wrote it: "host", "x86-64-v3".
  std::string name;
  std::string triple;
  /// Where the runtime for it lies beside the one for the machine that compiles, and the Debian package without which hewn is built
  /// without it: C's library for such machines.
  llvm::StringRef runtimeFolder, runtimeNeeds;
  std::string cpu;
  /// LLVM's list: "+fma,-sse4a".
  std::string features;
  /// The widest vector that is worth using.
  int64_t vectorBytes = 16;
  /// Whether a * b + c with one rounding is an instruction.
  bool fusedProducts = true;
  /// Whether conversions between float16 and float32 are instructions, and those between bfloat16 and float32. Where they are not,
  /// code has no values of the type but their bits.
  bool hasHalfConversions = true, hasBfloatConversions = true;
  /// What the code needs of the processor: bits of services.h.
  uint64_t cpuFeatures = 0;
  /// Null: kernels are objects, and the program calls them.
  const Device *device = nullptr;
};

} // namespace hewn::codegen

#endif
