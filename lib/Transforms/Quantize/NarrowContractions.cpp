// SPDX-License-Identifier: Apache-2.0
//
// Gives products of float32 to bfloat16, with float32 sums.
//
//     %y = graph.matmul %x, %w : tensor<6x64xf32>     →   %xb = graph.cast %x {to = bf16}
//                                                         %wb = graph.cast %w {to = bf16}
//                                                         %y = graph.matmul %xb, %wb {to = f32} : tensor<6x64xf32>
//
// A product of bfloat16 is exact in float32, so only the rounding of the operands costs accuracy (2^-9 of each); the machine
// does two of them where it does one of float32, and weights are half as many bytes. Casts of constants are folded, those of
// data become a second result of whatever makes the data.
//
//     %y = graph.matmul %x, %w     →   %x1 = graph.term %x {index = 0, count = 2}, %x2 = graph.term %x {index = 1, count = 2}
//                                      %w1, %w2: the same of %w
//                                      %y = graph.matmul %x1, %w1, %x2, %w2 {to = f32}
//
// With three products each operand is the sum of two bfloat16, with six of three; what is left out is some 2^-16, or less than
// float32's own rounding. A matrix unit may do that faster than vectors one product of float32: plan::gainOfTerms says where.
// docs/decisions/numbers/terms-of-bfloat16.md has the details.
//
// On a grid of threads one product is what the warps' matrix instruction does twice as fast; more of them it does itself. What has
// too few rows for it waits for weights: these alone are rounded, and widened when they are read. So are those of a small product
// whose other operand a kernel of its own would have to round.
//
// Left alone: machines without an instruction that pays (`dots`, `matrices` and `grid` of #plan.target), computed right operands
// that few rows read or that would be packed for a matrix unit at every run, depthwise and grouped windows, sums over an odd or short dim,
// few columns, weights that come as a code, windows that minimal filtering does in less time. By six products also: rows known only when
// run, which may be few; constants that several machines share.
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "lib/Schedule/GridProduct.h"
#include "lib/Schedule/TermSchedule.h"
#include "lib/Schedule/WinogradSchedule.h"
#include "lib/Support/Remarks.h"
#include "lib/Transforms/Quantize/Operands.h"
#include "lib/Transforms/Quantize/Passes.h"
#include <cstring>

using namespace mlir;
using hewn::graph::ContractOpInterface;
using hewn::graph::Dims;

namespace hewn {
#define GEN_PASS_DEF_NARROWCONTRACTIONSPASS
#include "lib/Transforms/Quantize/Passes.h.inc"

namespace {

constexpr int64_t kFewest = 16;

/// Whether it pays to pack a right operand in pairs, also when run. What is summed is then what a task of a chain may hold on its stack.
bool paysPacking(ContractOpInterface op, const graph::ContractRoles &roles) {
  constexpr int64_t floatBytes = 4, narrowBytes = 2;
  Builder b(op.getContext());
  std::optional<unsigned> summed = graph::plainSummedDim(op, roles);
  std::optional<int64_t> depth = summed ? op.getIterationDims(graph::getDims)[*summed].constant() : std::nullopt;
  return depth && !plan::gridOf(op) && !plan::findMatrix(op, b.getBF16Type(), b.getBF16Type(), b.getF32Type()) &&
         plan::chainRows(op, *depth, floatBytes + narrowBytes) > 0 && paysPairs(op);
}

/// Whether it is of float32, and has columns and a sum for pairs of neighbours.
bool canBeNarrow(ContractOpInterface op) {
  for (Value value : {op->getOperand(0), op->getOperand(1), Value(op->getResult(0))})
    if (!graph::getElementType(value).isF32())
      return false;
  if (graph::termsOf(op) > 1 || !isSummedInPairs(op) || plan::decoderOf(op))
    return false;
  graph::ContractRoles roles = *graph::contractRoles(op);
  Dims extents = op.getIterationDims(graph::getDims);
  return extents[roles.column].constant().value_or(0) >= kFewest &&
         extents[*graph::plainSummedDim(op, roles)].constant().value_or(0) >= kFewest;
}

plan::MatrixAttr matrixOf(ContractOpInterface op) {
  Builder b(op.getContext());
  return plan::findMatrix(op, b.getBF16Type(), b.getBF16Type(), b.getF32Type());
}

plan::DotAttr dotOf(ContractOpInterface op) {
  Builder b(op.getContext());
  return plan::findDot(op, b.getBF16Type(), b.getBF16Type(), b.getF32Type());
}

/// Whether the machine has products of bfloat16 for it that are to be tried: nobody asks why others are not narrowed.
bool hasNarrowProducts(ContractOpInterface op, unsigned terms) {
  if (plan::GridAttr grid = plan::gridOf(op)) // whose warps take more than one term of float32 without this
    return terms == 1 && grid.getMmasPerProduct() > 0;
  return matrixOf(op) || (terms == 1 && dotOf(op));
}

/// Whether it is done in less time than by minimal filtering of float32, which loses fewer digits, where it gains that much.
Verdict beatsFiltering(ContractOpInterface op, Precision precision, double gain) {
  return plan::chooseWinogradTile(op, plan::largestWinogradTile(precision), gain)
             ? Verdict::no("its windows take less time by minimal filtering of float32")
             : Verdict::yes();
}

/// Whether the engine has a form of one product for it that pays.
Verdict paysRounded(ContractOpInterface op) {
  graph::ContractRoles roles = *graph::contractRoles(op);
  if (!isa_and_nonnull<graph::ConstantOp>(op->getOperand(1).getDefiningOp()) && !paysPacking(op, roles))
    return Verdict::no("its right operand is made when run, and packing that in pairs takes longer than is gained");
  if (plan::gridOf(op))
    return Verdict::yes();
  plan::MatrixAttr matrix = matrixOf(op);
  plan::DotAttr dot = dotOf(op);
  if (!matrix)
    return beatsFiltering(op, Precision::Medium, double(dot.getGroup()));
  // Beside a matrix unit vectors of pairs are slow, but a few rows wait for weights, which are half as long.
  constexpr int64_t fewRows = 4;
  bool few = plan::contractShape(op, roles).rows.constant().value_or(fewRows + 1) <= fewRows;
  return (few ? bool(dot) : bool(plan::fills(op, matrix)))
             ? Verdict::yes()
             : Verdict::no("it has too few rows or columns to fill the tiles of a matrix unit");
}

/// Whether the constant's numbers are finite and its largest is far from where bfloat16 ends, so that terms which are too small for it
/// are nothing beside it. What the table does not have (text that was read back) is taken to be so.
bool hasTerms(graph::ConstantOp constant, const WeightTable *weights) {
  constexpr uint32_t magnitude = 0x7fffffff, infinity = 0x7f800000, least = 0x21800000; // 2^-60
  ArrayRef<char> bytes;
  if (auto weight = dyn_cast<graph::WeightAttr>(constant.getValue()))
    bytes = weights ? weights->bytes(weight) : ArrayRef<char>();
  else if (auto elements = dyn_cast<DenseElementsAttr>(constant.getValue()))
    bytes = elements.getRawData();
  uint32_t largest = 0;
  for (size_t i = 0; i + sizeof(uint32_t) <= bytes.size(); i += sizeof(uint32_t)) {
    uint32_t bits;
    std::memcpy(&bits, bytes.data() + i, sizeof bits);
    largest = std::max(largest, bits & magnitude);
  }
  if (weights)
    weights->letGo(bytes);
  return largest < infinity && (largest == 0 || largest >= least);
}

/// Whether products of the terms for this precision pay, of constants that have them.
Verdict paysTerms(ContractOpInterface op, Precision precision, const WeightTable *weights) {
  constexpr double enough = 1.25; // less may be lost where the model is wrong
  auto constant = op->getOperand(1).getDefiningOp<graph::ConstantOp>();
  if (!constant)
    return Verdict::no("its right operand is made when run, and only constants are split into terms");
  graph::ContractRoles roles = *graph::contractRoles(op);
  if (precision == Precision::Highest && plan::packingLanes(op))
    return Verdict::no("several machines share its constant, which is split into terms for one alone");
  if (precision == Precision::Highest && !plan::contractShape(op, roles).rows.constant())
    return Verdict::no("its rows are known only when run, and may be too few to gain by products of terms");
  double gain = plan::gainOfTerms(op, matrixOf(op), plan::bfloat16Terms(precision));
  if (gain < enough)
    return Verdict::no("products of terms are not expected to take less time");
  if (Verdict beats = beatsFiltering(op, precision, gain); !beats)
    return beats;
  return hasTerms(constant, weights) ? Verdict::yes()
                                     : Verdict::no("its constant is not finite, or too small for terms of bfloat16");
}

/// Both operands as sums of terms.
void splitOperands(ContractOpInterface op, unsigned terms) {
  OpBuilder b(op);
  graph::Composer c(b, op->getLoc());
  SmallVector<Value> operands;
  for (unsigned i = 0; i < terms; ++i)
    for (Value value : {op->getOperand(0), op->getOperand(1)})
      operands.push_back(c.term(value, i, terms));
  Operation *made = b.clone(*op);
  made->setOperands(operands);
  made->setAttr("to", TypeAttr::get(b.getF32Type()));
  op->getResult(0).replaceAllUsesWith(made->getResult(0));
  op->erase();
}

/// Whether a grid multiplies with less work where the weights alone are rounded: it has too few rows for matrix instructions, or the left
/// operand comes from no kernel that could round it on the way, and a kernel of its own takes longer than is gained.
bool roundsWeightsAlone(ContractOpInterface op) {
  plan::GridAttr grid = plan::gridOf(op);
  if (!grid || !plan::multipliesMatrices(op))
    return bool(grid);
  Operation *maker = op->getOperand(0).getDefiningOp();
  while (maker && graph::isViewKind(maker))
    maker = maker->getOperand(0).getDefiningOp();
  if (maker && maker->getNumRegions() == 0)
    return false;
  // Factors of 16 bits take half the time of longer ones.
  int64_t products = graph::numElements(op.getIterationDims(graph::getDims)).constant().value_or(INT64_MAX);
  return products / (2 * grid.getProcessors() * grid.getCosts().getMmaProductsPerCycle()) <
         grid.getCosts().getLaunchCycles();
}

void narrowWeights(ContractOpInterface op) {
  OpBuilder b(op);
  graph::Composer c(b, op->getLoc());
  rewriteOperands(op, b.getF32Type(),
                  [&](unsigned operand, Value value) { return operand == 1 ? c.cast(value, b.getBF16Type()) : value; });
}

struct NarrowContractionsPass : impl::NarrowContractionsPassBase<NarrowContractionsPass> {
  NarrowContractionsPass() = default;
  explicit NarrowContractionsPass(const NarrowContractionsPassOptions &options, const WeightTable *weights = nullptr)
      : NarrowContractionsPassBase(options), weights(weights) {}
  const WeightTable *weights = nullptr;

  void runOnOperation() override {
    unsigned terms = plan::bfloat16Terms(precision);
    SmallVector<ContractOpInterface> ops;
    getOperation().walk([&](ContractOpInterface op) {
      if (!canBeNarrow(op) || !hasNarrowProducts(op, terms))
        return;
      if (Verdict pays = terms > 1 ? paysTerms(op, precision, weights) : paysRounded(op))
        ops.push_back(op);
      else
        missed(op, getArgument(), "NotNarrowed", pays.why());
    });
    for (ContractOpInterface op : ops) {
      if (terms > 1)
        splitOperands(op, terms);
      else if (roundsWeightsAlone(op))
        narrowWeights(op);
      else
        castOperands(op, Builder(op.getContext()).getBF16Type());
    }
  }
};

} // namespace

std::unique_ptr<Pass> createNarrowContractionsPass(const NarrowContractionsPassOptions &options,
                                                   const WeightTable *weights) {
  return std::make_unique<NarrowContractionsPass>(options, weights);
}

} // namespace hewn
