// SPDX-License-Identifier: Apache-2.0
//
// The interface of a target family: an architecture with its CPUs or GPUs. `lib/Target/Targets.cpp`
// lists all families.
#ifndef HEWN_LIB_TARGET_BASE_TARGET_H
#define HEWN_LIB_TARGET_BASE_TARGET_H

#include "dialects/Plan/Plan.h"
#include "lib/Codegen/Emit/Machine.h"
#include "lib/Support/Precision.h"
#include "lib/Support/RankUpdate.h"
#include <optional>
#include <string>
#include <vector>

namespace hewn::target {

/// A platform that a family supports.
struct SupportedPlatform {
  const codegen::Platform *platform;
  /// glibc's first version for the architecture, such as "GLIBC_2.17", if it has one and is 2.17 or
  /// newer (LinkJob::symbolVersion).
  llvm::StringRef symbolVersion;
  /// The package, such as Debian's "libc6-dev-arm64-cross", with the C library that a build of hewn
  /// on another machine needs to include the runtime for this platform.
  llvm::StringRef package;
};

/// A name that other compilers have for a target, and the name or hint that an error suggests.
struct Alias {
  llvm::StringLiteral name, suggestion;
};

/// A target family. The functions that return a TargetSpec leave these fields to the registry:
/// `family`, `platform`, `device`, and, for CPUs, `triple`.
class Target {
public:
  virtual ~Target() = default;
  /// Returns the name of the architecture in LLVM's triples, such as "x86_64".
  virtual llvm::StringRef architecture() const = 0;
  /// Initializes LLVM's code generator. May be called more than once.
  virtual void initialize() const = 0;
  /// Returns the device that runs the kernels, or null if they are object code for a CPU.
  virtual const codegen::Device *device() const { return nullptr; }

  /// Returns the target names that `find` accepts. It may accept suffixes such as "+vnni", too.
  virtual std::vector<std::string> names() const = 0;
  /// Returns the target with the given name, or nullopt if the name is unknown.
  virtual std::optional<codegen::TargetSpec> find(llvm::StringRef name) const = 0;
  /// Returns the target of this machine's CPU, or nullopt if it has another architecture.
  virtual std::optional<codegen::TargetSpec> host() const { return std::nullopt; }
  /// Returns the baseline: the instruction sets that all CPUs of the family have. Families of
  /// devices have none: the host runs their program.
  virtual std::optional<codegen::TargetSpec> base() const { return std::nullopt; }
  /// Returns the names of the targets that "portable" consists of. At most one family has any.
  virtual llvm::ArrayRef<llvm::StringRef> portable() const { return {}; }
  virtual llvm::ArrayRef<Alias> aliases() const { return {}; }
  /// Returns the supported platforms, the default one first.
  virtual llvm::ArrayRef<SupportedPlatform> platforms() const = 0;

  /// Returns the description of a target for passes (plan.target): capabilities, and the figures
  /// of the cost models. GPU targets multiply float32 as accurately as `precision` requires.
  virtual plan::TargetAttr describe(mlir::MLIRContext *context, const codegen::TargetSpec &machine,
                                    Precision precision) const = 0;

  /// Registers the family's own dialects and passes.
  virtual void registerDialects(mlir::DialectRegistry &) const {}
  virtual void registerPasses() const {}
  /// Returns the rank-k update (BLAS syrk) with the longest vectors of this machine, or null if
  /// generic vectors are as fast.
  virtual RankUpdate *rankUpdate() const { return nullptr; }
};

} // namespace hewn::target

#endif
