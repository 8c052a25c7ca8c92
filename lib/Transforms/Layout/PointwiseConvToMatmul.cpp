// SPDX-License-Identifier: Apache-2.0
//
// Lowers 1x1 convolutions to NCHW matmuls, vectorized along the pixels, where that is cheaper than
// NHWC (see Passes.td).
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Graph/Indexing/Interleave.h"
#include "dialects/Plan/Target.h"
#include "lib/Schedule/PointwiseConvCost.h"
#include "lib/Schedule/ScheduleModel.h"
#include "lib/Transforms/Layout/Passes.h"

#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using hewn::graph::ContractOpInterface;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn {
#define GEN_PASS_DEF_POINTWISECONVTOMATMULPASS
#include "lib/Transforms/Layout/Passes.h.inc"

namespace {

struct PointwiseConv {
  ContractOpInterface op;
  graph::PixelProduct form;
};

/// A set of values that share a layout, and the cost of each possible layout.
struct LayoutRegion {
  plan::PixelCosts costs;
  SmallVector<PointwiseConv> convs;
};

class PointwiseConvLowering {
public:
  explicit PointwiseConvLowering(func::FuncOp function) : function(function) {}

  void run() {
    function.walk([&](ContractOpInterface op) { findConv(op); });
    if (convs.empty())
      return;
    for (const PointwiseConv &product : convs)
      unite(product.op->getOperand(0), product.op->getResult(0));
    function.walk([&](Operation *op) { uniteOperandsAndResults(op); });
    function.walk([&](Operation *op) { addBoundaryCosts(op); });
    for (const PointwiseConv &product : convs) {
      LayoutRegion &region = regionOf(product.op->getResult(0));
      plan::PixelCosts costs = *plan::pixelCosts(product.op, product.form);
      region.costs.channelsLast += costs.channelsLast;
      region.costs.channelsFirst += costs.channelsFirst;
      region.convs.push_back(product);
    }
    for (auto &[leader, region] : regions)
      if (region.costs.channelsFirst < region.costs.channelsLast)
        llvm::for_each(region.convs, rewrite);
  }

private:
  func::FuncOp function;
  SmallVector<PointwiseConv> convs;
  llvm::DenseSet<Operation *> convOps;
  llvm::EquivalenceClasses<Value> classes;
  llvm::MapVector<Value, LayoutRegion> regions;
  llvm::DenseSet<Value> rowMajor, channelsLast;

  void findConv(ContractOpInterface op) {
    std::optional<graph::PixelProduct> form = graph::pixelProduct(op);
    if (!form || !plan::pixelCosts(op, *form))
      return;
    convs.push_back({op, *form});
    convOps.insert(op);
  }

  static bool isConstant(Value value) { return isa_and_nonnull<graph::ConstantOp>(value.getDefiningOp()); }

  /// Returns true if the value's layout matters: the value is not a constant, and more than one of
  /// its dims has a size other than 1.
  static bool hasLayout(Value value) {
    return isa<RankedTensorType>(value.getType()) && !isConstant(value) &&
           llvm::count_if(graph::getDims(value), [](const DimExpr &dim) { return !dim.is(1); }) > 1;
  }

  void unite(Value a, Value b) {
    if (hasLayout(a) && hasLayout(b))
      classes.unionSets(a, b);
  }

  /// Puts the operands and results of an op that preserves the layout into one layout region, the
  /// set of values that share a layout.
  void uniteOperandsAndResults(Operation *op) {
    if (!isa<graph::ElementwiseOpInterface, graph::IndexingOpInterface, graph::ReduceOpInterface,
             graph::PrefixScanOpInterface>(op))
      return;
    for (Value result : op->getResults())
      for (Value operand : op->getOperands())
        if (!isa<graph::ElementwiseOpInterface>(op) || graph::getDims(operand) == graph::getDims(result))
          unite(operand, result);
  }

  LayoutRegion &regionOf(Value value) {
    classes.insert(value);
    return regions[classes.getLeaderValue(value)];
  }

  /// Adds the cost of converting `value` to NHWC or to row-major to the cost of its region. The
  /// conversion is counted once per value, because all users share the converted copy.
  void addConversionCost(Value value, bool wantsChannelsLast) {
    if (!hasLayout(value) || !(wantsChannelsLast ? channelsLast : rowMajor).insert(value).second)
      return;
    // A dynamic dim counts as size 0, so the conversion of a value of dynamic size costs nothing.
    int64_t elements = graph::numElements(graph::getDims(value)).constant().value_or(0);
    plan::PixelCosts &costs = regionOf(value).costs;
    (wantsChannelsLast ? costs.channelsFirst : costs.channelsLast) += plan::relayoutCost(function, elements);
  }

  /// Adds the cost of an interleaving concat to the NCHW cost of its region. In NCHW the concat
  /// stores single elements; in NHWC it stores all channels of a pixel at once.
  void addInterleaveCost(Operation *op) {
    std::optional<graph::Assembly> assembly = graph::assemblyOf(op);
    // If the concat does not interleave the innermost dim, its rows stay contiguous and cost
    // nothing extra.
    if (!assembly || !assembly->isInterleaved() || assembly->steps.back() == 1)
      return;
    for (Value operand : op->getOperands())
      if (hasLayout(operand))
        regionOf(operand).costs.channelsFirst +=
            plan::scatterCost(function, graph::numElements(graph::getDims(operand)).constant().value_or(0));
  }

  /// Adds the costs of layout conversions at the boundary of a region. Contractions other than 1x1
  /// convolutions need NHWC; block arguments and all other ops outside of the region need
  /// row-major.
  void addBoundaryCosts(Operation *op) {
    addInterleaveCost(op);
    for (mlir::Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          addConversionCost(argument, /*wantsChannelsLast=*/false);
    bool preservesLayout = isa<graph::ElementwiseOpInterface, graph::IndexingOpInterface, graph::ReduceOpInterface,
                               graph::PrefixScanOpInterface>(op);
    if (preservesLayout || convOps.contains(op))
      return;
    for (Value operand : op->getOperands())
      addConversionCost(operand, isa<ContractOpInterface>(op));
    for (Value result : op->getResults())
      addConversionCost(result, isa<ContractOpInterface>(op));
  }

  static void rewrite(PointwiseConv product) {
    ContractOpInterface op = product.op;
    const graph::PixelProduct &form = product.form;
    OpBuilder b(op);
    graph::Composer compose(b, op.getLoc());
    Value input = compose.reshape(op->getOperand(0), {form.items, form.channels, form.pixels});
    Value filter = op->getOperand(1);
    filter = form.featuresFirst ? compose.reshape(filter, {form.features, form.channels})
                                : compose.transpose(compose.reshape(filter, {form.channels, form.features}), {1, 0});
    Value sums = compose.product({filter, input});
    op->getResult(0).replaceAllUsesWith(compose.reshape(sums, graph::getDims(op->getResult(0))));
    op->erase();
  }
};

struct PointwiseConvToMatmulPass : impl::PointwiseConvToMatmulPassBase<PointwiseConvToMatmulPass> {
  void runOnOperation() override {
    if (plan::targetOf(getOperation()) && plan::supports(getOperation(), plan::KernelFeature::PixelVectors))
      PointwiseConvLowering(getOperation()).run();
  }
};

} // namespace
} // namespace hewn
