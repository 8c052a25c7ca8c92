// SPDX-License-Identifier: Apache-2.0
//
// Scalar access to tensors in memory.
#ifndef HEWN_LIB_TRANSFORMS_LOWER_NAIVEELEMENTS_H
#define HEWN_LIB_TRANSFORMS_LOWER_NAIVEELEMENTS_H

#include "dialects/Graph/Graph.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace hewn {

/// The memory of the values of a kernel at -O0: each tensor is a 1-D memref of its storage type,
/// each symbol an index value.
struct NaiveMemory {
  llvm::StringMap<mlir::Value> symbols;
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
};

/// Returns the type of an element in memory: bools are bytes, integers are signless.
mlir::Type storageTypeOf(mlir::Type elementType);

/// Emits scalar loads and stores of tensor elements.
class NaiveElements : public graph::ElementBuilder {
public:
  NaiveElements(mlir::OpBuilder &b, mlir::Location loc, const NaiveMemory &memory)
      : ElementBuilder(b, loc, /*lanes=*/0), memory(memory) {}

  mlir::Value read(mlir::Value tensor, llvm::ArrayRef<graph::Index> at) override;
  mlir::Value readIf(mlir::Value inside, mlir::Value tensor, llvm::ArrayRef<graph::Index> at,
                     mlir::Value fill) override;
  graph::Index extent(mlir::Value tensor, unsigned dim) override;
  graph::Index expression(const graph::DimExpr &expr) override;
  void write(mlir::Value tensor, llvm::ArrayRef<graph::Index> at, mlir::Value element);

  /// Returns `tensor` as a strided memref, broadcast to `dims` by strides of zero.
  mlir::Value view(mlir::Value tensor, llvm::ArrayRef<graph::DimExpr> dims);
  /// Returns the value of a splat constant, or null for other tensors.
  mlir::Value splat(mlir::Value tensor);
  mlir::Value toCompute(mlir::Value stored, mlir::Type elementType);
  mlir::Value toStorage(mlir::Value element, mlir::Type elementType);

  /// Emits nested loops over `extents` that carry `state`. `body` receives the indices and the
  /// state, and returns the next state.
  llvm::SmallVector<mlir::Value>
  loops(llvm::ArrayRef<graph::DimExpr> extents, mlir::ValueRange state,
        llvm::function_ref<llvm::SmallVector<mlir::Value>(llvm::ArrayRef<graph::Index>, mlir::ValueRange)> body);

private:
  const NaiveMemory &memory;
};

} // namespace hewn

#endif
