// SPDX-License-Identifier: Apache-2.0
//
// The services that the stages of one compile share: MLIR context, threads, diagnostics, remarks.
#ifndef HEWN_LIB_COMPILER_SESSION_H
#define HEWN_LIB_COMPILER_SESSION_H

#include "lib/Compiler/Compiler.h"
#include "lib/Support/Diagnostics.h"
#include "lib/Support/Remarks.h"
#include "lib/Support/WeightStore.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/ThreadPool.h"
#include <memory>
#include <optional>

namespace hewn {

/// Registers the dialects of all stages, and the evaluator of constants with default options.
void registerDialects(mlir::DialectRegistry &registry);

class Session {
public:
  /// Collects missed-optimization remarks if `wantsRemarks` is true. Both references must outlive
  /// the session.
  Session(const CompileOptions &options, Diagnostics &diagnostics, bool wantsRemarks);

  /// Returns true and reports an error if the user has cancelled the compile.
  bool isCancelled();
  /// Returns false. Reports the error `why` unless the compile was cancelled, or a pass has
  /// reported another error.
  bool fail(const llvm::Twine &why);

  /// Returns the bytes of the constants, which the graph dialect of the context owns.
  WeightStore &weights();

  const CompileOptions &options;
  Diagnostics &diagnostics;
  /// The threads of MLIR's passes, or null for one thread. Code generation has threads of its own
  /// (`CodeOptions::threads`).
  std::unique_ptr<llvm::ThreadPoolInterface> pool;
  mlir::MLIRContext context;
  Remarks remarks;

private:
  CollectDiagnostics collect;
  std::optional<CollectRemarks> collectRemarks;
};

} // namespace hewn

#endif
