// SPDX-License-Identifier: Apache-2.0
//
// Multiplies one matrix by the channels of pictures as these lie, channels first, where nothing around wants channels last.
//
//     %0 = graph.conv %x, %w : tensor<1x16x112x112xf32>, tensor<96x16x1x1xf32>
//     →
//     %p = graph.reshape %x : tensor<1x16x12544xf32>
//     %m = graph.reshape %w : tensor<96x16xf32>
//     %1 = graph.matmul %m, %p : tensor<1x96x12544xf32>
//     %0 = graph.reshape %1 : tensor<1x96x112x112xf32>
//
// Lanes are pixels then, and the matrix gives the scalars. A window larger than 1 x 1 wants its channels innermost, so in most models all pictures
// lie so, and the first and the last one change their order. What shares an order, since elementwise ops, moves and reductions hand it on, is
// a region; of each region what its products take either way is compared, and the changes of layout at its edges: of what comes in or leaves
// row-major if channels are last, of what other contractions read and write, or is interleaved with others, if they are first.
//
// Left alone: machines that run a grid of threads, which read lines and columns alike; products that other units than vectors make, and of sizes
// that are known only when run. Not done: regions of which a part is better off by itself.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Graph/Move/Interleave.h"
#include "dialects/Plan/Target.h"
#include "lib/Schedule/PixelSchedule.h"
#include "lib/Transforms/Layout/Passes.h"

#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using hewn::graph::ContractOpInterface;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn {
#define GEN_PASS_DEF_FORMPIXELPRODUCTSPASS
#include "lib/Transforms/Layout/Passes.h.inc"

namespace {

struct Product {
  ContractOpInterface op;
  graph::PixelProduct form;
};

/// Values of one order in memory, and what they take.
struct Region {
  plan::PixelCosts costs;
  SmallVector<Product> products;
};

class Former {
public:
  explicit Former(func::FuncOp function) : function(function) {}

  void run() {
    function.walk([&](ContractOpInterface op) { findProduct(op); });
    if (products.empty())
      return;
    for (const Product &product : products)
      link(product.op->getOperand(0), product.op->getResult(0));
    function.walk([&](Operation *op) { linkAll(op); });
    function.walk([&](Operation *op) { chargeEdges(op); });
    for (const Product &product : products) {
      Region &region = regionOf(product.op->getResult(0));
      plan::PixelCosts costs = *plan::pixelCosts(product.op, product.form);
      region.costs.channelsLast += costs.channelsLast;
      region.costs.channelsFirst += costs.channelsFirst;
      region.products.push_back(product);
    }
    for (auto &[leader, region] : regions)
      if (region.costs.channelsFirst < region.costs.channelsLast)
        llvm::for_each(region.products, rewrite);
  }

private:
  func::FuncOp function;
  SmallVector<Product> products;
  llvm::DenseSet<Operation *> areProducts;
  llvm::EquivalenceClasses<Value> classes;
  llvm::MapVector<Value, Region> regions;
  llvm::DenseSet<Value> rowMajor, channelsLast;

  void findProduct(ContractOpInterface op) {
    std::optional<graph::PixelProduct> form = graph::pixelProduct(op);
    if (!form || !plan::pixelCosts(op, *form))
      return;
    products.push_back({op, *form});
    areProducts.insert(op);
  }

  static bool isConstant(Value value) { return isa_and_nonnull<graph::ConstantOp>(value.getDefiningOp()); }

  /// Whether its order can matter: more than one of its dims is not 1.
  static bool hasOrder(Value value) {
    return isa<RankedTensorType>(value.getType()) && !isConstant(value) &&
           llvm::count_if(graph::getDims(value), [](const DimExpr &dim) { return !dim.is(1); }) > 1;
  }

  void link(Value a, Value b) {
    if (hasOrder(a) && hasOrder(b))
      classes.unionSets(a, b);
  }

  /// What the op hands its operands' order on to.
  void linkAll(Operation *op) {
    if (!isa<graph::ElementwiseOpInterface, graph::MoveOpInterface, graph::ReduceOpInterface,
             graph::CumulateOpInterface>(op))
      return;
    for (Value result : op->getResults())
      for (Value operand : op->getOperands())
        if (!isa<graph::ElementwiseOpInterface>(op) || graph::getDims(operand) == graph::getDims(result))
          link(operand, result);
  }

  Region &regionOf(Value value) {
    classes.insert(value);
    return regions[classes.getLeaderValue(value)];
  }

  /// Once a value: what is laid out anew serves all who read it.
  void charge(Value value, bool wantsChannelsLast) {
    if (!hasOrder(value) || !(wantsChannelsLast ? channelsLast : rowMajor).insert(value).second)
      return;
    // Of values whose size is known only when run the smallest is not known either.
    int64_t elements = graph::numElements(graph::getDims(value)).constant().value_or(0);
    plan::PixelCosts &costs = regionOf(value).costs;
    (wantsChannelsLast ? costs.channelsFirst : costs.channelsLast) += plan::relayoutCost(function, elements);
  }

  /// Neighbours of a line that are several operands' are stored apart; with channels last whole pixels are.
  void chargeInterleaved(Operation *op) {
    std::optional<graph::Assembly> assembly = graph::assemblyOf(op);
    if (!assembly || !assembly->isInterleaved() || assembly->steps.back() == 1) // lines, or less, lie together
      return;
    for (Value operand : op->getOperands())
      if (hasOrder(operand))
        regionOf(operand).costs.channelsFirst +=
            plan::scatterCost(function, graph::numElements(graph::getDims(operand)).constant().value_or(0));
  }

  /// Other contractions read and write channels last, and what is of no such kind row-major.
  void chargeEdges(Operation *op) {
    chargeInterleaved(op);
    for (mlir::Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          charge(argument, /*wantsChannelsLast=*/false);
    bool handsOn = isa<graph::ElementwiseOpInterface, graph::MoveOpInterface, graph::ReduceOpInterface,
                       graph::CumulateOpInterface>(op);
    if (handsOn || areProducts.contains(op))
      return;
    for (Value operand : op->getOperands())
      charge(operand, isa<ContractOpInterface>(op));
    for (Value result : op->getResults())
      charge(result, isa<ContractOpInterface>(op));
  }

  static void rewrite(Product product) {
    ContractOpInterface op = product.op;
    const graph::PixelProduct &form = product.form;
    OpBuilder b(op);
    graph::Composer compose(b, op.getLoc());
    Value pictures = compose.reshape(op->getOperand(0), {form.items, form.channels, form.pixels});
    Value matrix = op->getOperand(1);
    matrix = form.featuresFirst ? compose.reshape(matrix, {form.features, form.channels})
                                : compose.transpose(compose.reshape(matrix, {form.channels, form.features}), {1, 0});
    Value sums = compose.product({matrix, pictures});
    op->getResult(0).replaceAllUsesWith(compose.reshape(sums, graph::getDims(op->getResult(0))));
    op->erase();
  }
};

struct FormPixelProductsPass : impl::FormPixelProductsPassBase<FormPixelProductsPass> {
  void runOnOperation() override {
    if (plan::targetOf(getOperation()) && !plan::gridOf(getOperation()))
      Former(getOperation()).run();
  }
};

} // namespace
} // namespace hewn
