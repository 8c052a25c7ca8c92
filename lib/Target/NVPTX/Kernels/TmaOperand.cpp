// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/NVPTX/Kernels/TmaOperand.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "lib/Target/NVPTX/Schedule/MmaProduct.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using hewn::graph::DimExpr;

namespace hewn::codegen {

/// Collapses the dims `list` into one dim. Returns its extent, and its stride in elements, or
/// nullopt if the dims have no uniform stride.
static std::optional<std::pair<DimExpr, DimExpr>> asOne(const GpuTiles &tiles, AffineMap map, const Buffer &buffer,
                                                        ArrayRef<unsigned> list) {
  DimExpr extent(1), stride(0);
  for (unsigned d : llvm::reverse(list)) {
    if (tiles.extents[d].is(1))
      continue;
    std::optional<unsigned> dim = graph::resultWith(map, d);
    if (!dim || !isa<AffineDimExpr>(map.getResult(*dim)))
      return std::nullopt;
    const DimExpr &own = buffer.strides[*dim];
    if (extent.is(1))
      stride = own;
    else if (own != stride * extent)
      return std::nullopt;
    extent = extent * tiles.extents[d];
  }
  return std::make_pair(extent, stride);
}

OrReason<TmaOperand> tmaOperand(KernelContext &k, const GpuTiles &tiles, unsigned operand, Type staged) {
  constexpr int64_t strideBytes = 16, // strides must be multiples of it
      lineBytes = 128;                // longest row of a TMA tile; blocks must be multiples of it
  constexpr StringRef why =
      "an operand's dims do not collapse to rows, K and batch with strides that are multiples of 16 bytes";
  int64_t bytes = int64_t(staged.getIntOrFloatBitWidth() / 8);
  auto found = k.inputs.find(tiles.op->getOperand(operand));
  if (found == k.inputs.end() || found->second.elementType != staged)
    return Eligibility::no("an operand is computed in the kernel, or its type is not the operand type of the MMA");
  const Buffer &buffer = found->second;
  auto memory = dyn_cast<BlockArgument>(buffer.memref);
  if (!memory || buffer.groupDim >= 0 || buffer.start)
    return Eligibility::no(why);
  // Replace the indices of dims of extent 1 (such as those of a 1x1 window) by 0.
  SmallVector<AffineExpr> dims;
  for (unsigned d = 0; d < tiles.extents.size(); ++d)
    dims.push_back(tiles.extents[d].is(1) ? getAffineConstantExpr(0, k.kernel.getContext())
                                          : getAffineDimExpr(d, k.kernel.getContext()));
  AffineMap map = tiles.maps[operand].replaceDimsAndSymbols(dims, {}, unsigned(dims.size()), 0);
  const auto &places = operand == 0 ? tiles.rows : tiles.columns;
  bool alongSum = operand == 0 ? tiles.leftAlongSum : tiles.rightAlongSum;
  if (plan::multipliesAlongSum(tiles.op) && !alongSum)
    return Eligibility::no("an operand is not contiguous along K, as the instruction requires for its type");
  TmaOperand box{memory.getArgNumber(), {}, {}};
  auto isMultiple = [&](const DimExpr &stride) {
    return stride.divideExactly(DimExpr(strideBytes / bytes)).has_value();
  };
  if (buffer.blockDim >= 0) {
    SmallVector<unsigned> wide(llvm::make_filter_range(places, [&](unsigned d) { return !tiles.extents[d].is(1); }));
    auto sum = asOne(tiles, map, buffer, tiles.summed);
    const DimExpr &blocks = buffer.strides[buffer.blockDim];
    if (alongSum || buffer.block * bytes % lineBytes != 0 ||
        !llvm::all_of(tiles.batch, [&](unsigned d) { return tiles.extents[d].is(1); }) || wide.size() != 1 ||
        map.getResult(unsigned(buffer.blockDim)) != getAffineDimExpr(wide[0], k.kernel.getContext()) || !sum ||
        !isMultiple(sum->second) || !isMultiple(blocks))
      return Eligibility::no(why);
    box.block = buffer.block;
    box.extents = {DimExpr(box.block), sum->first, tiles.extents[wide[0]].ceilDiv(DimExpr(box.block))};
    box.strides = {DimExpr(1), sum->second, blocks};
    return box;
  }
  for (ArrayRef<unsigned> list : {ArrayRef<unsigned>(alongSum ? tiles.summed : places),
                                  ArrayRef<unsigned>(alongSum ? places : tiles.summed), ArrayRef(tiles.batch)}) {
    auto one = asOne(tiles, map, buffer, list);
    bool innermost = box.extents.empty();
    if (!one || (innermost ? !one->second.is(1) : !isMultiple(one->second)))
      return Eligibility::no(why);
    if (one->first.is(1) && box.extents.size() == 2)
      break; // no batch dims
    box.extents.push_back(one->first);
    box.strides.push_back(one->second);
  }
  return box;
}

OrReason<std::pair<TmaOperand, TmaOperand>> gpuBoxes(KernelContext &k, const GpuTiles &tiles) {
  OrReason<TmaOperand> left = tmaOperand(k, tiles, 0, plan::stagedType(tiles.op, 0)),
                       right = tmaOperand(k, tiles, 1, plan::stagedType(tiles.op, 1));
  if (!left || !right)
    return Eligibility::no(left ? right.why() : left.why());
  return std::make_pair(*left, *right);
}

Value addBox(KernelContext &k, const TmaOperand &box, int64_t bytes, bool rounds, ArrayRef<int64_t> sizes) {
  constexpr int64_t descriptionBytes = 128, alignment = 64;
  MLIRContext *context = k.kernel.getContext();
  Builder b(context);
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), descriptionBytes);
  auto attrs =
      b.getDictionaryAttr({b.getNamedAttr(LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(type)),
                           b.getNamedAttr(LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(alignment))});
  unsigned number = k.function.getNumArguments();
  if (failed(k.function.insertArgument(number, LLVM::LLVMPointerType::get(context), attrs, k.loc())))
    return nullptr; // adding an argument cannot fail, because this pass has created the function
  SmallVector<Attribute> extents, strides;
  for (const DimExpr &extent : box.extents)
    extents.push_back(extent.toAttr(context));
  for (const DimExpr &stride : ArrayRef(box.strides).drop_front())
    strides.push_back((stride * DimExpr(bytes)).toAttr(context));
  plan::changeGpuLaunch(k.function, [&](plan::GpuLaunch &launch) {
    SmallVector<Attribute> boxes;
    if (launch.boxes)
      llvm::append_range(boxes, launch.boxes);
    boxes.push_back(plan::TmaTileAttr::get(context, box.argument, bytes, b.getArrayAttr(extents),
                                           b.getArrayAttr(strides), b.getDenseI64ArrayAttr(sizes), rounds));
    launch.boxes = b.getArrayAttr(boxes);
  });
  return k.function.getArgument(number);
}

} // namespace hewn::codegen
