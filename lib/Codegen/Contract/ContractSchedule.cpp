// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/ContractSchedule.h"

#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn::codegen {

namespace {

/// Returns the number of columns of a one-row tile if the right operand is not packed: the largest
/// multiple of the lanes that divides the number of columns and whose accumulators fill at most
/// half of the vector registers. A wider tile reads longer contiguous runs of the unpacked matrix,
/// which is faster. Returns 0 if no multiple divides the number of columns.
int64_t widestRowTile(KernelContext &k, const ContractForm &form, int64_t lanes) {
  plan::TargetAttr target = plan::targetOf(k.kernel);
  int64_t width = form.extents[form.roles.column].constant().value_or(0),
          most = target ? target.getVectorRegisters() / 2 : 0;
  for (int64_t vectors = most; vectors > 0; --vectors)
    if (width % (vectors * lanes) == 0)
      return vectors * lanes;
  return 0;
}

/// Returns true if `count` rows fill the matrix unit's tiles completely, and the contraction has at
/// least `count` rows.
bool fillsTiles(const ContractForm &form, int64_t count) {
  int64_t most = plan::MatrixUnitAttr(form.matrix).getRows();
  return count > 0 && (count <= most || count % most == 0) && count <= form.rows.constant().value_or(count);
}

/// Returns how the left operand is split into int8 slices, or the reason why it cannot be split.
OrReason<plan::Int8Slices> int8SlicesOf(const KernelContext &k, const ContractForm &form) {
  bool isInLines = ContractForm::strideAlong(form.lhs, form.maps[0], form.roles.summed.front()).is(1);
  // A nested kernel (in the loops of another kernel) dequantizes weights in its inner loop.
  if (form.code && (k.nested || !isInLines))
    return Eligibility::no("the left operand's rows are not contiguous in memory");
  return plan::int8SlicesOf(form.op);
}

/// Emits a remark if the target has a matrix unit for operands of these types, but the kernel does
/// not use it.
void remarkNoMatrix(KernelContext &k, const ContractForm &form) {
  auto typeOf = [&](unsigned operand) { return graph::getElementType(form.op->getOperand(operand)); };
  plan::MatrixUnitAttr matrix =
      plan::findMatrix(form.op, typeOf(0), typeOf(1), graph::getElementType(form.op->getResult(0)));
  if (matrix && !form.matrix)
    missedContraction(k, "NotMatrix", plan::fills(form.op, matrix).why());
}

/// For a matrix-unit kernel with a dynamic number of rows: returns the rows per tile of the vector
/// code, which runs if there are fewer rows than a tile of the matrix unit has.
int64_t vectorRowsOf(KernelContext &k, const ContractForm &form, int64_t n) {
  plan::ContractShape shape = form.shape();
  shape.matrix = {};
  shape.columns = DimExpr(n);
  return plan::chooseContractTile(k.kernel, shape, n).m;
}

/// Returns the estimated cycles for all tiles of a contraction, or 0 if a dim is dynamic.
int64_t cyclesOf(const ContractForm &form, const plan::ContractTile &tile) {
  double cycles = tile.cyclesPerDepth / double(form.group());
  for (ArrayRef<unsigned> dims : {ArrayRef(form.roles.summed), ArrayRef(form.roles.batch), ArrayRef(form.outerRows)})
    for (unsigned d : dims)
      cycles *= double(form.extents[d].constant().value_or(0));
  bool known = form.rows.constant() && form.extents[form.roles.column].constant();
  constexpr double most = 1e18;
  return known ? int64_t(std::min(std::ceil(cycles), most)) : 0;
}

} // namespace

plan::ContractAttr chooseContraction(KernelContext &k) {
  OrReason<ContractForm> form = contractForm(k);
  if (!form) {
    missedContraction(k, "NotTiled", form.why());
    return {};
  }
  plan::ContractShape shape = form->shape();
  bool packed = form->rhs.blockDim >= 0;
  int64_t lanes = plan::contractLanes(k.kernel, shape), vectorRows = 0;
  plan::ContractTile tile = plan::chooseContractTile(k.kernel, shape, packed ? form->rhs.block : 0);
  if (!packed && !form->matrix && !form->roles.columnInLeft && form->rows.is(1) && shape.sumBytes == 4)
    tile.n = std::max(tile.n, widestRowTile(k, *form, lanes));
  if (form->matrix && !fillsTiles(*form, tile.m))
    tile.m = plan::chooseContractTile(k.kernel, shape, tile.n).m;
  if (form->matrix && !form->rows.constant())
    vectorRows = vectorRowsOf(k, *form, tile.n);
  OrReason<plan::Int8Slices> slices = int8SlicesOf(k, *form);
  if (form->code && !slices)
    missedContraction(k, "NotBySlices", slices.why());
  remarkNoMatrix(k, *form);
  plan::Unit unit = form->matrix ? plan::Unit::Matrix : form->dot ? plan::Unit::Dots : plan::Unit::Vectors;
  return plan::ContractAttr::get(k.kernel.getContext(), tile.m, tile.n, lanes, unit, vectorRows,
                                 slices ? slices->count : 0, cyclesOf(*form, tile));
}

SmallVector<plan::ContractAttr> contractCandidates(KernelContext &k) {
  plan::ContractAttr chosen = chooseContraction(k);
  if (!chosen)
    return {};
  ContractForm form = *contractForm(k);
  plan::ContractShape shape = form.shape();
  bool packed = form.rhs.blockDim >= 0;
  SmallVector<plan::ContractAttr> all = {chosen};
  auto add = [&](const plan::ContractTile &tile) {
    auto other = plan::ContractAttr::get(k.kernel.getContext(), tile.m, tile.n, chosen.getLanes(), chosen.getUnit(),
                                         chosen.getVectorRows(), chosen.getInt8Slices(), cyclesOf(form, tile));
    if (llvm::none_of(all, [&](plan::ContractAttr one) { return one.getM() == tile.m && one.getN() == tile.n; }))
      all.push_back(other);
  };
  llvm::for_each(plan::contractTiles(k.kernel, shape, packed ? form.rhs.block : 0), add);
  // A one-row contraction with an unpacked matrix may also use other tile widths that divide the
  // columns.
  plan::TargetAttr target = plan::targetOf(k.kernel);
  int64_t width = form.extents[form.roles.column].constant().value_or(0), lanes = chosen.getLanes();
  if (!packed && !form.matrix && !form.roles.columnInLeft && form.rows.is(1) && shape.sumBytes == 4 && target)
    for (int64_t vectors = target.getVectorRegisters() - 2; vectors > 0; --vectors)
      if (width % (vectors * lanes) == 0)
        add({1, vectors * lanes, plan::chooseContractTile(k.kernel, shape).cyclesPerDepth});
  return all;
}

Dims contractScratch(const KernelContext &k, const ContractForm &form, plan::ContractAttr schedule) {
  // A nested kernel (in the loops of another kernel) dequantizes weights in its inner loop.
  if (!form.code || k.nested)
    return {};
  graph::ContractOpInterface op = form.op;
  plan::ContractShape shape = plan::contractShape(op, form.roles);
  if (schedule.getInt8Slices() > 0) {
    OrReason<plan::Int8Slices> slices = int8SlicesOf(k, form);
    if (!slices)
      return {};
    int64_t panels = llvm::divideCeil(shape.columns.constant().value_or(INT64_MAX / 2), schedule.getN());
    int64_t rows = std::min(shape.rows.constant().value_or(plan::Int8Slices::rows), plan::Int8Slices::rows);
    return {DimExpr(std::min(plan::kScratchSlots, panels)), DimExpr(rows * slices->rowFloats())};
  }
  if (shape.rows.constant().value_or(schedule.getM() + 1) <= schedule.getM())
    return {};
  return {DimExpr(plan::kScratchSlots), form.extents[form.roles.summed.front()] * DimExpr(schedule.getN())};
}

LogicalResult verifyLanes(KernelContext &k, int64_t lanes, bool mayHalve) {
  int64_t most = vectorLanes(k.kernel);
  if (lanes == most || (mayHalve && lanes * 2 == most))
    return success();
  return k.kernel.emitOpError("@") << k.kernel.getName() << " has a schedule of " << lanes
                                   << " lanes, but the target's vectors have " << most;
}

LogicalResult verifyPanels(KernelContext &k, int64_t n, int64_t block) {
  if (n % block == 0 || block % n == 0)
    return success();
  return k.kernel.emitOpError("@") << k.kernel.getName() << " has a schedule of " << n
                                   << " columns, but the weights are packed in panels of " << block
                                   << ": a tile must be one or several panels, or an equal part of one";
}

/// Verifies a contraction's schedule, but not the kernel's scratch memory that the schedule needs.
static LogicalResult verifyTiles(KernelContext &k, const ContractForm &form, plan::ContractAttr schedule) {
  auto refuse = [&] { return k.kernel.emitOpError("@") << k.kernel.getName() << " has a schedule "; };
  int64_t m = schedule.getM(), n = schedule.getN(), slices = schedule.getInt8Slices();
  bool mayHalve = form.group() == 1 && slices == 0;
  if (failed(verifyLanes(k, schedule.getLanes(), mayHalve)) ||
      (form.rhs.blockDim >= 0 && failed(verifyPanels(k, n, form.rhs.block))))
    return failure();
  OrReason<plan::Int8Slices> possible = int8SlicesOf(k, form);
  if (slices != 0 && (!possible || possible->count != slices))
    return refuse() << "of " << slices << " int8 slices, but "
                    << (possible ? "the left operand is split into " + std::to_string(possible->count)
                                 : "the left operand is not split: " + possible.why().str());
  if (form.matrix && (!fillsTiles(form, m) || n % plan::MatrixUnitAttr(form.matrix).getColumns() != 0))
    return refuse() << "of " << m << " rows by " << n << " columns, which is not a multiple of the matrix unit's tile";
  if (form.matrix && !form.rows.constant() && schedule.getVectorRows() == 0)
    return refuse() << "without vectorRows, but the number of rows is dynamic and may be less than a matrix-unit tile";
  return success();
}

LogicalResult verifyContraction(KernelContext &k, const ContractForm &form, plan::ContractAttr schedule,
                                const std::optional<Buffer> &memory) {
  if (failed(verifyTiles(k, form, schedule)))
    return failure();
  return verifyScratch(k, contractScratch(k, form, schedule), memory);
}

LogicalResult verifyContraction(KernelContext &k, plan::ContractAttr schedule) {
  OrReason<ContractForm> form = contractForm(k, schedule.getUnit());
  if (!form)
    return codegen::refuse(k, schedule) << ", but is not a contraction that can be tiled this way: " << form.why();
  return verifyTiles(k, *form, schedule);
}

} // namespace hewn::codegen
