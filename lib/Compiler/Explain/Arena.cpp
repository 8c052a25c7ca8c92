// SPDX-License-Identifier: Apache-2.0
//
// Collects what `hewn explain` reports about the arena: its size, the live bytes, and the placement
// of buffers over time.
#include "dialects/Plan/Plan.h"
#include "lib/Compiler/Explain/Explain.h"
#include "lib/Transforms/Plan/Arena/Offsets.h"
#include "lib/Transforms/Plan/Arena/PlannedArena.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace hewn {

namespace {

/// Value that is assumed for each symbol when an arena with symbolic sizes is drawn.
constexpr int64_t kPicturedSize = 128;

std::string rowName(Operation *op) {
  if (auto launch = dyn_cast<plan::LaunchOp>(op))
    return launch.getKernel().str();
  return op->getName().stripDialect().str();
}

ExplainedArena::Size sizeAt(const plan::PlannedArena &arena, const plan::Sample &sample) {
  plan::PlannedArena::Sized sized = arena.at(sample);
  ExplainedArena::Size size;
  for (const auto &[symbol, value] : sample)
    size.symbols.push_back({symbol.str(), value});
  size.bytes = sized.bytes;
  size.live = sized.live;
  return size;
}

/// Finds the names of ONNX nodes and outputs for values of the program.
struct Names {
  const llvm::StringMap<ExplainedNode> &onnxNodes;
  const std::vector<ExplainedKernel> &kernels;

  /// Returns the name of the ONNX node that the value belongs to. A kernel may be launched for many
  /// nodes, but the locations in its body name the nodes of only one launch: the result is the node
  /// at the same position among the nodes of the given launch.
  std::string nodeOf(OpResult value) const {
    std::vector<std::string> nodes;
    addNodes(value.getLoc(), nodes);
    if (auto launch = dyn_cast<plan::LaunchOp>(value.getOwner()))
      for (const ExplainedKernel &kernel : kernels)
        if (kernel.name == launch.getKernel() && value.getResultNumber() < kernel.outputNames.size() &&
            kernel.bodyNames.size() == nodes.size())
          for (const std::string &name : llvm::reverse(kernel.outputNames[value.getResultNumber()])) {
            const std::string &node = nodes[size_t(llvm::find(kernel.bodyNames, name) - kernel.bodyNames.begin())];
            if (onnxNodes.contains(node))
              return node;
          }
    for (const std::string &node : llvm::reverse(nodes))
      if (onnxNodes.empty() || onnxNodes.contains(node))
        return node;
    return "";
  }

  void tell(Value value, ExplainedArena::Block &block) const {
    block.kernel = rowName(value.getDefiningOp());
    block.node = nodeOf(cast<OpResult>(value));
    block.values = onnxNodes.lookup(block.node).outputs;
    llvm::raw_string_ostream(block.type) << value.getType();
  }
};

/// Adds a row to the drawing of the arena for each op that has a buffer in the arena.
void addPicture(const plan::PlannedArena &arena, const plan::Sample &sample, const Names &names, ExplainedArena &into) {
  plan::PlannedArena::Sized sized = arena.at(sample);
  into.pictured = sizeAt(arena, sample);
  for (auto [buffer, block] : llvm::zip_equal(arena.buffers(), sized.blocks)) {
    into.blocks.push_back({block.life.begin, block.life.end, block.offset, block.size});
    names.tell(buffer.value, into.blocks.back());
  }
  llvm::DenseSet<unsigned> seen;
  for (const plan::PlannedArena::Buffer &buffer : arena.buffers())
    if (seen.insert(buffer.life.begin).second)
      into.rows.push_back({rowName(buffer.value.getDefiningOp()), buffer.life.begin});
  llvm::sort(into.rows, [](const auto &a, const auto &b) { return a.position < b.position; });
  for (ExplainedArena::Row &row : into.rows)
    for (const ExplainedArena::Block &block : into.blocks)
      if (block.begin <= row.position && row.position <= block.end)
        row.live += block.bytes;
}

void addFormula(func::FuncOp program, ExplainedArena &into) {
  auto text = [](Attribute attr) {
    std::optional<graph::DimExpr> expr = graph::DimExpr::fromAttr(attr);
    return expr ? expr->str().str() : std::string();
  };
  into.formula = text(program->getAttr(plan::kArenaBytesAttr));
  if (auto levels = program->getAttrOfType<ArrayAttr>(plan::kArenaLevelsAttr))
    for (Attribute level : levels)
      into.levels.push_back(text(level));
}

ExplainedArena explain(func::FuncOp program, const Names &names) {
  plan::PlannedArena arena(program);
  ExplainedArena made;
  std::vector<plan::Sample> samples = plan::samplesOf(program);
  if (arena.buffers().empty())
    return made;
  if (samples.front().empty()) {
    made.sizes.push_back(sizeAt(arena, {}));
    addPicture(arena, {}, names, made);
    return made;
  }
  addFormula(program, made);
  plan::Sample pictured = samples.front();
  for (const plan::Sample &sample : samples) {
    bool alike = llvm::all_of(sample, [&](auto &entry) { return entry.second == sample.front().second; });
    if (!alike && samples.size() > 1)
      continue;
    made.sizes.push_back(sizeAt(arena, sample));
    if (sample.front().second <= kPicturedSize)
      pictured = sample;
  }
  addPicture(arena, pictured, names, made);
  return made;
}

} // namespace

void explainArena(ModuleOp module, const llvm::StringMap<ExplainedNode> &onnxNodes, ExplainedVariant &variant) {
  Names names{onnxNodes, variant.kernels};
  module.walk([&](func::FuncOp function) {
    if (function->hasAttr(plan::kArenaBytesAttr))
      variant.arenas.push_back(explain(function, names));
  });
}

} // namespace hewn
