// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/ContractForm.h"
#include "dialects/Graph/Contract/PackedWeights.h"
#include "dialects/Graph/Contract/Winograd.h"
#include "lib/Codegen/Contract/Sums/MatrixUnit.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "hewn-assign-schedules"

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

/// Returns true if vectors along the column dim can be loaded from the right operand and, if the
/// left operand also has the column dim (depthwise convolution), from the left one.
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
  // In a grouped convolution, the last panel of a group must not extend into the columns of the
  // next group.
  const DimExpr &columns = form.extents[form.roles.column];
  for (unsigned d : form.roles.batch)
    if (packed && !form.extents[d].is(1) && graph::resultWith(form.maps[1], d) == column &&
        (!columns.constant() || *columns.constant() % rhs.block != 0))
      return false;
  return true;
}

/// Returns the reduction dim whose adjacent elements both operands store in groups, as the target's
/// dot-product or matrix instructions read them. Returns nullopt if there is none.
std::optional<unsigned> groupedDim(const ContractForm &form) {
  std::optional<unsigned> k = graph::plainSummedDim(form.op, form.roles);
  int64_t group = form.group();
  if (group == 1 || !k || form.roles.columnInLeft || !form.extents[*k].mod(group).is(0))
    return std::nullopt;
  std::optional<unsigned> right = graph::resultWith(form.maps[1], *k);
  bool grouped = right && form.rhs.group == group && form.rhs.groupDim == int64_t(*right);
  return grouped && ContractForm::strideAlong(form.lhs, form.maps[0], *k).is(1) ? k : std::nullopt;
}

/// Returns true if the target has vector multiply-add instructions for accumulators of the type,
/// which has 32 or 64 bits.
bool hasVectorMultiplyAdd(Type element) {
  return element.isF32() || element.isF64() || element.isSignlessInteger(32) || element.isSignlessInteger(64);
}

/// Returns true if the row dims `outer` and `inner` can be collapsed into one dim of the buffer.
/// The buffer's dims are aligned with the last dims of the result.
bool areRowsCollapsible(const Buffer &buffer, const ContractForm &form, unsigned outer, unsigned inner) {
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

/// Returns true if all row dims can be collapsed into one, because rows are evenly spaced in the
/// left operand and in all values that the kernel's other ops read or write.
bool mergesRows(const ContractForm &form, KernelContext &k, ArrayRef<unsigned> rows) {
  auto notMerged = [&](StringRef why) {
    LDBG() << k.kernel.getName() << ": row dims are not collapsed: " << why;
    return false;
  };
  if (!form.clips.empty())
    return notMerged("zero padding is folded");
  graph::ContractOpInterface op = form.op;
  Operation *contraction = op;
  Operation *decoder = plan::decoderOf(op);
  for (Operation &other : k.kernel.getBody().front().without_terminator())
    if (isa<graph::IndexingOpInterface>(other) && &other != decoder)
      return notMerged("the kernel has an indexing op");
  for (auto [outer, inner] : llvm::zip(rows.drop_back(), rows.drop_front())) {
    for (unsigned d : {outer, inner}) {
      std::optional<unsigned> i = graph::resultWith(form.maps[2], d);
      if (!i || !isa<AffineDimExpr>(form.maps[2].getResult(*i)))
        return notMerged("a row dim is not a dim of the result");
    }
    if (ContractForm::strideAlong(form.lhs, form.maps[0], outer) !=
        ContractForm::strideAlong(form.lhs, form.maps[0], inner) * form.extents[inner])
      return notMerged("the left operand's rows are not evenly spaced");
    for (auto &[value, buffer] : k.inputs) {
      bool epilogue =
          llvm::any_of(value.getUsers(), [&](Operation *user) { return user != contraction && user != decoder; });
      bool decoded = decoder && llvm::is_contained(decoder->getOperands(), value);
      if (decoded && !epilogue)
        continue;
      bool factor = llvm::is_contained(contraction->getOperands(), value);
      if ((epilogue || !factor) && !areRowsCollapsible(buffer, form, outer, inner))
        return notMerged("the rows of an epilogue operand are not evenly spaced");
    }
    for (const Buffer &buffer : k.outputs)
      if (!areRowsCollapsible(buffer, form, outer, inner))
        return notMerged("a result's rows are not evenly spaced");
  }
  return true;
}

/// Prepares the form for vectors whose lanes are columns of several convolution groups: makes the
/// column dim count the columns of all groups. A vector of columns then reads a vector of input
/// channels, one in each lane's group.
void spreadGroups(ContractForm &form) {
  const graph::ContractRoles &roles = form.roles;
  AffineMap &left = form.maps[0];
  SmallVector<AffineExpr> positions(left.getResults());
  positions[*graph::resultWith(left, *roles.group)] = getAffineDimExpr(roles.column, left.getContext());
  left = AffineMap::get(left.getNumDims(), 0, positions, left.getContext());
  form.extents[roles.column] = form.extents[roles.column] * form.extents[*roles.group];
  form.extents[*roles.group] = DimExpr(1);
}

/// Sets the encoding of packed low-bit weights, and the buffers of scales, offsets and lookup
/// table. Returns false if the layout of the scales or offsets differs from that of the weights.
bool setWeightEncoding(ContractForm &form, KernelContext &k, graph::PackedWeightsOpInterface decoder) {
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

/// Builds the ContractForm of a kernel (the result of the analysis) by a sequence of checks, each
/// of which may reject the kernel.
class FormFinder {
public:
  FormFinder(KernelContext &k, std::optional<plan::Unit> unit) : k(k), unit(unit), op(k.analysis->contraction) {}

  OrReason<ContractForm> find() {
    if (!op)
      return Eligibility::no("the kernel has other ops than one contraction, elementwise ops and indexing ops");
    for (auto question :
         {&FormFinder::findRoles, &FormFinder::findRight, &FormFinder::findLeft, &FormFinder::findTerms,
          &FormFinder::findUnit, &FormFinder::checkResults, &FormFinder::checkUnit, &FormFinder::findRows})
      if (Eligibility answer = (this->*question)(); !answer)
        return answer;
    return std::move(form);
  }

private:
  Eligibility findRoles() {
    if (!hasVectorMultiplyAdd(graph::getElementType(op->getResult(0))))
      return Eligibility::no("the target has no vector multiply-add for the accumulators' type");
    std::optional<graph::ContractRoles> roles = plan::rolesOf(op);
    if (!roles)
      return Eligibility::no("no dim of the result can be vectorized");
    graph::ProductDims product = graph::productDims(op);
    form.op = op;
    form.maps = std::move(product.maps);
    form.extents = std::move(product.extents);
    form.roles = *roles;
    if (roles->group)
      spreadGroups(form);
    return Eligibility::yes();
  }

  Eligibility findRight() {
    graph::PackedWeightsOpInterface decoder = plan::decoderOf(op);
    right = decoder ? decoder->getOperand(0) : op->getOperand(1);
    if (!k.inputs.contains(right))
      return Eligibility::no("the right operand is computed in the kernel");
    if (graph::winogradTile(right.getType()))
      return Eligibility::no("the weights are Winograd-transformed");
    if (decoder && !setWeightEncoding(form, k, decoder))
      return Eligibility::no("the packed weights, scales and offsets are not packed in equal panels");
    form.rhs = k.inputs.find(right)->second;
    return Eligibility::yes();
  }

  Eligibility findLeft() {
    left = op->getOperand(0);
    if (auto border = left.getDefiningOp<graph::IndexingOpInterface>()) {
      std::optional<SmallVector<Clip>> clips = graph::clipsOf(op, border);
      if (!clips || !plan::leavesOutBorder(op, border) || !left.hasOneUse())
        return Eligibility::no("the left operand is read through an indexing op that is not foldable zero padding");
      form.clips = std::move(*clips);
      left = border->getOperand(0);
    }
    if (!k.inputs.contains(left))
      return Eligibility::no("the left operand is computed in the kernel");
    form.lhs = k.inputs.find(left)->second;
    return columnsAreLanes(form) ? Eligibility::yes() : Eligibility::no("the columns are not contiguous in memory");
  }

  Eligibility findTerms() {
    for (unsigned i = 1; i < graph::termsOf(op); ++i)
      for (unsigned side : {0, 1}) {
        Value term = graph::termOf(op, side, i);
        if (!k.inputs.contains(term) || term.getType() != (side ? right : left).getType())
          return Eligibility::no("a split-bf16 component of an operand is not stored like the first one");
        (side ? form.rightTerms : form.leftTerms).push_back(k.inputs.find(term)->second.memref);
      }
    return Eligibility::yes();
  }

  /// Finds the dot-product or matrix instruction for operands that have fewer bits than the
  /// accumulators.
  Eligibility findUnit() {
    Type sum = graph::getElementType(op->getResult(0));
    if (graph::widensRight(op))
      return form.roles.columnInLeft ? Eligibility::no("both operands are vectorized, and the right one has fewer bits")
                                     : Eligibility::yes();
    if (form.code || (graph::getElementType(left) == sum && graph::getElementType(right) == sum))
      return Eligibility::yes();
    form.dot = plan::findDot(op);
    if (!unit || *unit == plan::Unit::Matrix)
      form.matrix = plan::findMatrix(op);
    if (form.matrix && !MatrixUnit::fits(form.matrix, vectorLanes(k.kernel)))
      return Eligibility::no("a row of the matrix unit's tiles is not one vector");
    form.grouped = groupedDim(form);
    return form.grouped
               ? Eligibility::yes()
               : Eligibility::no(
                     "the low-precision operands are not packed in the groups that a dot-product instruction reads");
  }

  Eligibility checkResults() {
    const std::optional<graph::SpaceMap> &map = k.analysis->space;
    bool isKnown = map && llvm::all_of(k.results, [&](Value output) { return map->placeOf(output).has_value(); });
    return isKnown
               ? Eligibility::yes()
               : Eligibility::no("an op of the epilogue reads the contraction's result at another index than its own");
  }

  /// Checks that the target multiplies the contraction's operand types on the unit that the
  /// schedule names: matrix unit, dot-product instructions or vector FMA.
  Eligibility checkUnit() {
    bool fits = !unit || (*unit == plan::Unit::Matrix ? bool(form.matrix)
                          : *unit == plan::Unit::Dots ? bool(form.dot)
                                                      : !form.grouped);
    return fits ? Eligibility::yes() : Eligibility::no("the target multiplies operands of these types on another unit");
  }

  Eligibility findRows() {
    SmallVector<unsigned> rows;
    for (unsigned d : form.roles.rows)
      if (!form.extents[d].is(1))
        rows.push_back(d);
    form.rows = DimExpr(1);
    form.rowStride = DimExpr(0);
    if (rows.empty())
      return form.matrix ? Eligibility::no("a matrix unit needs more than one row") : Eligibility::yes();
    form.merged = rows.size() > 1 && mergesRows(form, k, rows);
    form.tiled = form.merged ? rows.back() : graph::tiledRow(op, form.roles);
    for (unsigned d : rows) {
      if (form.merged || d == *form.tiled)
        form.rows = form.rows * form.extents[d];
      else
        form.outerRows.push_back(d);
    }
    form.rowStride = ContractForm::strideAlong(form.lhs, form.maps[0], *form.tiled, form.clips);
    return checkZeroRow();
  }

  /// Checks that the row of zeros, which the kernel reads in place of rows in the zero padding, has
  /// a static length.
  Eligibility checkZeroRow() {
    auto isClip = [&](unsigned d) { return llvm::any_of(form.clips, [&](const Clip &c) { return c.summed == d; }); };
    bool known = llvm::all_of(form.roles.summed, [&](unsigned d) {
      return form.extents[d].is(1) || isClip(d) ||
             (form.extents[d].constant() && ContractForm::strideAlong(form.lhs, form.maps[0], d).constant());
    });
    return known || !form.clipsWhenRun()
               ? Eligibility::yes()
               : Eligibility::no("the row of zeros for folded padding would have a dynamic length");
  }

  KernelContext &k;
  std::optional<plan::Unit> unit;
  ContractOpInterface op;
  ContractForm form;
  Value left, right;
};

} // namespace

OrReason<ContractForm> contractForm(KernelContext &k, std::optional<plan::Unit> unit) {
  return FormFinder(k, unit).find();
}

} // namespace hewn::codegen
