// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/ChainSteps.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using hewn::graph::Chain;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn::codegen {

ChainSteps::ChainSteps(KernelFunction &k, const Chain &chain, int64_t maxRows)
    : k(k), chain(chain), space(graph::getDims(chain.first->getResult(0))) {
  std::optional<int64_t> all = space[chain.rowDim].constant();
  rows = all && *all % maxRows == 0 ? DimExpr(maxRows) : DimExpr::symbol(kRows);
  scores = rowsOf(chain.scores);
  weights = chain.inPlace ? scores : rowsOf(chain.weights);
}

/// The buffer of a task's rows of scores or weights.
Buffer ChainSteps::rowsOf(Value value) const {
  Buffer buffer{{}, graph::getElementType(value), Dims(space.size(), DimExpr(1)), Dims(space.size(), DimExpr(0))};
  buffer.dims[chain.rowDim] = rows;
  buffer.dims.back() = space.back();
  buffer.strides[chain.rowDim] = plan::rowStride(chain.first, space.back(), graph::elementBytes(value));
  buffer.strides.back() = DimExpr(1);
  return buffer;
}

/// The task's part of a buffer whose dim i runs along dim `along[i]` of the scores (-1: all of it is seen).
Buffer ChainSteps::part(const Buffer &whole, ArrayRef<int64_t> along) const {
  Buffer own = whole;
  for (auto [i, d] : llvm::enumerate(along))
    if (d >= 0 && !whole.dims[i].is(1))
      own.dims[i] = d == int64_t(chain.rowDim) ? rows : DimExpr(1);
  return own;
}

SmallVector<int64_t> ChainSteps::alongOf(Value value, Operation *user, unsigned operand) const {
  int64_t rank = graph::getRank(value);
  auto inTask = [&](int64_t d) { return d <= int64_t(chain.rowDim) ? d : -1; };
  auto contraction = dyn_cast<graph::ContractOpInterface>(user);
  if (!contraction) // broadcast: the last dims meet
    return llvm::map_to_vector(llvm::seq<int64_t>(0, rank),
                               [&](int64_t i) { return inTask(i + int64_t(space.size()) - rank); });
  SmallVector<AffineMap> maps = contraction.getIndexingMaps();
  return llvm::map_to_vector(maps[operand].getResults(), [&](AffineExpr expr) -> int64_t {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    std::optional<unsigned> d = dim ? graph::resultWith(maps[2], dim.getPosition()) : std::nullopt;
    return d ? inTask(*d) : -1;
  });
}

SmallVector<int64_t> ChainSteps::alongOfResults() const {
  return llvm::map_to_vector(llvm::seq<int64_t>(0, int64_t(space.size())),
                             [&](int64_t d) { return d <= int64_t(chain.rowDim) ? d : int64_t(-1); });
}

static void setSignature(plan::KernelOp kernel, ArrayRef<Attribute> dims) {
  OpBuilder build(kernel.getContext());
  kernel.setFunctionType(build.getFunctionType(kernel.getBody().front().getArgumentTypes(), {}));
  SmallVector<Attribute> attributes = llvm::map_to_vector(
      dims, [&](Attribute d) -> Attribute { return build.getDictionaryAttr(build.getNamedAttr(graph::kDimsAttr, d)); });
  kernel.setArgAttrsAttr(build.getArrayAttr(attributes));
}

FailureOr<ChainStep> ChainSteps::make(unsigned number) {
  ArrayRef<Operation *> ops = number == 0 ? chain.head : number == 1 ? chain.middle : chain.tail;
  SmallVector<Value> results = number == 0   ? SmallVector<Value>{chain.scores}
                               : number == 1 ? SmallVector<Value>{chain.weights}
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
  ChainStep step;
  KernelFunction &nested = step.function;
  nested.kernel = kernel;
  nested.nested = true;
  IRMapping mapping;
  SmallVector<Attribute> argumentDims;
  // A value may be seen whole by one op and by rows by another, or by both operands of one.
  auto argumentFor = [&](Operation *op, unsigned i) -> Value {
    Value operand = op->getOperand(i);
    if (mapping.contains(operand))
      return mapping.lookup(operand);
    if (auto constant = operand.getDefiningOp<graph::ConstantOp>(); constant && !k.inputs.contains(operand))
      return build.clone(*constant, mapping)->getResult(0);
    bool own = operand == chain.scores || operand == chain.weights;
    SmallVector<int64_t> along = own ? SmallVector<int64_t>() : alongOf(operand, op, i);
    for (const ChainStep::Argument &argument : step.arguments)
      if (argument.operand == operand && argument.along == along)
        return argument.value;
    Buffer buffer = operand == chain.scores    ? scores
                    : operand == chain.weights ? weights
                                               : part(k.inputs.find(operand)->second, along);
    auto type = cast<RankedTensorType>(operand.getType());
    Value argument = body->addArgument(
        RankedTensorType::get(graph::staticShape(buffer.dims), type.getElementType(), type.getEncoding()),
        operand.getLoc());
    argumentDims.push_back(graph::dimsAttr(context, buffer.dims));
    nested.inputs[argument] = buffer;
    if (operand == chain.scores)
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
    if (failed(graph::inferResults(clone))) { // which has said why
      kernel.erase();
      return failure();
    }
  }
  for (auto [i, result] : llvm::enumerate(results)) {
    nested.results.push_back(mapping.lookup(result));
    nested.outputs.push_back(number == 0 ? scores : number == 1 ? weights : part(k.outputs[i], alongOfResults()));
  }
  graph::YieldOp::create(build, k.loc(), nested.results);
  return step;
}

} // namespace hewn::codegen
