// SPDX-License-Identifier: Apache-2.0
//
// The state of one import: names, opsets, symbols. Node.h shows it to builders, Functions.cpp expands function bodies.
#ifndef HEWN_LIB_IMPORTER_ONNX_MODELIMPORTER_H
#define HEWN_LIB_IMPORTER_ONNX_MODELIMPORTER_H

#include "dialects/Graph/Analysis/Contents/Contents.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Graph.h"
#include "lib/Importer/ONNX/CustomOps.h"
#include "lib/Importer/ONNX/Importer.h"
#include "lib/Importer/ONNX/Protos/ModelFile.h"
#include "lib/Importer/ONNX/Protos/NodeOrder.h"
#include "lib/Importer/ONNX/Tensors.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"
#include <onnx/onnx_pb.h>

namespace hewn::importer {

/// Domain ("" for ai.onnx) → the version that the model or function imports.
using Opsets = llvm::StringMap<int64_t>;

/// What a name stands for: a value; nothing, as a function's optional input that its caller left out; or the output of
/// a node that could not be imported, so that its users are not reported as well.
struct Binding {
  enum class Kind { Value, Absent, Failed };
  Kind kind;
  mlir::Value value;
};

/// The names of one graph or function body.
struct Frame {
  const Frame *outer; // whose names are seen too; null for the main graph and function bodies
  const Opsets *opsets;
  /// Keeps the protobuf messages that the nodes are from: weights may point into them.
  std::shared_ptr<const void> owner;
  /// Stands before the nodes' names in messages: the call that this body stands for.
  std::string prefix;
  llvm::StringMap<Binding> names;

  const Binding *find(llvm::StringRef name) const;
};

/// Where a node stands, for messages.
struct NodeInfo {
  std::string name; // as users see it: "encoder/conv1", "#12 Conv"
  std::string op, domain;
  int64_t opset = 0;
};

class Node;

class ModelImporter {
public:
  ModelImporter(mlir::MLIRContext &context, std::shared_ptr<const LoadedModel> loaded, const ImportOptions &options,
                std::string folder, WeightTable &weights, Diagnostics &diagnostics);
  /// The model where `facts` hold. Null after an error, and where `question` says what must be known first, or a rank was asked for.
  mlir::OwningOpRef<mlir::ModuleOp> run(llvm::ArrayRef<graph::Fact> facts);

  /// A condition that decides what a node becomes, and the node.
  struct Question {
    graph::Condition condition;
    std::string node;
  };
  std::optional<Question> question;
  /// Whether nodes may give values whose rank data decide; and whether something asked for the rank of one, so that this import is over, and
  /// another one goes without.
  bool ranksMayBeOpen = true, rankWasAsked = false;
  void askRank(mlir::Value value);
  /// What was told of branches that are taken for ones that no run takes: OnnxNode::dropDiagnosticsAfter.
  std::vector<Message> excused;
  bool dropDiagnosticsAfter(size_t told);
  /// Whether the condition holds. Where inputs' dims decide that, and neither they nor the facts tell, `question` is set.
  graph::Decision decide(const graph::Condition &condition);

  /// Imports a subgraph's constants and nodes at the builder's place; `arguments` stand for its inputs. Returns its
  /// outputs; nullopt after an error.
  std::optional<llvm::SmallVector<mlir::Value>> importGraph(const onnx::GraphProto &graph, Frame &frame,
                                                            mlir::ValueRange arguments);
  /// Element `i` of an integer tensor as a symbol that the program reads.
  graph::DimExpr readSymbol(mlir::Value tensor, int64_t i);
  /// A new symbol, for a dim that only a run tells.
  graph::DimExpr freshDim() { return graph::DimExpr::symbol(freshSymbol("n", freshCounts)); }
  /// Drops what is remembered of values: builders erase regions, and a new value can have an old one's address.
  void forgetErased();
  /// Makes the constant strings of a tensor where the builder stands; null, and why in `reason`.
  mlir::Value makeText(const onnx::TensorProto &tensor, llvm::StringRef name, std::string &reason);
  /// Makes a constant where the builder stands.
  mlir::Value makeConstant(const Constant &constant, llvm::StringRef name);

  void refuse(const NodeInfo &info, const llvm::Twine &reason);
  /// Of what no size mends, so that no branch that has it is excused: an op that hewn lacks, a limit, a name that nothing makes.
  void refuseOutright(const NodeInfo &info, const llvm::Twine &reason);

  mlir::OpBuilder builder;
  Tensors tensors;
  graph::Contents contents;
  Diagnostics &diagnostics;

private:
  friend class Node;

  bool importOpsets();
  bool importInputs(Frame &frame);
  bool importOutputs(Frame &frame);
  bool addListOutput(const onnx::ValueInfoProto &output, mlir::Value value);
  void attachMetadata(mlir::ModuleOp module);
  std::optional<graph::TensorShape> inputShape(const onnx::ValueInfoProto &input);
  void askForHotSizes();
  std::optional<graph::DimExpr> inputDim(const onnx::TensorShapeProto::Dimension &dim, llvm::StringRef input);
  bool checkBindings();
  std::string symbolFor(llvm::StringRef name);
  std::string freshSymbol(llvm::StringRef prefix, unsigned &counter);

  void importInitializers(const onnx::GraphProto &graph, Frame &frame);
  /// Imports the nodes that the values in `wanted` need; others need not even be known ops.
  llvm::LogicalResult importNodes(const Nodes &nodes, Frame &frame, llvm::ArrayRef<llvm::StringRef> wanted);
  llvm::LogicalResult importNode(const onnx::NodeProto &node, Frame &frame, NodeInfo &info);
  llvm::LogicalResult buildNode(const onnx::NodeProto &node, Frame &frame, NodeInfo &info,
                                llvm::ArrayRef<mlir::Value> inputs);
  /// Names what was built as the node does.
  llvm::LogicalResult bindOutputs(Node &built, const onnx::NodeProto &node, Frame &frame);
  /// The node's inputs; false where one is undefined (reported) or failed before (not reported again).
  bool findInputs(const onnx::NodeProto &node, const Frame &frame, const NodeInfo &info,
                  llvm::SmallVectorImpl<mlir::Value> &inputs);
  std::string whyUnsupported(const NodeInfo &info);
  /// The node's op as the user gives it; null where he doesn't.
  const graph::CustomDefinition *customOp(const NodeInfo &info) const;
  /// Whether somebody builds such nodes.
  bool isKnown(const onnx::NodeProto &node, const NodeInfo &info) const;

  /// The function that a node calls, with the node's attributes put in; null where it calls none.
  bool hasFunction(const onnx::NodeProto &node, const NodeInfo &info) const;
  /// Whether the model's own function says what the op is. Of ONNX's ops ONNX does.
  bool isOwnFunction(const onnx::NodeProto &node, const NodeInfo &info) const;
  std::shared_ptr<const onnx::FunctionProto> functionOf(const onnx::NodeProto &node, const NodeInfo &info,
                                                        llvm::ArrayRef<mlir::Value> inputs);
  llvm::LogicalResult expandFunction(std::shared_ptr<const onnx::FunctionProto> function, const onnx::NodeProto &node,
                                     Frame &frame, const NodeInfo &info, llvm::ArrayRef<mlir::Value> inputs);

  std::shared_ptr<const LoadedModel> loaded;
  const onnx::ModelProto *model;
  mlir::func::FuncOp main;
  const ImportOptions &options;
  Opsets opsets;
  llvm::StringMap<std::string> symbols; // dim_param → symbol
  llvm::StringSet<> takenSymbols, inputSymbols;
  llvm::StringMap<DimBinding> bindings;
  unsigned freshDims = 0, freshReads = 0, freshCounts = 0;
  std::vector<mlir::OwningOpRef<mlir::Operation *>> discarded;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, std::string> reads;
  /// The node that is being built: where MLIR's own errors belong.
  const NodeInfo *current = nullptr;
  /// What the limits bound: nested bodies, nodes in all bodies together, memory of their attributes.
  int64_t depth = 0, numNodes = 0;
  /// One limit is told once, not at every node where it shows.
  bool toldLimit = false;
  /// How many messages there were after the last outright refusal.
  size_t lastOutright = 0;
  /// Whether a body of the node at hand uses what failed outside of it: then that has been told.
  bool metFailed = false;
  /// Whether facts or the user say more of the inputs' dims than the model does.
  bool narrowed = false;
  int64_t bytesLeft;
};

/// "" for ai.onnx, which ONNX writes both ways.
llvm::StringRef domainOf(llvm::StringRef written);

} // namespace hewn::importer

#endif
