// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Emit/MaskedAccesses.h"

#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace hewn::codegen {

/// Returns the lanes [from, to) of a vector. Recomputes them from the same lanes of the operands
/// that define the vector, so that LLVM can fold lanes that are constant.
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

/// Splits a masked load or store into accesses of at most `most` elements.
static void splitMaskedAccess(IntrinsicInst *call, unsigned most, unsigned elementBytes) {
  bool load = call->getIntrinsicID() == Intrinsic::masked_load;
  Value *pointer = call->getArgOperand(load ? 0 : 1), *mask = call->getArgOperand(load ? 1 : 2);
  // the pass-through value of a load, or the stored value
  Value *data = call->getArgOperand(load ? 2 : 0);
  Align align = call->getParamAlign(load ? 0 : 1).valueOrOne();
  unsigned lanes = cast<FixedVectorType>(data->getType())->getNumElements();
  IRBuilder<> b(call);
  SmallVector<Value *> parts;
  for (unsigned from = 0; from < lanes; from += most) {
    unsigned to = std::min(from + most, lanes);
    uint64_t offset = uint64_t(from) * elementBytes;
    // Compute the address of this part of the vector without `inbounds`: if all lanes of the part
    // are masked out, it may be outside of the buffer.
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

namespace {
/// A range of adjacent lanes.
struct Run {
  unsigned first = 0, count = 0;
};
} // namespace

/// Returns the enabled lanes of a constant mask if they are adjacent. Returns nullopt if none is
/// enabled, if they are not adjacent, or if the mask is not constant.
static std::optional<Run> enabledRun(Value *mask) {
  auto *constant = dyn_cast<Constant>(mask);
  auto *type = dyn_cast<FixedVectorType>(mask->getType());
  if (!constant || !type)
    return std::nullopt;
  Run run;
  for (unsigned lane = 0; lane < type->getNumElements(); ++lane) {
    Constant *element = constant->getAggregateElement(lane);
    if (!element || !isa<ConstantInt>(element))
      return std::nullopt;
    if (element->isNullValue())
      continue;
    if (run.count && run.first + run.count != lane)
      return std::nullopt;
    run.first = run.count ? run.first : lane;
    ++run.count;
  }
  return run.count ? std::optional(run) : std::nullopt;
}

void storeFewLanes(Module &module) {
  constexpr unsigned mostParts = 2;
  SmallVector<std::pair<IntrinsicInst *, Run>> found;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<IntrinsicInst>(&instruction); call && call->getIntrinsicID() == Intrinsic::masked_store)
        if (std::optional<Run> run = enabledRun(call->getArgOperand(2)))
          if (unsigned(popcount(run->count)) <= mostParts)
            found.push_back({call, *run});
  for (auto [call, run] : found) {
    IRBuilder<> b(call);
    Value *vector = call->getArgOperand(0);
    uint64_t bytes = module.getDataLayout().getTypeStoreSize(cast<VectorType>(vector->getType())->getElementType());
    for (unsigned from = run.first, left = run.count; left > 0;) {
      unsigned count = bit_floor(left);
      Value *part = count == 1 ? b.CreateExtractElement(vector, from)
                               : b.CreateShuffleVector(vector, to_vector<16>(seq<int>(from, from + count)));
      uint64_t offset = from * bytes;
      Value *at = b.CreatePtrAdd(call->getArgOperand(1), b.getInt64(offset));
      b.CreateAlignedStore(part, at, commonAlignment(call->getParamAlign(1).valueOrOne(), offset))->copyMetadata(*call);
      from += count;
      left -= count;
    }
    call->eraseFromParent();
  }
}

} // namespace hewn::codegen
