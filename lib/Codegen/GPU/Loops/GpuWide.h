// SPDX-License-Identifier: Apache-2.0
//
// Vector loads and stores of several contiguous elements per thread, up to 16 bytes. The ops
// between the loads and stores are emitted as scalar code, one lane after another, with the inputs
// bound to the lane's elements.
#ifndef HEWN_LIB_CODEGEN_GPU_LOOPS_GPUWIDE_H
#define HEWN_LIB_CODEGEN_GPU_LOOPS_GPUWIDE_H

#include "lib/Codegen/Kernel/KernelContext.h"

namespace hewn::codegen {

/// Returns the size in bytes of an element of `type`, if a vector of them can be converted in one
/// op. Returns 0 for other types.
int64_t vectorBytes(mlir::Type type);
/// Returns true if the buffer's layout is just one stride per dim: not blocked, and no start
/// offset.
bool isEven(const Buffer &buffer);
/// Returns true if all rows of the buffer along its dim `own` begin at multiples of `count`
/// elements. If `own` is not a dim of the buffer (for example -1), all strides must be multiples of
/// `count`.
bool linesBeginAt(const Buffer &buffer, int64_t own, int64_t count);
/// Sets the alignment of the last vector load before the insertion point to the size of its vector.
void alignLoad(mlir::OpBuilder &b);

class GpuWide {
public:
  /// Limit of the bytes that a thread loads or stores at once.
  static constexpr int64_t kBytes = 16;

  /// Returns the vectorization of the results number `results`, with dims `space`, along dim `dim`.
  /// Vectors have `lanes` elements, or as many as possible. Returns nullopt if an op is neither
  /// elementwise nor a reduction, if a result is not contiguous and aligned along the dim, or if
  /// vectors would exceed kBytes.
  static std::optional<GpuWide> along(KernelContext &k, const graph::Dims &space, unsigned dim,
                                      llvm::ArrayRef<unsigned> results, std::optional<int64_t> lanes = std::nullopt);

  int64_t lanes() const { return count; }
  /// Loads vectors of the inputs at `at`, the index of the first lane. Then emits `body` once for
  /// each lane, with the inputs bound to the lane's elements.
  void overLanes(ElementEmitter &e, llvm::ArrayRef<graph::Index> at,
                 llvm::function_ref<void(llvm::ArrayRef<graph::Index>)> body) const;
  /// Stores `values`, one per lane, as a vector to the result number `result`.
  void write(ElementEmitter &e, unsigned result, llvm::ArrayRef<graph::Index> at,
             llvm::ArrayRef<mlir::Value> values) const;

private:
  KernelContext *k = nullptr;
  unsigned dim = 0;
  int64_t count = 0;
  llvm::SmallVector<mlir::Value> leaves;

  llvm::SmallVector<graph::Index> vectorAt(llvm::ArrayRef<graph::Index> at, size_t rank) const;
};

} // namespace hewn::codegen

#endif
