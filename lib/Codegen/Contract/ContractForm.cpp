// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/ContractForm.h"
#include "dialects/Graph/Contract/CodedWeights.h"
#include "dialects/Graph/Contract/Winograd.h"
#include "lib/Codegen/Contract/Sums/MatrixUnit.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "hewn-decide-kernels"

using namespace mlir;
using hewn::graph::Clip;
using hewn::graph::ContractOpInterface;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn::codegen {

bool ContractForm::isBroadcast(const Buffer &buffer, unsigned i, ArrayRef<Clip> clips) {
  return buffer.dims[i].is(1) && llvm::none_of(clips, [&](const Clip &c) { return c.operandDim == i; });
}

DimExpr ContractForm::strideAlong(const Buffer &buffer, AffineMap map, unsigned d, ArrayRef<Clip> clips) {
  DimExpr stride(0);
  for (auto [i, expr] : llvm::enumerate(map.getResults()))
    if (expr.isFunctionOfDim(d) && !isBroadcast(buffer, i, clips))
      stride = stride + buffer.strides[i] * DimExpr(graph::factorOf(expr, d));
  return stride;
}

const Clip *ContractForm::tiledClip() const {
  const Clip *found = llvm::find_if(clips, [&](const Clip &c) { return tiled && c.row == *tiled; });
  return found == clips.end() ? nullptr : found;
}

plan::ContractShape ContractForm::shape() const {
  plan::ContractShape shape{rows,
                            extents[roles.column],
                            rowStride.constant().value_or(0) * graph::elementBytes(op->getOperand(0)),
                            roles.columnInLeft,
                            graph::elementBytes(op->getResult(0)),
                            bool(grouped),
                            matrix,
                            bool(plan::decoderOf(op)),
                            plan::decodedColumnBytes(op, roles),
                            graph::widensRight(op)};
  return shape;
}

namespace {

/// Whether columns can be read as vectors of the right operand, and of the left one where they run along it.
bool columnsAreLanes(const ContractForm &form) {
  const Buffer &lhs = form.lhs, &rhs = form.rhs;
  std::optional<unsigned> column = graph::resultWith(form.maps[1], form.roles.column);
  if (!column || lhs.blockDim >= 0)
    return false;
  bool packed = rhs.blockDim == int64_t(*column), contiguous = rhs.blockDim < 0 && rhs.strides[*column].is(1);
  if (form.roles.columnInLeft)
    return contiguous && ContractForm::strideAlong(lhs, form.maps[0], form.roles.column).is(1);
  if (!packed && !contiguous)
    return false;
  // Columns beyond a group's own would be read from the next one.
  const DimExpr &columns = form.extents[form.roles.column];
  for (unsigned d : form.roles.batch)
    if (packed && !form.extents[d].is(1) && graph::resultWith(form.maps[1], d) == column &&
        (!columns.constant() || *columns.constant() % rhs.block != 0))
      return false;
  return true;
}

/// The summed dim whose neighbours lie in groups in both operands, for a machine that sums products of such groups, by
/// vectors or by a matrix unit.
std::optional<unsigned> groupedDim(const ContractForm &form) {
  std::optional<unsigned> k = graph::plainSummedDim(form.op, form.roles);
  int64_t group = form.group();
  if (group == 1 || !k || form.roles.columnInLeft || !form.extents[*k].mod(group).is(0))
    return std::nullopt;
  std::optional<unsigned> right = graph::resultWith(form.maps[1], *k);
  bool grouped = right && form.rhs.group == group && form.rhs.groupDim == int64_t(*right);
  return grouped && ContractForm::strideAlong(form.lhs, form.maps[0], *k).is(1) ? k : std::nullopt;
}

/// Whether the machine multiplies and adds the type by vectors of as many lanes as float32's.
bool hasProducts(Type element) {
  return element.isF32() || element.isF64() || element.isSignlessInteger(32) || element.isSignlessInteger(64);
}

/// Whether `outer` and `inner`, two row dims, lie like one in a buffer of these dims whose last ones are the result's.
bool liesFlat(const Buffer &buffer, const ContractForm &form, unsigned outer, unsigned inner) {
  int64_t rank = form.maps[2].getNumResults(), lead = rank - int64_t(buffer.dims.size());
  if (buffer.blockDim >= 0 || lead < 0)
    return false;
  int64_t o = int64_t(*graph::resultWith(form.maps[2], outer)) - lead;
  int64_t i = int64_t(*graph::resultWith(form.maps[2], inner)) - lead;
  bool outerIsOne = o < 0 || buffer.dims[o].is(1), innerIsOne = i < 0 || buffer.dims[i].is(1);
  if (outerIsOne || innerIsOne)
    return outerIsOne && innerIsOne;
  return buffer.dims[o] == form.extents[outer] && buffer.dims[i] == form.extents[inner] &&
         buffer.strides[o] == buffer.strides[i] * form.extents[inner];
}

/// Merges all rows into one dim where they lie evenly spaced in the left operand and in all that the kernel's other ops
/// read or write.
bool mergesRows(const ContractForm &form, KernelFunction &k, ArrayRef<unsigned> rows) {
  auto staysApart = [&](StringRef why) {
    LDBG() << k.kernel.getName() << ": dims of rows are not merged: " << why;
    return false;
  };
  if (!form.clips.empty())
    return staysApart("borders are left out");
  graph::ContractOpInterface op = form.op;
  Operation *contraction = op;
  Operation *decoder = plan::decoderOf(op);
  for (Operation &other : k.kernel.getBody().front().without_terminator())
    if (isa<graph::MoveOpInterface>(other) && &other != decoder)
      return staysApart("elements are moved in the kernel");
  for (auto [outer, inner] : llvm::zip(rows.drop_back(), rows.drop_front())) {
    for (unsigned d : {outer, inner}) {
      std::optional<unsigned> i = graph::resultWith(form.maps[2], d);
      if (!i || !isa<AffineDimExpr>(form.maps[2].getResult(*i)))
        return staysApart("one is no dim of the result");
    }
    if (ContractForm::strideAlong(form.lhs, form.maps[0], outer) !=
        ContractForm::strideAlong(form.lhs, form.maps[0], inner) * form.extents[inner])
      return staysApart("the left operand's rows are not evenly spaced");
    for (auto &[value, buffer] : k.inputs) {
      bool epilogue =
          llvm::any_of(value.getUsers(), [&](Operation *user) { return user != contraction && user != decoder; });
      bool decoded = decoder && llvm::is_contained(decoder->getOperands(), value);
      if (decoded && !epilogue)
        continue;
      bool factor = llvm::is_contained(contraction->getOperands(), value);
      if ((epilogue || !factor) && !liesFlat(buffer, form, outer, inner))
        return staysApart("those of what the epilogue reads are not evenly spaced");
    }
    for (const Buffer &buffer : k.outputs)
      if (!liesFlat(buffer, form, outer, inner))
        return staysApart("a result's rows are not evenly spaced");
  }
  return true;
}

/// Where lanes are the columns of several groups: the column's dim counts all columns, and the channels that it reads are a vector's, of
/// which each group has its own.
void spreadGroups(ContractForm &form) {
  const graph::ContractRoles &roles = form.roles;
  AffineMap &left = form.maps[0];
  SmallVector<AffineExpr> positions(left.getResults());
  positions[*graph::resultWith(left, *roles.group)] = getAffineDimExpr(roles.column, left.getContext());
  left = AffineMap::get(left.getNumDims(), 0, positions, left.getContext());
  form.extents[roles.column] = form.extents[roles.column] * form.extents[*roles.group];
  form.extents[*roles.group] = DimExpr(1);
}

/// Fills in what the contraction decodes; false where it can't as the code lies.
bool takeCode(ContractForm &form, KernelFunction &k, graph::CodedOpInterface decoder) {
  SmallVector<Buffer> buffers;
  for (Value operand : decoder->getOperands()) {
    auto found = k.inputs.find(operand);
    if (found == k.inputs.end())
      return false;
    buffers.push_back(found->second);
  }
  form.code = decoder.getCode();
  if (graph::tableOf(decoder))
    form.table = buffers.pop_back_val();
  auto inPanels = [&](const Buffer &buffer) { return buffer.blockDim == 1 && buffer.block == buffers[0].block; };
  if (!llvm::all_of(buffers, inPanels))
    return false;
  form.scale = buffers[1];
  if (buffers.size() > 2)
    form.offset = buffers[2];
  return true;
}

/// Finds out about a kernel, a question after the other, each of which may be the last.
class FormFinder {
public:
  FormFinder(KernelFunction &k, std::optional<plan::Unit> unit)
      : k(k), unit(unit), op(graph::onlyContraction(k.kernel.getBody().front())) {}

  Found<ContractForm> find() {
    if (!op)
      return Verdict::no("its kernel has more than one contraction, elementwise ops and moves");
    for (auto question :
         {&FormFinder::findRoles, &FormFinder::findRight, &FormFinder::findLeft, &FormFinder::findTerms,
          &FormFinder::findUnit, &FormFinder::lookAtResults, &FormFinder::lookAtUnit, &FormFinder::findRows})
      if (Verdict answer = (this->*question)(); !answer)
        return answer;
    return std::move(form);
  }

private:
  Verdict findRoles() {
    if (!hasProducts(graph::getElementType(op->getResult(0))))
      return Verdict::no("the machine has no vectors of its sums");
    std::optional<graph::ContractRoles> roles = plan::rolesOf(op);
    if (!roles)
      return Verdict::no("no dim of its result can be the lanes of vectors");
    graph::ProductDims product = graph::productDims(op);
    form.op = op;
    form.maps = std::move(product.maps);
    form.extents = std::move(product.extents);
    form.roles = *roles;
    if (roles->group)
      spreadGroups(form);
    return Verdict::yes();
  }

  Verdict findRight() {
    graph::CodedOpInterface decoder = plan::decoderOf(op);
    right = decoder ? decoder->getOperand(0) : op->getOperand(1);
    if (!k.inputs.contains(right))
      return Verdict::no("its right operand is computed in the kernel");
    if (graph::winogradTile(right.getType()))
      return Verdict::no("its windows are transformed by Winograd's method");
    if (decoder && !takeCode(form, k, decoder))
      return Verdict::no("its weights' codes, scales and offsets do not lie in equal panels");
    form.rhs = k.inputs.find(right)->second;
    return Verdict::yes();
  }

  Verdict findLeft() {
    left = op->getOperand(0);
    if (auto border = left.getDefiningOp<graph::MoveOpInterface>()) {
      std::optional<SmallVector<Clip>> clips = graph::clipsOf(op, border);
      if (!clips || !plan::leavesOutBorder(op, border) || !left.hasOneUse())
        return Verdict::no("its left operand is read through a move that is no border of zeros to leave out");
      form.clips = std::move(*clips);
      left = border->getOperand(0);
    }
    if (!k.inputs.contains(left))
      return Verdict::no("its left operand is computed in the kernel");
    form.lhs = k.inputs.find(left)->second;
    return columnsAreLanes(form) ? Verdict::yes() : Verdict::no("its columns are no neighbours in memory");
  }

  Verdict findTerms() {
    for (unsigned i = 1; i < graph::termsOf(op); ++i)
      for (unsigned side : {0, 1}) {
        Value term = graph::termOf(op, side, i);
        if (!k.inputs.contains(term) || term.getType() != (side ? right : left).getType())
          return Verdict::no("terms of an operand are not in memory like its first");
        (side ? form.rightTerms : form.leftTerms).push_back(k.inputs.find(term)->second.memref);
      }
    return Verdict::yes();
  }

  /// What multiplies operands that are narrower than the sums.
  Verdict findUnit() {
    Type sum = graph::getElementType(op->getResult(0));
    if (graph::widensRight(op))
      return form.roles.columnInLeft ? Verdict::no("lanes run along both operands, and the right one is narrower")
                                     : Verdict::yes();
    if (form.code || (graph::getElementType(left) == sum && graph::getElementType(right) == sum))
      return Verdict::yes();
    form.dot = plan::findDot(op);
    if (!unit || *unit == plan::Unit::Matrix)
      form.matrix = plan::findMatrix(op);
    if (form.matrix && !MatrixUnit::fits(form.matrix, vectorLanes(k.kernel)))
      return Verdict::no("a row of the matrix unit's tiles is no vector");
    form.grouped = groupedDim(form);
    return form.grouped ? Verdict::yes()
                        : Verdict::no("its narrow operands do not lie in the groups that an instruction sums");
  }

  Verdict lookAtResults() {
    std::optional<graph::SpaceMap> map = spaceMap(k.kernel);
    bool isKnown = map && llvm::all_of(k.results, [&](Value output) { return map->placeOf(output).has_value(); });
    return isKnown ? Verdict::yes() : Verdict::no("a result of its kernel reads sums of other elements than its own");
  }

  /// Whether it is what a schedule says.
  Verdict lookAtUnit() {
    bool fits = !unit || (*unit == plan::Unit::Matrix ? bool(form.matrix)
                          : *unit == plan::Unit::Dots ? bool(form.dot)
                                                      : !form.grouped);
    return fits ? Verdict::yes() : Verdict::no("that is not what the machine multiplies its operands with");
  }

  Verdict findRows() {
    SmallVector<unsigned> rows;
    for (unsigned d : form.roles.rows)
      if (!form.extents[d].is(1))
        rows.push_back(d);
    form.rows = DimExpr(1);
    form.rowStride = DimExpr(0);
    if (rows.empty())
      return form.matrix ? Verdict::no("a matrix unit multiplies rows, and there are none") : Verdict::yes();
    form.merged = rows.size() > 1 && mergesRows(form, k, rows);
    form.tiled = form.merged ? rows.back() : graph::tiledRow(op, form.roles);
    for (unsigned d : rows) {
      if (form.merged || d == *form.tiled)
        form.rows = form.rows * form.extents[d];
      else
        form.outerRows.push_back(d);
    }
    form.rowStride = ContractForm::strideAlong(form.lhs, form.maps[0], *form.tiled, form.clips);
    return lookAtLine();
  }

  /// Whether there can be a line of zeros for rows outside.
  Verdict lookAtLine() {
    auto isClip = [&](unsigned d) { return llvm::any_of(form.clips, [&](const Clip &c) { return c.summed == d; }); };
    bool known = llvm::all_of(form.roles.summed, [&](unsigned d) {
      return form.extents[d].is(1) || isClip(d) ||
             (form.extents[d].constant() && ContractForm::strideAlong(form.lhs, form.maps[0], d).constant());
    });
    return known || !form.clipsWhenRun()
               ? Verdict::yes()
               : Verdict::no("its sums reach over memory of an unknown length, inside of a border");
  }

  KernelFunction &k;
  std::optional<plan::Unit> unit;
  ContractOpInterface op;
  ContractForm form;
  Value left, right;
};

} // namespace

Found<ContractForm> contractForm(KernelFunction &k, std::optional<plan::Unit> unit) {
  return FormFinder(k, unit).find();
}

} // namespace hewn::codegen
