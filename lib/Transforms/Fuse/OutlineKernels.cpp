// SPDX-License-Identifier: Apache-2.0
//
// Outlines each graph.group to a kernel and a launch; equal kernels become one (see Passes.td).
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

/// Rewrites the symbols of all dim expressions in an attribute. An entire expression whose text is
/// in `whole` is replaced as if it were one symbol.
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
  llvm::StringMap<plan::KernelOp> known; // kernels by their text without the name
  /// The values that a launch passes for the kernel's symbols, in the order in which the symbols
  /// appear in the kernel. A value is a symbol of the caller; if it is in `whole`, it is an
  /// expression of several symbols of the caller. The struct also holds the dims of the kernel's
  /// arguments, as expressions over the kernel's symbols.
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

  /// Calls `visit` with the text of every dim expression in the op's attributes, such as a slice
  /// offset or a padding size. Excludes plain symbols and the dims of types.
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

  /// Returns the group's text without dims, and with `?` in place of each expression in
  /// `positions`.
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

  /// Finds expressions that differ between otherwise equal fusion groups, and replaces them by
  /// kernel symbols, so that the groups share one kernel. Applies if more than kFew groups differ
  /// only in positions, such as slice offsets (the results of a Split, for example).
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

  /// Returns the flags that print ops as keys: locations are not part of a kernel, even if hewn-opt
  /// prints them (--mlir-print-debuginfo).
  static OpPrintingFlags withoutLocations() { return OpPrintingFlags().useLocalScope().enableDebugInfo(false); }

  /// Returns the group's text with `?` in place of the values of constants.
  std::string textWithoutConstants(graph::GroupOp group) {
    std::string text;
    llvm::raw_string_ostream os(text);
    // Print all ops with one AsmState. Without it, printing each op would number and verify the
    // entire group again.
    AsmState state(group, withoutLocations().assumeVerified());
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

  /// Finds constants that differ between otherwise equal fusion groups, and makes them arguments of
  /// the kernel that the groups share.
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
    // Set all attributes of an op with one call, because each call creates an attribute list, and
    // the context keeps all lists until the end of the compile.
    SmallVector<DictionaryAttr> attributes;
    for (auto [argument, dims] : llvm::zip(kernel.getBody().getArguments(), argumentDims)) {
      bool isStatic = cast<RankedTensorType>(argument.getType()).hasStaticShape();
      attributes.push_back(b.getDictionaryAttr(isStatic ? ArrayRef<NamedAttribute>()
                                                        : ArrayRef(b.getNamedAttr(graph::kDimsAttr, dims))));
    }
    function_interface_impl::setAllArgAttrDicts(kernel, attributes);

    std::string text;
    llvm::raw_string_ostream os(text);
    kernel->print(os, withoutLocations());
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

  /// Returns true if a C library function that kernels may call has this name. A kernel must not
  /// have such a name.
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
    if (names.size() > 4) // a long name consists of the first three ops and the last op
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
