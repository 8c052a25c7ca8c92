// SPDX-License-Identifier: Apache-2.0
//
// Splits kernels with a split-K schedule into a kernel of partials and a kernel that sums them (see
// Passes.td).
#include "lib/Transforms/Fuse/SplitK.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Graph/Indexing/IndexingOps.h"
#include "lib/Schedule/ScheduleModel.h"
#include "lib/Transforms/Fuse/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using hewn::graph::ContractOpInterface;

namespace hewn {
#define GEN_PASS_DEF_SPLITKPASS
#include "lib/Transforms/Fuse/Passes.h.inc"

OrReason<ContractOpInterface> splitKContraction(plan::KernelOp kernel) {
  const Eligibility unknown = Eligibility::no("split-K needs static sizes, but the kernel has dynamic dims");
  if (!kernel.getSymbols().empty())
    return unknown;
  for (Operation &op : kernel.getBody().front().without_terminator())
    for (Type type : op.getResultTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type); !tensor || !tensor.hasStaticShape())
        return unknown;
  ContractOpInterface found = graph::onlyContraction(kernel.getBody().front());
  auto type = found ? cast<RankedTensorType>(found->getResult(0).getType()) : RankedTensorType();
  auto layout = type ? dyn_cast_or_null<graph::LayoutAttr>(type.getEncoding()) : graph::LayoutAttr();
  if (!found)
    return Eligibility::no("split-K needs a kernel of one contraction, elementwise ops and indexing ops");
  if (layout && layout.getBlockDim() >= 0)
    return Eligibility::no("split-K partials cannot have the blocked layout of the result");
  return found;
}

namespace {

/// Returns the element type in which split-K partials of `type` are stored: integer types stay as
/// they are, float types become float32.
Type partType(RankedTensorType type) {
  Type element = type.getElementType();
  return isa<IntegerType>(element) ? element : Type(Float32Type::get(type.getContext()));
}

/// Returns the type of a tensor with `parts` split-K partials, stacked along a new leading dim.
RankedTensorType partsType(RankedTensorType type, int64_t parts) {
  SmallVector<int64_t> shape = {parts};
  llvm::append_range(shape, type.getShape());
  Attribute encoding = type.getEncoding();
  if (auto layout = dyn_cast_or_null<graph::LayoutAttr>(encoding)) {
    SmallVector<int64_t> order = {0};
    for (int64_t d : layout.getOrder())
      order.push_back(d + 1);
    encoding = graph::LayoutAttr::get(type.getContext(), order);
  }
  return RankedTensorType::get(shape, partType(type), encoding);
}

/// A kernel under construction, with a subset of another kernel's ops.
class KernelSubset {
  plan::KernelOp from;
  OpBuilder &b;
  Block *block = new Block; // finish() puts the block into the kernel

public:
  KernelSubset(plan::KernelOp from, OpBuilder &b) : from(from), b(b) { inside.setInsertionPointToEnd(block); }

  OpBuilder inside{b.getContext()};
  IRMapping map;
  /// For each argument of this kernel, the number of the argument of `from` that it corresponds to.
  SmallVector<unsigned> arguments;

  Value addArgument(Type type) { return block->addArgument(type, from.getLoc()); }

  /// Clones `value` and all ops that it depends on into this kernel.
  Value cloneWithOperands(Value value) {
    if (Value known = map.lookupOrNull(value))
      return known;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      arguments.push_back(argument.getArgNumber());
      map.map(value, addArgument(value.getType()));
      return map.lookup(value);
    }
    for (Value operand : value.getDefiningOp()->getOperands())
      cloneWithOperands(operand);
    inside.clone(*value.getDefiningOp(), map);
    return map.lookup(value);
  }

  plan::KernelOp finish(ArrayRef<Value> results, plan::GpuTileAttr tile, StringRef why) {
    graph::YieldOp::create(inside, from.getLoc(), TypeRange(), results);
    auto type = b.getFunctionType(block->getArgumentTypes(), ValueRange(results).getTypes());
    auto kernel =
        plan::KernelOp::create(b, from.getLoc(), b.getStringAttr("kernel"), TypeAttr::get(type), b.getArrayAttr({}),
                               tile, b.getStringAttr(why), StringAttr(), ArrayAttr(), ArrayAttr());
    kernel.getBody().push_back(block);
    return kernel;
  }
};

struct SplitKPass : impl::SplitKPassBase<SplitKPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    llvm::StringMap<SmallVector<plan::LaunchOp>> launches;
    getOperation().walk([&](plan::LaunchOp launch) { launches[launch.getKernel()].push_back(launch); });
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<plan::KernelOp>())) {
      auto tile = dyn_cast_or_null<plan::GpuTileAttr>(kernel.getScheduleAttr());
      if (!tile || tile.getSplits() <= 1)
        continue;
      if (OrReason<ContractOpInterface> sum = splitKContraction(kernel))
        split(kernel, *sum, tile, symbols, launches[kernel.getSymName()]);
    }
  }

  static void split(plan::KernelOp kernel, ContractOpInterface sum, plan::GpuTileAttr tile, SymbolTable &symbols,
                    ArrayRef<plan::LaunchOp> launches) {
    OpBuilder b(kernel);
    auto type = cast<RankedTensorType>(sum->getResult(0).getType());
    Type sums = partType(type);
    int64_t count = tile.getSplits();

    KernelSubset parts(kernel, b);
    Value whole = parts.cloneWithOperands(sum->getResult(0));
    whole.getDefiningOp()->setAttr("to", TypeAttr::get(sums));
    whole.setType(type.clone(sums));
    Value spread = graph::make<graph::SpreadOp>(parts.inside, kernel.getLoc(), whole,
                                                b.getNamedAttr("parts", b.getI64IntegerAttr(count)));
    spread.setType(partsType(type, count));
    plan::KernelOp first = parts.finish(spread, tile, "split-K partials, to occupy more thread blocks");

    KernelSubset rest(kernel, b);
    graph::Composer c(rest.inside, kernel.getLoc());
    Value added = c.sum(rest.addArgument(spread.getType()), 0, /*keep=*/false);
    added.setType(type.clone(sums));
    if (type.getElementType() != sums) {
      added = c.cast(added, type.getElementType());
      added.setType(type);
    }
    rest.map.map(sum->getResult(0), added);
    auto yielded = kernel.getBody().front().getTerminator()->getOperands();
    SmallVector<Value> results =
        llvm::map_to_vector(yielded, [&](Value result) { return rest.cloneWithOperands(result); });
    plan::KernelOp second = rest.finish(results, plan::GpuTileAttr(), "sums split-K partials");

    std::string name = kernel.getSymName().str();
    symbols.erase(kernel);
    second.setSymName(name);
    symbols.insert(second);
    first.setSymName(name + "_parts");
    symbols.insert(first);
    for (plan::LaunchOp launch : launches) {
      OpBuilder at(launch);
      auto operands = [&](ArrayRef<unsigned> arguments) {
        return llvm::map_to_vector(arguments, [&](unsigned i) { return launch.getInputs()[i]; });
      };
      auto made = plan::LaunchOp::create(at, launch.getLoc(), spread.getType(), first.getSymName(),
                                         operands(parts.arguments), at.getArrayAttr({}));
      SmallVector<Value> inputs = {made.getResult(0)};
      llvm::append_range(inputs, operands(rest.arguments));
      auto done = plan::LaunchOp::create(at, launch.getLoc(), launch.getResultTypes(), second.getSymName(), inputs,
                                         at.getArrayAttr({}));
      done->setDiscardableAttrs(launch->getDiscardableAttrDictionary());
      launch.replaceAllUsesWith(done.getResults());
      launch.erase();
    }
  }
};

} // namespace
} // namespace hewn
