// SPDX-License-Identifier: Apache-2.0
//
// Helpers for ONNX nodes whose axes are only known at run time. Such an axis is an expression over
// symbols that are read from a tensor. A size that depends on it is a sum over all dims of (axis ==
// dim) * size, in which all terms but one are 0.
#ifndef HEWN_DIALECTS_GRAPH_INDEXING_AXES_H
#define HEWN_DIALECTS_GRAPH_INDEXING_AXES_H

#include "dialects/Graph/Builders/OnnxNode.h"

namespace hewn::graph {

/// Does the same as the function without `length`, but requires an input of dynamic length to have
/// `length` elements.
std::optional<Dims> intsOrRead(OnnxNode &node, llvm::StringRef name, unsigned i, bool &absent,
                               std::optional<int64_t> length);
/// Returns the axes of a node for a tensor with `rank` dims, converted to [0, rank). Reads
/// attribute `name`, or else input `i`. If there is neither, returns nullopt and sets `absent`. If
/// they are invalid, calls `refuse` and returns nullopt. If the length of the input is dynamic, it
/// must be `length`.
std::optional<Dims> axesOrRead(OnnxNode &node, llvm::StringRef name, unsigned i, int64_t rank, bool &absent,
                               std::optional<int64_t> length = std::nullopt);
/// Returns true if all of the given axes or sizes are constants.
bool areConstant(llvm::ArrayRef<DimExpr> values);

/// Returns an expression over symbols that is 1 if a == b, and 0 otherwise.
DimExpr equals(const DimExpr &a, const DimExpr &b);
/// Returns an expression for list[index], where the index is an expression, too. It is 0 if the
/// index is out of range.
DimExpr pick(llvm::ArrayRef<DimExpr> list, const DimExpr &index);
/// Returns, for each of the `rank` dims, an expression that is 1 if the dim is one of `axes`, and 0
/// otherwise. No axis may occur twice.
Dims marks(llvm::ArrayRef<DimExpr> axes, int64_t rank);
/// Returns, in order, the dims whose entry in `marked` is 0. There must be `count` of them.
Dims unmarked(llvm::ArrayRef<DimExpr> dims, llvm::ArrayRef<DimExpr> marked, int64_t count);
/// Returns the dims of a tensor that is reshaped to three dims: all dims before `axis` merged, the
/// axis, and all dims after it merged.
Dims aroundAxis(llvm::ArrayRef<DimExpr> dims, const DimExpr &axis);
/// Returns the expressions `numbers`, where each long expression is replaced by a new symbol
/// (OnnxNode::shortened).
Dims shortened(OnnxNode &node, llvm::ArrayRef<DimExpr> numbers, bool areSizes = true);

/// Checks that the sizes of the parts of a split dim are not negative and sum to the dim. Sizes
/// that are not known at compile time are checked at run time. Calls `refuse` if they are invalid.
llvm::LogicalResult checkParts(OnnxNode &node, const Dims &sizes, const DimExpr &dim);

//===------------------------------------------------------------------------------------------===//
// Lists of dynamic length
//===------------------------------------------------------------------------------------------===//

/// Rank up to which a list of dynamic length selects a case of the program (see `decideLength`).
inline constexpr int64_t kMostDims = 8;

/// Returns true if `list` is given and its length is dynamic.
bool hasOpenLength(mlir::Value list);
/// Returns the first static length of the node's inputs `lists` that are given, or nullopt.
std::optional<int64_t> knownLength(OnnxNode &node, llvm::ArrayRef<unsigned> lists);
/// Returns the length of `list`, which determines the rank of the node's result. If it is a dim of
/// the model's inputs, the program gets one case for each length in [low, high]. Returns nullopt
/// after a call of `refuse`, or if the import is repeated for each case.
std::optional<int64_t> decideLength(OnnxNode &node, mlir::Value list, int64_t low, int64_t high);
/// Returns the length of `list`, a list of sizes with one element for each dim of the node's
/// result: the declared rank of the result, or else the result of `decideLength`.
std::optional<int64_t> lengthBySizes(OnnxNode &node, mlir::Value list);
/// Compares each element of the axes in `list`, a 1-D tensor of dynamic length, with each dim of a
/// tensor with `rank` dims: emits a bool tensor [length, rank]. The run ends with an error status
/// if an axis is out of range or occurs twice. Returns null after a call of `refuse`.
mlir::Value matchAxes(OnnxNode &node, mlir::Value list, int64_t rank);
/// Emits a tensor with one element for each dim: the element of `values` whose axis is this dim, or
/// `otherwise` if there is none. `matches` is the result of `matchAxes`; `values` is as long as the
/// list of axes.
mlir::Value spreadOverDims(OnnxNode &node, mlir::Value matches, mlir::Value values, int64_t otherwise);

} // namespace hewn::graph

#endif
