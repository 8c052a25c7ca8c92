// SPDX-License-Identifier: Apache-2.0
//
// Vector loads of a buffer's elements, and vector stores. The offsets of the lanes determine the
// instructions:
//
//     contiguous                          one load
//     stride of 2 to 4                    one contiguous load per stride step, and shuffles
//     within a range of a few vectors     contiguous loads of the range, and dynamic permutations
//     other                               gather
//
// A gather accesses one element at a time on most targets, whereas loads and permutations take a
// cycle or two.
#include "lib/Codegen/ElementEmitter.h"
#include "lib/Schedule/Schedule.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Index;

namespace hewn::codegen {

/// Largest stride for which contiguous loads and shuffles are used instead of a gather.
constexpr int64_t kMaxStep = 4;

Value ElementEmitter::loadNeighbours(const Buffer &buffer, Value at, Value lanesThatExist) {
  VectorType type = vectorType(storageType(buffer.elementType));
  if (!lanesThatExist)
    return vector::LoadOp::create(b, loc, type, buffer.memref, at);
  return vector::MaskedLoadOp::create(b, loc, type, buffer.memref, at, lanesThatExist,
                                      arith::ConstantOp::create(b, loc, b.getZeroAttr(type)));
}

Value ElementEmitter::loadSteps(const Buffer &buffer, Index address) {
  int64_t step = std::abs(address.stride), last = step * (lanes - 1);
  bool backward = address.stride < 0;
  Index first = backward ? sub({address.base}, constant(last)) : Index{address.base};
  // Element `e` of the loaded range is in lane e / step if `step` divides e. If the stride is
  // negative, lanes are counted from the end.
  auto laneOf = [&](int64_t element) { return backward ? lanes - 1 - element / step : element / step; };
  Value none;
  if (mask)
    none = arith::ConstantOp::create(b, loc, b.getZeroAttr(mask.getType()));
  Value picked;
  for (int64_t k = 0; k < step; ++k) {
    // The last load ends with the last element that a lane needs, so that it does not read past the
    // end of the buffer.
    int64_t begin = k + 1 < step ? k * lanes : last + 1 - lanes, fresh = k * lanes;
    Value there;
    if (mask) {
      auto from = llvm::map_to_vector(llvm::seq(lanes), [&](int64_t lane) {
        int64_t element = begin + lane;
        return element % step == 0 && element >= fresh ? laneOf(element) : lanes;
      });
      there = vector::ShuffleOp::create(b, loc, mask, none, from);
    }
    Value loaded = loadNeighbours(buffer, add(first, constant(begin)).base, there);
    auto places = llvm::map_to_vector(llvm::seq(lanes), [&](int64_t lane) {
      int64_t element = (backward ? lanes - 1 - lane : lane) * step;
      bool here = element >= fresh && element < begin + lanes;
      return here ? (picked ? lanes : 0) + element - begin : (picked ? lane : 0);
    });
    picked = vector::ShuffleOp::create(b, loc, picked ? picked : loaded, loaded, places);
  }
  return picked;
}

/// Returns `from` permuted by `places`, by the target's permute instruction for float32. `places`
/// is a vector of i32 lane numbers.
static Value permuted(OpBuilder &b, Location loc, StringAttr instruction, Value from, Value places) {
  Type type = from.getType(), floats = cast<VectorType>(type).clone(b.getF32Type());
  Value bits = type == floats ? from : Value(arith::BitcastOp::create(b, loc, floats, from));
  Value found = LLVM::CallIntrinsicOp::create(b, loc, floats, instruction, ValueRange{bits, places}).getResult(0);
  return type == floats ? found : Value(arith::BitcastOp::create(b, loc, type, found));
}

namespace {
/// A vector of indices as the sum of uniform scalars (`same`) and a constant per lane (`steps`).
struct KnownSteps {
  SmallVector<Value> same;
  SmallVector<int64_t> steps;
};
} // namespace

/// Adds the summands of the vector `places` to `found`. Returns false if a summand is neither a
/// broadcast index nor a constant.
static bool addKnownSteps(Value places, KnownSteps &found) {
  auto broadcast = places.getDefiningOp<vector::BroadcastOp>();
  if (broadcast && broadcast.getSource().getType().isIndex()) {
    found.same.push_back(broadcast.getSource());
    return true;
  }
  DenseIntElementsAttr constants;
  if (matchPattern(places, m_Constant(&constants))) {
    for (auto [step, place] : llvm::zip(found.steps, constants.getValues<APInt>()))
      step += place.getSExtValue();
    return true;
  }
  auto sum = places.getDefiningOp<arith::AddIOp>();
  return sum && addKnownSteps(sum.getLhs(), found) && addKnownSteps(sum.getRhs(), found);
}

bool ElementEmitter::permutes(const Buffer &buffer) {
  plan::TargetAttr target = plan::targetOf(b.getInsertionBlock()->getParentOp());
  return target && target.getPermuteIntrinsic() && buffer.blockDim < 0 && buffer.groupDim < 0 &&
         storageType(buffer.elementType).getIntOrFloatBitWidth() == 32 && lanes * 4 == target.getVectorBytes();
}

Value ElementEmitter::loadNear(const Buffer &buffer, Index address) {
  int64_t loads = llvm::divideCeil(address.span, lanes);
  // Loads begin at the lowest offset, or earlier if they would extend past the end of the buffer.
  DimExpr count(1);
  for (auto [dim, stride] : llvm::zip(buffer.dims, buffer.strides))
    count = count + (dim - DimExpr(1)) * stride;
  Index end = expression(count), begin = constant(0), first{address.low};
  if (buffer.start)
    end = add(end, {buffer.start}), begin = {buffer.start};
  bool whole = count.constant().value_or(0) >= loads * lanes;
  if (whole)
    first = min(first, sub(end, constant(loads * lanes)));
  first = max(first, begin);
  StringAttr instruction = plan::targetOf(b.getInsertionBlock()->getParentOp()).getPermuteIntrinsic();
  VectorType narrow = vectorType(b.getI32Type());
  Value place;
  KnownSteps known{{}, SmallVector<int64_t>(lanes, 0)};
  // If possible, compute the lanes' positions as one broadcast scalar plus constants instead of by
  // vector arithmetic.
  if (addKnownSteps(address.base, known)) {
    Index start = sub(constant(0), first);
    for (Value same : known.same)
      start = add(start, {same});
    Value narrowStart = arith::IndexCastOp::create(b, loc, b.getI32Type(), start.base);
    auto steps = llvm::map_to_vector(known.steps, [](int64_t step) { return int32_t(step); });
    place = arith::AddIOp::create(
        b, loc, vector::BroadcastOp::create(b, loc, narrow, narrowStart),
        arith::ConstantOp::create(b, loc, DenseElementsAttr::get(narrow, ArrayRef<int32_t>(steps))));
  } else {
    place = arith::IndexCastOp::create(b, loc, narrow, sub(address, first).base);
  }
  auto all = [&](int64_t value) {
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(narrow, int32_t(value)));
  };
  Value within = arith::AndIOp::create(b, loc, place, all(lanes - 1)), result;
  for (int64_t k = 0; k < loads; ++k) {
    Index from = add(first, constant(k * lanes));
    Value there;
    if (!whole)
      there = vector::CreateMaskOp::create(b, loc, VectorType::get({lanes}, b.getI1Type()), sub(end, from).base);
    Value found = permuted(b, loc, instruction, loadNeighbours(buffer, from.base, there), within);
    Value later = k == 0 ? Value() : arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, place, all(k * lanes));
    result = later ? Value(arith::SelectOp::create(b, loc, later, found, result)) : found;
  }
  return result;
}

Value ElementEmitter::load(const Buffer &buffer, ArrayRef<Index> at) {
  Index address = offset(buffer, at);
  if (lanes == 0 || address.uniform()) {
    loadsOnePlace = true;
    return toCompute(memref::LoadOp::create(b, loc, buffer.memref, address.base), buffer.elementType);
  }
  VectorType type = vectorType(storageType(buffer.elementType));
  constexpr int64_t mostLoads = 4;
  Value loaded;
  if (!address.general && address.stride == 1) {
    loaded = loadNeighbours(buffer, address.base, mask);
  } else if (!address.general && std::abs(address.stride) <= kMaxStep) {
    loaded = loadSteps(buffer, address);
  } else if (address.general && address.span > 0 && address.span <= mostLoads * lanes && permutes(buffer)) {
    loaded = loadNear(buffer, address);
  } else {
    Value positions = vectorOf(address);
    loaded = vector::GatherOp::create(b, loc, type, buffer.memref, ValueRange(constant(0).base), positions,
                                      mask ? mask : allLanes(), arith::ConstantOp::create(b, loc, b.getZeroAttr(type)));
  }
  return toCompute(loaded, buffer.elementType);
}

void ElementEmitter::write(const Buffer &buffer, ArrayRef<Index> at, Value element) {
  Index address = offset(buffer, at);
  if (lanes == 0 || address.uniform()) {
    if (isa<VectorType>(element.getType())) // all lanes have the same element
      element = vector::ExtractOp::create(b, loc, element, ArrayRef<int64_t>{0});
    memref::StoreOp::create(b, loc, toStorage(element, buffer.elementType), buffer.memref, address.base);
    return;
  }
  Value stored = toStorage(broadcast(element), buffer.elementType);
  if (address.general || address.stride != 1)
    vector::ScatterOp::create(b, loc, /*resultType=*/Type(), buffer.memref, ValueRange(constant(0).base),
                              vectorOf(address), mask ? mask : allLanes(), stored);
  else if (mask)
    vector::MaskedStoreOp::create(b, loc, buffer.memref, address.base, mask, stored);
  else
    vector::StoreOp::create(b, loc, stored, buffer.memref, address.base);
}

} // namespace hewn::codegen
