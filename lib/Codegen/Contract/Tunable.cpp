// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/Tunable.h"
#include "dialects/Graph/Contract/Winograd.h"
#include "lib/Codegen/Contract/ChainEngine.h"
#include "lib/Codegen/Contract/ChainSteps.h"
#include "lib/Codegen/Contract/ContractSchedule.h"
#include "lib/Codegen/Contract/WinogradEngine.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include <tuple>

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

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
  Key &add(StringRef name, const Dims &dims) {
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

/// Adds what a schedule of a contraction depends on, but for what is done beside it.
void addForm(Key &key, const ContractForm &form) {
  const graph::ContractRoles &roles = form.roles;
  auto extents = [&](ArrayRef<unsigned> dims) {
    return Dims(llvm::map_to_vector(dims, [&](unsigned d) { return form.extents[d]; }));
  };
  // How far apart neighbours are along each dim: windows, transposed and broadcast operands are told apart by that.
  auto strides = [&](const Buffer &buffer, AffineMap map) {
    std::string all;
    for (unsigned d = 0; d < form.extents.size(); ++d)
      if (!form.extents[d].is(1))
        all += (all.empty() ? "" : ",") + Key::textOf(ContractForm::strideAlong(buffer, map, d));
    return all;
  };
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
}

std::string keyOf(KernelFunction &k, const ContractForm &form) {
  Key key("contract");
  addForm(key, form);
  return key.addRest(k).text;
}

/// All dims, also those of 1: "1x4x?x64".
std::string shapeOf(const Dims &dims) { return llvm::join(llvm::map_range(dims, Key::textOf), "x"); }

std::string keyOf(KernelFunction &k, const graph::Chain &chain) {
  Dims scores = graph::getDims(chain.scores);
  Key key("chain");
  // Which dim is rows and which are batches: the one is cut into tasks' parts, and the others are tasks.
  key.add("scores", shapeOf(scores)).add("rows", scores[chain.rowDim]);
  key.add("result", shapeOf(graph::getDims(chain.second->getResult(0)))).add("column_bytes", chain.columnBytes());
  key.add("in_place", chain.inPlace).add("steps", chain.middle.size());
  for (Value argument : k.kernel.getBody().front().getArguments())
    if (auto found = k.inputs.find(argument); found != k.inputs.end())
      key.add("input", shapeOf(found->second.dims) + "/" + shapeOf(found->second.strides));
  // The contractions as a task sees them; of any number of rows, which only a schedule says.
  ChainSteps steps(k, chain, plan::costsOf(k.kernel).getChainRows());
  for (auto [number, op, name] :
       {std::tuple(0U, chain.first, " first:"), {ChainSteps::count - 1, chain.second, " second:"}}) {
    key.text += name;
    FailureOr<ChainStep> step = steps.make(number);
    if (failed(step)) // which has been said
      return "";
    if (Found<ContractForm> form = contractForm(step->function))
      addForm(key, *form);
    else
      key.add("types", typesOf(op))
          .add("loops", shapeOf(graph::ContractOpInterface(op).getIterationDims(graph::getDims)));
    step->function.kernel.erase();
  }
  return key.addRest(k).text;
}

std::string keyOfWindows(KernelFunction &k, graph::ContractOpInterface op, const graph::WinogradDims &dims) {
  Dims extents = op.getIterationDims(graph::getDims);
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

Dims contractionScratch(KernelFunction &k, Attribute schedule) {
  return llvm::TypeSwitch<Attribute, Dims>(schedule)
      .Case([&](plan::ChainAttr attr) {
        Found<graph::Chain> chain = chainIn(k);
        return chain ? chainScratch(*chain, attr) : Dims();
      })
      .Case([&](plan::WinogradAttr attr) { return winogradScratch(k, attr); })
      .Case([&](plan::ContractAttr attr) {
        Found<ContractForm> form = contractForm(k, attr.getUnit());
        return form ? contractScratch(k, *form, attr) : Dims();
      })
      .Default([](Attribute) { return Dims(); });
}

/// What of a schedule is much more than the model's choice has, or than the machine has room for; empty: nothing. Code by it could be
/// made, but takes more time to make, or more memory, than anybody has. A candidate is never so.
static std::string whyTooLarge(KernelFunction &k, Attribute chosen, Attribute given) {
  auto more = [](StringRef what, double is, double most) {
    return is <= most ? std::string() : llvm::formatv("{0} of {1:f0}, and {2:f0} is the most", what, is, most).str();
  };
  plan::TargetAttr target = plan::targetOf(k.kernel);
  int64_t registers = target ? target.getVectorRegisters() : 0;
  // Some spill; more than twice as many are no tile of registers.
  auto tile = [&](auto own, auto other) {
    auto count = [](auto attr) {
      return double(attr.getM()) * double(llvm::divideCeil(attr.getN(), std::max<int64_t>(attr.getLanes(), 1)));
    };
    return more("has accumulators", count(other), 2 * std::max(double(registers), count(own)));
  };
  auto memory = [&]() {
    constexpr double some = 16 << 20, times = 4;
    auto bytes = [&](Attribute attr) {
      double all = sizeof(float);
      for (const DimExpr &dim : contractionScratch(k, attr))
        all *= double(dim.constant().value_or(1));
      return all;
    };
    return more("has bytes of scratch memory", bytes(given), std::max(some, times * bytes(chosen)));
  };
  auto slots = [&](auto own, auto other) {
    return more("has slots", double(other.getSlots()), double(std::max(own.getSlots(), plan::kScratchSlots)));
  };
  auto firstOf = [](std::initializer_list<std::string> all) {
    auto found = llvm::find_if(all, [](const std::string &one) { return !one.empty(); });
    return found == all.end() ? std::string() : *found;
  };
  return llvm::TypeSwitch<Attribute, std::string>(given)
      .Case([&](plan::ContractAttr other) {
        auto own = cast<plan::ContractAttr>(chosen);
        double mostRows = double(std::max({own.getVectorRows(), own.getM(), registers}));
        std::string rows = more("has vectorRows", double(other.getVectorRows()), mostRows);
        return firstOf({tile(own, other), rows, memory()});
      })
      .Case([&](plan::WinogradAttr other) {
        auto own = cast<plan::WinogradAttr>(chosen);
        return firstOf({tile(own, other), slots(own, other), memory()});
      })
      .Case([&](plan::ChainAttr other) {
        auto own = cast<plan::ChainAttr>(chosen);
        constexpr int64_t mostTiles = 8, times = 4;
        int64_t most = std::max(mostTiles * plan::costsOf(k.kernel).getChainRows(), times * own.getRows());
        auto step = [&](Attribute ownStep, Attribute otherStep) {
          auto a = dyn_cast<plan::ContractAttr>(ownStep), b = dyn_cast<plan::ContractAttr>(otherStep);
          return a && b ? tile(a, b) : std::string();
        };
        return firstOf({more("has rows", double(other.getRows()), double(most)), slots(own, other), memory(),
                        step(own.getHead(), other.getHead()), step(own.getTail(), other.getTail())});
      })
      .Default([](Attribute) { return std::string(); });
}

static SmallVector<Attribute> allCandidates(KernelFunction &k) {
  if (Found<graph::Chain> chain = chainIn(k))
    return attributes(chainCandidates(k, *chain));
  if (SmallVector<plan::WinogradAttr> windows = winogradCandidates(k); !windows.empty())
    return attributes(windows);
  return attributes(contractCandidates(k));
}

SmallVector<Attribute> tuningCandidates(KernelFunction &k) {
  if (plan::gridOf(k.kernel))
    return {};
  SmallVector<Attribute> all = allCandidates(k);
  if (!all.empty()) {
    Attribute own = all.front();
    llvm::erase_if(all, [&](Attribute other) { return !whyTooLarge(k, own, other).empty(); });
  }
  return all;
}

LogicalResult verifyInstead(KernelFunction &k, Attribute chosen, Attribute given) {
  auto isOtherKind = [](Attribute a, Attribute b) { return a.getTypeID() != b.getTypeID(); };
  if (isOtherKind(chosen, given))
    return refuse(k, given) << ", which is no schedule of the kind that the kernel has";
  if (auto own = dyn_cast<plan::ChainAttr>(chosen)) {
    auto other = cast<plan::ChainAttr>(given);
    if (isOtherKind(own.getHead(), other.getHead()) || other.getMiddle() != own.getMiddle() ||
        isOtherKind(own.getTail(), other.getTail()))
      return refuse(k, given) << ", whose steps are no schedules of the kinds that the kernel's have";
  }
  if (std::string why = whyTooLarge(k, chosen, given); !why.empty())
    return refuse(k, given) << ", which " << why;
  return llvm::TypeSwitch<Attribute, LogicalResult>(given)
      .Case([&](plan::ContractAttr contract) { return verifyContraction(k, contract); })
      .Case([&](plan::WinogradAttr winograd) { return verifyWinograd(k, winograd); })
      .Case([&](plan::ChainAttr chain) { return verifyChain(k, *chainIn(k), chain); })
      .Default([&](Attribute) { return success(given == chosen); });
}

} // namespace hewn::codegen
