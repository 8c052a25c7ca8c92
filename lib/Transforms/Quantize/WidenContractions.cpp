// SPDX-License-Identifier: Apache-2.0
//
// Gives contractions operands and sums that the machine has instructions for.
//
//     %y = graph.matmul %x, %w {to = i32}          →   %xw = graph.cast %x {to = i16}
//                                                      %ww = graph.cast %w {to = i16}
//          : (..xui8, ..xi8) -> ..xi32                 %y = graph.matmul %xw, %ww {to = i32} : (..xi16, ..xi16) -> ..xi32
//
// Without sums of four neighbours a machine has those of two (x86: pmaddwd, from the first vectors on), and without these
// products of i32. Casts of constants are folded, those of data are done by whatever makes the data.
//
//     %y = graph.matmul %x, %w                     →   %xw, %ww: the same to f32
//          : (..xf16, ..xf16) -> ..xf16                %s = graph.matmul %xw, %ww {to = f32}
//                                                      %y = graph.cast %s {to = f16}
//
// Sums of narrow floats are float32's and are rounded once. A contraction whose operand is such a result takes the sums as they are,
// and loses no digits between. Operands stay narrow where the machine has a product of them (bfloat16) and enough rows read what a run makes.
//
// So do constants of 16 bits that the machine widens as fast as it reads them: they are half as many bytes, and a tile of rows hides what widening a
// vector takes. Windows that minimal filtering multiplies are transformed to float16 where that has the digits and the range for them, else to float32.
// So do integers of 8 bits, whose transformed windows float16 has the digits for, and what a quantization stores so.
//
// Left alone: contractions that the machine takes as they are (`dots` of #plan.target, or matrices of its grid), and narrow floats on
// a grid, whose threads widen what they read.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "lib/Schedule/GridSchedule.h"
#include "lib/Schedule/WinogradSchedule.h"
#include "lib/Transforms/Quantize/Operands.h"
#include "lib/Transforms/Quantize/Passes.h"
#include <cstring>

using namespace mlir;
using hewn::graph::ContractOpInterface;

namespace hewn {
#define GEN_PASS_DEF_WIDENCONTRACTIONSPASS
#include "lib/Transforms/Quantize/Passes.h.inc"

Verdict paysToWiden(ContractOpInterface op, Type type) {
  constexpr int64_t fewRows = 4;
  plan::TargetAttr target = plan::targetOf(op);
  if (type.isF16() && target && !target.getHasHalfConversions())
    return Verdict::no("the machine has no instruction that makes float32 of float16");
  if (isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 16)
    return Verdict::no("the machine has no instruction that makes float32 of float8");
  // Vectors as short as those of machines that do not convert have too few elements to hide two operations behind the products of a tile. Who shares
  // constants with one that makes float32s of them has these, too.
  auto module = op->getParentOfType<ModuleOp>();
  // Integers take two operations on every machine.
  constexpr int64_t shortBytes = 16;
  bool isShort = isa<IntegerType>(type) && target && target.getVectorBytes() <= shortBytes;
  bool hasFloats =
      isShort || (target && !target.getHasHalfConversions()) || (module && module->hasAttr(plan::kSharesFloatsAttr));
  std::optional<graph::ContractRoles> roles = graph::contractRoles(op);
  if (hasFloats && (!roles || plan::contractShape(op, *roles).rows.constant().value_or(fewRows + 1) > fewRows))
    return Verdict::no("its rows are many or known only when run, and float32s are there sooner than they are widened");
  return Verdict::yes();
}

namespace {

/// Whether the machine has products of narrow floats as the operands are, which take less time than to put the right one in order for them.
bool takesNarrow(ContractOpInterface op, Type left, Type right, Type sum) {
  return isSummedInPairs(op) &&
         (plan::findMatrix(op, left, right, sum) || (plan::findDot(op, left, right, sum) && paysPairs(op)));
}

/// Whether the right operand is a constant of 16 bits, or of integers of 8, that the engine widens when it has read it, and the machine does so as fast.
bool staysNarrow(ContractOpInterface op) {
  Value right = op->getOperand(1);
  std::optional<graph::ContractRoles> roles = graph::contractRoles(op);
  Type type = graph::getElementType(right);
  bool isNarrow = type.isF16() || type.isBF16() || type.isSignlessInteger(8);
  return roles && !roles->columnInLeft && isNarrow && isa_and_nonnull<graph::ConstantOp>(right.getDefiningOp()) &&
         paysToWiden(op, type);
}

/// The bytes of a constant, as far as they are at hand.
ArrayRef<char> bytesOf(graph::ConstantOp constant, const WeightTable *weights) {
  if (auto weight = dyn_cast<graph::WeightAttr>(constant.getValue()))
    return weights ? weights->bytes(weight) : ArrayRef<char>();
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  return elements ? elements.getRawData() : ArrayRef<char>();
}

/// Whether transformed weights of the constant, of 16 bits, are float16s: none is out of their range, and what is too small for them is nothing beside
/// the largest. What the table does not have (text that was read back) is taken to be so.
/// Integers of 8 bits are: sums of nine of them, in fourths, have at most 11 digits.
bool fitsHalf(graph::ConstantOp constant, const WeightTable *weights) {
  if (graph::getElementType(constant.getResult()).isInteger())
    return true;
  constexpr uint16_t magnitude = 0x7fff;
  // 2^14, as a transformation makes numbers of up to 2.25 times the largest; of bfloat16 2^-10 at least.
  bool isHalf = graph::getElementType(constant.getResult()).isF16();
  uint16_t most = isHalf ? 0x7400 : 0x4680, least = isHalf ? 0 : 0x3a80, largest = 0;
  ArrayRef<char> bytes = bytesOf(constant, weights);
  for (size_t i = 0; i + sizeof(uint16_t) <= bytes.size(); i += sizeof(uint16_t)) {
    uint16_t bits;
    std::memcpy(&bits, bytes.data() + i, sizeof bits);
    largest = std::max<uint16_t>(largest, bits & magnitude);
  }
  if (weights)
    weights->letGo(bytes);
  return bytes.empty() || (largest <= most && largest >= least);
}

class Widener {
public:
  Widener(MLIRContext *context, int64_t largestTile, const WeightTable *weights)
      : b(context), largestTile(largestTile), weights(weights) {}

  void run(ContractOpInterface op) {
    bool keeps = bool(op->removeAttr(kKeepsWeightsAttr)) && graph::widensRight(op);
    if (keeps || graph::termsOf(op) > 1) // as narrow as they are on purpose
      return;
    Type sum = graph::getElementType(op->getResult(0));
    if (sum.isSignlessInteger(32))
      widenIntegers(op);
    else if (auto floats = dyn_cast<FloatType>(sum); floats && floats.getWidth() <= 32 && !plan::gridOf(op))
      widenFloats(op);
  }

private:
  Builder b;
  int64_t largestTile;
  const WeightTable *weights;
  /// Results that were rounded here, and the sums that they were.
  DenseMap<Value, Value> sums;

  void widenIntegers(ContractOpInterface op) {
    Type left = graph::getElementType(op->getOperand(0)), right = graph::getElementType(op->getOperand(1)),
         sum = b.getI32Type(), half = b.getIntegerType(16);
    if (left == sum || right == sum || plan::findDot(op) || plan::findMatrix(op) || plan::multipliesMatrices(op))
      return;
    castOperands(op, plan::findDot(op, half, half, sum) ? half : sum);
  }

  void widenFloats(ContractOpInterface op) {
    Type left = graph::getElementType(op->getOperand(0)), right = graph::getElementType(op->getOperand(1)),
         result = graph::getElementType(op->getResult(0)), sum = b.getF32Type();
    bool narrow = takesNarrow(op, left, right, sum);
    if (result == sum && ((left == sum && right == sum) || narrow))
      return;
    OpBuilder at(op);
    graph::Composer c(at, op->getLoc());
    bool stays = staysNarrow(op);
    Value constant = op->getOperand(1);
    ContractOpInterface widened = rewriteOperands(op, sum, [&](unsigned, Value value) {
      Value known = sums.lookup(value);
      return narrow ? value : known ? known : c.cast(value, sum);
    });
    if (widened && stays && !narrow)
      narrowConstant(widened, constant);
    if (!widened || result == sum)
      return;
    at.setInsertionPointAfter(widened);
    Value whole = widened->getResult(0), rounded = c.cast(whole, result);
    whole.replaceAllUsesExcept(rounded, rounded.getDefiningOp());
    sums[rounded] = whole;
  }

  int64_t tileOf(ContractOpInterface op) {
    return plan::chooseWinogradTile(op, plan::largestWinogradTile(op, largestTile));
  }

  /// Gives the contraction `constant` instead of the float32s that were made of it, as float16s where minimal filtering transforms them; not where
  /// that has not the digits or the range for the tiles that it would have of float32s.
  void narrowConstant(ContractOpInterface op, Value constant) {
    Operation *wide = op->getOperand(1).getDefiningOp();
    int64_t tile = tileOf(op);
    OpBuilder at(op);
    Value narrow = tile ? graph::Composer(at, op->getLoc()).cast(constant, b.getF16Type()) : constant;
    op->setOperand(1, narrow);
    if (tile && (tileOf(op) != tile || !fitsHalf(cast<graph::ConstantOp>(constant.getDefiningOp()), weights)))
      op->setOperand(1, wide->getResult(0));
    for (Operation *made : {wide, narrow.getDefiningOp()})
      if (made->use_empty() && !isa<graph::ConstantOp>(made))
        made->erase();
  }
};

struct WidenContractionsPass : impl::WidenContractionsPassBase<WidenContractionsPass> {
  WidenContractionsPass() = default;
  explicit WidenContractionsPass(const WidenContractionsPassOptions &options, const WeightTable *weights = nullptr)
      : WidenContractionsPassBase(options), weights(weights) {}
  const WeightTable *weights = nullptr;

  void runOnOperation() override {
    SmallVector<ContractOpInterface> ops;
    getOperation().walk([&](ContractOpInterface op) { ops.push_back(op); });
    Widener widener(&getContext(), largestTile, weights);
    for (ContractOpInterface op : ops)
      widener.run(op);
  }
};

} // namespace

std::unique_ptr<Pass> createWidenContractionsPass(const WidenContractionsPassOptions &options,
                                                  const WeightTable *weights) {
  return std::make_unique<WidenContractionsPass>(options, weights);
}

} // namespace hewn
