// SPDX-License-Identifier: Apache-2.0
//
// A contraction's products with weights of few bits, on a machine that sums products of 8-bit integers.
//
// A piece of a row, some elements that share a scale of weights, is the sum of three digits of each element:
//
//     x = (65536 d2 + 256 d1 + d0) * unit        d: -128 .. 127, unit: the piece's largest element / 2^23
//
// so that none loses more than 2^-24 of that, as sums of floats do. What is summed is exact:
//
//     sum of x (code - middle) = unit * (65536 (sum of d2 code - middle * sum of d2) + 256 (...) + ...)
//
// Where the model allows data of 8 bits (Code::roundsData), an element is one digit, and the unit is the piece's largest element / 127.
//
// The sums of digits are known before any weight is read, and accumulators begin there. A code takes no instruction if it is a byte, and
// half a one if it is half of that; floats would take three. Where the instruction's left operand has a sign, a code of 8 bits is
// multiplied less 128, which is the middle already. Infinities and NaNs make all results of their row NaN, as they do where
// floats are decoded.
#include "lib/Codegen/Contract/ContractEmitter.h"
#include "lib/Codegen/Tasks.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;
using hewn::plan::Digits;

namespace hewn::codegen {

/// The largest number that three digits hold, a little less, since quotients are rounded; what one does.
static constexpr double kLargest = 8355700, kLargestDigit = 127;
/// Pieces without a larger element than this are as if they had one: far below what their neighbours' sums lose.
static constexpr double kTiny = 0x1p-102;
static constexpr int64_t kWordBytes = 4;
/// Times a byte: it in each byte of a word.
static constexpr int64_t kEachByte = 0x01010101;

void ContractEmitter::runDigits(const Buffer &memory, const Digits &digits) {
  DimExpr slots = memory.dims[0];
  DimExpr work = vectorWork(graph::numElements(form.extents), e.lanes * Digits::elementsInFloat, 4);
  // Digits serve all panels of a thread.
  overRanges(k, e, slots, work, [&](Index firstSlot, Index endSlot) {
    Index panels = e.expression(columns.ceilDiv(n)),
          share = e.expression(columns.ceilDiv(n).ceilDiv(*slots.constant()));
    Index begin = e.mul(firstSlot, share), end = e.min(e.mul(endSlot, share), panels);
    Value own = from(memory, e.mul(firstSlot, e.expression(memory.strides[0])));
    auto chunk = [&](Index first) {
      Index count = e.min(e.sub(e.expression(form.rows), first), e.constant(Digits::rows));
      writeDigits(digits, first, count, own);
      e.forEach(begin, end, 1, [&](Index panel) { overDigitRows(digits, panel, first, count, own); });
    };
    e.loopNest(extentsOf(form.outerRows), {}, 1, [&](ArrayRef<Index> at, ValueRange) -> SmallVector<Value> {
      for (auto [d, index] : llvm::zip(form.outerRows, at))
        iteration[d] = index;
      e.forEach(e.constant(0), e.expression(form.rows), Digits::rows, chunk);
      return {};
    });
  });
}

//===------------------------------------------------------------------------------------------------------------------===//
// Digits
//===------------------------------------------------------------------------------------------------------------------===//

void ContractEmitter::writeDigits(const Digits &digits, Index first, Index count, Value memory) {
  SmallVector<Index> at(iteration);
  if (form.tiled)
    at[*form.tiled] = first;
  Value left = from(form.lhs, offset(form.lhs, form.maps[0], at));
  int64_t depth = digits.code.block, piece = digits.pieceDepth, rest = depth % piece;
  e.forEach(e.constant(0), count, 1, [&](Index row) {
    Index source = e.mul(row, e.expression(form.rowStride)), target = e.mul(row, e.constant(digits.rowFloats()));
    e.forEach(e.constant(0), e.constant(digits.blocks), 1, [&](Index block) {
      Index from = e.add(source, e.mul(block, e.constant(depth)));
      Index to = e.add(target, e.mul(block, e.constant(digits.piecesPerBlock * digits.pieceFloats())));
      auto write = [&](Index i, int64_t length) {
        writePiece(digits, left, e.add(from, e.mul(i, e.constant(piece))), length, memory,
                   e.add(to, e.mul(i, e.constant(digits.pieceFloats()))));
      };
      e.forEach(e.constant(0), e.constant(depth / piece), 1, [&](Index i) { write(i, piece); });
      if (rest)
        write(e.constant(depth / piece), rest);
    });
  });
}

void ContractEmitter::writePiece(const Digits &digits, Value left, Index at, int64_t depth, Value memory, Index to) {
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  auto floats = VectorType::get({Digits::atOnce}, f32), integers = VectorType::get({Digits::atOnce}, i32);
  auto number = [&](Type type, double value) -> Value {
    Type element = getElementTypeOrSelf(type);
    TypedAttr scalar = isa<FloatType>(element) ? TypedAttr(b.getFloatAttr(element, value))
                                               : TypedAttr(b.getIntegerAttr(element, int64_t(value)));
    if (auto vector = dyn_cast<VectorType>(type))
      scalar = DenseElementsAttr::get(vector, ArrayRef<Attribute>(scalar));
    return arith::ConstantOp::create(b, loc(), scalar);
  };
  auto load = [&](Index i) -> Value {
    return vector::LoadOp::create(b, loc(), floats, left, e.add(at, e.mul(i, e.constant(Digits::atOnce))).base);
  };
  DimExpr steps(depth / Digits::atOnce);
  Value zeros = number(floats, 0), none = number(integers, 0);
  Value largest = e.loopNest({steps}, zeros, 1, [&](ArrayRef<Index> i, ValueRange most) -> SmallVector<Value> {
    Value size = math::AbsFOp::create(b, loc(), load(i[0]));
    return {arith::MaximumFOp::create(b, loc(), most[0], size)};
  })[0];
  largest = vector::ReductionOp::create(b, loc(), vector::CombiningKind::MAXIMUMF, largest);
  // 0, or NaN where an element is no number.
  Value special = arith::SubFOp::create(b, loc(), largest, largest);
  Value unit = arith::MaxNumFOp::create(b, loc(), largest, number(f32, kTiny));
  unit = arith::MulFOp::create(b, loc(), unit, number(f32, 1 / (digits.count > 1 ? kLargest : kLargestDigit)));
  Value inverse = arith::DivFOp::create(b, loc(), number(f32, 1), unit);
  inverse = vector::BroadcastOp::create(b, loc(), floats, inverse);
  // In the order in which a word's bytes give codes: every so many-th element makes a byte of each.
  int64_t places = 8 / digits.code.bits, perWord = digits.code.perWord();
  SmallVector<int64_t> order;
  for (int64_t i = 0; i < Digits::atOnce; ++i) {
    int64_t place = i % perWord / Digits::elementsInFloat, byte = i % Digits::elementsInFloat;
    order.push_back(i / perWord * perWord + byte * places + place);
  }
  SmallVector<Value> state(digits.count, none);
  state.push_back(zeros);
  SmallVector<Value> sums = e.loopNest({steps}, state, 1, [&](ArrayRef<Index> i, ValueRange before) {
    SmallVector<Value> next(before);
    Value scaled = arith::MulFOp::create(b, loc(), load(i[0]), inverse);
    Value rounded = math::RoundEvenOp::create(b, loc(), scaled);
    next.back() = arith::AddFOp::create(b, loc(), next.back(), rounded);
    Value left = arith::FPToSIOp::create(b, loc(), integers, rounded);
    for (int64_t d = 0; d < digits.count; ++d) { // the lowest first
      Value digit = left;
      if (d + 1 < digits.count) { // what is left is a multiple of 256
        Value up = arith::AddIOp::create(b, loc(), left, number(integers, 128));
        Value higher = arith::ShRSIOp::create(b, loc(), up, number(integers, 8));
        digit = arith::SubIOp::create(b, loc(), left, arith::ShLIOp::create(b, loc(), higher, number(integers, 8)));
        left = higher;
      }
      next[d] = arith::AddIOp::create(b, loc(), next[d], digit);
      Value bytes = arith::TruncIOp::create(b, loc(), VectorType::get({Digits::atOnce}, b.getI8Type()), digit);
      if (places > 1)
        bytes = vector::ShuffleOp::create(b, loc(), bytes, bytes, order);
      auto asFloats = VectorType::get({Digits::atOnce / Digits::elementsInFloat}, f32);
      Index place = e.add(e.mul(i[0], e.constant(Digits::atOnce / Digits::elementsInFloat)),
                          e.constant(Digits::header + d * digits.pieceDepth / Digits::elementsInFloat));
      vector::StoreOp::create(b, loc(), vector::BitCastOp::create(b, loc(), asFloats, bytes), memory,
                              e.add(to, place).base);
    }
    return next;
  });
  auto store = [&](int64_t i, Value value) {
    memref::StoreOp::create(b, loc(), value, memory, e.add(to, e.constant(i)).base);
  };
  Value scale = arith::AddFOp::create(b, loc(), unit, special);
  store(0, scale);
  Value sum = vector::ReductionOp::create(b, loc(), vector::CombiningKind::ADD, sums.back());
  store(1, arith::MulFOp::create(b, loc(), sum, scale));
  for (int64_t d = 0; d < digits.count; ++d) {
    Value digitSum = vector::ReductionOp::create(b, loc(), vector::CombiningKind::ADD, sums[d]);
    Value less = number(i32, double(digits.lessByte()) - double(int64_t(1) << (digits.code.bits - 1)));
    store(2 + d, arith::BitcastOp::create(b, loc(), f32, arith::MulIOp::create(b, loc(), digitSum, less)));
  }
}

//===------------------------------------------------------------------------------------------------------------------===//
// Products
//===------------------------------------------------------------------------------------------------------------------===//

int64_t ContractEmitter::vectorsBeside(int64_t sums) {
  // Accumulators of all digits have three quarters of the registers: a row by some vectors, or more rows by fewer.
  plan::TargetAttr target = plan::targetOf(k.kernel);
  int64_t room = target ? target.getVectorRegisters() * 3 / 4 : 0, across = 4;
  while (across > 1 && sums * across > room)
    across /= 2;
  return across;
}

void ContractEmitter::overDigitRows(const Digits &digits, Index panel, Index first, Index count, Value memory) {
  std::optional<int64_t> known = form.rows.constant();
  withPanel(panel, [&](const Panel &whole, Index firstColumn) {
    iteration[form.roles.column] = firstColumn;
    auto tile = [&](int64_t rows, Index row) {
      int64_t across = vectorsBeside(digits.count * rows);
      for (int64_t j = 0; j < whole.vectors; j += across) {
        Panel part;
        part.vectors = std::min(across, whole.vectors - j);
        part.masks.assign(whole.masks.begin() + j, whole.masks.begin() + j + part.vectors);
        SmallVector<Value> sums = digitProducts(digits, part, j, rows, row, memory);
        Index column = e.add(firstColumn, e.constant(j * e.lanes)), firstRow = e.add(first, row);
        SmallVector<Index> rowsOf;
        for (int64_t r = 0; r < rows; ++r)
          rowsOf.push_back(e.constant(r));
        if (heavy)
          spilledEpilogue(part, RowVariant{0, 0, rows, {}}, column, firstRow, {}, sums);
        else
          epilogue(part, rowsOf, column, firstRow, {}, sums);
      }
    };
    constexpr int64_t most = 4;
    Index inTiles = e.mul(e.floorDiv(count, e.constant(most)), e.constant(most)), rest = e.sub(count, inTiles);
    if (known.value_or(most) >= most)
      e.forEach(e.constant(0), inTiles, most, [&](Index row) { tile(most, row); });
    if (known ? *known % most >= 2 : true)
      e.branch(e.compare(arith::CmpIPredicate::sge, rest, e.constant(2)), [&] { tile(2, inTiles); }, [] {});
    if (known ? *known % 2 == 1 : true)
      e.branch(
          e.compare(arith::CmpIPredicate::eq, e.mod(rest, e.constant(2)), e.constant(1)),
          [&] { tile(1, e.sub(count, e.constant(1))); }, [] {});
  });
}

SmallVector<Value> ContractEmitter::digitProducts(const Digits &digits, const Panel &panel, int64_t firstVector,
                                                  int64_t rows, Index row, Value memory) {
  graph::Code code = digits.code;
  unsigned depth = form.roles.summed.front();
  auto fromColumn = [&](const Buffer &buffer) { return from(buffer, offset(buffer, form.maps[1], iteration)); };
  auto stepIn = [&](const Buffer &buffer) {
    return e.expression(ContractForm::strideAlong(buffer, form.maps[1], depth));
  };
  Value words = fromColumn(form.rhs), scales = fromColumn(form.scale), offsets;
  if (form.offset.memref)
    offsets = fromColumn(form.offset);
  Index wordStep = stepIn(form.rhs), scaleStep = stepIn(form.scale);
  auto word = VectorType::get({e.lanes}, b.getI32Type());
  auto bytes = VectorType::get({e.lanes * Digits::elementsInFloat}, b.getI8Type());
  auto load = [&](VectorType type, Value memref, const Buffer &buffer, Index start, int64_t j) -> Value {
    return vector::LoadOp::create(b, loc(), type, memref, e.add(start, rightDistance(buffer, firstVector + j)).base);
  };
  auto splat = [&](VectorType type, TypedAttr value) -> Value {
    return arith::ConstantOp::create(b, loc(), DenseElementsAttr::get(type, ArrayRef<Attribute>(value)));
  };
  auto factor = [&](double value) { return splat(sumType(), b.getF32FloatAttr(float(value))); };
  auto spread = [&](Index at) -> Value {
    return vector::BroadcastOp::create(b, loc(), sumType(), memref::LoadOp::create(b, loc(), memory, at.base));
  };
  auto spreadBits = [&](Index at) -> Value {
    Value bits = arith::BitcastOp::create(b, loc(), b.getI32Type(), memref::LoadOp::create(b, loc(), memory, at.base));
    return vector::BroadcastOp::create(b, loc(), word, bits);
  };
  plan::VectorCostsAttr costs = plan::costsOf(k.kernel);
  int64_t lineWords = costs.getLineBytes() / kWordBytes, aheadWords = costs.getAheadBytes() / kWordBytes;
  int64_t places = 8 / code.bits, across = panel.vectors, tile = rows * across;
  int64_t byteMask = ((int64_t(1) << code.bits) - 1) * kEachByte;
  Index base = e.mul(row, e.constant(digits.rowFloats()));
  auto rowAt = [&](int64_t r, Index piece) {
    return e.add(base, e.add(e.constant(r * digits.rowFloats()), e.mul(piece, e.constant(digits.pieceFloats()))));
  };
  // Products of a piece, which is the `index`-th of its row and begins at word `first`, added to `sums` by the block's scales.
  auto overPiece = [&](Index index, Index first, int64_t count, ArrayRef<Value> scale, ArrayRef<Value> toMiddle,
                       ValueRange before) {
    SmallVector<Value> whole;
    for (int64_t d = 0; d < digits.count; ++d)
      for (int64_t r = 0; r < rows; ++r)
        whole.append(across, spreadBits(e.add(rowAt(r, index), e.constant(2 + d))));
    whole = e.loopNest({DimExpr(count)}, whole, 1, [&](ArrayRef<Index> inner, ValueRange carried) {
      SmallVector<Value> next(carried), loaded;
      Index wordAt = e.mul(e.add(first, inner[0]), wordStep);
      for (int64_t j = 0; j < across; ++j) {
        loaded.push_back(load(word, words, form.rhs, wordAt, j));
        if (j * e.lanes % lineWords == 0) {
          Index ahead = e.add(e.add(wordAt, rightDistance(form.rhs, firstVector + j)), e.constant(aheadWords));
          memref::PrefetchOp::create(b, loc(), words, ValueRange(ahead.base), /*isWrite=*/false, /*localityHint=*/2,
                                     /*isDataCache=*/true);
        }
      }
      for (int64_t place = 0; place < places; ++place) {
        SmallVector<Value> codes;
        for (Value given : loaded) {
          Value bits = given;
          if (place)
            bits = arith::ShRUIOp::create(b, loc(), bits, splat(word, b.getI32IntegerAttr(int32_t(place * code.bits))));
          if (places > 1)
            bits = arith::AndIOp::create(b, loc(), bits, splat(word, b.getI32IntegerAttr(int32_t(byteMask))));
          if (digits.lessByte()) // of each byte, by its highest bit
            bits = arith::XOrIOp::create(b, loc(), bits,
                                         splat(word, b.getI32IntegerAttr(int32_t(digits.lessByte() * kEachByte))));
          codes.push_back(vector::BitCastOp::create(b, loc(), bytes, bits));
        }
        for (int64_t d = 0; d < digits.count; ++d)
          for (int64_t r = 0; r < rows; ++r) {
            Index at = e.add(e.mul(inner[0], e.constant(places)),
                             e.constant(place + Digits::header + d * digits.pieceDepth / Digits::elementsInFloat));
            Value digit = vector::BitCastOp::create(b, loc(), bytes, spreadBits(e.add(rowAt(r, index), at)));
            for (int64_t j = 0; j < across; ++j) {
              Value &sum = next[(d * rows + r) * across + j];
              bool rightFirst = digits.dot.getRightFirst();
              Value first = rightFirst ? digit : codes[j], second = rightFirst ? codes[j] : digit;
              sum = LLVM::CallIntrinsicOp::create(b, loc(), sum.getType(), digits.dot.getIntrinsic(),
                                                  ValueRange{sum, first, second})
                        .getResult(0);
            }
          }
      }
      return next;
    });
    SmallVector<Value> next(before);
    for (int64_t r = 0; r < rows; ++r) {
      Value unit = spread(rowAt(r, index));
      for (int64_t j = 0; j < across; ++j) {
        Value sum;
        for (int64_t d = digits.count; d-- > 0;) {
          Value part = arith::SIToFPOp::create(b, loc(), sumType(), whole[(d * rows + r) * across + j]);
          sum = sum ? Value(vector::FMAOp::create(b, loc(), sum, factor(256), part)) : part;
        }
        Value &to = next[r * across + j];
        to = vector::FMAOp::create(b, loc(), sum, arith::MulFOp::create(b, loc(), unit, scale[j]), to);
        if (!toMiddle.empty())
          to = vector::FMAOp::create(b, loc(), spread(e.add(rowAt(r, index), e.constant(1))), toMiddle[j], to);
      }
    }
    return next;
  };
  int64_t blockWords = code.block / code.perWord(), pieceWords = digits.pieceDepth / code.perWord();
  int64_t pieces = blockWords / pieceWords, rest = blockWords % pieceWords;
  SmallVector<Value> sums(tile, factor(0));
  return e.loopNest({DimExpr(digits.blocks)}, sums, 1, [&](ArrayRef<Index> block, ValueRange before) {
    SmallVector<Value> scale, toMiddle;
    Index scaleAt = e.mul(block[0], scaleStep), firstWord = e.mul(block[0], e.constant(blockWords));
    Index firstPiece = e.mul(block[0], e.constant(digits.piecesPerBlock));
    for (int64_t j = 0; j < across; ++j) {
      scale.push_back(load(sumType(), scales, form.scale, scaleAt, j));
      if (offsets) // code * scale + offset = (code - middle) * scale + (offset + middle * scale)
        toMiddle.push_back(vector::FMAOp::create(b, loc(), scale.back(), factor(double(int64_t(1) << (code.bits - 1))),
                                                 load(sumType(), offsets, form.offset, scaleAt, j)));
    }
    auto at = [&](Index i) { return e.add(firstWord, e.mul(i, e.constant(pieceWords))); };
    SmallVector<Value> done = e.loopNest({DimExpr(pieces)}, before, 1, [&](ArrayRef<Index> i, ValueRange state) {
      return overPiece(e.add(firstPiece, i[0]), at(i[0]), pieceWords, scale, toMiddle, state);
    });
    Index last = e.constant(pieces);
    return rest ? overPiece(e.add(firstPiece, last), at(last), rest, scale, toMiddle, done) : done;
  });
}

} // namespace hewn::codegen
