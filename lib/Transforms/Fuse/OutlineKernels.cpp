// SPDX-License-Identifier: Apache-2.0
//
// Makes each graph.group a kernel and a launch.
//
//     %0 = graph.group(%x, %b) { ... }   →   plan.kernel @add_relu(...) { ... }      %0 = plan.launch @add_relu(%x, %b)
//     symbols []
//
// A kernel is a function of shapes, layouts and types alone: its dims are written in symbols of its own (s0, s1, in
// order of appearance) and the launch says what they stand for, so groups that differ only in weights and in the names
// of symbols are one kernel, compiled once. Splat constants stand inside of groups, where engines see them; those in which
// groups differ that are alike otherwise (the scales of quantized layers) are made arguments first. Names come from the ops
// inside. Of many groups that differ in where they read alone, what says where becomes a symbol.
#include "dialects/Graph/Graph.h"
#include "lib/Transforms/Fuse/Passes.h"

#include "mlir/IR/AsmState.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace mlir;
using hewn::graph::DimExpr;

namespace hewn {
#define GEN_PASS_DEF_OUTLINEKERNELSPASS
#include "lib/Transforms/Fuse/Passes.h.inc"

namespace {

/// Rewrites every expression in an attribute's lists; one whose text is in `whole` as if that were a symbol.
Attribute renameSymbols(Attribute attr, llvm::function_ref<DimExpr(StringRef)> rename, const llvm::StringSet<> &whole) {
  if (auto dim = dyn_cast<graph::DimAttr>(attr)) {
    StringRef text = dim.getExpr().str();
    return (whole.contains(text) ? rename(text) : dim.getExpr().substitute(rename)).toAttr(attr.getContext());
  }
  auto list = dyn_cast<ArrayAttr>(attr);
  if (!list)
    return attr;
  return ArrayAttr::get(attr.getContext(), llvm::map_to_vector(list, [&](Attribute entry) {
                          return renameSymbols(entry, rename, whole);
                        }));
}

class Outliner {
public:
  explicit Outliner(ModuleOp module) : module(module), symbolTable(module) {}

  void run() {
    SmallVector<graph::GroupOp> groups;
    module.walk([&](graph::GroupOp group) { groups.push_back(group); });
    shareExpressions(groups);
    for (graph::GroupOp group : groups)
      renameSymbolsOf(group);
    shareConstants(groups);
    for (graph::GroupOp group : groups)
      outline(group);
  }

private:
  ModuleOp module;
  SymbolTable symbolTable;
  llvm::StringMap<plan::KernelOp> known; // by text without the name
  /// What a group's symbols stand for in order of appearance (names, or expressions that the kernel need not know), and its arguments'
  /// dims in the kernel's own symbols.
  struct Names {
    SmallVector<std::string> symbols;
    llvm::StringSet<> whole;
    SmallVector<Attribute> argumentDims;
  };
  llvm::DenseMap<Operation *, Names> namesOf;

  void renameSymbolsOf(graph::GroupOp group) {
    Names &names = namesOf[group];
    auto rename = [&](StringRef name) {
      auto *found = llvm::find(names.symbols, name);
      size_t index = found - names.symbols.begin();
      if (found == names.symbols.end())
        names.symbols.push_back(name.str());
      return DimExpr::symbol("s" + std::to_string(index));
    };
    Block &body = group.getBody().front();
    for (Value argument : body.getArguments())
      names.argumentDims.push_back(
          renameSymbols(graph::dimsAttr(module.getContext(), graph::getDims(argument)), rename, names.whole));
    for (Operation &op : body)
      for (NamedAttribute attr : llvm::to_vector(op.getAttrs()))
        op.setAttr(attr.getName(), renameSymbols(attr.getValue(), rename, names.whole));
  }

  /// Calls `visit` with the texts of the expressions that are no dims and no symbols: where a slice begins, how wide a border is.
  static void forEachPosition(Operation &op, llvm::function_ref<void(StringRef)> visit) {
    for (NamedAttribute attr : op.getAttrs())
      if (attr.getName() != graph::kDimsAttr)
        attr.getValue().walk([&](graph::DimAttr dim) {
          StringRef symbol, text = dim.getExpr().str();
          dim.getExpr().walkSymbols([&](StringRef name) { symbol = name; });
          if (symbol != text)
            visit(text);
        });
  }

  /// The group's text with `?` for positions, and without dims.
  static std::string textWithoutPositions(graph::GroupOp group, const llvm::StringSet<> &positions) {
    std::string text;
    llvm::raw_string_ostream os(text);
    llvm::DenseMap<Value, unsigned> numbers;
    for (Value argument : group.getBody().getArguments())
      numbers.try_emplace(argument, numbers.size());
    auto print = [&](auto &&self, Attribute attr) -> void {
      if (auto list = dyn_cast<ArrayAttr>(attr)) {
        for (Attribute entry : list)
          self(self, entry);
        os << ';';
      } else if (auto dim = dyn_cast<graph::DimAttr>(attr); dim && positions.contains(dim.getExpr().str())) {
        os << '?';
      } else {
        os << attr << ',';
      }
    };
    for (Operation &op : group.getBody().front()) {
      os << op.getName().getStringRef() << op.getOperandTypes() << op.getResultTypes();
      for (Value operand : op.getOperands())
        os << ' ' << numbers.lookup(operand);
      for (Value result : op.getResults())
        numbers.try_emplace(result, numbers.size());
      for (NamedAttribute attr : op.getAttrs())
        if (attr.getName() != graph::kDimsAttr && !isa<graph::ConstantOp>(op))
          print(print, attr.getValue());
    }
    return text;
  }

  /// Makes one symbol of each position in which many groups differ that are alike otherwise, as the parts of a split that has a thousand of
  /// them: one kernel instead of one each.
  void shareExpressions(ArrayRef<graph::GroupOp> groups) {
    constexpr size_t kFew = 8;
    llvm::MapVector<Attribute, SmallVector<std::pair<graph::GroupOp, llvm::StringSet<>>>> alike;
    for (graph::GroupOp group : groups) {
      llvm::StringSet<> positions;
      for (Operation &op : group.getBody().front())
        forEachPosition(op, [&](StringRef text) { positions.insert(text); });
      auto isDim = [&](Value value) {
        for (const DimExpr &dim : graph::getDims(value))
          positions.erase(dim.str());
      };
      if (positions.empty())
        continue;
      llvm::for_each(group.getBody().getArguments(), isDim);
      for (Operation &op : group.getBody().front())
        llvm::for_each(op.getResults(), isDim);
      if (!positions.empty())
        alike[StringAttr::get(module.getContext(), textWithoutPositions(group, positions))].push_back(
            {group, std::move(positions)});
    }
    for (auto &[text, members] : alike)
      if (members.size() > kFew)
        for (auto &[group, positions] : members)
          namesOf[group].whole = std::move(positions);
  }

  /// The group's text with `?` for the values of constants.
  std::string textWithoutConstants(graph::GroupOp group) {
    std::string text;
    llvm::raw_string_ostream os(text);
    // Once for all: an op that is printed by itself numbers the values of the whole group, and verifies it.
    AsmState state(group, OpPrintingFlags().useLocalScope().assumeVerified());
    for (auto [argument, dims] : llvm::zip(group.getBody().getArguments(), namesOf[group].argumentDims))
      os << argument.getType() << dims << "\n";
    for (Operation &op : group.getBody().front()) {
      if (isa<graph::ConstantOp>(op))
        os << "? " << op.getResult(0).getType();
      else
        op.print(os, state);
      os << "\n";
    }
    return text;
  }

  /// Makes arguments of the constants in which groups of the same text differ.
  void shareConstants(ArrayRef<graph::GroupOp> groups) {
    std::map<std::string, SmallVector<graph::GroupOp>> alike;
    for (graph::GroupOp group : groups)
      alike[textWithoutConstants(group)].push_back(group);
    for (auto &[text, members] : alike) {
      SmallVector<SmallVector<graph::ConstantOp>> constants =
          llvm::map_to_vector(ArrayRef(members), [](graph::GroupOp group) {
            return llvm::to_vector(group.getBody().getOps<graph::ConstantOp>());
          });
      for (size_t i = 0; i < constants[0].size(); ++i)
        if (llvm::any_of(constants, [&](auto &own) { return own[i].getValue() != constants[0][i].getValue(); }))
          for (auto [group, own] : llvm::zip(members, constants))
            makeArgument(group, own[i]);
    }
  }

  void makeArgument(graph::GroupOp group, graph::ConstantOp constant) {
    Operation *outside = OpBuilder(group).clone(*constant);
    group.getInputsMutable().append(outside->getResult(0));
    Value argument = group.getBody().addArgument(constant.getType(), constant.getLoc());
    Attribute dims = graph::dimsAttr(module.getContext(), graph::getDims(outside->getResult(0)));
    namesOf[group].argumentDims.push_back(dims);
    constant.getResult().replaceAllUsesWith(argument);
    constant->erase();
  }

  void outline(graph::GroupOp group) {
    MLIRContext *context = module.getContext();
    auto &[symbols, whole, argumentDims] = namesOf[group];
    OpBuilder b(context);
    b.setInsertionPointToStart(module.getBody());
    auto type = b.getFunctionType(group.getInputs().getTypes(), group.getOutputs().getTypes());
    SmallVector<Attribute> own;
    for (size_t i = 0; i < symbols.size(); ++i)
      own.push_back(b.getStringAttr("s" + std::to_string(i)));
    auto kernel =
        plan::KernelOp::create(b, group.getLoc(), b.getStringAttr("kernel"), TypeAttr::get(type), b.getArrayAttr(own),
                               Attribute(), group.getWhyAttr(), StringAttr(), ArrayAttr(), ArrayAttr());
    kernel.getBody().takeBody(group.getBody());
    // All at once: the context keeps each list of them that there ever was.
    SmallVector<DictionaryAttr> attributes;
    for (auto [argument, dims] : llvm::zip(kernel.getBody().getArguments(), argumentDims)) {
      bool isStatic = cast<RankedTensorType>(argument.getType()).hasStaticShape();
      attributes.push_back(b.getDictionaryAttr(isStatic ? ArrayRef<NamedAttribute>()
                                                        : ArrayRef(b.getNamedAttr(graph::kDimsAttr, dims))));
    }
    function_interface_impl::setAllArgAttrDicts(kernel, attributes);

    std::string text;
    llvm::raw_string_ostream(text) << kernel;
    auto [entry, isNew] = known.try_emplace(text, kernel);
    if (isNew) {
      kernel.setSymName(nameFor(kernel));
      symbolTable.insert(kernel, b.getInsertionPoint());
    } else {
      kernel.erase();
    }
    plan::KernelOp callee = entry->second;
    b.setInsertionPoint(group);
    SmallVector<Attribute> values;
    for (StringRef symbol : symbols)
      values.push_back((whole.contains(symbol) ? *DimExpr::parse(symbol) : DimExpr::symbol(symbol)).toAttr(context));
    auto launch = plan::LaunchOp::create(b, group.getLoc(), group.getOutputs().getTypes(), callee.getSymName(),
                                         group.getInputs(), b.getArrayAttr(values));
    if (Attribute dims = group->getAttr(graph::kDimsAttr))
      launch->setAttr(graph::kDimsAttr, dims);
    group.replaceAllUsesWith(launch.getOutputs());
    group.erase();
  }

  /// Functions of the C library that a kernel may call: none must be called like it.
  static bool isLibraryName(StringRef name) {
    static const llvm::StringSet<> names = {"abs",  "acos",  "acosh", "asin", "asinh", "atan",  "atanh",
                                            "ceil", "cos",   "cosh",  "erf",  "exp",   "floor", "log",
                                            "pow",  "round", "sin",   "sinh", "sqrt",  "tan",   "tanh"};
    return names.contains(name);
  }

  std::string nameFor(plan::KernelOp kernel) {
    SmallVector<StringRef> names;
    for (Operation &op : kernel.getBody().front().without_terminator())
      if (!isa<graph::ConstantOp, graph::ScratchOp>(op) &&
          (names.empty() || names.back() != op.getName().stripDialect()))
        names.push_back(op.getName().stripDialect());
    if (names.size() > 4) // the first ones and the last say enough
      names = {names[0], names[1], names[2], names.back()};
    std::string name = llvm::join(names, "_");
    return isLibraryName(name) ? name + "_kernel" : name;
  }
};

struct OutlineKernelsPass : impl::OutlineKernelsPassBase<OutlineKernelsPass> {
  void runOnOperation() override { Outliner(getOperation()).run(); }
};

} // namespace
} // namespace hewn
