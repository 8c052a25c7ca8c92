// SPDX-License-Identifier: Apache-2.0
//
// Control-flow ops: verifiers, which check that operands, region arguments, yielded values and
// results match, and `RegionOpBuilder`, which creates ops with regions.
#include "dialects/Graph/Control/Control.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Graph.h"
#include "llvm/ADT/StringSet.h"
#include <cstring>

using namespace mlir;

namespace hewn::graph {

LogicalResult CheckIndicesOp::verify() {
  auto indices = cast<TensorType>(getIndices().getType()), extents = cast<TensorType>(getExtents().getType());
  Type index = indices.getElementType();
  if ((!index.isSignlessInteger(32) && !index.isSignlessInteger(64)) || !extents.getElementType().isInteger(64))
    return emitOpError() << "requires i32 or i64 indices and i64 extents, not " << indices << " and " << extents;
  if (extents.hasRank() && extents.getRank() == 2)
    return extents.getShape() == ArrayRef<int64_t>{1, 2}
               ? success()
               : emitOpError() << "requires a lowest and a highest valid index, not " << extents;
  int64_t each = indices.hasRank() && indices.getRank() > 0 ? indices.getShape().back() : 1;
  bool isKnown = extents.hasStaticShape() && !ShapedType::isDynamic(each);
  if (isKnown && extents.getNumElements() != 1 && extents.getNumElements() != each)
    return emitOpError() << "has " << extents.getNumElements() << " extents for index tuples of size " << each;
  return success();
}

LogicalResult RequireOp::verify() {
  auto type = cast<TensorType>(getCondition().getType());
  if (!type.getElementType().isInteger(1) || (type.hasStaticShape() && type.getNumElements() != 1))
    return emitOpError() << "requires a single i1, not " << type;
  return success();
}

/// Returns true if a value of type `from` may be used where type `to` is expected, that is, if the
/// types are equal, except for dims that are dynamic in one of them.
static bool fits(Type from, Type to) {
  auto a = dyn_cast<RankedTensorType>(from), b = dyn_cast<RankedTensorType>(to);
  return a && b ? a.getElementType() == b.getElementType() && a.getEncoding() == b.getEncoding() &&
                      succeeded(verifyCompatibleShape(a, b))
                : from == to;
}

static LogicalResult verifyFits(Operation *op, TypeRange from, TypeRange to, StringRef what) {
  if (from.size() != to.size())
    return op->emitOpError() << "has " << from.size() << " " << what << "s instead of " << to.size();
  for (auto [i, a, b] : llvm::enumerate(from, to))
    if (!fits(a, b))
      return op->emitOpError() << what << " " << i << " of type " << a << " is not compatible with " << b;
  return success();
}

static LogicalResult verifyRegionDims(Operation *op) {
  Attribute written = op->getAttr(kRegionDimsAttr);
  if (!written)
    return success();
  auto regions = dyn_cast<ArrayAttr>(written);
  if (!regions || regions.size() != op->getNumRegions())
    return op->emitOpError() << kRegionDimsAttr << " needs a list for each region";
  for (auto [region, entry] : llvm::zip(op->getRegions(), regions)) {
    auto lists = dyn_cast<ArrayAttr>(entry);
    if (!lists || lists.size() != region.getNumArguments())
      return op->emitOpError() << kRegionDimsAttr << " needs a list for each argument";
    for (auto [argument, list] : llvm::zip(region.getArguments(), lists)) {
      std::optional<Dims> dims = parseDims(list);
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      if (!dims || (type && !llvm::equal(staticShape(*dims), type.getShape())))
        return op->emitOpError() << kRegionDimsAttr << " " << list << " does not match " << argument.getType();
    }
  }
  return success();
}

static TypeRange yielded(Region &region) { return region.front().getTerminator()->getOperandTypes(); }

LogicalResult IfOp::verifyRegions() {
  for (Region *region : {&getThenRegion(), &getElseRegion()})
    if (region->getNumArguments() != 0 ||
        failed(verifyFits(*this, yielded(*region), getResultTypes(), "yielded value")))
      return region->getNumArguments() ? emitOpError("branches take no arguments") : failure();
  if (getElementType(getCondition()) != IntegerType::get(getContext(), 1) || getRank(getCondition()) != 0)
    return emitOpError("condition must be a single i1");
  return verifyRegionDims(*this);
}

LogicalResult LoopOp::verifyRegions() {
  if (getRank(getTrips()) != 0 || !getElementType(getTrips()).isSignlessInteger(64) || getRank(getCondition()) != 0 ||
      !getElementType(getCondition()).isInteger(1))
    return emitOpError("takes a single i64 and a single i1, then the carried values");
  TypeRange arguments = getBody().getArgumentTypes(), yields = yielded(getBody()), carried = getCarried().getTypes(),
            results = getResultTypes();
  if (yields.empty() || !fits(yields[0], getCondition().getType()))
    return emitOpError("must yield a condition first");
  yields = yields.drop_front();
  if (yields.size() < carried.size() || results.size() != yields.size())
    return emitOpError() << "carries " << carried.size() << " values, yields " << yields.size() << " and has "
                         << results.size() << " results";
  if (failed(verifyFits(*this, getOperandTypes(), arguments, "operand")) ||
      failed(verifyFits(*this, yields.take_front(carried.size()), arguments.drop_front(2), "yielded value")) ||
      failed(verifyFits(*this, yields.take_front(carried.size()), results.take_front(carried.size()), "yielded value")))
    return failure();
  for (size_t i = carried.size(); i < results.size(); ++i) {
    auto result = dyn_cast<RankedTensorType>(results[i]);
    if (!result || result.getRank() == 0 ||
        !fits(yields[i], RankedTensorType::get(result.getShape().drop_front(), result.getElementType())))
      return emitOpError() << "result " << i << " of type " << results[i] << " does not stack " << yields[i];
  }
  return verifyRegionDims(*this);
}

LogicalResult ScanOp::verifyRegions() {
  TypeRange arguments = getBody().getArgumentTypes(), yields = yielded(getBody()), inputs = getInputs().getTypes(),
            results = getResultTypes();
  int64_t states = getNumStates();
  if (states < 0 || states >= int64_t(inputs.size()) || yields.size() != results.size() ||
      int64_t(yields.size()) < states)
    return emitOpError() << "has " << states << " states, " << inputs.size() << " inputs and yields " << yields.size()
                         << " values for " << results.size() << " results; it needs at least one sequence";
  if (getBackward().size() != inputs.size() + results.size() - 2 * states)
    return emitOpError("backward needs an entry for each sequence, inputs and outputs");
  // Determines the types of the body's arguments: those of the states, and those of the sequences
  // without dim 0.
  auto slices = [&](TypeRange types, SmallVectorImpl<Type> &out) {
    for (auto [i, type] : llvm::enumerate(types)) {
      auto tensor = cast<RankedTensorType>(type);
      if (int64_t(i) >= states && tensor.getRank() == 0)
        return failure();
      out.push_back(int64_t(i) < states
                        ? tensor
                        : RankedTensorType::get(tensor.getShape().drop_front(), tensor.getElementType()));
    }
    return success();
  };
  SmallVector<Type> in, out;
  if (failed(slices(inputs, in)) || failed(slices(results, out)))
    return emitOpError("a sequence must have rank 1 or more");
  if (failed(verifyFits(*this, in, arguments, "input")) || failed(verifyFits(*this, yields, out, "yielded value")) ||
      failed(verifyFits(*this, yields.take_front(states), arguments.take_front(states), "yielded state")))
    return failure();
  std::optional<int64_t> steps;
  auto sameSteps = [&](ValueRange sequences) {
    return llvm::all_of(sequences, [&](Value sequence) {
      int64_t extent = cast<RankedTensorType>(sequence.getType()).getDimSize(0);
      if (ShapedType::isDynamic(extent))
        return true;
      return std::exchange(steps, extent).value_or(extent) == extent;
    });
  };
  if (!sameSteps(getInputs().drop_front(states)) || !sameSteps(getOutputs().drop_front(states)))
    return emitOpError("sequences differ in length");
  return verifyRegionDims(*this);
}

//===------------------------------------------------------------------------------------------===//
// ControlOpInterface
//===------------------------------------------------------------------------------------------===//

bool IfOp::isLoop() { return false; }
ControlValues IfOp::getControlValues() {
  ControlValues values;
  values.condition = &getConditionMutable();
  return values;
}

bool LoopOp::isLoop() { return true; }
ControlValues LoopOp::getControlValues() {
  Block &body = getBody().front();
  return {&getTripsMutable(), &getConditionMutable(), &body.getTerminator()->getOpOperand(0), body.getArgument(0),
          body.getArgument(1)};
}
SmallVector<CarriedValue> LoopOp::getCarriedValues() {
  Block &body = getBody().front();
  Operation *yield = body.getTerminator();
  OperandRange carried = getCarried();
  SmallVector<CarriedValue> values;
  values.reserve(carried.size());
  for (unsigned i = 0; i < carried.size(); ++i)
    values.push_back({carried[i], body.getArgument(i + 2), yield->getOperand(i + 1), (*this)->getResult(i)});
  return values;
}
SmallVector<StackedValue> LoopOp::getStackedValues() {
  SmallVector<StackedValue> values;
  for (OpResult result : (*this)->getResults().drop_front(getCarried().size()))
    values.push_back({getBody().front().getTerminator()->getOperand(result.getResultNumber() + 1), result});
  return values;
}

bool ScanOp::isLoop() { return true; }
ControlValues ScanOp::getControlValues() { return {}; }
std::optional<DimExpr> ScanOp::getNumSteps() { return getDims(getInputs()[unsigned(getNumStates())])[0]; }
SmallVector<CarriedValue> ScanOp::getCarriedValues() {
  Block &body = getBody().front();
  SmallVector<CarriedValue> values;
  for (unsigned i = 0; i < unsigned(getNumStates()); ++i)
    values.push_back({getInputs()[i], body.getArgument(i), body.getTerminator()->getOperand(i), (*this)->getResult(i)});
  return values;
}
SmallVector<SlicedValue> ScanOp::getSlicedValues() {
  auto states = unsigned(getNumStates());
  SmallVector<SlicedValue> values;
  for (auto [i, sequence] : llvm::enumerate(getInputs().drop_front(states)))
    values.push_back({sequence, getBody().getArgument(states + unsigned(i)), getBackward()[i]});
  return values;
}
SmallVector<StackedValue> ScanOp::getStackedValues() {
  auto states = unsigned(getNumStates());
  ArrayRef<bool> backward = getBackward().drop_front(getInputs().size() - states);
  SmallVector<StackedValue> values;
  for (auto [i, result] : llvm::enumerate((*this)->getResults().drop_front(states)))
    values.push_back({getBody().front().getTerminator()->getOperand(states + unsigned(i)), result, backward[i]});
  return values;
}

//===------------------------------------------------------------------------------------------===//
// Construction
//===------------------------------------------------------------------------------------------===//

RegionOpBuilder::RegionOpBuilder(OpBuilder &b, Location loc, StringRef name, unsigned numRegions)
    : b(b), loc(loc), name(name) {
  OperationState state(loc, name);
  for (unsigned i = 0; i < numRegions; ++i)
    state.addRegion();
  op = b.create(state);
  lists.resize(numRegions);
}

RegionOpBuilder RegionOpBuilder::loop(OpBuilder &b, Location loc) { return {b, loc, LoopOp::getOperationName(), 1}; }

Block *RegionOpBuilder::open(unsigned i, ArrayRef<TensorShape> arguments) {
  Block *block = b.createBlock(&op->getRegion(i));
  for (const TensorShape &shape : arguments)
    addArgument(i, shape);
  return block;
}

Value RegionOpBuilder::addArgument(unsigned i, const TensorShape &shape) {
  Value argument = op->getRegion(i).addArgument(tensorType(shape.dims, shape.elementType), loc);
  lists[i].push_back(dimsAttr(b.getContext(), shape.dims));
  writeDims();
  return argument;
}

void RegionOpBuilder::setArgumentDims(unsigned i, unsigned argument, ArrayRef<DimExpr> dims) {
  lists[i][argument] = dimsAttr(b.getContext(), dims);
  writeDims();
}

/// Sets the dims of the region arguments as an attribute of the shell op as soon as arguments are
/// added, because code that builds the region queries them.
void RegionOpBuilder::writeDims() {
  bool dynamic = false;
  for (Region &region : op->getRegions())
    for (BlockArgument argument : region.getArguments())
      dynamic |= !cast<ShapedType>(argument.getType()).hasStaticShape();
  if (dynamic)
    op->setAttr(kRegionDimsAttr, b.getArrayAttr(llvm::map_to_vector(lists, [&](const SmallVector<Attribute> &list) {
      return Attribute(b.getArrayAttr(list));
    })));
}

void RegionOpBuilder::close(unsigned i, ValueRange yields) {
  b.setInsertionPointToEnd(block(i));
  OperationState yield(loc, YieldOp::getOperationName());
  yield.addOperands(yields);
  b.create(yield);
  b.setInsertionPointAfter(op);
}

static void visitSymbols(ArrayRef<DimExpr> dims, llvm::function_ref<void(StringRef)> visit) {
  for (const DimExpr &dim : dims)
    dim.walkSymbols(visit);
}

bool RegionOpBuilder::isKnownOutside(ArrayRef<DimExpr> dims) {
  llvm::StringSet<> inner;
  op->walk([&](Operation *nested) {
    if (auto read = dyn_cast<ReadSymbolOp>(nested))
      inner.insert(read.getSymbol());
    if (auto loop = dyn_cast<LoopOp>(nested); loop && loop.getDefines())
      for (auto symbol : loop.getDefines()->getAsRange<StringAttr>())
        inner.insert(symbol.getValue());
    if (auto part = dyn_cast<RuntimeCallOpInterface>(nested))
      for (StringRef symbol : part.getDefinedSymbols())
        inner.insert(symbol);
  });
  bool known = true;
  visitSymbols(dims, [&](StringRef symbol) { known &= !inner.contains(symbol); });
  return known;
}

Operation *RegionOpBuilder::finish(ValueRange operands, ArrayRef<TensorShape> results,
                                   ArrayRef<NamedAttribute> attributes) {
  OperationState state(loc, name);
  state.addOperands(operands);
  state.addAttributes(attributes);
  if (op->hasAttr(kRegionDimsAttr))
    state.addAttribute(kRegionDimsAttr, op->getAttr(kRegionDimsAttr));
  for (const TensorShape &shape : results)
    state.addTypes(tensorType(shape.dims, shape.elementType));
  for (Region &region : op->getRegions()) {
    auto taken = std::make_unique<Region>();
    taken->takeBody(region);
    state.addRegion(std::move(taken));
  }
  Operation *made = b.create(state);
  op->erase();
  setResultShapes(made, results);
  return made;
}

TensorShape shapeOf(Value value) { return {getDims(value), getElementType(value)}; }

SmallVector<Value> makeScan(OpBuilder &b, Location loc, ValueRange states, ValueRange sequences, bool backward,
                            llvm::function_ref<SmallVector<Value>(ValueRange, ValueRange)> body) {
  SmallVector<TensorShape> arguments, results;
  SmallVector<Value> operands(states);
  llvm::append_range(operands, sequences);
  if (llvm::is_contained(operands, Value()))
    return {};
  Composer c(b, loc);
  // a scan of one step needs no loop: emit the body alone
  if (!sequences.empty() && getDims(sequences[0])[0].is(1)) {
    SmallVector<Value> slices;
    for (Value sequence : sequences)
      slices.push_back(c.reshape(sequence, ArrayRef(getDims(sequence)).drop_front()));
    SmallVector<Value> yields = body(states, slices);
    for (Value &value : MutableArrayRef(yields).drop_front(std::min(states.size(), yields.size())))
      if (value) {
        Dims dims = getDims(value);
        dims.insert(dims.begin(), DimExpr(1));
        value = c.reshape(value, dims);
      }
    return llvm::is_contained(yields, Value()) ? SmallVector<Value>() : yields;
  }
  for (Value state : states)
    arguments.push_back(shapeOf(state));
  for (Value sequence : sequences) {
    arguments.push_back(shapeOf(sequence));
    arguments.back().dims.erase(arguments.back().dims.begin());
  }
  RegionOpBuilder builder(b, loc, ScanOp::getOperationName(), 1);
  Block *block = builder.open(0, arguments);
  SmallVector<Value> yields =
      body(block->getArguments().take_front(states.size()), block->getArguments().drop_front(states.size()));
  if (yields.empty() || llvm::is_contained(yields, Value())) {
    builder.take();
    return {};
  }
  for (auto [i, value] : llvm::enumerate(yields)) {
    results.push_back(shapeOf(value));
    if (i >= states.size())
      results.back().dims.insert(results.back().dims.begin(), getDims(sequences[0])[0]);
  }
  builder.close(0, yields);
  SmallVector<bool> directions(sequences.size() + yields.size() - states.size(), backward);
  Operation *op = builder.finish(operands, results,
                                 {b.getNamedAttr("numStates", b.getI64IntegerAttr(states.size())),
                                  b.getNamedAttr("backward", b.getDenseBoolArrayAttr(directions))});
  return SmallVector<Value>(op->getResults());
}

StringRef CheckIndicesOp::getRuntimeFunction() { return "checkindices"; }
SmallVector<int64_t> CheckIndicesOp::getCallParams() { return {}; }
StringRef RequireOp::getRuntimeFunction() { return "require"; }
/// Returns the message as a string that ends with a zero byte, in words.
SmallVector<int64_t> RequireOp::getCallParams() {
  StringRef message =
      getMessage().value_or("the condition that the model was compiled for does not hold for these inputs");
  SmallVector<int64_t> words(message.size() / sizeof(int64_t) + 1, 0);
  std::memcpy(words.data(), message.data(), message.size());
  return words;
}

} // namespace hewn::graph
