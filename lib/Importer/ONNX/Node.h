// SPDX-License-Identifier: Apache-2.0
// An ONNX node, as op builders access it.
#ifndef HEWN_LIB_IMPORTER_ONNX_NODE_H
#define HEWN_LIB_IMPORTER_ONNX_NODE_H

#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Custom/Definition.h"
#include "lib/Importer/ONNX/ModelImporter.h"
#include "lib/Importer/ONNX/Schemas/OnnxTable.h"

#include "llvm/ADT/StringSet.h"

namespace hewn::importer {

class Node final : public graph::OnnxNode {
public:
  Node(ModelImporter &importer, Frame &frame, const onnx::NodeProto &proto, const NodeInfo &info,
       llvm::ArrayRef<mlir::Value> inputs);

  llvm::StringRef opType() const override { return proto.op_type(); }
  llvm::StringRef recordedOp() const override { return ofRecord; }
  int64_t opset() const override { return info.opset; }
  unsigned numInputs() const override { return inputs.size(); }
  /// Returns input `i` of the node. The rank of the input must be known (see
  /// ModelImporter::askRank).
  mlir::Value input(unsigned i) const override;
  mlir::Type inputElementType(unsigned i) const override;
  unsigned numOutputs() const override { return proto.output_size(); }
  bool wantsOutput(unsigned i) const override;

  bool hasAttr(llvm::StringRef name) const override { return given(name) != nullptr; }
  int64_t getInt(llvm::StringRef name, int64_t otherwise, Range range = Range::Size) const override;
  double getFloat(llvm::StringRef name, double otherwise) const override;
  std::string getString(llvm::StringRef name, llvm::StringRef otherwise) const override;
  std::optional<llvm::SmallVector<int64_t>> getInts(llvm::StringRef name, Range range = Range::Size) const override;
  std::optional<llvm::SmallVector<float>> getFloats(llvm::StringRef name) const override;
  std::optional<llvm::SmallVector<std::string>> getStrings(llvm::StringRef name) const override;
  mlir::Value getTensor(llvm::StringRef name) override;
  std::optional<llvm::SmallVector<double>> getNumbers(llvm::StringRef name) override;
  mlir::Type tensorElementType(llvm::StringRef name) const override;
  mlir::Type getType(llvm::StringRef name) override;
  mlir::Value makeBytes(mlir::RankedTensorType type, std::vector<char> bytes) override;
  mlir::Type elementTypeOf(int64_t onnxCode) const override;

  std::optional<graph::Dims> contents(mlir::Value value) override;
  std::optional<graph::Dims> contentsOrRead(mlir::Value value, std::optional<int64_t> length) override;
  std::optional<int64_t> declaredRank(unsigned i) const override;
  graph::Decision decide(const graph::DimExpr &number, int64_t value) override {
    return importer.decide(graph::Condition::equal(number, value));
  }
  graph::Decision decide(mlir::Value condition) override;
  graph::DimExpr freshDim() override { return importer.freshDim(); }
  graph::DimExpr shortened(const graph::DimExpr &number, bool isSize) override;
  graph::DimExpr named(const graph::DimExpr &number, bool isSize) override;
  std::optional<llvm::SmallVector<double>> floatContents(mlir::Value value) override;

  llvm::LogicalResult importSubgraph(llvm::StringRef name, mlir::Region &region,
                                     llvm::ArrayRef<graph::TensorShape> arguments) override;
  std::optional<llvm::SmallVector<mlir::Value>> inlineSubgraph(llvm::StringRef name,
                                                               mlir::ValueRange arguments) override;
  std::optional<llvm::SmallVector<mlir::Value>> inlineBranch(llvm::StringRef name) override;
  bool mayLeaveRankOpen() const override { return importer.ranksMayBeOpen; }

  size_t numDiagnostics() const override { return importer.diagnostics.messages().size(); }
  std::optional<std::string> dropDiagnosticsAfter(size_t told) override { return importer.dropDiagnosticsAfter(told); }
  void discard(mlir::Operation *op) override;

  void setOutput(unsigned i, mlir::Value value) override;
  llvm::LogicalResult refuse(const llvm::Twine &reason) override;

  /// Creates the graph ops for the node, according to the `onnx` record of its op or to a custom
  /// definition.
  llvm::LogicalResult build(const OnnxRecord &record);
  llvm::LogicalResult build(const graph::CustomDefinition &op);
  llvm::ArrayRef<mlir::Value> outputs() const { return results; }

private:
  mlir::Value shortenDims(mlir::Value value);
  using Kind = onnx::AttributeProto::AttributeType;
  /// Returns the attribute, or null if the node does not have it. Records that the op's builder
  /// knows an attribute of this name (see `asked`).
  const onnx::AttributeProto *given(llvm::StringRef name) const;
  /// Returns the attribute, or null if the node does not have it. If the attribute has another type
  /// than the requested one, reports an error and returns null.
  const onnx::AttributeProto *find(llvm::StringRef name, Kind kind) const;
  /// Returns true if the attribute's values are in the range; otherwise reports an error.
  bool isInRange(llvm::StringRef name, llvm::ArrayRef<int64_t> values, Range range) const;
  const onnx::GraphProto *subgraph(llvm::StringRef name);
  llvm::LogicalResult buildDirect(const OnnxRecord &record);
  /// Returns true if leading dims of size 1 of input `i` have no effect, because the input is
  /// broadcast to another input that has at least as many dims.
  bool isIndifferentToRank(const OnnxRecord &record, unsigned i) const;
  llvm::LogicalResult checkAttributes(const OnnxRecord &record);
  /// For an op that ONNX does not define, reports an error for each attribute that the builder has
  /// not looked up: either hewn does not support the attribute, or its name is misspelled.
  llvm::LogicalResult checkUnasked();
  mlir::Attribute directAttribute(const DirectAttr &attr);

  ModelImporter &importer;
  Frame &frame;
  const onnx::NodeProto &proto;
  const NodeInfo &info;
  llvm::SmallVector<mlir::Value> inputs, results;
  llvm::StringRef ofRecord;
  llvm::StringMap<const onnx::AttributeProto *> attributes;
  /// Attribute names that the op's builder has looked up.
  mutable llvm::StringSet<> asked;
  /// True if a getter of an attribute reported an error. Getters cannot return a failure, so
  /// `build` returns it.
  mutable bool badAttribute = false;
  /// Number of errors that were reported before this node was imported, plus the errors that its
  /// builder has reported itself.
  unsigned errorsBefore;
};

} // namespace hewn::importer

#endif
