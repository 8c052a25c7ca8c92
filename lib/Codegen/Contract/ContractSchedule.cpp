// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/ContractSchedule.h"

#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn::codegen {

namespace {

/// Columns of a tile of one row, whose sums fill half of the registers and which divide the matrix: one that is not packed is read
/// line by line, faster in long runs. 0: nothing divides it.
int64_t longestRun(KernelFunction &k, const ContractForm &form, int64_t lanes) {
  plan::TargetAttr target = plan::targetOf(k.kernel);
  int64_t width = form.extents[form.roles.column].constant().value_or(0),
          most = target ? target.getVectorRegisters() / 2 : 0;
  for (int64_t vectors = most; vectors > 0; --vectors)
    if (width % (vectors * lanes) == 0)
      return vectors * lanes;
  return 0;
}

/// Whether so many rows are whole tiles of the matrix unit, and there are as many.
bool fillsTiles(const ContractForm &form, int64_t count) {
  int64_t most = plan::MatrixAttr(form.matrix).getRows();
  return count > 0 && (count <= most || count % most == 0) && count <= form.rows.constant().value_or(count);
}

/// The limbs that the left operand is split into.
Found<plan::Limbs> limbsOf(const KernelFunction &k, const ContractForm &form) {
  bool isInLines = ContractForm::strideAlong(form.lhs, form.maps[0], form.roles.summed.front()).is(1);
  if (form.code && (k.nested || !isInLines)) // a part of a chain decodes as it goes
    return Verdict::no("its left operand's rows are no lines of a tensor in memory");
  return plan::limbsOf(form.op);
}

/// Where the machine has a matrix unit for operands of such types: why it does not multiply these.
void sayWhyNoMatrix(KernelFunction &k, const ContractForm &form) {
  auto typeOf = [&](unsigned operand) { return graph::getElementType(form.op->getOperand(operand)); };
  plan::MatrixAttr matrix =
      plan::findMatrix(form.op, typeOf(0), typeOf(1), graph::getElementType(form.op->getResult(0)));
  if (matrix && !form.matrix)
    missedContraction(k, "NotMatrix", plan::fills(form.op, matrix).why());
}

/// Of a kernel for a matrix unit: rows of the tiles that vectors do where a run has fewer than fill one of the unit's.
int64_t vectorRowsOf(KernelFunction &k, const ContractForm &form, int64_t n) {
  plan::ContractShape shape = form.shape();
  shape.matrix = {};
  shape.columns = DimExpr(n);
  return plan::chooseContractTile(k.kernel, shape, n).m;
}

/// The cycles of all tiles; 0 where sizes are known only when run.
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

plan::ContractAttr chooseContraction(KernelFunction &k) {
  Found<ContractForm> form = contractForm(k);
  if (!form) {
    missedContraction(k, "NotTiled", form.why());
    return {};
  }
  plan::ContractShape shape = form->shape();
  bool packed = form->rhs.blockDim >= 0;
  int64_t lanes = plan::contractLanes(k.kernel, shape), vectorRows = 0;
  plan::ContractTile tile = plan::chooseContractTile(k.kernel, shape, packed ? form->rhs.block : 0);
  if (!packed && !form->matrix && !form->roles.columnInLeft && form->rows.is(1) && shape.sumBytes == 4)
    tile.n = std::max(tile.n, longestRun(k, *form, lanes));
  if (form->matrix && !fillsTiles(*form, tile.m))
    tile.m = plan::chooseContractTile(k.kernel, shape, tile.n).m;
  if (form->matrix && !form->rows.constant())
    vectorRows = vectorRowsOf(k, *form, tile.n);
  Found<plan::Limbs> limbs = limbsOf(k, *form);
  if (form->code && !limbs)
    missedContraction(k, "NotByLimbs", limbs.why());
  sayWhyNoMatrix(k, *form);
  plan::Unit unit = form->matrix ? plan::Unit::Matrix : form->dot ? plan::Unit::Dots : plan::Unit::Vectors;
  return plan::ContractAttr::get(k.kernel.getContext(), tile.m, tile.n, lanes, unit, vectorRows,
                                 limbs ? limbs->count : 0, cyclesOf(*form, tile));
}

SmallVector<plan::ContractAttr> contractCandidates(KernelFunction &k) {
  plan::ContractAttr chosen = chooseContraction(k);
  if (!chosen)
    return {};
  ContractForm form = *contractForm(k);
  plan::ContractShape shape = form.shape();
  bool packed = form.rhs.blockDim >= 0;
  SmallVector<plan::ContractAttr> all = {chosen};
  auto add = [&](const plan::ContractTile &tile) {
    auto other = plan::ContractAttr::get(k.kernel.getContext(), tile.m, tile.n, chosen.getLanes(), chosen.getUnit(),
                                         chosen.getVectorRows(), chosen.getLimbs(), cyclesOf(form, tile));
    if (llvm::none_of(all, [&](plan::ContractAttr one) { return one.getM() == tile.m && one.getN() == tile.n; }))
      all.push_back(other);
  };
  llvm::for_each(plan::contractTiles(k.kernel, shape, packed ? form.rhs.block : 0), add);
  // Lines of a matrix that is not packed, in other runs.
  plan::TargetAttr target = plan::targetOf(k.kernel);
  int64_t width = form.extents[form.roles.column].constant().value_or(0), lanes = chosen.getLanes();
  if (!packed && !form.matrix && !form.roles.columnInLeft && form.rows.is(1) && shape.sumBytes == 4 && target)
    for (int64_t vectors = target.getVectorRegisters() - 2; vectors > 0; --vectors)
      if (width % (vectors * lanes) == 0)
        add({1, vectors * lanes, plan::chooseContractTile(k.kernel, shape).cyclesPerDepth});
  return all;
}

Dims contractScratch(const KernelFunction &k, const ContractForm &form, plan::ContractAttr schedule) {
  if (!form.code || k.nested) // a part of a kernel decodes as it goes
    return {};
  graph::ContractOpInterface op = form.op;
  plan::ContractShape shape = plan::contractShape(op, form.roles);
  if (schedule.getLimbs() > 0) {
    Found<plan::Limbs> limbs = limbsOf(k, form);
    if (!limbs)
      return {};
    int64_t panels = llvm::divideCeil(shape.columns.constant().value_or(INT64_MAX / 2), schedule.getN());
    int64_t rows = std::min(shape.rows.constant().value_or(plan::Limbs::rows), plan::Limbs::rows);
    return {DimExpr(std::min(plan::kScratchSlots, panels)), DimExpr(rows * limbs->rowFloats())};
  }
  if (shape.rows.constant().value_or(schedule.getM() + 1) <= schedule.getM())
    return {};
  return {DimExpr(plan::kScratchSlots), form.extents[form.roles.summed.front()] * DimExpr(schedule.getN())};
}

LogicalResult verifyLanes(KernelFunction &k, int64_t lanes, bool mayHalve) {
  int64_t most = vectorLanes(k.kernel);
  if (lanes == most || (mayHalve && lanes * 2 == most))
    return success();
  return k.kernel.emitOpError("@") << k.kernel.getName() << " has a schedule of " << lanes
                                   << " lanes, and the machine's vectors have " << most;
}

LogicalResult verifyPanels(KernelFunction &k, int64_t n, int64_t block) {
  if (n % block == 0 || block % n == 0)
    return success();
  return k.kernel.emitOpError("@") << k.kernel.getName() << " has a schedule of " << n
                                   << " columns, and weights in panels of " << block
                                   << ": tiles must be panels, several of them, or equal parts of one";
}

/// But for the memory.
static LogicalResult verifyTiles(KernelFunction &k, const ContractForm &form, plan::ContractAttr schedule) {
  auto refuse = [&] { return k.kernel.emitOpError("@") << k.kernel.getName() << " has a schedule "; };
  int64_t m = schedule.getM(), n = schedule.getN(), limbs = schedule.getLimbs();
  bool mayHalve = form.group() == 1 && limbs == 0;
  if (failed(verifyLanes(k, schedule.getLanes(), mayHalve)) ||
      (form.rhs.blockDim >= 0 && failed(verifyPanels(k, n, form.rhs.block))))
    return failure();
  Found<plan::Limbs> possible = limbsOf(k, form);
  if (limbs != 0 && (!possible || possible->count != limbs))
    return refuse() << "of " << limbs << " limbs, and "
                    << (possible ? "there would be " + std::to_string(possible->count)
                                 : "can't have any: " + possible.why().str());
  if (form.matrix && (!fillsTiles(form, m) || n % plan::MatrixAttr(form.matrix).getColumns() != 0))
    return refuse() << "of " << m << " rows by " << n << " columns, which are no whole tiles of the matrix unit";
  if (form.matrix && !form.rows.constant() && schedule.getVectorRows() == 0)
    return refuse() << "without vectorRows, and rows that may be too few for the matrix unit";
  return success();
}

LogicalResult verifyContraction(KernelFunction &k, const ContractForm &form, plan::ContractAttr schedule,
                                const std::optional<Buffer> &memory) {
  if (failed(verifyTiles(k, form, schedule)))
    return failure();
  return verifyScratch(k, contractScratch(k, form, schedule), memory);
}

LogicalResult verifyContraction(KernelFunction &k, plan::ContractAttr schedule) {
  Found<ContractForm> form = contractForm(k, schedule.getUnit());
  if (!form)
    return codegen::refuse(k, schedule) << ", and is no contraction that the machine tiles so: " << form.why();
  return verifyTiles(k, *form, schedule);
}

} // namespace hewn::codegen
