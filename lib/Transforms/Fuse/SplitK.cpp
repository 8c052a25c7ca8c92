// SPDX-License-Identifier: Apache-2.0
//
// Makes two kernels of one whose contraction's sum is to be split (`splits` of its #plan.grid_tile): one that makes the parts,
// and one that adds them up and does the rest.
//
//     plan.kernel @k(%x, %w, %b) {             →   plan.kernel @k_parts(%x, %w) {
//       %0 = graph.matmul %x, %w                     %0 = graph.matmul %x, %w {to = f32}
//       %1 = graph.add %0, %b                        %1 = graph.spread %0 {parts = 4}
//       graph.yield %1                               graph.yield %1
//     }                                            }
//                                                  plan.kernel @k(%p, %b) {
//                                                    %0 = graph.reduce_sum %p {dims = [0], keepdims = false}
//                                                    %1 = graph.add %0, %b
//                                                    graph.yield %1
//                                                  }
//
// It costs a launch, and memory for the parts in float32; it gains where a result is too small to give every processor a tile.
// Parts are always added in the same order.
#include "lib/Transforms/Fuse/SplitK.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Graph/Move/MoveOps.h"
#include "lib/Schedule/GridSchedule.h"
#include "lib/Transforms/Fuse/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using hewn::graph::ContractOpInterface;

namespace hewn {
#define GEN_PASS_DEF_SPLITKPASS
#include "lib/Transforms/Fuse/Passes.h.inc"

Found<ContractOpInterface> splitKContraction(plan::KernelOp kernel) {
  const Verdict unknown = Verdict::no("sizes in its kernel are known only when run, and a split sum has fixed parts");
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
    return Verdict::no(
        "its kernel has more than one contraction, elementwise ops and moves, which parts of a sum can't be given to");
  if (layout && layout.getBlockDim() >= 0)
    return Verdict::no("its result lies in panels, which parts of a sum do not");
  return found;
}

namespace {

/// What sums are of while they are parts: float32, or integers as they are.
Type partType(RankedTensorType type) {
  Type element = type.getElementType();
  return isa<IntegerType>(element) ? element : Type(Float32Type::get(type.getContext()));
}

/// The type of `parts` such tensors, one after another.
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

/// A kernel that is being made of some of another one's ops.
class Part {
  plan::KernelOp from;
  OpBuilder &b;
  Block *block = new Block; // the kernel's, once it is finished

public:
  Part(plan::KernelOp from, OpBuilder &b) : from(from), b(b) { inside.setInsertionPointToEnd(block); }

  OpBuilder inside{b.getContext()};
  IRMapping map;
  /// Of the other kernel's arguments those that this one has, by number.
  SmallVector<unsigned> arguments;

  Value addArgument(Type type) { return block->addArgument(type, from.getLoc()); }

  /// `value` in this kernel, with all that it is made of.
  Value take(Value value) {
    if (Value known = map.lookupOrNull(value))
      return known;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      arguments.push_back(argument.getArgNumber());
      map.map(value, addArgument(value.getType()));
      return map.lookup(value);
    }
    for (Value operand : value.getDefiningOp()->getOperands())
      take(operand);
    inside.clone(*value.getDefiningOp(), map);
    return map.lookup(value);
  }

  plan::KernelOp finish(ArrayRef<Value> results, plan::GridTileAttr tile, StringRef why) {
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
      auto tile = dyn_cast_or_null<plan::GridTileAttr>(kernel.getScheduleAttr());
      if (!tile || tile.getSplits() <= 1)
        continue;
      if (Found<ContractOpInterface> sum = splitKContraction(kernel))
        split(kernel, *sum, tile, symbols, launches[kernel.getSymName()]);
    }
  }

  static void split(plan::KernelOp kernel, ContractOpInterface sum, plan::GridTileAttr tile, SymbolTable &symbols,
                    ArrayRef<plan::LaunchOp> launches) {
    OpBuilder b(kernel);
    auto type = cast<RankedTensorType>(sum->getResult(0).getType());
    Type sums = partType(type);
    int64_t count = tile.getSplits();

    Part parts(kernel, b);
    Value whole = parts.take(sum->getResult(0));
    whole.getDefiningOp()->setAttr("to", TypeAttr::get(sums));
    whole.setType(type.clone(sums));
    Value spread = graph::make<graph::SpreadOp>(parts.inside, kernel.getLoc(), whole,
                                                b.getNamedAttr("parts", b.getI64IntegerAttr(count)));
    spread.setType(partsType(type, count));
    plan::KernelOp first = parts.finish(spread, tile, "parts of a sum, for more blocks");

    Part rest(kernel, b);
    graph::Composer c(rest.inside, kernel.getLoc());
    Value added = c.sum(rest.addArgument(spread.getType()), 0, /*keep=*/false);
    added.setType(type.clone(sums));
    if (type.getElementType() != sums) {
      added = c.cast(added, type.getElementType());
      added.setType(type);
    }
    rest.map.map(sum->getResult(0), added);
    auto yielded = kernel.getBody().front().getTerminator()->getOperands();
    SmallVector<Value> results = llvm::map_to_vector(yielded, [&](Value result) { return rest.take(result); });
    plan::KernelOp second = rest.finish(results, plan::GridTileAttr(), "adds up the parts of a sum");

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
