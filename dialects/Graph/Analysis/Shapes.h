// SPDX-License-Identifier: Apache-2.0
//
// Dims of values, and helpers that build ops with inferred result types.
//
// Static dims are in a value's type. Expressions for dynamic dims are in the attribute `graph.dims`
// of the defining op (of the function's or kernel's argument, or of the region op for region
// arguments). They are set once, when the op is built.
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

/// Attribute with expressions for dims: on an op, one list for each result; on a function argument,
/// one list.
inline constexpr llvm::StringLiteral kDimsAttr = "graph.dims";
/// Attribute of ops with regions: for each region, the dims of each block argument.
inline constexpr llvm::StringLiteral kRegionDimsAttr = "graph.region_dims";

/// Attribute of arguments and results of the function `main`: their names in the ONNX model.
inline constexpr llvm::StringLiteral kNameAttr = "graph.name";
/// Attribute of arguments and results of the function `main` that are the keys or the values of a
/// map: kKeysRole or kValuesRole. The keys are directly followed by the values.
inline constexpr llvm::StringLiteral kRoleAttr = "graph.role", kKeysRole = "keys", kValuesRole = "values";
/// Attribute of the module: the metadata of the ONNX model.
inline constexpr llvm::StringLiteral kMetadataAttr = "graph.metadata";
/// Attribute of the function `main`: the range [lowest, highest] of each symbol for which the user
/// gave one.
inline constexpr llvm::StringLiteral kDimRangesAttr = "graph.dim_ranges";
/// Attribute of the function `main` in a sharded model: the symbol whose value is the number of the
/// rank, from 0. The range of this symbol is the set of ranks that run this function.
inline constexpr llvm::StringLiteral kRankSymbolAttr = "graph.rank_symbol";
/// Attributes of an artifact, a module of which each nested module is the program for one case of
/// the model: a list with a CaseAttr for each case, and the QuestionAttrs of the decision tree that
/// selects the case.
inline constexpr llvm::StringLiteral kCasesAttr = "graph.cases", kQuestionsAttr = "graph.questions";
/// Attributes of a nested module: the number of its case, and, in a sharded model, of its rank.
inline constexpr llvm::StringLiteral kCaseNumberAttr = "graph.case_number", kRankAttr = "graph.rank";

/// Returns the dims of a tensor value. A dynamic dim without an expression becomes a unique symbol.
Dims getDims(mlir::Value value);
mlir::Type getElementType(mlir::Value value);
int64_t getRank(mlir::Value value);
bool isUnsigned(mlir::Type elementType);
/// Returns the size in bytes of an element in memory: 1 for bool and for types below 8 bits.
int64_t elementBytes(mlir::Value value);

/// Returns the row-major tensor type with these dims; dims that are not constant are dynamic.
mlir::RankedTensorType tensorType(llvm::ArrayRef<DimExpr> dims, mlir::Type elementType);
mlir::ArrayAttr dimsAttr(mlir::MLIRContext *context, llvm::ArrayRef<DimExpr> dims);
/// Returns the dims in an attribute such as an entry of `graph.dims`, or nullopt if the attribute
/// is malformed.
std::optional<Dims> parseDims(mlir::Attribute attr);

/// Sets the result types of `op` to the shapes that the op infers, and `graph.dims` if a dim is
/// dynamic.
mlir::LogicalResult inferResults(mlir::Operation *op);
/// Verifies that the result types of an op agree with its inferred shapes.
mlir::LogicalResult verifyShapes(mlir::Operation *op);
/// Sets the result types and `graph.dims` of an op to the given shapes.
void setResultShapes(mlir::Operation *op, llvm::ArrayRef<TensorShape> shapes);
void setResultDims(mlir::Operation *op, llvm::ArrayRef<Dims> dims);

/// Returns the dims to which the given dims broadcast, by the rules of ONNX and NumPy. Two
/// different symbols give their maximum, since one of them may be 1 at run time. Returns nullopt if
/// two constant dims do not match.
std::optional<Dims> broadcastDims(llvm::ArrayRef<Dims> shapes);

/// Converts an axis in [-rank, rank) to one in [0, rank). Returns nullopt if it is out of range.
std::optional<int64_t> normalizeAxis(int64_t axis, int64_t rank);

/// Builds an op with one tensor result of inferred type. Returns null if an operand is null, or
/// (after an error) if the op is invalid.
mlir::Value makeNamed(mlir::OpBuilder &b, mlir::Location loc, llvm::StringRef name, mlir::ValueRange operands,
                      llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
template <typename OpTy>
mlir::Value make(mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange operands,
                 llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
  return makeNamed(b, loc, OpTy::getOperationName(), operands, attributes);
}

/// Creates a constant op whose value is stored in the IR. Use it only for scalars and short 1-D
/// tensors; larger values are weights.
mlir::Value makeConstant(mlir::OpBuilder &b, mlir::Location loc, mlir::DenseElementsAttr value);
/// Creates a constant in which every element is `value`, of rank 0 or of the given shape.
mlir::Value makeSplat(mlir::OpBuilder &b, mlir::Location loc, mlir::Type elementType, double value,
                      llvm::ArrayRef<int64_t> shape = {});

} // namespace hewn::graph

#endif
