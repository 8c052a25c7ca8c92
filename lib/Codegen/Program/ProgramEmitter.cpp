// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Program/ProgramEmitter.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Collective/Collective.h"
#include "dialects/Graph/Custom/Foreign.h"
#include "hewn/services.h"
#include "lib/Support/Diagnostics.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

#include "llvm/IR/MDBuilder.h"

using namespace mlir;
using hewn::graph::DimExpr;
using llvm::ConstantInt;

namespace hewn::codegen {

FailureOr<llvm::Function *> emitProgram(func::FuncOp program, const ProgramInterface &interface,
                                        const KernelSymbols &kernels, const WeightStore &table, Weights &weights,
                                        llvm::Module &module, DeviceKernels *device) {
  return ProgramEmitter(program, interface, kernels, table, weights, module, device).emit();
}

ProgramEmitter::ProgramEmitter(func::FuncOp program, const ProgramInterface &interface, const KernelSymbols &kernels,
                               const WeightStore &table, Weights &weights, llvm::Module &module, DeviceKernels *device)
    : program(program), interface(interface), kernels(kernels), table(table), weights(weights), module(module),
      context(module.getContext()), b(context),
      expressions(b, [this](StringRef name) -> llvm::Value * { return symbolValue(name); }), ptr(b.getPtrTy()),
      i64(b.getInt64Ty()), i32(b.getInt32Ty()), i8(b.getInt8Ty()), structs(module), device(device) {}

FailureOr<llvm::Function *> ProgramEmitter::emit() {
  if (auto text = program->getAttrOfType<StringAttr>(graph::kCaseAttr))
    traceSuffix = (" [" + text.getValue() + "]").str();
  begin();
  if (failed(emitBlock(program.getBody().front())))
    return failure();
  if (!unknownSymbol.empty())
    return program.emitError() << "symbol '" << unknownSymbol << "' is used where it has no value";
  return run;
}

llvm::Value *ProgramEmitter::symbolValue(StringRef name) {
  if (auto found = symbols.find(name); found != symbols.end())
    return found->second;
  unknownSymbol = name.str();
  return b.getInt64(0);
}

void ProgramEmitter::begin() {
  auto *type = llvm::FunctionType::get(i32, {ptr, ptr}, false);
  run = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, plan::kProgramName, module);
  run->setVisibility(llvm::GlobalValue::HiddenVisibility);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", run));
  runContext = run->getArg(0);
  llvm::Value *frame = run->getArg(1);

  exit = llvm::BasicBlock::Create(context, "exit", run);
  llvm::IRBuilder<> atExit(exit);
  exitCode = atExit.CreatePHI(i32, 2);
  if (!device)
    atExit.CreateRet(exitCode);

  auto load = [&](field::hewn_frame which) -> llvm::Value * {
    return b.CreateLoad(ptr, b.CreateConstInBoundsGEP1_64(i8, frame, structs.offset(which)));
  };
  auto element = [&](llvm::Value *array, llvm::Type *type, unsigned i) -> llvm::Value * {
    return b.CreateLoad(type, b.CreateConstInBoundsGEP1_64(type, array, i));
  };
  inputPointers = load(field::hewn_frame::inputs);
  outputPointers = load(field::hewn_frame::outputs);
  llvm::Value *symbolValues = load(field::hewn_frame::symbols);
  arena = load(field::hewn_frame::arena);
  weightsBase = load(field::hewn_frame::weights);
  for (auto [i, symbol] : llvm::enumerate(interface.symbols))
    symbols[symbol.name] = element(symbolValues, i64, i);
  emitRequirements();
  for (auto &[name, level] : readArenaSize(program).levels)
    symbols[name] = value(level);
  if (device)
    beginDevice();
}

void ProgramEmitter::emitRequirements() {
  auto entries = program->getAttrOfType<ArrayAttr>(graph::kRequiresAttr);
  for (Attribute attr : entries ? entries.getValue() : ArrayRef<Attribute>()) {
    auto entry = cast<graph::RequirementAttr>(attr); // the dialect verifies this type
    emitRequirement({entry.getRelation(), entry.getLeft(), entry.getRight()}, entry.getNode().getValue(),
                    /*begun=*/false);
  }
}

void ProgramEmitter::emitRequirement(const graph::Requirement &requirement, StringRef node, bool begun) {
  llvm::Value *overflow = nullptr;
  llvm::Value *left = expressions.checked(requirement.left, overflow);
  llvm::Value *right = expressions.checked(requirement.right, overflow);
  llvm::Value *fits =
      requirement.relation == graph::Relation::AtMost ? b.CreateICmpSLE(left, right) : b.CreateICmpEQ(left, right);
  if (requirement.relation == graph::Relation::Broadcast)
    fits = b.CreateOr(fits, b.CreateICmpEQ(left, b.getInt64(1)));
  llvm::BasicBlock *bad = block("bad"), *next = block("next");
  llvm::Value *message = string(graph::requirementMessage(requirement.relation));
  if (overflow) {
    fits = b.CreateAnd(fits, b.CreateNot(overflow));
    message = b.CreateSelect(overflow, string("its sizes do not fit into 64 bits"), message);
  }
  b.CreateCondBr(fits, next, bad, llvm::MDBuilder(context).createBranchWeights(1 << 20, 1));
  b.SetInsertPoint(bad);
  llvm::Value *name = node.empty() ? llvm::ConstantPointerNull::get(ptr) : string(node);
  llvm::Value *code = b.CreateCall(service("hewn_rt_fail", i32, {ptr, i32, ptr, ptr, i64, i64}),
                                   {runContext, b.getInt32(HEWN_INVALID_ARGUMENT), name, message, left, right});
  if (begun) {
    exitCode->addIncoming(code, bad);
    b.CreateBr(exit);
  } else { // no kernel has run, so return directly
    b.CreateRet(code);
  }
  b.SetInsertPoint(next);
}

LogicalResult ProgramEmitter::emitStatement(Operation *op) {
  FailureOr<graph::Requirements> requirements = graph::requirementsOf(op);
  if (failed(requirements))
    return failure();
  for (const graph::Requirement &requirement : requirements->list()) {
    if (!isBound(requirement.left) || !isBound(requirement.right))
      return op->emitOpError("needs a symbol that has no value here");
    emitRequirement(requirement, nodeName(op->getLoc()), /*begun=*/true);
  }
  return success();
}

LogicalResult ProgramEmitter::emitBlock(Block &block) {
  for (Operation &op : block)
    if (failed(emitOp(&op)))
      return failure();
  return success();
}

LogicalResult ProgramEmitter::emitOp(Operation *op) {
  if (auto launch = dyn_cast<plan::LaunchOp>(op))
    return emitLaunch(launch);
  if (auto constant = dyn_cast<graph::ConstantOp>(op)) {
    if (op->use_empty())
      return success();
    FailureOr<llvm::Value *> memory = constantPointer(constant);
    if (succeeded(memory))
      pointers[constant.getResult()] = *memory;
    return memory;
  }
  if (auto part = dyn_cast<graph::RuntimeCallOpInterface>(op))
    return emitPart(part);
  if (auto read = dyn_cast<graph::ReadSymbolOp>(op))
    return emitReadSymbol(read);
  if (graph::onlyStatesRequirement(op))
    return emitStatement(op);
  if (auto dims = dyn_cast<graph::DimValueOp>(op))
    return emitDimValue(dims);
  if (auto control = dyn_cast<graph::ControlOpInterface>(op))
    return control.isLoop() ? emitLoop(control) : emitBranches(control);
  if (auto across = dyn_cast<plan::CopyOp>(op)) {
    copyAcross(across);
    return success();
  }
  if (isa<plan::AssembleOp>(op))
    return success(); // the buffer of a concat or interleave is allocated with its first subview
  if (graph::isViewKind(op)) {
    pointers[op->getResult(0)] = hostPointer(op->getOperand(0));
    if (auto both = devicePointers.find(op->getOperand(0)); both != devicePointers.end())
      devicePointers[op->getResult(0)] = both->second;
    return success();
  }
  if (isa<func::ReturnOp>(op))
    return emitReturn(op);
  if (isa<graph::YieldOp>(op))
    return success(); // the op that owns the region handles the operands
  return op->emitOpError("is not supported in a program");
}

llvm::FunctionCallee ProgramEmitter::service(StringRef name, llvm::Type *result, ArrayRef<llvm::Type *> arguments) {
  auto callee = module.getOrInsertFunction(name, llvm::FunctionType::get(result, arguments, false));
  cast<llvm::Function>(callee.getCallee())->setVisibility(llvm::GlobalValue::HiddenVisibility);
  return callee;
}

llvm::Value *ProgramEmitter::string(StringRef text) {
  llvm::Constant *&global = strings[text];
  if (!global)
    global = b.CreateGlobalString(text, "", 0, &module);
  return global;
}

void ProgramEmitter::failIf(llvm::Value *condition, llvm::Value *code) {
  llvm::BasicBlock *next = block("next");
  exitCode->addIncoming(code, b.GetInsertBlock());
  b.CreateCondBr(condition, exit, next, llvm::MDBuilder(context).createBranchWeights(1, 1 << 20));
  b.SetInsertPoint(next);
}

void ProgramEmitter::failIfNull(llvm::Value *pointer) {
  // The runtime has recorded the reason of the failure, so any error code will do.
  failIf(b.CreateIsNull(pointer), ConstantInt::get(i32, HEWN_OUT_OF_MEMORY));
}

/// Returns a condition that is true if all results of the launch are empty. The launch is then
/// skipped: with one dim of 0, the other dims may be too large to iterate over. Returns null if
/// this check is not needed, because a result is never empty, or has so few dynamic dims that its
/// loops end at once.
llvm::Value *ProgramEmitter::makesNothing(plan::LaunchOp op) {
  llvm::Value *all = nullptr;
  for (OpResult result : op->getResults()) {
    graph::Dims dims = graph::getDims(result);
    if (llvm::count_if(dims, [](const DimExpr &dim) { return !dim.constant() || dim.is(0); }) < 2)
      return nullptr;
    llvm::Value *any = b.getFalse();
    for (const DimExpr &dim : dims)
      if (!dim.constant() || dim.is(0))
        any = b.CreateOr(any, b.CreateICmpEQ(value(dim), b.getInt64(0)));
    all = all ? b.CreateAnd(all, any) : any;
  }
  return all;
}

LogicalResult ProgramEmitter::emitLaunch(plan::LaunchOp op) {
  if (!plan::entryOf(op))
    return op.emitOpError("launches '") << op.getKernel() << "', which is not a lowered plan.kernel";
  SmallVector<llvm::Value *> arguments = {runContext};
  for (Value input : op.getInputs())
    arguments.push_back(pointer(input));
  for (OpResult output : op->getResults())
    arguments.push_back(pointers[output] = place(output));
  for (Attribute attr : op.getSymbols()) {
    std::optional<DimExpr> expr = DimExpr::fromAttr(attr);
    if (!expr || !isBound(*expr))
      return op.emitOpError("needs a symbol that has no value here: ") << attr;
    arguments.push_back(value(*expr));
  }
  llvm::BasicBlock *after = nullptr;
  if (llvm::Value *nothing = device ? nullptr : makesNothing(op)) {
    llvm::BasicBlock *some = block("some");
    after = block("after");
    b.CreateCondBr(nothing, after, some, llvm::MDBuilder(context).createBranchWeights(1, 1 << 20));
    b.SetInsertPoint(some);
  }
  llvm::Value *name = string(op.getKernel().str() + traceSuffix);
  failIfNotOk(b.CreateCall(service("hewn_rt_begin_kernel", i32, {ptr, ptr}), {runContext, name}));
  plan::TasksAttr tasks = plan::tasksOf(plan::entryOf(op));
  if (device) {
    if (failed(launchOnDevice(op, arguments)))
      return failure();
  } else if (tasks) {
    FailureOr<DimExpr> count = ofLaunch(op, tasks.getCount(), tasks.getSymbols());
    if (failed(count))
      return failure();
    callTasks(op, arguments, *count);
  } else {
    b.CreateCall(kernelFunction(op, arguments), arguments);
  }
  b.CreateCall(service("hewn_rt_trace", b.getVoidTy(), {ptr, i32, ptr}),
               {runContext, b.getInt32(HEWN_TRACE_END), name});
  if (after) {
    b.CreateBr(after);
    after->moveBefore(exit);
    b.SetInsertPoint(after);
  }
  return success();
}

FailureOr<DimExpr> ProgramEmitter::ofLaunch(plan::LaunchOp op, const DimExpr &expr, ArrayAttr symbols) {
  if (std::optional<DimExpr> own = plan::atLaunch(expr, symbols, op))
    return *own;
  return op.emitOpError("launches a kernel with malformed tasks or symbols");
}

llvm::FunctionCallee ProgramEmitter::kernelFunction(plan::LaunchOp op, ArrayRef<llvm::Value *> arguments) {
  SmallVector<llvm::Type *> types = llvm::map_to_vector(arguments, [](llvm::Value *v) { return v->getType(); });
  auto known = kernels.find(op.getKernel());
  return service(known == kernels.end() ? op.getKernel() : StringRef(known->second), b.getVoidTy(), types);
}

/// Number of chunks into which a task range is divided if it is executed in reverse. The data of
/// the last chunk is still in cache when the next step begins.
static constexpr int64_t kTurnedParts = 16;

/// Emits the tasks of a thread in alternating order. In odd steps, the thread executes, in reverse
/// order, the mirror image of [begin, end) within the same half of the tasks, or within all tasks
/// if the range covers all of them. Thus each of two threads reads its own half forwards and
/// backwards in alternate steps, however the half is divided.
void ProgramEmitter::callByTurns(plan::LaunchOp op, ArrayRef<llvm::Value *> arguments, const Turn &turn,
                                 llvm::Value *begin, llvm::Value *end) {
  llvm::Function *function = b.GetInsertBlock()->getParent();
  auto block = [&](StringRef name) { return llvm::BasicBlock::Create(context, name, function); };
  auto call = [&](llvm::Value *from, llvm::Value *until) {
    SmallVector<llvm::Value *> all(arguments);
    all.append({from, until});
    b.CreateCall(kernelFunction(op, all), all);
  };
  auto least = [&](llvm::Value *x, llvm::Value *y) { return b.CreateSelect(b.CreateICmpSLT(x, y), x, y); };
  llvm::BasicBlock *forwards = block("forwards"), *backwards = block("backwards"), *done = block("done");
  b.CreateCondBr(b.CreateTrunc(turn.step, b.getInt1Ty()), backwards, forwards);
  b.SetInsertPoint(forwards);
  call(begin, end);
  b.CreateBr(done);

  b.SetInsertPoint(backwards);
  llvm::Value *isAll = b.CreateAnd(b.CreateICmpEQ(begin, b.getInt64(0)), b.CreateICmpEQ(end, turn.tasks));
  llvm::Value *half = b.CreateSelect(isAll, turn.tasks, b.CreateLShr(turn.tasks, 1));
  llvm::Value *share =
      b.CreateUDiv(b.CreateAdd(b.CreateSub(end, begin), b.getInt64(kTurnedParts - 1)), b.getInt64(kTurnedParts));
  llvm::BasicBlock *part = block("part");
  b.CreateCondBr(b.CreateICmpSLT(begin, end), part, done);
  b.SetInsertPoint(part);
  llvm::PHINode *from = b.CreatePHI(i64, 2);
  // Tasks that run in alternating order form chunks. End a chunk at the middle of the tasks,
  // because each half is mirrored on its own.
  llvm::Value *isFirst = b.CreateICmpSLT(from, half);
  llvm::Value *limit = b.CreateSelect(isFirst, least(half, end), end), *until = least(b.CreateAdd(from, share), limit);
  llvm::Value *mirror = b.CreateSelect(isFirst, half, b.CreateAdd(turn.tasks, half));
  call(b.CreateSub(mirror, until), b.CreateSub(mirror, from));
  from->addIncoming(begin, backwards);
  from->addIncoming(until, part);
  b.CreateCondBr(b.CreateICmpSLT(until, end), part, done);
  b.SetInsertPoint(done);
}

void ProgramEmitter::callTasks(plan::LaunchOp op, SmallVector<llvm::Value *> arguments, const DimExpr &tasks) {
  bool turns = op->hasAttr(plan::kAlternatesAttr) && currentStep;
  if (turns)
    arguments.append({currentStep, value(tasks)});
  SmallVector<llvm::Type *> fields = llvm::map_to_vector(arguments, [](llvm::Value *v) { return v->getType(); });
  auto *record = llvm::StructType::get(context, fields);
  Slot packed = variable(record);
  for (auto [i, argument] : llvm::enumerate(arguments))
    b.CreateStore(argument, b.CreateStructGEP(record, packed, i));

  // Emit the function that threads call, once per kernel: it unpacks the arguments and executes
  // some of the tasks.
  std::string name = (turns ? "turns." : "tasks.") + op.getKernel().str();
  llvm::Function *task = module.getFunction(name);
  if (!task) {
    auto *type = llvm::FunctionType::get(b.getVoidTy(), {ptr, i64, i64}, false);
    task = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
    llvm::IRBuilder<>::InsertPointGuard guard(b);
    b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", task));
    SmallVector<llvm::Value *> unpacked;
    for (auto [i, field] : llvm::enumerate(fields))
      unpacked.push_back(b.CreateLoad(field, b.CreateStructGEP(record, task->getArg(0), i)));
    llvm::Value *begin = task->getArg(1), *end = task->getArg(2);
    if (turns) {
      Turn turn{unpacked[unpacked.size() - 2], unpacked.back()};
      unpacked.pop_back_n(2);
      callByTurns(op, unpacked, turn, begin, end);
    } else {
      unpacked.append({begin, end});
      b.CreateCall(kernelFunction(op, unpacked), unpacked);
    }
    b.CreateRetVoid();
  }
  llvm::FunctionCallee share = service("hewn_rt_parallel_for", i32, {ptr, i64, ptr, ptr});
  b.CreateCall(share, {runContext, value(tasks), task, packed});
}

void ProgramEmitter::fillPartTensor(llvm::Value *record, llvm::Value *data, RankedTensorType type,
                                    ArrayRef<llvm::Value *> dims, llvm::Value *&dimsArray) {
  auto store = [&](field::hewn_part_tensor which, llvm::Value *value) {
    b.CreateStore(value, b.CreateConstInBoundsGEP1_64(i8, record, structs.offset(which)));
  };
  dimsArray = variable(i64, b.getInt64(std::max<size_t>(dims.size(), 1)));
  for (auto [d, size] : llvm::enumerate(dims))
    b.CreateStore(size, b.CreateConstInBoundsGEP1_64(i64, dimsArray, d));
  store(field::hewn_part_tensor::data, data);
  store(field::hewn_part_tensor::dtype, b.getInt32(elementCodes(type.getElementType())->onnx));
  store(field::hewn_part_tensor::rank, b.getInt32(dims.size()));
  store(field::hewn_part_tensor::dims, dimsArray);
}

/// For each operand (or result) in the op's definition, returns the index of its value, or -1 for
/// an optional operand that is absent.
static SmallVector<int> segments(Operation *op, StringRef attribute, unsigned count) {
  SmallVector<int> list;
  auto sizes = op->getAttrOfType<DenseI32ArrayAttr>(attribute);
  if (!sizes)
    return llvm::to_vector(llvm::seq<int>(0, int(count)));
  int next = 0;
  for (int32_t size : sizes.asArrayRef()) {
    if (size == 0)
      list.push_back(-1);
    for (int32_t i = 0; i < size; ++i)
      list.push_back(next++);
  }
  return list;
}

/// Returns the parameters of a runtime call as a constant array: first the addresses of external
/// functions, then the integer parameters.
llvm::Value *ProgramEmitter::partParams(graph::RuntimeCallOpInterface part) {
  // An address has the size of a pointer, and a 32-bit target cannot extend it to 64 bits in a
  // constant: the upper half is a constant of its own. All targets are little-endian.
  const unsigned addressBits = module.getDataLayout().getPointerSizeInBits();
  SmallVector<llvm::Constant *> words;
  if (auto foreign = dyn_cast<graph::ForeignOpInterface>(part.getOperation()))
    for (StringRef name : foreign.getFunctions()) {
      auto callee = module.getOrInsertFunction(name, llvm::FunctionType::get(i32, {ptr}, false));
      words.push_back(cast<llvm::Constant>(callee.getCallee()));
      if (addressBits < 64)
        words.push_back(ConstantInt::get(b.getIntNTy(64 - addressBits), 0));
    }
  for (int64_t param : part.getCallParams())
    words.push_back(b.getInt64(uint64_t(param)));
  if (words.empty())
    return llvm::ConstantPointerNull::get(ptr);
  llvm::Constant *record = llvm::ConstantStruct::getAnon(context, words);
  auto *global = new llvm::GlobalVariable(module, record->getType(), /*isConstant=*/true,
                                          llvm::GlobalValue::PrivateLinkage, record, "params");
  global->setAlignment(llvm::Align(8));
  return global;
}

LogicalResult ProgramEmitter::emitPart(graph::RuntimeCallOpInterface part) {
  Operation *op = part;
  SmallVector<int> ins = segments(op, "operandSegmentSizes", op->getNumOperands());
  SmallVector<int> outs = segments(op, "resultSegmentSizes", op->getNumResults());
  llvm::Type *record = llvm::ArrayType::get(i8, structs.size(RuntimeStruct::hewn_part_tensor));
  auto table = [&](size_t count) {
    Slot array = variable(record, b.getInt64(std::max<size_t>(count, 1)));
    const llvm::Align alignment = structs.alignment(RuntimeStruct::hewn_part_tensor);
    array->setAlignment(alignment);
    b.CreateMemSet(array, b.getInt8(0), count * structs.size(RuntimeStruct::hewn_part_tensor), alignment);
    return array;
  };
  Slot inputTable = table(ins.size()), outputTable = table(outs.size());
  llvm::Value *dimsArray;
  const bool onDevice = device && graph::transferOf(op);
  for (auto [i, number] : llvm::enumerate(ins)) {
    if (number < 0)
      continue;
    Value operand = op->getOperand(number);
    fillPartTensor(b.CreateConstInBoundsGEP1_64(record, inputTable, i),
                   onDevice ? pointer(operand) : hostPointer(operand), cast<RankedTensorType>(operand.getType()),
                   values(graph::getDims(operand)), dimsArray);
  }
  SmallVector<llvm::Value *> written(op->getNumResults());
  for (auto [i, number] : llvm::enumerate(outs)) {
    if (number < 0)
      continue;
    OpResult result = op->getResult(number);
    pointers[result] = place(result);
    fillPartTensor(b.CreateConstInBoundsGEP1_64(record, outputTable, i), pointers[result],
                   cast<RankedTensorType>(result.getType()), values(plan::bufferDims(result)), written[number]);
  }
  StringRef node = nodeName(op->getLoc());
  llvm::Value *name = node.empty() ? llvm::ConstantPointerNull::get(ptr) : string(node);
  llvm::FunctionCallee callee =
      service(("hewn_part_" + part.getRuntimeFunction()).str(), i32, {ptr, ptr, i32, ptr, i32, ptr, ptr});
  SmallVector<llvm::Value *> arguments = {
      runContext, name, b.getInt32(ins.size()), inputTable, b.getInt32(outs.size()), outputTable, partParams(part)};
  if (onDevice) {
    arguments.insert(arguments.begin() + 1, callee.getCallee());
    callee = service("hewn_device_part", i32, {ptr, ptr, ptr, i32, ptr, i32, ptr, ptr});
  }
  llvm::Value *code = b.CreateCall(callee, arguments);
  failIf(b.CreateICmpNE(code, b.getInt32(HEWN_OK)), code);
  for (OpResult result : op->getResults()) {
    SmallVector<llvm::Value *> actual;
    for (unsigned d = 0, rank = graph::getRank(result); d < rank; ++d)
      actual.push_back(b.CreateLoad(i64, b.CreateConstInBoundsGEP1_64(i64, written[result.getResultNumber()], d)));
    bind(graph::getDims(result), actual);
  }
  return success();
}

LogicalResult ProgramEmitter::emitReadSymbol(graph::ReadSymbolOp op) {
  auto integer = cast<IntegerType>(graph::getElementType(op.getTensor()));
  llvm::Type *element = b.getIntNTy(integer.getWidth());
  llvm::Value *loaded =
      b.CreateLoad(element, b.CreateConstInBoundsGEP1_64(element, hostPointer(op.getTensor()), op.getIndex()));
  symbols[op.getSymbol()] = integer.isUnsigned() ? b.CreateZExt(loaded, i64) : b.CreateSExt(loaded, i64);
  return success();
}

LogicalResult ProgramEmitter::emitDimValue(graph::DimValueOp op) {
  llvm::Value *memory = pointers[op.getResult()] = place(cast<OpResult>(op.getResult()));
  std::optional<graph::Dims> list = graph::parseDims(op.getValues());
  if (!list)
    return op.emitOpError("has values that are not expressions");
  for (auto [i, expr] : llvm::enumerate(*list)) {
    if (!isBound(expr))
      return op.emitOpError("needs a symbol that has no value here: ") << expr.str();
    b.CreateStore(value(expr), b.CreateConstInBoundsGEP1_64(i64, memory, i));
  }
  return success();
}

/// Returns true if `value` is already in the memory of output `output`; a branch may have forwarded
/// a value that was computed before it. Allocating that output again would replace its memory.
bool ProgramEmitter::isMadeInOutput(Value value, unsigned output) {
  plan::Roots all = plan::roots(value);
  auto root = all.size() == 1 ? dyn_cast<OpResult>(all[0]) : OpResult();
  if (!root || !plan::ownsBuffer(root))
    return false;
  plan::BufferAttr where = placeOf(root);
  return where.getKind() == plan::BufferKind::Output && where.getOffset().value_or(DimExpr(0)).is(int64_t(output));
}

LogicalResult ProgramEmitter::emitReturn(Operation *op) {
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned i = operand.getOperandNumber();
    if (!device && isMadeInOutput(operand.get(), i))
      continue;
    llvm::Value *memory = hostPointer(operand.get());
    llvm::Value *output = outputPointer(i);
    if (device)
      giveOutput(i, memory, operand.get());
    else if (output != memory)
      copyByCall(output, memory, bytesOf(operand.get()));
  }
  exitCode->addIncoming(b.getInt32(HEWN_OK), b.GetInsertBlock());
  b.CreateBr(exit);
  return success();
}

} // namespace hewn::codegen
