// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/Sums/CodeTable.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using hewn::graph::Index;

namespace hewn::codegen {

/// Maximum number of registers that hold the table. A lookup needs one permutation per register,
/// and one select for each register after the first.
static constexpr int64_t kMostParts = 2;
static constexpr int64_t kWordBits = 32;

CodeTable::CodeTable(const ContractKernel &c) : c(c), code(*c.form.code), count(int64_t(1) << code.bits) {
  const Buffer &buffer = c.form.table;
  table = c.from(buffer, buffer.start ? Index{buffer.start} : c.e.constant(0));
  plan::TargetAttr target = plan::targetOf(c.k.kernel);
  if (!target || !target.getPermuteIntrinsic())
    return;
  int64_t width = target.getVectorBytes() / 4;
  if (count % width != 0 || count / width > kMostParts || width % c.e.lanes != 0)
    return;
  instruction = target.getPermuteIntrinsic();
  auto type = VectorType::get({width}, c.b.getF32Type());
  for (int64_t i = 0; i < count / width; ++i)
    parts.push_back(vector::LoadOp::create(c.b, c.loc(), type, table, c.e.constant(i * width).base));
}

Value CodeTable::constant(Type type, int64_t value) const {
  auto element = c.b.getIntegerAttr(cast<VectorType>(type).getElementType(), value);
  return arith::ConstantOp::create(c.b, c.loc(), DenseElementsAttr::get(cast<VectorType>(type), element));
}

Value CodeTable::numbers(Value words, int64_t position) const {
  OpBuilder &b = c.b;
  Location loc = c.loc();
  Type type = words.getType();
  int64_t lowest = code.bits * position, lanes = c.e.lanes;
  Value places = lowest ? Value(arith::ShRUIOp::create(b, loc, words, constant(type, lowest))) : words;
  if (parts.empty()) {
    places = arith::AndIOp::create(b, loc, places, constant(type, count - 1));
    auto floats = VectorType::get({lanes}, b.getF32Type());
    Value all =
        arith::ConstantOp::create(b, loc, DenseElementsAttr::get(VectorType::get({lanes}, b.getI1Type()), true));
    return vector::GatherOp::create(b, loc, floats, table, ValueRange(c.e.constant(0).base), places, all,
                                    arith::ConstantOp::create(b, loc, b.getZeroAttr(floats)));
  }
  int64_t width = cast<VectorType>(parts[0].getType()).getNumElements();
  places = arith::AndIOp::create(b, loc, places, constant(type, width - 1));
  // If vectors are shorter than the lookup table's registers, repeat the table indices.
  if (lanes < width)
    places = vector::ShuffleOp::create(
        b, loc, places, places, llvm::map_to_vector(llvm::seq(width), [&](int64_t lane) { return lane % lanes; }));
  SmallVector<Value> found;
  for (Value part : parts) {
    Value number =
        LLVM::CallIntrinsicOp::create(b, loc, part.getType(), instruction, ValueRange{part, places}).getResult(0);
    if (lanes < width)
      number = vector::ShuffleOp::create(b, loc, number, number, llvm::to_vector(llvm::seq(lanes)));
    found.push_back(number);
  }
  if (found.size() == 1)
    return found[0];
  // Shift the highest bit of the table index to the sign bit. This bit selects between the two
  // registers that hold the lookup table.
  int64_t up = kWordBits - lowest - code.bits;
  Value signs = up ? Value(arith::ShLIOp::create(b, loc, words, constant(type, up))) : words;
  Value upper = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, signs, constant(type, 0));
  return arith::SelectOp::create(b, loc, upper, found[1], found[0]);
}

} // namespace hewn::codegen
