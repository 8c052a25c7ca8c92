// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Emit/MaskedAccesses.h"

#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace hewn::codegen {

/// Lanes `from` to `to` of a vector, computed from such lanes of what it is computed from: where they are constant, LLVM sees it.
static Value *lanesOf(IRBuilder<> &b, Value *vector, unsigned from, unsigned to, unsigned depth = 0) {
  constexpr unsigned mostDepth = 8;
  if (auto *shuffle = dyn_cast<ShuffleVectorInst>(vector))
    return b.CreateShuffleVector(shuffle->getOperand(0), shuffle->getOperand(1),
                                 shuffle->getShuffleMask().slice(from, to - from));
  if (depth < mostDepth && isa<BinaryOperator, CmpInst>(vector)) {
    auto *op = cast<Instruction>(vector);
    Value *lhs = lanesOf(b, op->getOperand(0), from, to, depth + 1);
    Value *rhs = lanesOf(b, op->getOperand(1), from, to, depth + 1);
    if (auto *compare = dyn_cast<CmpInst>(op))
      return b.CreateCmp(compare->getPredicate(), lhs, rhs);
    return b.CreateBinOp(Instruction::BinaryOps(op->getOpcode()), lhs, rhs);
  }
  return b.CreateShuffleVector(vector, to_vector<16>(seq<int>(from, to)));
}

/// A masked load or store of `lanes` elements as accesses of `most` elements each.
static void splitMaskedAccess(IntrinsicInst *call, unsigned most, unsigned elementBytes) {
  bool load = call->getIntrinsicID() == Intrinsic::masked_load;
  Value *pointer = call->getArgOperand(load ? 0 : 1), *mask = call->getArgOperand(load ? 1 : 2);
  Value *data = call->getArgOperand(load ? 2 : 0); // what lanes that are not loaded are, or what is stored
  Align align = call->getParamAlign(load ? 0 : 1).valueOrOne();
  unsigned lanes = cast<FixedVectorType>(data->getType())->getNumElements();
  IRBuilder<> b(call);
  SmallVector<Value *> parts;
  for (unsigned from = 0; from < lanes; from += most) {
    unsigned to = std::min(from + most, lanes);
    uint64_t offset = uint64_t(from) * elementBytes;
    // Not known to be inside of the buffer: none of these lanes need exist.
    Value *at = b.CreatePtrAdd(pointer, b.getInt64(offset)), *some = lanesOf(b, mask, from, to);
    Value *part = b.CreateShuffleVector(data, to_vector<16>(seq<int>(from, to)));
    if (load)
      parts.push_back(b.CreateMaskedLoad(part->getType(), at, commonAlignment(align, offset), some, part));
    else
      b.CreateMaskedStore(part, at, commonAlignment(align, offset), some);
  }
  if (load)
    call->replaceAllUsesWith(concatenateVectors(b, parts));
  call->eraseFromParent();
}

void splitMaskedAccesses(Module &module, unsigned vectorBytes) {
  const DataLayout &layout = module.getDataLayout();
  SmallVector<std::pair<IntrinsicInst *, unsigned>> found;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<IntrinsicInst>(&instruction)) {
        Intrinsic::ID id = call->getIntrinsicID();
        if (id != Intrinsic::masked_load && id != Intrinsic::masked_store)
          continue;
        auto *type = dyn_cast<FixedVectorType>(id == Intrinsic::masked_load ? call->getType()
                                                                            : call->getArgOperand(0)->getType());
        unsigned bytes = type ? layout.getTypeStoreSize(type->getElementType()) : 0;
        if (bytes && type->getNumElements() * bytes > vectorBytes)
          found.push_back({call, bytes});
      }
  for (auto [call, bytes] : found)
    splitMaskedAccess(call, std::max<unsigned>(vectorBytes / bytes, 1), bytes);
}

/// The lane of a constant mask that is alone wanted; nullopt where there are none, several, or lanes that are not known.
static std::optional<unsigned> singleLane(Value *mask) {
  auto *constant = dyn_cast<Constant>(mask);
  auto *type = dyn_cast<FixedVectorType>(mask->getType());
  if (!constant || !type)
    return std::nullopt;
  std::optional<unsigned> single;
  for (unsigned lane = 0; lane < type->getNumElements(); ++lane) {
    Constant *element = constant->getAggregateElement(lane);
    if (!element || !isa<ConstantInt>(element))
      return std::nullopt;
    if (element->isNullValue())
      continue;
    if (single)
      return std::nullopt;
    single = lane;
  }
  return single;
}

void storeSingleLanes(Module &module) {
  SmallVector<std::pair<IntrinsicInst *, unsigned>> found;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<IntrinsicInst>(&instruction); call && call->getIntrinsicID() == Intrinsic::masked_store)
        if (std::optional<unsigned> lane = singleLane(call->getArgOperand(2)))
          found.push_back({call, *lane});
  for (auto [call, lane] : found) {
    IRBuilder<> b(call);
    Value *element = b.CreateExtractElement(call->getArgOperand(0), lane);
    uint64_t offset = uint64_t(lane) * module.getDataLayout().getTypeStoreSize(element->getType());
    Value *at = b.CreatePtrAdd(call->getArgOperand(1), b.getInt64(offset));
    Align align = commonAlignment(call->getParamAlign(1).valueOrOne(), offset);
    b.CreateAlignedStore(element, at, align)->copyMetadata(*call);
    call->eraseFromParent();
  }
}

} // namespace hewn::codegen
