// SPDX-License-Identifier: Apache-2.0
//
// Elements of tensors that all lie in memory.
#ifndef HEWN_LIB_TRANSFORMS_LOWER_NAIVEELEMENTS_H
#define HEWN_LIB_TRANSFORMS_LOWER_NAIVEELEMENTS_H

#include "dialects/Graph/Graph.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace hewn {

/// Where a kernel's values are: each tensor as a 1-D memref of its storage type, symbols as index values.
struct NaiveMemory {
  llvm::StringMap<mlir::Value> symbols;
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
};

/// The type of one element in memory: bools are bytes, integers signless.
mlir::Type storageTypeOf(mlir::Type elementType);

/// Scalar code that loads and stores elements where they lie.
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

  /// `tensor` as a memref of its dims with strides, broadcast to `dims` by strides of zero.
  mlir::Value view(mlir::Value tensor, llvm::ArrayRef<graph::DimExpr> dims);
  /// The value of a constant that is the same everywhere; null for other tensors.
  mlir::Value splat(mlir::Value tensor);
  mlir::Value toCompute(mlir::Value stored, mlir::Type elementType);
  mlir::Value toStorage(mlir::Value element, mlir::Type elementType);

  /// Nested loops over `extents` that carry `state`; `body` gets the indices and the state, and returns the next state.
  llvm::SmallVector<mlir::Value>
  loops(llvm::ArrayRef<graph::DimExpr> extents, mlir::ValueRange state,
        llvm::function_ref<llvm::SmallVector<mlir::Value>(llvm::ArrayRef<graph::Index>, mlir::ValueRange)> body);

private:
  const NaiveMemory &memory;
};

} // namespace hewn

#endif
