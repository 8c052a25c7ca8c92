// SPDX-License-Identifier: Apache-2.0
//
// Collects the program as a graph: its steps, and the values that connect them.
#include "dialects/Graph/Graph.h"
#include "dialects/Graph/Analysis/Shapes.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Plan/Plan.h"
#include "lib/Compiler/Explain/Explain.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace hewn {

namespace {

/// Builds the graph of a program.
class GraphCollector {
public:
  explicit GraphCollector(ExplainedGraph &graph) : graph(graph) {}

  void collect(func::FuncOp function) {
    collectBlock(function.getBody().front(), graph.program);
    auto nameOf = [](DictionaryAttr attributes) {
      auto name = attributes ? attributes.getAs<StringAttr>(graph::kNameAttr) : StringAttr();
      return name ? name.str() : std::string();
    };
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      graph.inputNames.push_back(nameOf(function.getArgAttrDict(i)));
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      graph.outputNames.push_back(nameOf(function.getResultAttrDict(i)));
  }

private:
  unsigned numberOf(Value value) {
    auto [entry, isNew] = numbers.try_emplace(value, unsigned(graph.values.size()));
    if (isNew)
      addValue(value);
    return entry->second;
  }

  void addValue(Value value) {
    ExplainedGraph::Value &one = graph.values.emplace_back();
    llvm::raw_string_ostream(one.type) << value.getType();
    if (auto constant = value.getDefiningOp<graph::ConstantOp>()) {
      one.isConstant = true;
      if (auto weight = dyn_cast<graph::WeightAttr>(constant.getValue()))
        one.constant = weight.getKey().str();
    }
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    if (!tensor)
      return;
    for (const graph::DimExpr &dim : graph::getDims(value))
      one.dims.push_back(dim.str().str());
    llvm::raw_string_ostream(one.elementType) << tensor.getElementType();
    if (auto layout = dyn_cast_or_null<graph::LayoutAttr>(tensor.getEncoding())) {
      std::string text;
      llvm::raw_string_ostream(text) << layout;
      StringRef parameters(text);
      parameters.consume_front("#graph.layout<");
      parameters.consume_back(">");
      one.layout = parameters.str();
    }
  }

  void collectBlock(Block &block, ExplainedGraph::Body &body) {
    for (BlockArgument argument : block.getArguments())
      body.arguments.push_back(numberOf(argument));
    for (Operation &op : block)
      if (op.hasTrait<OpTrait::IsTerminator>())
        for (Value operand : op.getOperands())
          body.results.push_back(numberOf(operand));
      else if (!isa<graph::ConstantOp>(op))
        collectStep(op, body.steps.emplace_back());
  }

  void collectStep(Operation &op, ExplainedGraph::Step &step) {
    step.op = op.getName().stripDialect().str();
    if (auto launch = dyn_cast<plan::LaunchOp>(op)) {
      step.kernel = launch.getKernel().str();
      step.launch = launches[step.kernel]++;
    }
    step.isView = graph::isView(&op);
    addNodes(op.getLoc(), step.nodes);
    for (Value operand : op.getOperands())
      step.inputs.push_back(numberOf(operand));
    for (Value result : op.getResults())
      step.outputs.push_back(numberOf(result));
    for (Region &region : op.getRegions())
      if (!region.empty())
        collectBlock(region.front(), step.bodies.emplace_back());
  }

  ExplainedGraph &graph;
  llvm::DenseMap<Value, unsigned> numbers;
  llvm::StringMap<int64_t> launches;
};

/// Removes the names that are not keys of `nodes`.
void keepNodes(ExplainedGraph::Body &body, const llvm::StringMap<ExplainedNode> &nodes) {
  for (ExplainedGraph::Step &step : body.steps) {
    llvm::erase_if(step.nodes, [&](const std::string &name) { return !nodes.contains(name); });
    for (ExplainedGraph::Body &inner : step.bodies)
      keepNodes(inner, nodes);
  }
}

} // namespace

void explainGraph(ModuleOp module, ExplainedVariant &variant) {
  auto functions = module.getOps<func::FuncOp>();
  auto program = llvm::find_if(functions, [](func::FuncOp function) { return !function.isExternal(); });
  if (program != functions.end())
    GraphCollector(variant.graph.emplace()).collect(*program);
}

void keepNodes(ExplainedGraph &graph, const llvm::StringMap<ExplainedNode> &nodes) {
  if (!nodes.empty()) // there are none if the compile starts from the text of a stage
    keepNodes(graph.program, nodes);
}

} // namespace hewn
