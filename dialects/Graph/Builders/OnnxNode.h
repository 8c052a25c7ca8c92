// SPDX-License-Identifier: Apache-2.0
//
// The interface through which the builder of an op reads an ONNX node and creates ops. The importer
// implements it and keeps protobuf types out of it, so that each op family contains its own import
// code. An op's ONNX record names its builder, which has the signature `LogicalResult
// build(OnnxNode &node)`.
#ifndef HEWN_DIALECTS_GRAPH_BUILDERS_ONNXNODE_H
#define HEWN_DIALECTS_GRAPH_BUILDERS_ONNXNODE_H

#include "dialects/Graph/Analysis/Shapes.h"
#include "mlir/IR/Builders.h"

namespace hewn::graph {

/// The answer to a query that decides which ops a node becomes.
///
/// - `PerCase`: the answer depends on dims. The importer stops the current import, in which the
///   builder fails, and imports one specialization of the program for each answer.
/// - `AtRuntime`: the answer does not depend on dims only, so it is not known before run time.
enum class Decision { No, Yes, PerCase, AtRuntime };

class OnnxNode {
public:
  OnnxNode(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}
  virtual ~OnnxNode();

  virtual llvm::StringRef opType() const = 0;
  /// Returns the name of the graph op whose ONNX record names this builder, or an empty string if
  /// the record is an OnnxCompose record.
  virtual llvm::StringRef recordedOp() const = 0;
  /// Returns the version of the operator set that the model imports for the node's domain.
  virtual int64_t opset() const = 0;

  /// The inputs and outputs that the node lists. If an input is omitted, `input` returns null. If
  /// an output is omitted, `wantsOutput` returns false.
  virtual unsigned numInputs() const = 0;
  virtual mlir::Value input(unsigned i) const = 0; // returns null if the node has no input i
  /// Returns the element type of input `i`, which must be present. Its rank may be unknown.
  virtual mlir::Type inputElementType(unsigned i) const = 0;
  virtual unsigned numOutputs() const = 0;
  virtual bool wantsOutput(unsigned i) const = 0;

  /// Which values of an integer attribute are accepted. `Size`: only values so small that adding or
  /// multiplying two of them does not overflow, for attributes from which sizes and indices are
  /// computed. Other values are rejected. `Any`: all values, for attributes that are only compared
  /// or clamped.
  enum class Range { Size, Any };

  virtual bool hasAttr(llvm::StringRef name) const = 0;
  virtual int64_t getInt(llvm::StringRef name, int64_t otherwise, Range range = Range::Size) const = 0;
  virtual double getFloat(llvm::StringRef name, double otherwise) const = 0;
  virtual std::string getString(llvm::StringRef name, llvm::StringRef otherwise) const = 0;
  /// Rejects the node if the attribute is present and has another value than `otherwise`, its
  /// default.
  llvm::LogicalResult needsDefault(llvm::StringRef name, int64_t otherwise);
  llvm::LogicalResult needsDefault(llvm::StringRef name, llvm::StringRef otherwise);
  /// Return the list in an attribute of the node, or nullopt if the attribute is absent.
  virtual std::optional<llvm::SmallVector<int64_t>> getInts(llvm::StringRef name, Range range = Range::Size) const = 0;
  virtual std::optional<llvm::SmallVector<float>> getFloats(llvm::StringRef name) const = 0;
  virtual std::optional<llvm::SmallVector<std::string>> getStrings(llvm::StringRef name) const = 0;
  /// Returns the tensor in an attribute of the node (or in value_float, value_ints, ...) as a
  /// constant, or null if the attribute is absent.
  virtual mlir::Value getTensor(llvm::StringRef name) = 0;
  /// Returns the element type for an ONNX data type (TensorProto.DataType), or null if it is
  /// unsupported.
  virtual mlir::Type elementTypeOf(int64_t onnxCode) const = 0;

  /// Returns the elements of a small integer tensor, as found by shape analysis, or nullopt if one
  /// of them is not known at compile time.
  virtual std::optional<Dims> contents(mlir::Value value) = 0;
  /// Returns the elements of a small integer tensor, where elements that are not known at compile
  /// time are symbols, read at run time. If the length of the tensor is dynamic and `length` is
  /// given, requires that the tensor has so many elements at run time. Calls `refuse` and returns
  /// nullopt if `value` does not have rank 0 or 1, or if its length is not determined.
  virtual std::optional<Dims> contentsOrRead(mlir::Value value, std::optional<int64_t> length = std::nullopt) = 0;
  /// Returns the rank that the model declares for output `i` of the node, or nullopt if it declares
  /// none. The declaration may be wrong, so a builder that uses it must require it at run time.
  virtual std::optional<int64_t> declaredRank(unsigned i) const = 0;
  /// Decides whether the dim expression `number` is equal to `value`, which may depend on the
  /// specialization of the program (docs/decisions/cases.md).
  virtual Decision decide(const DimExpr &number, int64_t value) = 0;
  /// Decides whether `condition`, a bool tensor with one element, is true.
  virtual Decision decide(mlir::Value condition) = 0;
  /// Returns a new symbol for a dim that is not known before run time.
  virtual DimExpr freshDim() = 0;
  /// Returns `number` itself if its expression is short, and otherwise a symbol whose value is
  /// computed at the node. This keeps expressions from growing without bound when long sums are
  /// multiplied. `isSize`: the number is never negative.
  virtual DimExpr shortened(const DimExpr &number, bool isSize = true) = 0;
  /// Returns a symbol whose value is the dim expression `number`, even if the expression is short.
  /// Use it where no later analysis depends on the expression.
  virtual DimExpr named(const DimExpr &number, bool isSize = true) = 0;
  /// Returns the elements of a small float tensor, or nullopt if they are not known at compile
  /// time.
  virtual std::optional<llvm::SmallVector<double>> floatContents(mlir::Value value) = 0;

  /// Imports the subgraph in attribute `name` into `region`. The inputs of the subgraph become
  /// block arguments with the types and dims `arguments`, and its outputs become the operands of
  /// the terminator, `graph.yield`. The region may use values from outside.
  virtual llvm::LogicalResult importSubgraph(llvm::StringRef name, mlir::Region &region,
                                             llvm::ArrayRef<TensorShape> arguments) = 0;
  /// Imports the subgraph in attribute `name` in place of the node, for example a branch that is
  /// known to be taken. `arguments` replace the inputs of the subgraph.
  virtual std::optional<llvm::SmallVector<mlir::Value>> inlineSubgraph(llvm::StringRef name,
                                                                       mlir::ValueRange arguments) = 0;
  /// Imports a subgraph without inputs in place of the node. Its outputs must correspond to those
  /// of the node.
  virtual std::optional<llvm::SmallVector<mlir::Value>> inlineBranch(llvm::StringRef name) = 0;
  /// Returns true if the node may produce values of dynamic rank (graph::kOpenRankAttr).
  virtual bool mayLeaveRankOpen() const = 0;

  /// Returns the number of diagnostics that the import has reported so far.
  virtual size_t numDiagnostics() const = 0;
  /// Drops all diagnostics but the first `count`. They are those of a branch that may never be
  /// taken, because exporters write all branches for the sizes that they traced. Returns the first
  /// dropped error. Returns nullopt and drops nothing if the branch uses an unsupported feature, or
  /// if the sizes are not constrained by a specialization or by the user.
  virtual std::optional<std::string> dropDiagnosticsAfter(size_t count) = 0;

  /// Removes an unused op from the program. The op is freed only at the end of the import, because
  /// caches are indexed by the address of its values.
  virtual void discard(mlir::Operation *op) = 0;

  virtual void setOutput(unsigned i, mlir::Value value) = 0;
  /// Adds this node and the reason why it cannot be compiled to the list that the user gets.
  /// Returns failure.
  virtual llvm::LogicalResult refuse(const llvm::Twine &reason) = 0;

  /// Returns the elements of a tensor or list attribute as numbers. Returns nullopt if the
  /// attribute is absent, or, after a call of `refuse`, if its elements are not numbers.
  virtual std::optional<llvm::SmallVector<double>> getNumbers(llvm::StringRef name) = 0;
  /// Returns the element type of a tensor attribute, or null if the attribute is absent or its type
  /// is unsupported.
  virtual mlir::Type tensorElementType(llvm::StringRef name) const = 0;
  /// Returns the type that a type attribute contains, as a list type; a tensor type becomes an
  /// optional value. Returns null if the attribute is absent, or, after a call of `refuse`, if its
  /// type is unsupported.
  virtual mlir::Type getType(llvm::StringRef name) = 0;
  /// Creates a constant whose elements have the given bytes, in memory order. A short constant is
  /// stored in the IR, a longer one becomes a weight.
  virtual mlir::Value makeBytes(mlir::RankedTensorType type, std::vector<char> bytes) = 0;

  /// Converts the attribute value `written`, in [-rank, rank), to an axis in [0, rank). Calls
  /// `refuse` and returns nullopt if it is out of range.
  std::optional<int64_t> axis(int64_t written, int64_t rank);
  /// Sets output 0 of the node to `value`. Fails if `value` is null, that is, if building the value
  /// failed.
  llvm::LogicalResult finish(mlir::Value value);

  template <typename OpTy>
  mlir::Value make(mlir::ValueRange operands, llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    return graph::make<OpTy>(b, loc, operands, attributes);
  }
  mlir::NamedAttribute attr(llvm::StringRef name, mlir::Attribute value) { return b.getNamedAttr(name, value); }
  mlir::NamedAttribute attr(llvm::StringRef name, llvm::ArrayRef<int64_t> values) {
    return b.getNamedAttr(name, b.getDenseI64ArrayAttr(values));
  }
  mlir::NamedAttribute attr(llvm::StringRef name, int64_t value) {
    return b.getNamedAttr(name, b.getI64IntegerAttr(value));
  }
  mlir::NamedAttribute attr(llvm::StringRef name, llvm::ArrayRef<DimExpr> dims) {
    return b.getNamedAttr(name, dimsAttr(b.getContext(), dims));
  }

  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace hewn::graph

#endif
