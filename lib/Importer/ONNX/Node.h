// SPDX-License-Identifier: Apache-2.0
//
// One node as builders see it.
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
  /// Whoever reads a value asks for its rank.
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
  std::optional<graph::Dims> contentsOrRead(mlir::Value value) override;
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
  bool dropDiagnosticsAfter(size_t told) override { return importer.dropDiagnosticsAfter(told); }
  void discard(mlir::Operation *op) override;

  void setOutput(unsigned i, mlir::Value value) override;
  llvm::LogicalResult refuse(const llvm::Twine &reason) override;

  /// Builds by a record, or as the user says.
  llvm::LogicalResult build(const OnnxRecord &record);
  llvm::LogicalResult build(const graph::CustomDefinition &op);
  llvm::ArrayRef<mlir::Value> outputs() const { return results; }

private:
  mlir::Value shortenDims(mlir::Value value);
  using Kind = onnx::AttributeProto::AttributeType;
  /// The attribute; null where it is absent. Marks it as one that the op's builder knows.
  const onnx::AttributeProto *given(llvm::StringRef name) const;
  /// The attribute; null where it is absent, or (reported) of another type.
  const onnx::AttributeProto *find(llvm::StringRef name, Kind kind) const;
  /// Whether numbers of the attribute are in the range; reported where they are not.
  bool isInRange(llvm::StringRef name, llvm::ArrayRef<int64_t> values, Range range) const;
  const onnx::GraphProto *subgraph(llvm::StringRef name);
  llvm::LogicalResult buildDirect(const OnnxRecord &record);
  /// Whether it is the same to the op if input `i` has dims of 1 in front or not: it is broadcast to another one that has as many dims.
  bool isIndifferentToRank(const OnnxRecord &record, unsigned i) const;
  llvm::LogicalResult checkAttributes(const OnnxRecord &record);
  /// Refuses attributes that nobody has asked for, of an op that ONNX does not know: one that hewn does not know, or a misspelt one.
  llvm::LogicalResult checkUnasked();
  mlir::Attribute directAttribute(const DirectAttr &attr);

  ModelImporter &importer;
  Frame &frame;
  const onnx::NodeProto &proto;
  const NodeInfo &info;
  llvm::SmallVector<mlir::Value> inputs, results;
  llvm::StringRef ofRecord;
  llvm::StringMap<const onnx::AttributeProto *> attributes;
  /// Names that the op's builder has looked for.
  mutable llvm::StringSet<> asked;
  /// A getter has no way to fail; `build` does it in its place.
  mutable bool badAttribute = false;
  /// How many errors there were before this node, with those that its builder told itself.
  unsigned errorsBefore;
};

} // namespace hewn::importer

#endif
