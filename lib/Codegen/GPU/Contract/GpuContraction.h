// SPDX-License-Identifier: Apache-2.0
//
// Base class of the GPU contraction kernels: iteration over batch, rows, columns and K, and the
// epilogue.
#ifndef HEWN_LIB_CODEGEN_GPU_CONTRACT_GPUCONTRACTION_H
#define HEWN_LIB_CODEGEN_GPU_CONTRACT_GPUCONTRACTION_H

#include "lib/Codegen/GPU/Contract/GpuTiles.h"
#include "lib/Codegen/GPU/GpuBuilder.h"

namespace hewn::codegen {

class GpuContraction {
public:
  GpuContraction(KernelContext &k, mlir::OpBuilder &b, const GpuTiles &tiles, int64_t threads);

  mlir::Location loc() { return k.loc(); }
  /// Sets the current indices of the dims `list`, given a linear index over these dims.
  void set(llvm::ArrayRef<unsigned> list, graph::Index linear);
  /// Emits the element of the operand at the current iteration. `elements` may be a vectorized
  /// emitter.
  mlir::Value readOperand(ElementEmitter &elements, unsigned operand);
  /// Emits the epilogue for the accumulator `sum` and stores the kernel's results. With split-K,
  /// stores the partial instead. The code does nothing if the row or column is out of range.
  void store(mlir::Value sum, graph::Index row, graph::Index column);

  /// How a contraction's epilogue is vectorized over neighbouring columns.
  struct Neighbours {
    /// Number of columns per vector of the epilogue; 1 means no vectorization. Vectors begin at
    /// columns that are multiples of this number.
    int64_t count = 1;
    /// Bytes that the epilogue reads per element, apart from the accumulator.
    int64_t bytesRead = 0;
    /// True if an operand of the epilogue has as many elements as the result.
    bool readsAsMuch = false;
  };
  /// Returns the best possible vectorization: `most` columns per vector (a power of two), or two,
  /// or one. The columns must be contiguous and aligned in all results, and contiguous in all
  /// operands of the epilogue. A vector has at most 16 bytes of a result.
  Neighbours neighbours(int64_t most);
  /// Row and first column of a vector of result elements.
  struct Place {
    graph::Index row, column;
  };
  /// Two properties of a kernel's tiles: `rows` is true if no tile extends past the last row of the
  /// result, `columns` if none extends past the last column.
  struct Whole {
    bool rows, columns;
  };
  /// Emits the epilogue and the stores for the vectors at `places`. `sums(i)` returns the
  /// accumulators of place i. All operands of the epilogue are loaded first; if `before` (an op of
  /// the same block) is given, the loads are hoisted to before this op. Places out of range load
  /// from the last row and column, and their results are not stored.
  void storeNeighbours(llvm::ArrayRef<Place> places, const Neighbours &found, const Whole &whole,
                       llvm::function_ref<mlir::Value(size_t)> sums, mlir::Operation *before = nullptr);

  KernelContext &k;
  mlir::OpBuilder &b;
  const GpuTiles &tiles;
  graph::ContractOpInterface op;
  ElementEmitter e;
  GpuBuilder gpu;
  llvm::SmallVector<graph::Index> iteration;
  /// Index of the split-K partial that this iteration computes; less than `tiles.parts`.
  graph::Index part;
  graph::DimExpr rows, columns, depth, batch;

private:
  /// The elements of the kernel's results at the current iteration, and their index in the result
  /// buffers.
  struct Results {
    llvm::SmallVector<graph::Index> at;
    llvm::SmallVector<mlir::Value> values;
  };
  Results results(ElementEmitter &elements, mlir::Value sum);
  void write(ElementEmitter &elements, const Results &results);
  /// Returns the operands of the epilogue's elementwise ops, except for constants and the
  /// accumulator.
  llvm::SmallVector<mlir::Value> readBeside();
  /// Sets the alignment of the vector loads and stores between `from` and the insertion point.
  void align(mlir::Operation *from, int64_t count);
};

} // namespace hewn::codegen

#endif
