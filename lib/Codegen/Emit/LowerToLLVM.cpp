// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Emit/LowerToLLVM.h"
#include "dialects/Plan/Plan.h"
#include "lib/Codegen/Passes.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithCommon/AttrToLLVMConverter.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace hewn::codegen {

/// Builds the descriptor of a 1-D memref at `pointer`: allocated and aligned pointer, offset,
/// sizes, strides. The size is a placeholder: kernels compute sizes from their symbols and never
/// read it.
static Value describe(OpBuilder &b, Location loc, Value pointer, MemRefType type) {
  MLIRContext *context = b.getContext();
  Type i64 = b.getI64Type(), one = LLVM::LLVMArrayType::get(i64, 1);
  auto record = LLVM::LLVMStructType::getLiteral(context, {pointer.getType(), pointer.getType(), i64, one, one});
  auto constant = [&](int64_t v) -> Value { return LLVM::ConstantOp::create(b, loc, i64, b.getI64IntegerAttr(v)); };
  Value value = LLVM::PoisonOp::create(b, loc, record);
  value = LLVM::InsertValueOp::create(b, loc, value, pointer, ArrayRef<int64_t>{0});
  value = LLVM::InsertValueOp::create(b, loc, value, pointer, ArrayRef<int64_t>{1});
  value = LLVM::InsertValueOp::create(b, loc, value, constant(0), ArrayRef<int64_t>{2});
  value = LLVM::InsertValueOp::create(b, loc, value, constant(INT64_MAX), ArrayRef<int64_t>{3, 0});
  value = LLVM::InsertValueOp::create(b, loc, value, constant(1), ArrayRef<int64_t>{4, 0});
  return UnrealizedConversionCastOp::create(b, loc, type, value).getResult(0);
}

static bool isPassedAsPointer(MemRefType type) { return type.getRank() == 1 && type.getLayout().isIdentity(); }

/// Returns the aligned pointer of a memref. Calls pass this pointer instead of the descriptor.
static Value pointerOf(OpBuilder &b, Location loc, Value memref) {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext()), i64 = b.getI64Type();
  Type size = LLVM::LLVMArrayType::get(i64, 1);
  Type descriptor = LLVM::LLVMStructType::getLiteral(b.getContext(), {pointer, pointer, i64, size, size});
  Value described = UnrealizedConversionCastOp::create(b, loc, descriptor, memref).getResult(0);
  return LLVM::ExtractValueOp::create(b, loc, described, ArrayRef<int64_t>{1});
}

void useBarePointers(func::FuncOp function) {
  if (function.isDeclaration())
    return;
  function.walk([](func::CallOp call) {
    OpBuilder b(call);
    for (OpOperand &operand : call->getOpOperands())
      if (auto memref = dyn_cast<MemRefType>(operand.get().getType()); memref && isPassedAsPointer(memref))
        operand.set(pointerOf(b, call.getLoc(), operand.get()));
  });
  OpBuilder b = OpBuilder::atBlockBegin(&function.front());
  Type pointer = LLVM::LLVMPointerType::get(function.getContext());
  SmallVector<Type> types;
  // Set the attributes of all arguments at once. The MLIR context keeps every attribute list, and
  // one call per argument would create a list for each.
  SmallVector<DictionaryAttr> attributes;
  function.getAllArgAttrs(attributes);
  for (BlockArgument argument : function.getArguments()) {
    auto memref = dyn_cast<MemRefType>(argument.getType());
    if (memref && isPassedAsPointer(memref)) {
      argument.setType(pointer);
      auto described = describe(b, function.getLoc(), argument, memref).getDefiningOp<UnrealizedConversionCastOp>();
      // Replace all uses of the pointer argument except the InsertValueOps that build its memref
      // descriptor.
      argument.replaceUsesWithIf(described.getResult(0),
                                 [](OpOperand &use) { return !isa<LLVM::InsertValueOp>(use.getOwner()); });
      // Arguments marked `plan.shared` are not `noalias`: they may alias another argument, or other
      // GPU blocks write to their memory.
      DictionaryAttr &own = attributes[argument.getArgNumber()];
      NamedAttrList named(own);
      if (!named.erase(plan::kSharedArgumentAttr))
        named.set(LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
      own = named.getDictionary(b.getContext());
    }
    types.push_back(argument.getType());
  }
  function.setAllArgAttrs(attributes);
  function.setFunctionType(b.getFunctionType(types, function.getResultTypes()));
}

/// Replaces a float minimum or maximum. The flag `nnan` of `op` is not passed on to LLVM, which
/// would make a NaN, and all values computed from it, poison instead of NaN. `first` is the
/// comparison under which the left operand is the result.
template <class To, class From> static void replaceMinMax(From op, arith::CmpFPredicate first, bool selects) {
  OpBuilder b(op);
  bool mayLose = bitEnumContainsAny(op.getFastmath(), arith::FastMathFlags::nnan);
  Value result;
  if (mayLose && selects) {
    Value isFirst = arith::CmpFOp::create(b, op.getLoc(), first, op.getLhs(), op.getRhs());
    result = arith::SelectOp::create(b, op.getLoc(), isFirst, op.getLhs(), op.getRhs());
  } else {
    auto flags = LLVM::FastmathFlagsAttr::get(
        b.getContext(), arith::convertArithFastMathFlagsToLLVM(op.getFastmath() & ~arith::FastMathFlags::nnan));
    result = To::create(b, op.getLoc(), op.getType(), op.getLhs(), op.getRhs(), flags);
  }
  op.replaceAllUsesWith(result);
  op.erase();
}

void lowerMinMax(func::FuncOp function, bool selects) {
  function.walk([&](arith::MaximumFOp op) { replaceMinMax<LLVM::MaximumOp>(op, arith::CmpFPredicate::OGT, selects); });
  function.walk([&](arith::MinimumFOp op) { replaceMinMax<LLVM::MinimumOp>(op, arith::CmpFPredicate::OLT, selects); });
}

void buildLowerToLLVM(OpPassManager &pm, const Device *device) {
  if (device)
    device->addLowering(pm);
  else
    pm.addPass(createLowerSimtPass());
  pm.addNestedPass<func::FuncOp>(createConvertVectorToSCFPass(VectorTransferToSCFOptions().enableFullUnroll()));
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addNestedPass<func::FuncOp>(arith::createArithExpandOpsPass());
  pm.addNestedPass<func::FuncOp>(createConvertMathToLLVMPass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

void moveHalfTypesAsIntegers(ModuleOp module) {
  auto asIntegers = [](Type type) -> Type {
    auto vector = dyn_cast<VectorType>(type);
    if (!vector || !isa<Float16Type, BFloat16Type>(vector.getElementType()))
      return {};
    return vector.clone(IntegerType::get(type.getContext(), 16));
  };
  module.walk([&](Operation *op) {
    if (!isa<LLVM::MaskedLoadOp, LLVM::MaskedStoreOp, LLVM::masked_gather, LLVM::masked_scatter>(op))
      return;
    OpBuilder b(op);
    for (OpOperand &operand : op->getOpOperands())
      if (Type type = asIntegers(operand.get().getType()))
        operand.set(LLVM::BitcastOp::create(b, op->getLoc(), type, operand.get()));
    for (OpResult result : op->getResults())
      if (Type type = asIntegers(result.getType())) {
        b.setInsertionPointAfter(op);
        auto back = LLVM::BitcastOp::create(b, op->getLoc(), result.getType(), result);
        result.setType(type);
        result.replaceAllUsesExcept(back, back);
      }
  });
}

LogicalResult holdAsIntegers(ModuleOp module, function_ref<bool(Type)> lacks) {
  auto holds = [&](Type type) {
    while (auto array = dyn_cast<LLVM::LLVMArrayType>(type))
      type = array.getElementType();
    return lacks(getElementTypeOrSelf(type));
  };
  WalkResult found = module.walk([&](Operation *op) {
    return llvm::any_of(op->getResultTypes(), holds) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!found.wasInterrupted())
    return success();
  Type bits = IntegerType::get(module.getContext(), 16);
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](Type type) { return lacks(type) ? std::optional(bits) : std::nullopt; });
  replacer.addReplacement([&](FloatAttr number) -> std::optional<Attribute> {
    if (!lacks(number.getType()))
      return std::nullopt;
    return IntegerAttr::get(bits, number.getValue().bitcastToAPInt());
  });
  replacer.addReplacement([&](DenseElementsAttr numbers) -> std::optional<Attribute> {
    return lacks(numbers.getElementType()) ? std::optional<Attribute>(numbers.bitcast(bits)) : std::nullopt;
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
  return verify(module); // float arithmetic on integers fails to verify
}

} // namespace hewn::codegen
