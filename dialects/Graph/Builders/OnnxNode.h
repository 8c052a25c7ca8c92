// SPDX-License-Identifier: Apache-2.0
//
// One ONNX node as a builder of ours sees it. The importer implements it; no
// protobuf shows through, so an op's import lives with the op. A builder is
// named in the op's ONNX record and has the signature `LogicalResult
// build(OnnxNode &node)`.
#ifndef HEWN_DIALECTS_GRAPH_BUILDERS_ONNXNODE_H
#define HEWN_DIALECTS_GRAPH_BUILDERS_ONNXNODE_H

#include "dialects/Graph/Analysis/Shapes.h"
#include "mlir/IR/Builders.h"

namespace hewn::graph {

/// An answer that decides what a node becomes. `PerCase`: a case of the program will be imported for each answer, and this import is
/// over, so the builder fails. `AtRuntime`: dims don't tell, a run does.
enum class Decision { No, Yes, PerCase, AtRuntime };

class OnnxNode {
public:
  OnnxNode(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}
  virtual ~OnnxNode();

  virtual llvm::StringRef opType() const = 0;
  /// The name of the op of ours in whose record the builder stands (getOperationName); empty for an OnnxCompose.
  virtual llvm::StringRef recordedOp() const = 0;
  /// The version of the node's domain that the model imports.
  virtual int64_t opset() const = 0;

  /// Inputs and outputs as the node lists them; an omitted one is null / not
  /// wanted.
  virtual unsigned numInputs() const = 0;
  virtual mlir::Value input(unsigned i) const = 0; // null beyond the end
  /// The element type of an input that is there, for who asks for nothing else of it.
  virtual mlir::Type inputElementType(unsigned i) const = 0;
  virtual unsigned numOutputs() const = 0;
  virtual bool wantsOutput(unsigned i) const = 0;

  /// What an integer attribute may be. Numbers that sizes and positions are computed from lie where sums and products of
  /// two of them don't overflow; others are refused. Numbers that are only compared, or clamped, may be any.
  enum class Range { Size, Any };

  virtual bool hasAttr(llvm::StringRef name) const = 0;
  virtual int64_t getInt(llvm::StringRef name, int64_t otherwise, Range range = Range::Size) const = 0;
  virtual double getFloat(llvm::StringRef name, double otherwise) const = 0;
  virtual std::string getString(llvm::StringRef name, llvm::StringRef otherwise) const = 0;
  /// Refuses the node where an attribute has another value than the one with which it says nothing.
  llvm::LogicalResult needsDefault(llvm::StringRef name, int64_t otherwise);
  llvm::LogicalResult needsDefault(llvm::StringRef name, llvm::StringRef otherwise);
  /// nullopt where the attribute is absent.
  virtual std::optional<llvm::SmallVector<int64_t>> getInts(llvm::StringRef name, Range range = Range::Size) const = 0;
  virtual std::optional<llvm::SmallVector<float>> getFloats(llvm::StringRef name) const = 0;
  virtual std::optional<llvm::SmallVector<std::string>> getStrings(llvm::StringRef name) const = 0;
  /// A tensor attribute (or the constant forms value_float, value_ints, ...) as
  /// a constant value; null where absent.
  virtual mlir::Value getTensor(llvm::StringRef name) = 0;
  /// An ONNX data type code (TensorProto.DataType) as an element type; null
  /// where hewn has none.
  virtual mlir::Type elementTypeOf(int64_t onnxCode) const = 0;

  /// What a small integer tensor holds, as far as shapes tell; nullopt where
  /// that is not known when compiling.
  virtual std::optional<Dims> contents(mlir::Value value) = 0;
  /// The same, where unknown elements become symbols that are read when the
  /// model runs. `value` has rank 0 or 1 and a static length; nullopt (after
  /// `refuse`) otherwise.
  virtual std::optional<Dims> contentsOrRead(mlir::Value value) = 0;
  /// Whether the number is `value`: docs/decisions/cases.md.
  virtual Decision decide(const DimExpr &number, int64_t value) = 0;
  /// Whether the one element of a tensor of bools holds.
  virtual Decision decide(mlir::Value condition) = 0;
  /// A symbol that no other value has: for a dim that only a run tells.
  virtual DimExpr freshDim() = 0;
  /// A number as an expression of bearable length: itself, or a symbol that is computed where the node stands. Products
  /// of long sums grow without end. A size is never negative.
  virtual DimExpr shortened(const DimExpr &number, bool isSize = true) = 0;
  /// The same whatever its length, where what reads it need not know what it is made of.
  virtual DimExpr named(const DimExpr &number, bool isSize = true) = 0;
  /// The float contents of a small constant; nullopt where not known.
  virtual std::optional<llvm::SmallVector<double>> floatContents(mlir::Value value) = 0;

  /// Imports subgraph attribute `name` into `region`: its inputs become block
  /// arguments of these types and dims, its outputs the operands of the
  /// terminator `graph.yield`. Outer values are captured.
  virtual llvm::LogicalResult importSubgraph(llvm::StringRef name, mlir::Region &region,
                                             llvm::ArrayRef<TensorShape> arguments) = 0;
  /// Imports the subgraph in place of the node, as a branch known to be taken
  /// is; `arguments` stand for its inputs.
  virtual std::optional<llvm::SmallVector<mlir::Value>> inlineSubgraph(llvm::StringRef name,
                                                                       mlir::ValueRange arguments) = 0;
  /// The same, of a subgraph whose outputs are the node's, as they are.
  virtual std::optional<llvm::SmallVector<mlir::Value>> inlineBranch(llvm::StringRef name) = 0;
  /// Whether the node may give values whose rank only a run tells (graph::kOpenRankAttr).
  virtual bool mayLeaveRankOpen() const = 0;

  /// How many problems have been told so far.
  virtual size_t numDiagnostics() const = 0;
  /// Takes back what was told after the first `told`, of a branch that may be the one that no run takes: an exporter writes all
  /// branches for the sizes that it saw. False, and nothing is taken back, where the sizes were not narrowed (by a case's facts, by the
  /// user), or hewn lacks something that the branch needs.
  virtual bool dropDiagnosticsAfter(size_t told) = 0;

  /// Takes an op that was built in vain out of the program. What is known of its values stands by their addresses, so
  /// it lives on to the end of the import.
  virtual void discard(mlir::Operation *op) = 0;

  virtual void setOutput(unsigned i, mlir::Value value) = 0;
  /// Records why this node can't be compiled, for the list that the user gets;
  /// returns failure.
  virtual llvm::LogicalResult refuse(const llvm::Twine &reason) = 0;

  /// All elements of a tensor attribute, or of a list, as numbers; nullopt where it is absent or (reported) holds none.
  virtual std::optional<llvm::SmallVector<double>> getNumbers(llvm::StringRef name) = 0;
  /// The element type of a tensor attribute; null where it is absent or hewn has none.
  virtual mlir::Type tensorElementType(llvm::StringRef name) const = 0;
  /// A type attribute as that of the list that holds such a value (of a tensor: an optional one); null where it is absent, or
  /// (reported) hewn has none.
  virtual mlir::Type getType(llvm::StringRef name) = 0;
  /// A constant of these bytes, as its elements lie in memory: in the IR where it is short, else a weight.
  virtual mlir::Value makeBytes(mlir::RankedTensorType type, std::vector<char> bytes) = 0;

  /// An axis in [0, rank) or nullopt after `refuse`.
  std::optional<int64_t> axis(int64_t written, int64_t rank);
  /// Sets output 0; fails where `value` is null because building it failed.
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
