// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/AttentionSteps.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::FusedAttention;

namespace hewn::codegen {

AttentionSteps::AttentionSteps(KernelContext &k, const FusedAttention &attention, int64_t maxRows)
    : k(k), attention(attention), space(graph::getDims(attention.first->getResult(0))) {
  std::optional<int64_t> all = space[attention.rowDim].constant();
  rows = all && *all % maxRows == 0 ? DimExpr(maxRows) : DimExpr::symbol(kRows);
  scores = rowsOf(attention.scores);
  weights = attention.inPlace ? scores : rowsOf(attention.weights);
}

/// Returns a buffer for the attention scores or weights of a task's rows.
Buffer AttentionSteps::rowsOf(Value value) const {
  Buffer buffer{{}, graph::getElementType(value), Dims(space.size(), DimExpr(1)), Dims(space.size(), DimExpr(0))};
  buffer.dims[attention.rowDim] = rows;
  buffer.dims.back() = space.back();
  buffer.strides[attention.rowDim] = plan::rowStride(attention.first, space.back(), graph::elementBytes(value));
  buffer.strides.back() = DimExpr(1);
  return buffer;
}

/// Returns the task's slice of a buffer. Dim i of the buffer corresponds to dim `along[i]` of the
/// scores. If `along[i]` is -1, the slice has all of dim i.
Buffer AttentionSteps::part(const Buffer &whole, ArrayRef<int64_t> along) const {
  Buffer own = whole;
  for (auto [i, d] : llvm::enumerate(along))
    if (d >= 0 && !whole.dims[i].is(1))
      own.dims[i] = d == int64_t(attention.rowDim) ? rows : DimExpr(1);
  return own;
}

SmallVector<int64_t> AttentionSteps::alongOf(Value value, Operation *user, unsigned operand) const {
  int64_t rank = graph::getRank(value);
  auto inTask = [&](int64_t d) { return d <= int64_t(attention.rowDim) ? d : -1; };
  auto contraction = dyn_cast<graph::ContractOpInterface>(user);
  if (!contraction) // the operands of elementwise ops broadcast, so their last dims correspond
    return llvm::map_to_vector(llvm::seq<int64_t>(0, rank),
                               [&](int64_t i) { return inTask(i + int64_t(space.size()) - rank); });
  SmallVector<AffineMap> maps = contraction.getIndexingMaps();
  return llvm::map_to_vector(maps[operand].getResults(), [&](AffineExpr expr) -> int64_t {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    std::optional<unsigned> d = dim ? graph::resultWith(maps[2], dim.getPosition()) : std::nullopt;
    return d ? inTask(*d) : -1;
  });
}

SmallVector<int64_t> AttentionSteps::alongOfResults() const {
  return llvm::map_to_vector(llvm::seq<int64_t>(0, int64_t(space.size())),
                             [&](int64_t d) { return d <= int64_t(attention.rowDim) ? d : int64_t(-1); });
}

static void setSignature(plan::KernelOp kernel, ArrayRef<Attribute> dims) {
  OpBuilder build(kernel.getContext());
  kernel.setFunctionType(build.getFunctionType(kernel.getBody().front().getArgumentTypes(), {}));
  SmallVector<Attribute> attributes = llvm::map_to_vector(
      dims, [&](Attribute d) -> Attribute { return build.getDictionaryAttr(build.getNamedAttr(graph::kDimsAttr, d)); });
  kernel.setArgAttrsAttr(build.getArrayAttr(attributes));
}

FailureOr<AttentionStep> AttentionSteps::make(unsigned number) {
  ArrayRef<Operation *> ops = number == 0 ? attention.head : number == 1 ? attention.middle : attention.tail;
  SmallVector<Value> results = number == 0   ? SmallVector<Value>{attention.scores}
                               : number == 1 ? SmallVector<Value>{attention.weights}
                                             : k.results;
  MLIRContext *context = k.kernel.getContext();
  OpBuilder build(context);
  build.setInsertionPoint(k.kernel);
  auto kernel = plan::KernelOp::create(build, k.loc(), build.getStringAttr(k.kernel.getName()),
                                       TypeAttr::get(build.getFunctionType({}, {})), k.kernel.getSymbolsAttr(),
                                       Attribute(), StringAttr(), StringAttr(), ArrayAttr(), ArrayAttr());
  Block *body = new Block();
  kernel.getBody().push_back(body);
  build.setInsertionPointToEnd(body);
  AttentionStep step;
  KernelContext &nested = step.function;
  nested.kernel = kernel;
  nested.nested = true;
  IRMapping mapping;
  SmallVector<Attribute> argumentDims;
  // Two operands of an attention step may be different slices of one value: one operand has all of
  // the value, the other only the task's rows. Each distinct slice becomes an argument of the
  // step's kernel.
  auto argumentFor = [&](Operation *op, unsigned i) -> Value {
    Value operand = op->getOperand(i);
    if (mapping.contains(operand))
      return mapping.lookup(operand);
    if (auto constant = operand.getDefiningOp<graph::ConstantOp>(); constant && !k.inputs.contains(operand))
      return build.clone(*constant, mapping)->getResult(0);
    bool own = operand == attention.scores || operand == attention.weights;
    SmallVector<int64_t> along = own ? SmallVector<int64_t>() : alongOf(operand, op, i);
    for (const AttentionStep::Argument &argument : step.arguments)
      if (argument.operand == operand && argument.along == along)
        return argument.value;
    Buffer buffer = operand == attention.scores    ? scores
                    : operand == attention.weights ? weights
                                                   : part(k.inputs.find(operand)->second, along);
    auto type = cast<RankedTensorType>(operand.getType());
    Value argument = body->addArgument(
        RankedTensorType::get(graph::staticShape(buffer.dims), type.getElementType(), type.getEncoding()),
        operand.getLoc());
    argumentDims.push_back(graph::dimsAttr(context, buffer.dims));
    nested.inputs[argument] = buffer;
    if (operand == attention.scores)
      nested.consumed.insert(argument);
    step.arguments.push_back({argument, operand, along});
    setSignature(kernel, argumentDims);
    return argument;
  };
  for (Operation *op : ops) {
    SmallVector<Value> operands;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      operands.push_back(argumentFor(op, i));
    Operation *clone = build.clone(*op, mapping);
    clone->setOperands(operands);
    if (failed(graph::inferResults(clone))) { // inferResults has emitted the error
      kernel.erase();
      return failure();
    }
  }
  for (auto [i, result] : llvm::enumerate(results)) {
    nested.results.push_back(mapping.lookup(result));
    nested.outputs.push_back(number == 0 ? scores : number == 1 ? weights : part(k.outputs[i], alongOfResults()));
  }
  graph::YieldOp::create(build, k.loc(), nested.results);
  step.analysis = std::make_unique<KernelAnalysis>(kernel);
  nested.analysis = step.analysis.get();
  return step;
}

} // namespace hewn::codegen
