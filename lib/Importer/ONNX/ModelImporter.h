// SPDX-License-Identifier: Apache-2.0
//
// The state of the import of one model: names, opset versions, symbols. Op builders access it
// through Node.h. Functions.cpp expands the bodies of functions.
#ifndef HEWN_LIB_IMPORTER_ONNX_MODELIMPORTER_H
#define HEWN_LIB_IMPORTER_ONNX_MODELIMPORTER_H

#include "dialects/Graph/Analysis/Contents/Contents.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Graph/OnnxML/MapOps.h"
#include "lib/Importer/ONNX/CustomOps.h"
#include "lib/Importer/ONNX/Importer.h"
#include "lib/Importer/ONNX/Protos/ModelFile.h"
#include "lib/Importer/ONNX/Protos/NodeOrder.h"
#include "lib/Importer/ONNX/Tensors.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"
#include <onnx/onnx_pb.h>
#include <set>

namespace hewn::importer {

/// Maps a domain ("" for ai.onnx) to the version that the model or function imports.
using Opsets = llvm::StringMap<int64_t>;

/// Meaning of a name in an ONNX graph: a value, an optional input of a function that the call
/// omits, or an output of a node that could not be imported. In the last case, no further errors
/// are reported for nodes that use the name.
struct Binding {
  enum class Kind { Value, Absent, Failed };
  Kind kind;
  mlir::Value value;
};

/// The names that are defined in one graph or function body.
struct Frame {
  const Frame *outer; // enclosing scope, or null for the main graph and function bodies
  const Opsets *opsets;
  /// Keeps the protobuf messages of the nodes alive: weights may point into them.
  std::shared_ptr<const void> owner;
  /// Prefix for the names of a function body's nodes in messages. It contains the names of the
  /// calls that lead to the body.
  std::string prefix;
  llvm::StringMap<Binding> names;
  const onnx::GraphProto *graph = nullptr; // null for function bodies

  const Binding *find(llvm::StringRef name) const;
};

/// Data that identifies an ONNX node in messages.
struct NodeInfo {
  std::string name; // name of the node for users: "encoder/conv1", "#12 Conv"
  std::string op, domain;
  int64_t opset = 0;
};

class Node;

class ModelImporter {
public:
  ModelImporter(mlir::MLIRContext &context, std::shared_ptr<const LoadedModel> loaded, const ImportOptions &options,
                std::string folder, WeightStore &weights, Diagnostics &diagnostics);
  /// Imports the model under the assumption that `facts` hold. Returns null after an error. Also
  /// returns null if the import must be repeated, because it has set `question` or `rankWasAsked`.
  mlir::OwningOpRef<mlir::ModuleOp> run(llvm::ArrayRef<graph::Fact> facts);

  /// A node, and the condition on dims that decides how it is imported.
  struct Question {
    graph::Condition condition;
    std::string node;
  };
  std::optional<Question> question;
  /// `ranksMayBeOpen`: true if results may have a rank that depends on data. `rankWasAsked`: true
  /// if an op needed the rank of such a result; the import must then be repeated with
  /// `ranksMayBeOpen` set to false.
  bool ranksMayBeOpen = true, rankWasAsked = false;
  void askRank(mlir::Value value);
  /// For each named dim of the inputs, the number of the first dim that has the same symbol (see
  /// DimNames). If the list is empty, all dims of a name have the same symbol.
  std::vector<unsigned> dimGroups;
  /// The symbol of each named dim of the inputs.
  std::vector<std::string> dimSymbols;
  /// Errors in branches of If nodes that were dropped, because a run is assumed never to take these
  /// branches (see OnnxNode::dropDiagnosticsAfter).
  std::vector<Message> excused;
  std::optional<std::string> dropDiagnosticsAfter(size_t told);
  /// Returns whether a condition on dims holds. If it depends on dims of inputs and the assumed
  /// facts do not decide it, sets `question`.
  graph::Decision decide(const graph::Condition &condition);

  /// Imports the constants and nodes of a subgraph at the builder's insertion point. `arguments`
  /// are used as its inputs. Returns its outputs, or nullopt after an error.
  std::optional<llvm::SmallVector<mlir::Value>> importGraph(const onnx::GraphProto &graph, Frame &frame,
                                                            mlir::ValueRange arguments);
  /// Returns a symbol for element `i` of an integer tensor, for use in dims. The program reads the
  /// element at run time.
  graph::DimExpr readSymbol(mlir::Value tensor, int64_t i);
  /// Returns a new symbol for a dim that is known only at run time.
  graph::DimExpr freshDim() { return graph::DimExpr::symbol(freshSymbol("n", freshCounts)); }
  /// Clears the data that the importer caches for values. Must be called after a builder has erased
  /// regions, because a new value may have the address of an erased one.
  void forgetErased();
  /// Creates a constant for a tensor of strings at the insertion point. On failure, returns null
  /// and sets `reason`.
  mlir::Value makeText(const onnx::TensorProto &tensor, llvm::StringRef name, std::string &reason);
  /// Creates a constant for a tensor at the insertion point.
  mlir::Value makeConstant(const Constant &constant, llvm::StringRef name);

  void refuse(const NodeInfo &info, const llvm::Twine &reason);
  /// Reports an error that occurs for all sizes of the inputs: an unsupported op, a limit, or an
  /// undefined name. Such errors are reported even in an If branch that is assumed never to be
  /// taken.
  void refuseOutright(const NodeInfo &info, const llvm::Twine &reason);

  mlir::OpBuilder builder;
  Tensors tensors;
  graph::Contents contents;
  Diagnostics &diagnostics;

private:
  friend class Node;

  bool importOpsets();
  bool importInputs(Frame &frame);
  /// Adds an argument of `main` for an input of the model, or for the keys or values of a map.
  mlir::Value addArgument(const llvm::Twine &name, const graph::TensorShape &shape, llvm::StringRef role,
                          llvm::SmallVectorImpl<mlir::DictionaryAttr> &attributes);
  /// Adds the arguments of an input that is a map, and binds its name. Reports errors.
  bool addMapInput(const onnx::ValueInfoProto &input, Frame &frame,
                   llvm::SmallVectorImpl<mlir::DictionaryAttr> &attributes);
  /// Returns true if the names of the two tensors of a map are unique in the model's interface.
  /// Otherwise reports an error.
  bool expectFreeNames(const onnx::ValueInfoProto &info, llvm::StringRef what);
  bool importOutputs(Frame &frame);
  bool addListOutput(const onnx::ValueInfoProto &output, mlir::Value value);
  bool expectDeclaredMap(const onnx::ValueInfoProto &output, graph::MapOp map);
  void attachMetadata(mlir::ModuleOp module);
  std::optional<graph::TensorShape> inputShape(const onnx::ValueInfoProto &input);
  void askForHotSizes();
  std::optional<graph::DimExpr> inputDim(const onnx::TensorShapeProto::Dimension &dim, llvm::StringRef input);
  bool checkBindings();
  std::string symbolFor(llvm::StringRef name);
  /// Returns the symbol of the next named dim of the inputs.
  std::string nextDimSymbol(llvm::StringRef name);
  std::string freshSymbol(llvm::StringRef prefix, unsigned &counter);

  void importInitializers(const onnx::GraphProto &graph, Frame &frame);
  /// Imports the nodes that the values named in `wanted` depend on. Other nodes are skipped, so
  /// they may be unsupported.
  llvm::LogicalResult importNodes(const Nodes &nodes, Frame &frame, llvm::ArrayRef<llvm::StringRef> wanted);
  llvm::LogicalResult importNode(const onnx::NodeProto &node, Frame &frame, NodeInfo &info);
  llvm::LogicalResult buildNode(const onnx::NodeProto &node, Frame &frame, NodeInfo &info,
                                llvm::ArrayRef<mlir::Value> inputs);
  /// Binds the results of a node to its output names.
  llvm::LogicalResult bindOutputs(Node &built, const onnx::NodeProto &node, Frame &frame);
  /// Looks up the values of the node's inputs. Returns false if an input is undefined, which this
  /// function reports, or is the output of a node that failed, which was reported before.
  bool findInputs(const onnx::NodeProto &node, const Frame &frame, const NodeInfo &info,
                  llvm::SmallVectorImpl<mlir::Value> &inputs);
  std::string whyUnsupported(const NodeInfo &info);
  /// Returns the custom definition of the node's op, or null.
  const graph::CustomDefinition *customOp(const NodeInfo &info) const;
  /// Returns true if the importer can import the node's op.
  bool isKnown(const onnx::NodeProto &node, const NodeInfo &info) const;

  /// Returns true if a function of the model, or a function by which ONNX defines the op,
  /// implements the node's op.
  bool hasFunction(const onnx::NodeProto &node, const NodeInfo &info) const;
  /// Returns true if a function of the model implements the node's op. Functions of the model for
  /// ops in ONNX's own domains are ignored.
  bool isOwnFunction(const onnx::NodeProto &node, const NodeInfo &info) const;
  /// Returns the function that the node calls, with the node's attributes substituted for
  /// references to them. Returns null if the node calls no function.
  std::shared_ptr<const onnx::FunctionProto> functionOf(const onnx::NodeProto &node, const NodeInfo &info,
                                                        llvm::ArrayRef<mlir::Value> inputs);
  llvm::LogicalResult expandFunction(std::shared_ptr<const onnx::FunctionProto> function, const onnx::NodeProto &node,
                                     Frame &frame, const NodeInfo &info, llvm::ArrayRef<mlir::Value> inputs);

  std::shared_ptr<const LoadedModel> loaded;
  const onnx::ModelProto *model;
  mlir::func::FuncOp main;
  const ImportOptions &options;
  Opsets opsets;
  llvm::StringMap<std::string> symbols; // maps dim_param of ONNX to the symbol's name
  llvm::StringSet<> takenSymbols, inputSymbols;
  llvm::StringMap<DimBinding> bindings;
  /// Maps the name of each of the user's bindings that an input's dim has used to the dim's symbol.
  llvm::StringMap<std::string> boundSymbols;
  /// The names by which the user can bind dims of inputs, for messages.
  std::set<std::string> dimNames;
  unsigned freshDims = 0, freshReads = 0, freshCounts = 0;
  std::vector<mlir::OwningOpRef<mlir::Operation *>> discarded;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, std::string> reads;
  /// The node that is being imported. Errors that MLIR reports are attributed to it.
  const NodeInfo *current = nullptr;
  /// Quantities whose limits protect from models that expand without end: `depth` is the current
  /// nesting depth of bodies, `numNodes` the number of nodes in all bodies.
  int64_t depth = 0, numNodes = 0;
  /// True if an exceeded resource limit was reported; further exceeded limits are then not
  /// reported.
  bool toldLimit = false;
  /// Number of messages that had been emitted after the last error of refuseOutright.
  size_t lastOutright = 0;
  /// True if a body of the current node uses an outer value that could not be imported because the
  /// node that computes it failed. The error of that node was already reported.
  bool metFailed = false;
  /// True if the assumed facts or the user's bindings determine dims of inputs that the model
  /// leaves open.
  bool narrowed = false;
  int64_t bytesLeft;
};

/// Returns the domain of an op, with "" for ai.onnx: ONNX files may write either for ONNX's own
/// domain.
llvm::StringRef domainOf(llvm::StringRef written);

} // namespace hewn::importer

#endif
