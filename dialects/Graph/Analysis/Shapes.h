// SPDX-License-Identifier: Apache-2.0
//
// Dims of values, and how ops are built with inferred result types.
//
// A value's dims are its type's where that is static, else the expressions in
// `graph.dims` of the op that makes it (of the function's or kernel's argument,
// of the region op for region arguments). They are set once, when the op is
// built.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_SHAPES_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_SHAPES_H

#include "dialects/Graph/Analysis/Dims.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace hewn::graph {

struct TensorShape {
  Dims dims;
  mlir::Type elementType;
};

using DimsOf = llvm::function_ref<Dims(mlir::Value)>;

/// The attribute that holds expressions: on ops a list a result, on function
/// arguments a list.
inline constexpr llvm::StringLiteral kDimsAttr = "graph.dims";
/// On ops with regions: for each region a list of lists, one a block argument.
inline constexpr llvm::StringLiteral kRegionDimsAttr = "graph.region_dims";

/// On the arguments and results of the function `main`: the model's names.
inline constexpr llvm::StringLiteral kNameAttr = "graph.name";
/// On the module: the model's metadata.
inline constexpr llvm::StringLiteral kMetadataAttr = "graph.metadata";
/// On the function `main`: symbol → [lowest, highest] value, where the user gave one.
inline constexpr llvm::StringLiteral kDimRangesAttr = "graph.dim_ranges";
/// On the function `main` of one rank of a model that is split: the symbol whose value is the rank that runs it, from 0 on, as its range says.
inline constexpr llvm::StringLiteral kRankSymbolAttr = "graph.rank_symbol";

/// The dims of a tensor value. A dynamic dim without an expression yields a
/// symbol that no other value has.
Dims getDims(mlir::Value value);
mlir::Type getElementType(mlir::Value value);
int64_t getRank(mlir::Value value);
bool isUnsigned(mlir::Type elementType);
/// Bytes of an element in memory: one for bools and what is narrower than a byte.
int64_t elementBytes(mlir::Value value);

/// Row-major tensor type of these dims.
mlir::RankedTensorType tensorType(llvm::ArrayRef<DimExpr> dims, mlir::Type elementType);
mlir::ArrayAttr dimsAttr(mlir::MLIRContext *context, llvm::ArrayRef<DimExpr> dims);
/// Dims from such an attribute; nullopt where it is malformed.
std::optional<Dims> parseDims(mlir::Attribute attr);

/// Sets result types of `op` by its `inferShapes`, and `graph.dims` where they
/// are not static.
mlir::LogicalResult inferResults(mlir::Operation *op);
/// The verifier of ops with inferred shapes: result types agree with them.
mlir::LogicalResult verifyShapes(mlir::Operation *op);
/// Sets the result types and dims given.
void setResultShapes(mlir::Operation *op, llvm::ArrayRef<TensorShape> shapes);
void setResultDims(mlir::Operation *op, llvm::ArrayRef<Dims> dims);

/// ONNX's (numpy's) broadcasting. Two unlike symbols meet in their maximum, and
/// one of them may be 1 when run. nullopt where two constants disagree.
std::optional<Dims> broadcastDims(llvm::ArrayRef<Dims> shapes);

/// An axis in [-rank, rank) as one in [0, rank); nullopt outside.
std::optional<int64_t> normalizeAxis(int64_t axis, int64_t rank);

/// Builds an op of one tensor result with inferred type; null (after an error)
/// where its operands do not fit or one is null.
mlir::Value makeNamed(mlir::OpBuilder &b, mlir::Location loc, llvm::StringRef name, mlir::ValueRange operands,
                      llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
template <typename OpTy>
mlir::Value make(mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange operands,
                 llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
  return makeNamed(b, loc, OpTy::getOperationName(), operands, attributes);
}

/// A constant tensor that lies in the IR: for scalars and short lists.
mlir::Value makeConstant(mlir::OpBuilder &b, mlir::Location loc, mlir::DenseElementsAttr value);
/// A tensor of rank 0, or of the shape given, filled with `value`.
mlir::Value makeSplat(mlir::OpBuilder &b, mlir::Location loc, mlir::Type elementType, double value,
                      llvm::ArrayRef<int64_t> shape = {});

} // namespace hewn::graph

#endif
