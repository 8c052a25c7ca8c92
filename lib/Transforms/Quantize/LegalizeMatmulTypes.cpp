// SPDX-License-Identifier: Apache-2.0
//
// Extends contraction operands and accumulators to types that the target has instructions for (see
// Passes.td).
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "lib/Schedule/BfloatSchedule.h"
#include "lib/Schedule/ScheduleModel.h"
#include "lib/Schedule/WinogradSchedule.h"
#include "lib/Transforms/Quantize/Operands.h"
#include "lib/Transforms/Quantize/Passes.h"
#include <cstring>

using namespace mlir;
using hewn::graph::ContractOpInterface;

namespace hewn {
#define GEN_PASS_DEF_LEGALIZEMATMULTYPESPASS
#include "lib/Transforms/Quantize/Passes.h.inc"

Eligibility paysToWiden(ContractOpInterface op, Type type) {
  constexpr int64_t fewRows = 4;
  plan::TargetAttr target = plan::targetOf(op);
  if (type.isF16() && target && !target.getHasHalfConversions())
    return Eligibility::no("the target has no instruction that converts float16 to float32");
  if (isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 16)
    return Eligibility::no("the target has no instruction that converts float8 to float32");
  // A target without instructions that convert float16 to float32 has short vectors, so a tile has
  // too few FMAs to hide the extra conversion ops. Its weights stay float32, as do those of all
  // variants of the code that share their constants with it.
  auto module = op->getParentOfType<ModuleOp>();
  // Extending 8-bit integers to floats takes two instructions per vector on every target. On
  // targets with 16-byte vectors, a tile has too few FMAs to hide these instructions.
  constexpr int64_t shortBytes = 16;
  bool isShort = isa<IntegerType>(type) && target && target.getVectorBytes() <= shortBytes;
  bool hasFloats =
      isShort || (target && !target.getHasHalfConversions()) || (module && module->hasAttr(plan::kSharesFloatsAttr));
  std::optional<graph::ContractRoles> roles = graph::contractRoles(op);
  if (hasFloats && (!roles || plan::contractShape(op, *roles).rows.constant().value_or(fewRows + 1) > fewRows))
    return Eligibility::no("float32 weights are faster: the GEMM has many or a dynamic number of rows, and this target "
                           "extends the narrow type slowly");
  return Eligibility::yes();
}

namespace {

/// Returns true if the target has matrix or dot-product instructions for the operand types, and if
/// these are at least as fast as FMAs on operands that are extended to float32. The time of packing
/// the right operand in pairs is included.
bool hasNarrowInstructions(ContractOpInterface op, Type left, Type right, Type sum) {
  plan::DotProductAttr dot = plan::findDot(op, left, right, sum);
  return isSummedInPairs(op) &&
         (plan::findMatrix(op, left, right, sum) || (dot && paysPairs(op) && plan::beatsExtension(op, dot)));
}

/// Returns true if the right operand is a constant of 16-bit floats or 8-bit integers that the
/// kernel extends after loading, and the target extends them as fast as it loads them.
bool keepsNarrowConstant(ContractOpInterface op) {
  Value right = op->getOperand(1);
  std::optional<graph::ContractRoles> roles = graph::contractRoles(op);
  Type type = graph::getElementType(right);
  bool isNarrow = type.isF16() || type.isBF16() || type.isSignlessInteger(8);
  return roles && !roles->columnInLeft && isNarrow && isa_and_nonnull<graph::ConstantOp>(right.getDefiningOp()) &&
         paysToWiden(op, type);
}

/// Returns the bytes of a constant, or nothing if they are not available.
ArrayRef<char> bytesOf(graph::ConstantOp constant) {
  if (auto weight = dyn_cast<graph::WeightAttr>(constant.getValue()))
    return graph::weightsOf(constant.getContext()).bytes(weight);
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  return elements ? elements.getRawData() : ArrayRef<char>();
}

/// Returns true if the Winograd-transformed filter of the constant fits float16: no element
/// overflows, and elements that underflow are negligible compared with the largest one. Also
/// returns true if the bytes are not available (parsed IR). A transformed 8-bit filter always fits:
/// its elements are sums of nine integers in units of 1/4, with at most 11 significand bits.
bool fitsHalf(graph::ConstantOp constant) {
  if (graph::getElementType(constant.getResult()).isInteger())
    return true;
  constexpr uint16_t magnitude = 0x7fff;
  // The elements may be at most 2^14 in magnitude, because the transform multiplies by up to 2.25.
  // The largest magnitude of a bfloat16 filter must be at least 2^-10.
  bool isHalf = graph::getElementType(constant.getResult()).isF16();
  uint16_t most = isHalf ? 0x7400 : 0x4680, least = isHalf ? 0 : 0x3a80, largest = 0;
  ArrayRef<char> bytes = bytesOf(constant);
  for (size_t i = 0; i + sizeof(uint16_t) <= bytes.size(); i += sizeof(uint16_t)) {
    uint16_t bits;
    std::memcpy(&bits, bytes.data() + i, sizeof bits);
    largest = std::max<uint16_t>(largest, bits & magnitude);
  }
  graph::weightsOf(constant.getContext()).letGo(bytes);
  return bytes.empty() || (largest <= most && largest >= least);
}

class MatmulTypeLegalizer {
public:
  MatmulTypeLegalizer(MLIRContext *context, int64_t largestTile) : b(context), largestTile(largestTile) {}

  void run(ContractOpInterface op) {
    bool keeps = bool(op->removeAttr(kKeepsWeightsAttr)) && graph::widensRight(op);
    // The quantization, or the split into bfloat16 components, requires these operand types.
    if (keeps || graph::termsOf(op) > 1)
      return;
    Type sum = graph::getElementType(op->getResult(0));
    if (sum.isSignlessInteger(32))
      extendIntegers(op);
    else if (auto floats = dyn_cast<FloatType>(sum);
             floats && floats.getWidth() <= 32 && !plan::supports(op, plan::KernelFeature::HalfOperands))
      extendFloats(op);
  }

private:
  Builder b;
  int64_t largestTile;
  /// Maps each contraction result that this pass has rounded to the float32 accumulators before the
  /// rounding.
  DenseMap<Value, Value> sums;

  void extendIntegers(ContractOpInterface op) {
    Type left = graph::getElementType(op->getOperand(0)), right = graph::getElementType(op->getOperand(1)),
         sum = b.getI32Type(), half = b.getIntegerType(16);
    if (left == sum || right == sum || plan::findDot(op) || plan::findMatrix(op) ||
        plan::ScheduleModel::of(op).multipliesMatrices(op))
      return;
    castOperands(op, plan::findDot(op, half, half, sum) ? half : sum);
  }

  void extendFloats(ContractOpInterface op) {
    Type left = graph::getElementType(op->getOperand(0)), right = graph::getElementType(op->getOperand(1)),
         result = graph::getElementType(op->getResult(0)), sum = b.getF32Type();
    bool narrow = hasNarrowInstructions(op, left, right, sum);
    if (result == sum && ((left == sum && right == sum) || narrow))
      return;
    OpBuilder at(op);
    graph::Composer c(at, op->getLoc());
    bool stays = keepsNarrowConstant(op);
    Value constant = op->getOperand(1);
    ContractOpInterface widened = rewriteOperands(op, sum, [&](unsigned, Value value) {
      Value known = sums.lookup(value);
      return narrow ? value : known ? known : c.cast(value, sum);
    });
    if (widened && stays && !narrow)
      keepConstantType(widened, constant);
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

  /// Replaces the right operand, a constant that was extended to float32, by `constant`. If the
  /// contraction is a Winograd convolution, converts it to float16, or keeps float32 if float16 has
  /// too little range or precision for the same tile size.
  void keepConstantType(ContractOpInterface op, Value constant) {
    Operation *wide = op->getOperand(1).getDefiningOp();
    int64_t tile = tileOf(op);
    OpBuilder at(op);
    Value narrow = tile ? graph::Composer(at, op->getLoc()).cast(constant, b.getF16Type()) : constant;
    op->setOperand(1, narrow);
    if (tile && (tileOf(op) != tile || !fitsHalf(cast<graph::ConstantOp>(constant.getDefiningOp()))))
      op->setOperand(1, wide->getResult(0));
    for (Operation *made : {wide, narrow.getDefiningOp()})
      if (made->use_empty() && !isa<graph::ConstantOp>(made))
        made->erase();
  }
};

struct LegalizeMatmulTypesPass : impl::LegalizeMatmulTypesPassBase<LegalizeMatmulTypesPass> {
  using LegalizeMatmulTypesPassBase::LegalizeMatmulTypesPassBase;

  void runOnOperation() override {
    SmallVector<ContractOpInterface> ops;
    getOperation().walk([&](ContractOpInterface op) { ops.push_back(op); });
    MatmulTypeLegalizer legalizer(&getContext(), largestTile);
    for (ContractOpInterface op : ops)
      legalizer.run(op);
  }
};

} // namespace

} // namespace hewn
