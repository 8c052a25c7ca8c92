// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/Tunable.h"
#include "dialects/Graph/Contract/Winograd.h"
#include "lib/Codegen/Contract/AttentionEngine.h"
#include "lib/Codegen/Contract/AttentionSteps.h"
#include "lib/Codegen/Contract/ContractSchedule.h"
#include "lib/Codegen/Contract/WinogradEngine.h"
#include "lib/Schedule/ScheduleModel.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include <tuple>

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn::codegen {

namespace {

/// Builds the key of a kernel as a string "kind name=value name=value".
class Key {
public:
  explicit Key(StringRef kind) : text(kind.str()) {}
  template <typename T> Key &add(StringRef name, const T &value) {
    llvm::raw_string_ostream(text) << " " << name << "=" << value;
    return *this;
  }
  Key &add(StringRef name, const DimExpr &dim) { return add(name, textOf(dim)); }
  /// Adds to the kernel's key, under the name `name`, those dims that are longer than 1.
  Key &add(StringRef name, const Dims &dims) {
    std::string all;
    for (const DimExpr &dim : dims)
      if (!dim.is(1))
        all += (all.empty() ? "" : "x") + textOf(dim);
    return all.empty() ? *this : add(name, all);
  }

  /// Adds to the kernel's key the properties of all ops other than contractions: the number of ops
  /// of each category, the number of values that they read, and the types of all results. Scratch
  /// memory is left out, because the key must be the same before and after the schedule adds it.
  Key &addRest(KernelContext &k) {
    int64_t elementwise = 0, moves = 0, reductions = 0, contractions = 0;
    for (Operation &op : k.kernel.getBody().front().without_terminator()) {
      elementwise += isa<graph::ElementwiseOpInterface>(op);
      moves += isa<graph::IndexingOpInterface>(op) && !isa<graph::ScratchOp>(op);
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

/// Adds to a kernel's key the properties of its contraction on which the schedule depends, but not
/// those of the kernel's other ops.
void addForm(Key &key, const ContractForm &form) {
  const graph::ContractRoles &roles = form.roles;
  auto extents = [&](ArrayRef<unsigned> dims) {
    return Dims(llvm::map_to_vector(dims, [&](unsigned d) { return form.extents[d]; }));
  };
  // Add the operands' strides along each dim to the key. They distinguish windows, transposed
  // operands and broadcast operands.
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

std::string keyOf(KernelContext &k, const ContractForm &form) {
  Key key("contract");
  addForm(key, form);
  return key.addRest(k).text;
}

/// Returns the dims as text, including those of size 1: "1x4x?x64".
std::string shapeOf(const Dims &dims) { return llvm::join(llvm::map_range(dims, Key::textOf), "x"); }

std::string keyOf(KernelContext &k, const graph::FusedAttention &attention) {
  Dims scores = graph::getDims(attention.scores);
  Key key("chain");
  // Rows and batch dims of fused attention are separate entries of the key, because a task
  // processes rows of one batch element.
  key.add("scores", shapeOf(scores)).add("rows", scores[attention.rowDim]);
  key.add("result", shapeOf(graph::getDims(attention.second->getResult(0))))
      .add("column_bytes", attention.columnBytes());
  key.add("in_place", attention.inPlace).add("steps", attention.middle.size());
  for (Value argument : k.kernel.getBody().front().getArguments())
    if (auto found = k.inputs.find(argument); found != k.inputs.end())
      key.add("input", shapeOf(found->second.dims) + "/" + shapeOf(found->second.strides));
  // Add both contractions of fused attention to the key, with the shapes of a task. The key uses a
  // fixed number of rows per task, because the actual number is part of the schedule.
  AttentionSteps steps(k, attention, plan::costsOf(k.kernel).getAttentionRows());
  for (auto [number, op, name] :
       {std::tuple(0U, attention.first, " first:"), {AttentionSteps::count - 1, attention.second, " second:"}}) {
    key.text += name;
    FailureOr<AttentionStep> step = steps.make(number);
    if (failed(step)) // `make` has emitted the error
      return "";
    if (OrReason<ContractForm> form = contractForm(step->function))
      addForm(key, *form);
    else
      key.add("types", typesOf(op))
          .add("loops", shapeOf(graph::ContractOpInterface(op).getIterationDims(graph::getDims)));
    step->function.kernel.erase();
  }
  return key.addRest(k).text;
}

std::string keyOfWindows(KernelContext &k, graph::ContractOpInterface op, const graph::WinogradDims &dims) {
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

std::string tuningKey(KernelContext &k) {
  if (!plan::supports(k.kernel, plan::KernelFeature::MeasuredSchedules))
    return "";
  if (const OrReason<graph::FusedAttention> &attention = k.analysis->attention)
    return keyOf(k, *attention);
  graph::ContractOpInterface op = k.analysis->contraction;
  if (op && graph::winogradTile(op->getOperand(1).getType())) {
    std::optional<graph::WinogradDims> dims = graph::winogradDims(op);
    return dims ? keyOfWindows(k, op, *dims) : "";
  }
  OrReason<ContractForm> form = contractForm(k);
  return form ? keyOf(k, *form) : "";
}

Dims contractionScratch(KernelContext &k, Attribute schedule) {
  return llvm::TypeSwitch<Attribute, Dims>(schedule)
      .Case([&](plan::AttentionAttr attr) {
        const OrReason<graph::FusedAttention> &attention = k.analysis->attention;
        return attention ? attentionScratch(*attention, attr) : Dims();
      })
      .Case([&](plan::WinogradAttr attr) { return winogradScratch(k, attr); })
      .Case([&](plan::ContractAttr attr) {
        OrReason<ContractForm> form = contractForm(k, attr.getUnit());
        return form ? contractScratch(k, *form, attr) : Dims();
      })
      .Default([](Attribute) { return Dims(); });
}

/// If the schedule `given` exceeds a limit, returns the quantity and the limit as text, else an
/// empty string. Limits are multiples of the values in the cost model's choice `chosen`, or sizes
/// of the target. Code could be generated beyond the limits, but would take too much compile time
/// or memory. The candidates of the schedule search never exceed a limit.
static std::string whyTooLarge(KernelContext &k, Attribute chosen, Attribute given) {
  auto more = [](StringRef what, double is, double most) {
    return is <= most ? std::string()
                      : llvm::formatv("has {1:f0} {0}, more than the limit of {2:f0}", what, is, most).str();
  };
  plan::TargetAttr target = plan::targetOf(k.kernel);
  int64_t registers = target ? target.getVectorRegisters() : 0;
  // A schedule's tile may spill at most as many accumulators as it keeps in registers.
  auto tile = [&](auto own, auto other) {
    auto count = [](auto attr) {
      return double(attr.getM()) * double(llvm::divideCeil(attr.getN(), std::max<int64_t>(attr.getLanes(), 1)));
    };
    return more("accumulators", count(other), 2 * std::max(double(registers), count(own)));
  };
  auto memory = [&]() {
    constexpr double some = 16 << 20, times = 4;
    auto bytes = [&](Attribute attr) {
      double all = sizeof(float);
      for (const DimExpr &dim : contractionScratch(k, attr))
        all *= double(dim.constant().value_or(1));
      return all;
    };
    return more("bytes of scratch memory", bytes(given), std::max(some, times * bytes(chosen)));
  };
  auto slots = [&](auto own, auto other) {
    return more("slots", double(other.getSlots()), double(std::max(own.getSlots(), plan::kScratchSlots)));
  };
  auto firstOf = [](std::initializer_list<std::string> all) {
    auto found = llvm::find_if(all, [](const std::string &one) { return !one.empty(); });
    return found == all.end() ? std::string() : *found;
  };
  return llvm::TypeSwitch<Attribute, std::string>(given)
      .Case([&](plan::ContractAttr other) {
        auto own = cast<plan::ContractAttr>(chosen);
        double mostRows = double(std::max({own.getVectorRows(), own.getM(), registers}));
        std::string rows = more("vectorRows", double(other.getVectorRows()), mostRows);
        return firstOf({tile(own, other), rows, memory()});
      })
      .Case([&](plan::WinogradAttr other) {
        auto own = cast<plan::WinogradAttr>(chosen);
        return firstOf({tile(own, other), slots(own, other), memory()});
      })
      .Case([&](plan::AttentionAttr other) {
        auto own = cast<plan::AttentionAttr>(chosen);
        constexpr int64_t mostTiles = 8, times = 4;
        int64_t most = std::max(mostTiles * plan::costsOf(k.kernel).getAttentionRows(), times * own.getRows());
        auto step = [&](Attribute ownStep, Attribute otherStep) {
          auto a = dyn_cast<plan::ContractAttr>(ownStep), b = dyn_cast<plan::ContractAttr>(otherStep);
          return a && b ? tile(a, b) : std::string();
        };
        return firstOf({more("rows", double(other.getRows()), double(most)), slots(own, other), memory(),
                        step(own.getHead(), other.getHead()), step(own.getTail(), other.getTail())});
      })
      .Default([](Attribute) { return std::string(); });
}

static SmallVector<Attribute> allCandidates(KernelContext &k) {
  if (const OrReason<graph::FusedAttention> &attention = k.analysis->attention)
    return attributes(attentionCandidates(k, *attention));
  if (SmallVector<plan::WinogradAttr> windows = winogradCandidates(k); !windows.empty())
    return attributes(windows);
  return attributes(contractCandidates(k));
}

SmallVector<Attribute> tuningCandidates(KernelContext &k) {
  if (!plan::supports(k.kernel, plan::KernelFeature::MeasuredSchedules))
    return {};
  SmallVector<Attribute> all = allCandidates(k);
  if (!all.empty()) {
    Attribute own = all.front();
    llvm::erase_if(all, [&](Attribute other) { return !whyTooLarge(k, own, other).empty(); });
  }
  return all;
}

LogicalResult verifyInstead(KernelContext &k, Attribute chosen, Attribute given) {
  auto isOtherKind = [](Attribute a, Attribute b) { return a.getTypeID() != b.getTypeID(); };
  if (isOtherKind(chosen, given))
    return refuse(k, given) << ", but the kernel has a schedule of another kind";
  if (auto own = dyn_cast<plan::AttentionAttr>(chosen)) {
    auto other = cast<plan::AttentionAttr>(given);
    if (isOtherKind(own.getHead(), other.getHead()) || other.getMiddle() != own.getMiddle() ||
        isOtherKind(own.getTail(), other.getTail()))
      return refuse(k, given) << ", but the steps of the kernel's schedule are of other kinds";
  }
  if (std::string why = whyTooLarge(k, chosen, given); !why.empty())
    return refuse(k, given) << ", which " << why;
  return llvm::TypeSwitch<Attribute, LogicalResult>(given)
      .Case([&](plan::ContractAttr contract) { return verifyContraction(k, contract); })
      .Case([&](plan::WinogradAttr winograd) { return verifyWinograd(k, winograd); })
      .Case([&](plan::AttentionAttr attention) { return verifyAttention(k, *k.analysis->attention, attention); })
      .Default([&](Attribute) { return success(given == chosen); });
}

} // namespace hewn::codegen
