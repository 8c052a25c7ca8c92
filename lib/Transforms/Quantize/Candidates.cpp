// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Quantize/Candidates.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Contract/PackedWeights.h"
#include "lib/Support/Diagnostics.h"
#include "lib/Support/Printable.h"
#include "lib/Transforms/Quantize/Operands.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace hewn {

/// Returns the source of a contraction's left operand: looks through views and at most one padding
/// op, which is either the last or the first of these ops.
Value sourceOf(graph::ContractOpInterface op) {
  std::optional<Border> border = borderOf(op);
  Value value = border ? border->inside() : op->getOperand(0);
  for (Operation *view = value.getDefiningOp(); view && graph::isViewKind(view); view = value.getDefiningOp())
    value = view->getOperand(0);
  return value;
}

std::optional<unsigned> channelDimOf(const ContractionCandidate &site, Value value) {
  std::optional<Border> border = borderOf(site.op);
  bool isOperand = value == site.op->getOperand(0) || (border && value == border->inside());
  return site.form && isOperand ? std::optional(site.form->depthInLeft) : std::nullopt;
}

bool readsRows(const ContractionCandidate &site) {
  return site.form && graph::getRank(site.weights) == 2 && site.form->columnInRight == 1 &&
         int64_t(site.form->depthInLeft) == graph::getRank(site.op->getOperand(0)) - 1;
}

bool sumsChannels(const ContractionCandidate &site) {
  auto type = site.form ? cast<RankedTensorType>(site.weights.getType()) : RankedTensorType();
  return type && channelDimOf(site, site.op->getOperand(0)) &&
         type.getDimSize(site.form->depthInRight) * type.getDimSize(site.form->columnInRight) == type.getNumElements();
}

static OrReason<IntegerForm> formOf(graph::ContractOpInterface op, bool hasWeights) {
  if (!hasWeights && graph::isMadeOfConstants(op->getOperand(1)))
    return Eligibility::no("its weights are quantized already");
  if (!hasWeights)
    return Eligibility::no("both operands are computed at run time");
  for (Value operand : op->getOperands())
    if (!graph::getElementType(operand).isF32())
      return Eligibility::no("it is not of float32");
  return integerForm(op);
}

namespace {

/// Assigns unique names to ops. An op has the name of its ONNX node, with a number if several ops
/// have the same node.
class Names {
public:
  std::string of(Operation *op) {
    std::string name = printable(nodeName(op->getLoc()));
    if (unsigned number = ++seen[name]; number > 1)
      name += ":" + std::to_string(number);
    return name;
  }

private:
  llvm::StringMap<unsigned> seen;
};

} // namespace

std::vector<TableCandidate> findTableCandidates(func::FuncOp function, ArrayRef<ContractionCandidate> contractions) {
  std::vector<TableCandidate> sites;
  Names names;
  for (const ContractionCandidate &site : contractions)
    names.of(site.op);
  function.walk<WalkOrder::PreOrder>([&](graph::IndexingOpInterface op) {
    if (!op.getLookedUpDim() || !isa_and_nonnull<graph::ConstantOp>(op->getOperand(0).getDefiningOp()))
      return;
    Value table = op->getOperand(0);
    if (!graph::getElementType(table).isF32() ||
        cast<RankedTensorType>(table.getType()).getNumElements() <= graph::kSmallWeights)
      return;
    Eligibility verdict = looksUpFew(op);
    if (!llvm::all_of(table.getUsers(), [](Operation *user) {
          auto lookUp = dyn_cast<graph::IndexingOpInterface>(user);
          return lookUp && lookUp.getLookedUpDim();
        }))
      verdict = Eligibility::no("its table has other users than gathers, which read it as float32");
    sites.push_back({op, names.of(op), op->getName().stripDialect(), verdict});
  });
  return sites;
}

std::vector<ContractionCandidate> findContractionCandidates(func::FuncOp function) {
  std::vector<ContractionCandidate> sites;
  Names names;
  function.walk<WalkOrder::PreOrder>([&](graph::ContractOpInterface op) {
    if (!isa<FloatType>(graph::getElementType(op->getResult(0))))
      return;
    Value right = op->getOperand(1);
    bool isConstant = isa_and_nonnull<graph::ConstantOp>(right.getDefiningOp());
    sites.push_back({op, names.of(op), op->getName().stripDialect(), isConstant ? right : Value(), sourceOf(op),
                     formOf(op, isConstant)});
  });
  return sites;
}

bool isInProgram(Value value) { return isa<func::FuncOp>(value.getParentBlock()->getParentOp()); }

std::optional<unsigned> addResult(func::FuncOp function, Value value) {
  Builder b(function.getContext());
  unsigned number = function.getNumResults();
  std::string name = "hewn.operand." + std::to_string(number);
  DictionaryAttr attributes = b.getDictionaryAttr(b.getNamedAttr(graph::kNameAttr, b.getStringAttr(name)));
  if (failed(function.insertResult(number, value.getType(), attributes)))
    return std::nullopt;
  Operation *back = function.getBody().front().getTerminator();
  back->insertOperands(back->getNumOperands(), value);
  return number;
}

static Value remade(OpBuilder &b, Value value, Value from, Value to) {
  if (value == from)
    return to;
  Operation *op = value.getDefiningOp();
  Value inner = remade(b, op->getOperand(0), from, to);
  Operation *made = b.clone(*op);
  made->setOperand(0, inner);
  return made->getResult(0);
}

Value leftOf(const ContractionCandidate &site, OpBuilder &b, Value with) {
  return remade(b, site.op->getOperand(0), site.source, with);
}

} // namespace hewn
