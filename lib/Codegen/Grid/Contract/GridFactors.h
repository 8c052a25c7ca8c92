// SPDX-License-Identifier: Apache-2.0
//
// Float32 products by a matrix instruction whose factors have eleven significant bits (Grid::product).
//
// A number is the sum of two such factors but for its last two bits. Of the four products of two sums the three largest are taken;
// the largest in a sum of its own, since it alone is the answer where it is infinite or no number.
//
// The instruction cuts off what its sums have no room for. Over a long sum that comes to much more than float32's own rounding, so
// the largest products are made in parts, whose sums begin as zeros, and these are added by float32's addition (`add`). What the
// others lose is a thousandth of that.
#ifndef HEWN_LIB_CODEGEN_GRID_CONTRACT_GRIDFACTORS_H
#define HEWN_LIB_CODEGEN_GRID_CONTRACT_GRIDFACTORS_H

#include "lib/Codegen/Grid/Grid.h"

namespace hewn::codegen {

class GridFactors {
public:
  /// `two`: whether a number is two factors, or the first one is enough.
  GridFactors(mlir::OpBuilder &b, mlir::Location loc, Grid &grid, bool two) : b(b), loc(loc), grid(grid), two(two) {}

  /// A lane's numbers of a fragment, as words.
  struct Fragment {
    llvm::SmallVector<mlir::Value> high, low;
  };
  /// `whole`: the numbers come from narrower types, and are factors as they are.
  Fragment fragment(llvm::ArrayRef<mlir::Value> numbers, bool whole = false);
  /// The same of words.
  static Fragment whole(llvm::ArrayRef<mlir::Value> words) { return {llvm::SmallVector<mlir::Value>(words), {}}; }

  /// A lane's sums of a fragment, in two parts; without corrections where all factors are whole.
  struct Sum {
    llvm::SmallVector<mlir::Value> main, corrections;
  };
  Sum begin(llvm::ArrayRef<mlir::Value> sums);
  /// `type` of the factors: float32, or for whole ones float16 or bfloat16.
  void multiply(Sum &sum, const Fragment &left, const Fragment &right, mlir::Type type);
  void multiply(Sum &sum, const Fragment &left, const Fragment &right) { multiply(sum, left, right, b.getF32Type()); }
  llvm::SmallVector<mlir::Value> finish(const Sum &sum);
  /// `more` added to `sums`, each rounded to the nearest.
  void add(llvm::MutableArrayRef<mlir::Value> sums, llvm::ArrayRef<mlir::Value> more);

  /// Whether float32s are made two factors each.
  bool makesTwo() const { return two; }

private:
  mlir::OpBuilder &b;
  mlir::Location loc;
  Grid &grid;
  bool two;

  mlir::Value bits(int32_t value);
  std::pair<mlir::Value, mlir::Value> factors(mlir::Value number);
};

} // namespace hewn::codegen

#endif
