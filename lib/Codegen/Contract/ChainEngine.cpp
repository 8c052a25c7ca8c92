// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/ChainEngine.h"
#include "lib/Codegen/Contract/ContractEngine.h"
#include "lib/Codegen/Loops/LoopEngine.h"
#include "lib/Codegen/Tasks.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using hewn::graph::Chain;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

/// Whether the results are the chain's: what its last step makes, and its scratch memory, if there is some (`seen`), of the
/// dims that we ask for.
static bool resultsFit(plan::KernelOp kernel, const Chain &chain, bool &seen) {
  seen = false;
  Dims space = graph::getDims(chain.first->getResult(0));
  for (Value result : kernel.getBody().front().getTerminator()->getOperands()) {
    Operation *maker = result.getDefiningOp();
    if (isa_and_nonnull<graph::ScratchOp>(maker)) {
      if (seen || !graph::getElementType(result).isF32() || !graph::getElementType(chain.weights).isF32() ||
          graph::getDims(result) != plan::chainScratch(kernel, space[chain.rowDim], space.back(), chain.inPlace))
        return false;
      seen = true;
    } else if (!llvm::is_contained(chain.tail, maker)) {
      return false;
    }
  }
  return true;
}

std::optional<Chain> chainIn(plan::KernelOp kernel) {
  SmallVector<Operation *> ops =
      llvm::map_to_vector(kernel.getBody().front().without_terminator(), [](Operation &op) { return &op; });
  std::optional<Chain> chain = graph::findChain(ops);
  bool hasScratch;
  if (!chain || !resultsFit(kernel, *chain, hasScratch))
    return std::nullopt;
  if (hasScratch)
    return chain;
  std::optional<int64_t> columns = graph::getDims(chain->scores).back().constant();
  return columns && plan::chainRows(kernel, *columns, chain->columnBytes()) > 0 ? chain : std::nullopt;
}

namespace {

/// The symbol for the number of rows of a task, where it is not always the same.
constexpr llvm::StringLiteral kRows = "task.rows";

class ChainEmitter {
public:
  ChainEmitter(KernelFunction &k, OpBuilder &b, const Chain &chain)
      : k(k), b(b), chain(chain), e(b, k.loc(), vectorLanes(k.kernel), k.symbols, k.inputs),
        space(graph::getDims(chain.first->getResult(0))) {}

  LogicalResult run() {
    DimExpr rows = space[chain.rowDim];
    std::optional<Buffer> given = takeScratch(k);
    if (given) {
      memory = *given;
      most = *memory.dims[2].constant();
    } else {
      most = plan::chainRows(k.kernel, *space.back().constant(), chain.columnBytes());
    }
    bool even = rows.constant() && *rows.constant() % most == 0;
    count = even ? DimExpr(most) : DimExpr::symbol(kRows);
    if (!given) {
      scores = onStack(chain.scores);
      weights = chain.inPlace ? scores : onStack(chain.weights);
    }
    // Batches first: a batch's k and v stay in the cache for all of its rows.
    Dims counts(ArrayRef(space).take_front(chain.rowDim));
    counts.push_back(rows.ceilDiv(most));
    DimExpr work = vectorWork(graph::numElements(space), e.lanes, 128);
    if (given)
      overSlots(
          k, e, *memory.dims[0].constant(), counts, work, [&](Index slot) { enterSlot(slot); },
          [&](ArrayRef<Index> at) { block(at); });
    else
      overTasks(k, e, counts, work, [&](ArrayRef<Index> at) { block(at); });
    return success(fits);
  }

private:
  KernelFunction &k;
  OpBuilder &b;
  const Chain &chain;
  KernelElements e;
  Dims space;
  DimExpr count;
  Buffer scores, weights, memory;
  int64_t most = 0; // rows of a block
  SmallVector<Index> batch;
  Index firstRow;
  bool fits = true;

  /// All steps for one block of rows.
  void block(ArrayRef<Index> at) {
    DimExpr rows = space[chain.rowDim];
    batch.assign(at.begin(), at.end() - 1);
    firstRow = e.mul(at.back(), e.constant(most));
    llvm::StringMap<Value> symbols = k.symbols;
    if (!count.constant())
      symbols[kRows] = e.min(e.sub(e.expression(rows), firstRow), e.constant(most)).base;
    fits &= succeeded(step(chain.head, {chain.scores}, {scores}, symbols)) &&
            succeeded(step(chain.middle, {chain.weights}, {weights}, symbols)) &&
            succeeded(step(chain.tail, k.results, taskOutputs(), symbols));
    e.forget();
  }

  /// The buffers of a slot of the memory given.
  void enterSlot(Index slot) {
    auto bufferAt = [&](int64_t number) {
      Buffer buffer = memory;
      buffer.dims = taskDims();
      buffer.strides.assign(space.size(), DimExpr(0));
      buffer.strides[chain.rowDim] = memory.dims[3];
      buffer.strides.back() = DimExpr(1);
      Index which = e.add(e.mul(slot, e.constant(chain.inPlace ? 1 : 2)), e.constant(number));
      buffer.start = e.mul(which, e.mul(e.constant(most), e.expression(memory.dims[3]))).base;
      return buffer;
    };
    scores = bufferAt(0);
    weights = chain.inPlace ? scores : bufferAt(1);
  }

  Dims taskDims() {
    Dims dims(space.size(), DimExpr(1));
    dims[chain.rowDim] = count;
    dims.back() = space.back();
    return dims;
  }

  /// Room for a task's rows on the stack.
  Buffer onStack(Value rows) {
    Type element = graph::getElementType(rows);
    int64_t stride = *plan::rowStride(space.back(), graph::elementBytes(rows)).constant();
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&k.function.front());
    Value memory =
        memref::AllocaOp::create(b, k.loc(), MemRefType::get({most * stride}, element), b.getI64IntegerAttr(64));
    Value anySize = memref::CastOp::create(b, k.loc(), MemRefType::get({ShapedType::kDynamic}, element), memory);
    Buffer buffer{anySize, element, taskDims(), Dims(space.size(), DimExpr(0))};
    buffer.strides[chain.rowDim] = DimExpr(stride);
    buffer.strides.back() = DimExpr(1);
    return buffer;
  }

  /// The task's part of a buffer whose dim i runs along dim `along[i]` of the result's space (-1: all of it is seen).
  Buffer part(const Buffer &whole, ArrayRef<int64_t> along) {
    Buffer own = whole;
    Index start = e.constant(0);
    for (auto [i, d] : llvm::enumerate(along)) {
      if (d < 0 || whole.dims[i].is(1))
        continue;
      bool isRow = d == int64_t(chain.rowDim);
      start = e.add(start, e.mul(isRow ? firstRow : batch[d], e.expression(whole.strides[i])));
      own.dims[i] = isRow ? count : DimExpr(1);
    }
    own.start = start.base;
    return own;
  }

  /// Which dim of the space each dim of a value runs along; -1 for the ones that a task sees whole.
  SmallVector<int64_t> alongOf(Value value, Operation *user, unsigned operand) {
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

  SmallVector<Buffer> taskOutputs() {
    SmallVector<int64_t> along;
    for (int64_t d = 0; d < int64_t(space.size()); ++d)
      along.push_back(d <= int64_t(chain.rowDim) ? d : -1);
    return llvm::map_to_vector(k.outputs, [&](const Buffer &output) { return part(output, along); });
  }

  /// One step as a kernel of its own on the task's part of everything: the ops over again in the task's shapes, emitted here
  /// by the engine for them.
  LogicalResult step(ArrayRef<Operation *> ops, ValueRange results, ArrayRef<Buffer> outputs,
                     const llvm::StringMap<Value> &symbols) {
    MLIRContext *context = b.getContext();
    OpBuilder build(context);
    build.setInsertionPoint(k.kernel);
    auto kernel = plan::KernelOp::create(build, k.loc(), build.getStringAttr("step"),
                                         TypeAttr::get(build.getFunctionType({}, {})), k.kernel.getSymbolsAttr(),
                                         plan::ScheduleAttr(), StringAttr(), StringAttr(), ArrayAttr(), ArrayAttr());
    Block *body = new Block();
    kernel.getBody().push_back(body);
    build.setInsertionPointToEnd(body);
    KernelFunction nested;
    nested.kernel = kernel;
    nested.function = k.function;
    nested.nested = true;
    for (const auto &symbol : symbols)
      nested.symbols[symbol.getKey()] = symbol.getValue();
    IRMapping mapping;
    SmallVector<Attribute> argumentDims;
    // A value may be seen whole by one op and by rows by another, or by both operands of one.
    SmallVector<std::tuple<Value, SmallVector<int64_t>, Value>> seen;
    auto argumentFor = [&](Operation *op, unsigned i) -> Value {
      Value operand = op->getOperand(i);
      if (mapping.contains(operand))
        return mapping.lookup(operand);
      if (auto constant = operand.getDefiningOp<graph::ConstantOp>(); constant && !k.inputs.contains(operand))
        return build.clone(*constant, mapping)->getResult(0);
      bool own = operand == chain.scores || operand == chain.weights;
      SmallVector<int64_t> along = own ? SmallVector<int64_t>() : alongOf(operand, op, i);
      for (auto &[value, how, argument] : seen)
        if (value == operand && how == along)
          return argument;
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
      seen.push_back({operand, along, argument});
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
    nested.outputs.assign(outputs.begin(), outputs.end());
    for (Value result : results)
      nested.results.push_back(mapping.lookup(result));
    graph::YieldOp::create(build, k.loc(), nested.results);
    e.forget();
    LogicalResult emitted = success();
    if (std::optional<ContractForm> form = contractForm(nested))
      emitted = emitContraction(nested, b, *form);
    else
      emitLoops(nested, b);
    kernel.erase();
    return emitted;
  }

  static void setSignature(plan::KernelOp kernel, ArrayRef<Attribute> dims) {
    OpBuilder build(kernel.getContext());
    kernel.setFunctionType(build.getFunctionType(kernel.getBody().front().getArgumentTypes(), {}));
    SmallVector<Attribute> attributes = llvm::map_to_vector(dims, [&](Attribute d) -> Attribute {
      return build.getDictionaryAttr(build.getNamedAttr(graph::kDimsAttr, d));
    });
    kernel.setArgAttrsAttr(build.getArrayAttr(attributes));
  }
};

} // namespace

LogicalResult emitChain(KernelFunction &k, OpBuilder &b, const Chain &chain) { return ChainEmitter(k, b, chain).run(); }

} // namespace hewn::codegen
