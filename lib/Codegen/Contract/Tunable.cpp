// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/Tunable.h"
#include "dialects/Graph/Contract/Winograd.h"
#include "lib/Codegen/Contract/ChainEngine.h"
#include "lib/Codegen/Contract/ContractSchedule.h"
#include "lib/Codegen/Contract/WinogradEngine.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using hewn::graph::DimExpr;

namespace hewn::codegen {

namespace {

/// Collects "name=value name=value".
class Key {
public:
  explicit Key(StringRef kind) : text(kind.str()) {}
  template <typename T> Key &add(StringRef name, const T &value) {
    llvm::raw_string_ostream(text) << " " << name << "=" << value;
    return *this;
  }
  Key &add(StringRef name, const DimExpr &dim) { return add(name, textOf(dim)); }
  /// Of several dims: those that are longer than 1.
  Key &add(StringRef name, const graph::Dims &dims) {
    std::string all;
    for (const DimExpr &dim : dims)
      if (!dim.is(1))
        all += (all.empty() ? "" : "x") + textOf(dim);
    return all.empty() ? *this : add(name, all);
  }

  /// What is done beside the contractions, by kind: how many ops, and values that they read; the types of all results. Not the kernel's
  /// scratch memory, which a schedule brings: the key is asked for before there is one, and afterwards.
  Key &addRest(KernelFunction &k) {
    int64_t elementwise = 0, moves = 0, reductions = 0, contractions = 0;
    for (Operation &op : k.kernel.getBody().front().without_terminator()) {
      elementwise += isa<graph::ElementwiseOpInterface>(op);
      moves += isa<graph::MoveOpInterface>(op) && !isa<graph::ScratchOp>(op);
      reductions += isa<graph::ReduceOpInterface>(op);
      contractions += isa<graph::ContractOpInterface>(op);
    }
    auto addCount = [&](StringRef name, int64_t count) {
      if (count > 0)
        add(name, count);
    };
    addCount("elementwise", elementwise);
    addCount("moves", moves);
    addCount("reductions", reductions);
    addCount("reads", int64_t(k.kernel.getFunctionType().getNumInputs()) - 2 * contractions);
    std::string types;
    for (const Buffer &output : k.outputs)
      llvm::raw_string_ostream(types) << (types.empty() ? "" : ",") << output.elementType;
    return add("gives", types);
  }

  static std::string textOf(const DimExpr &dim) {
    std::optional<int64_t> value = dim.constant();
    return value ? std::to_string(*value) : "?";
  }

  std::string text;
};

std::string typesOf(graph::ContractOpInterface op) {
  std::string text;
  llvm::raw_string_ostream(text) << graph::getElementType(op->getOperand(0)) << "*"
                                 << graph::getElementType(op->getOperand(1)) << ":"
                                 << graph::getElementType(op->getResult(0));
  return text;
}

std::string keyOf(KernelFunction &k, const ContractForm &form) {
  const graph::ContractRoles &roles = form.roles;
  auto extents = [&](ArrayRef<unsigned> dims) {
    return graph::Dims(llvm::map_to_vector(dims, [&](unsigned d) { return form.extents[d]; }));
  };
  // How far apart neighbours are along each dim: windows, transposed and broadcast operands are told apart by that.
  auto strides = [&](const Buffer &buffer, AffineMap map) {
    std::string all;
    for (unsigned d = 0; d < form.extents.size(); ++d)
      if (!form.extents[d].is(1))
        all += (all.empty() ? "" : ",") + Key::textOf(ContractForm::strideAlong(buffer, map, d));
    return all;
  };
  Key key("contract");
  key.add("types", typesOf(form.op)).add("rows", form.rows);
  key.add("outer", extents(form.outerRows)).add("columns", form.extents[roles.column]);
  if (roles.group)
    key.add("groups", form.extents[*roles.group]);
  key.add("sum", extents(roles.summed)).add("batch", extents(roles.batch));
  key.add("left", strides(form.lhs, form.maps[0])).add("right", strides(form.rhs, form.maps[1]));
  if (form.rhs.blockDim >= 0)
    key.add("panel", form.rhs.block);
  if (form.code)
    key.add("bits", form.code->bits).add("block", form.code->block);
  if (!form.clips.empty())
    key.add("clips", form.clips.size());
  key.add("unit", form.matrix ? "matrix" : form.dot ? "dots" : "vectors");
  return key.addRest(k).text;
}

std::string keyOf(KernelFunction &k, const graph::Chain &chain) {
  graph::ContractOpInterface first = chain.first, second = chain.second;
  Key key("chain");
  key.add("types", typesOf(first)).add("scores", graph::getDims(chain.scores));
  key.add("sum", first.getIterationDims(graph::getDims).back());
  key.add("result", graph::getDims(second->getResult(0))).add("steps", chain.middle.size());
  return key.addRest(k).text;
}

std::string keyOfWindows(KernelFunction &k, graph::ContractOpInterface op, const graph::WinogradDims &dims) {
  graph::Dims extents = op.getIterationDims(graph::getDims);
  Key key("winograd");
  key.add("types", typesOf(op)).add("tile", graph::winogradTile(op->getOperand(1).getType()));
  key.add("result", graph::getDims(op->getResult(0))).add("channels", extents[dims.channels]);
  for (const auto &[argument, buffer] : k.inputs)
    if (argument == op->getOperand(1))
      key.add("panel", buffer.block);
  return key.addRest(k).text;
}

template <typename T> SmallVector<Attribute> attributes(const SmallVector<T> &all) {
  return SmallVector<Attribute>(all.begin(), all.end());
}

} // namespace

std::string tuningKey(KernelFunction &k) {
  if (plan::gridOf(k.kernel))
    return "";
  if (Found<graph::Chain> chain = chainIn(k))
    return keyOf(k, *chain);
  graph::ContractOpInterface op = graph::onlyContraction(k.kernel.getBody().front());
  if (op && graph::winogradTile(op->getOperand(1).getType())) {
    std::optional<graph::WinogradDims> dims = graph::winogradDims(op);
    return dims ? keyOfWindows(k, op, *dims) : "";
  }
  Found<ContractForm> form = contractForm(k);
  return form ? keyOf(k, *form) : "";
}

SmallVector<Attribute> tuningCandidates(KernelFunction &k) {
  if (plan::gridOf(k.kernel))
    return {};
  if (Found<graph::Chain> chain = chainIn(k))
    return attributes(chainCandidates(k, *chain));
  if (SmallVector<plan::WinogradAttr> windows = winogradCandidates(k); !windows.empty())
    return attributes(windows);
  return attributes(contractCandidates(k));
}

LogicalResult verifyInstead(KernelFunction &k, Attribute chosen, Attribute given) {
  auto isOtherKind = [](Attribute a, Attribute b) { return a.getTypeID() != b.getTypeID(); };
  if (isOtherKind(chosen, given))
    return refuse(k, given) << ", which is no schedule of the kind that the kernel has";
  return llvm::TypeSwitch<Attribute, LogicalResult>(given)
      .Case([&](plan::ContractAttr contract) { return verifyContraction(k, contract); })
      .Case([&](plan::WinogradAttr winograd) { return verifyWinograd(k, winograd); })
      .Case([&](plan::ChainAttr chain) -> LogicalResult {
        auto own = cast<plan::ChainAttr>(chosen);
        if (isOtherKind(own.getHead(), chain.getHead()) || chain.getMiddle() != own.getMiddle() ||
            isOtherKind(own.getTail(), chain.getTail()))
          return refuse(k, given) << ", whose steps are no schedules of the kinds that the kernel's have";
        return verifyChain(k, *chainIn(k), chain);
      })
      .Default([&](Attribute) { return success(given == chosen); });
}

} // namespace hewn::codegen
