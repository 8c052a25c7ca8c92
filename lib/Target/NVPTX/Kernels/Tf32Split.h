// SPDX-License-Identifier: Apache-2.0
//
// Float32 matrix products on TF32 matrix instructions (3xTF32): splits float32s into TF32 hi and lo
// components.
//
// hi + lo represents a float32 except for its last two bits. Multiplying two split numbers takes
// four products, of which the three largest are computed. hi * hi has an accumulator of its own,
// because this product alone is the result if it is infinite or NaN. The two others are called
// corrections.
//
// Matrix instructions truncate the bits that do not fit their accumulators. Over a long K, this
// error is much larger than that of float32 accumulation. The products hi * hi are therefore
// accumulated in short segments that start at zero, and `add` adds the segments with float32
// additions. The truncation error of the corrections is smaller by a factor of about 1000.
#ifndef HEWN_LIB_TARGET_NVPTX_KERNELS_TF32SPLIT_H
#define HEWN_LIB_TARGET_NVPTX_KERNELS_TF32SPLIT_H

#include "lib/Codegen/GPU/GpuBuilder.h"

namespace hewn::codegen {

class Tf32Split {
public:
  /// If `two` is true, numbers are split into hi and lo; otherwise they are rounded to hi only.
  Tf32Split(mlir::OpBuilder &b, mlir::Location loc, GpuBuilder &gpu, bool two) : b(b), loc(loc), gpu(gpu), two(two) {}

  /// The registers of an operand fragment that a lane has.
  struct Fragment {
    llvm::SmallVector<mlir::Value> high, low;
  };
  /// Splits `numbers` into a fragment. If `whole` is true, the numbers were extended from a type
  /// that TF32 represents exactly, and are not split.
  Fragment fragment(llvm::ArrayRef<mlir::Value> numbers, bool whole = false);
  /// Returns a fragment of packed 16-bit or 8-bit elements, which need no split.
  static Fragment whole(llvm::ArrayRef<mlir::Value> words) { return {llvm::SmallVector<mlir::Value>(words), {}}; }

  /// The accumulators of a fragment that a lane has: `main` for hi * hi, and `corrections` for the
  /// two other products. `corrections` is empty if numbers are not split.
  struct Sum {
    llvm::SmallVector<mlir::Value> main, corrections;
  };
  Sum begin(llvm::ArrayRef<mlir::Value> sums);
  /// Multiplies two fragments and adds the products to `sum`. `type` is the operand type of the
  /// MMA: float32, or float16 or bfloat16 for fragments that are not split.
  void multiply(Sum &sum, const Fragment &left, const Fragment &right, mlir::Type type);
  void multiply(Sum &sum, const Fragment &left, const Fragment &right) { multiply(sum, left, right, b.getF32Type()); }
  llvm::SmallVector<mlir::Value> finish(const Sum &sum);
  /// Adds `more` to `sums` by float32 additions that round to nearest.
  void add(llvm::MutableArrayRef<mlir::Value> sums, llvm::ArrayRef<mlir::Value> more);

  /// Returns true if float32s are split into hi and lo.
  bool makesTwo() const { return two; }

private:
  mlir::OpBuilder &b;
  mlir::Location loc;
  GpuBuilder &gpu;
  bool two;

  mlir::Value bits(int32_t value);
  std::pair<mlir::Value, mlir::Value> factors(mlir::Value number);
};

} // namespace hewn::codegen

#endif
