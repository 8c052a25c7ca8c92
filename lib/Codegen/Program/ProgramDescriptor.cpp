// SPDX-License-Identifier: Apache-2.0
//
// Emits the descriptor of a model and the functions around it.
#include "hewn/services.h"
#include "lib/Codegen/Emit/Machine.h"
#include "lib/Codegen/Program/Program.h"
#include "lib/Codegen/Program/ProgramExpressions.h"
#include "lib/Codegen/Program/RuntimeStructs.h"

#include "llvm/IR/IRBuilder.h"

using namespace llvm;
using hewn::graph::DimExpr;

namespace hewn::codegen {

namespace {

class DescriptorEmitter {
public:
  DescriptorEmitter(const ProgramInterface &interface, const Platform &platform, Module &module)
      : interface(interface), platform(platform), module(module), structs(module), context(module.getContext()),
        b(context), ptr(b.getPtrTy()) {}

  void emit(const WeightsReference &weights, const DeviceReference *device);

private:
  /// Creates a private global. Its name begins with a dot, so that it differs from the model's
  /// name, which may be any C identifier.
  GlobalVariable *global(Constant *value, const Twine &name, bool isConstant = true) {
    return new GlobalVariable(module, value->getType(), isConstant, GlobalValue::PrivateLinkage, value, "." + name);
  }
  Constant *text(StringRef content) { return global(ConstantDataArray::getString(context, content), "text"); }
  Constant *null() { return ConstantPointerNull::get(cast<PointerType>(ptr)); }
  Constant *number(uint64_t value, unsigned bits) { return ConstantInt::get(b.getIntNTy(bits), value); }
  Constant *record(RuntimeStruct type, ArrayRef<Constant *> fields) {
    return ConstantStruct::get(structs.type(type), fields);
  }
  /// Returns a pointer to an array of records that have the same type, or null if there are no
  /// records.
  Constant *array(ArrayRef<Constant *> entries, const Twine &name) {
    if (entries.empty())
      return null();
    return global(ConstantArray::get(ArrayType::get(entries[0]->getType(), entries.size()), entries), name);
  }
  /// Returns the DLDataType of an element type, with zero in all fields if `type` is null.
  Constant *dlType(mlir::Type type) {
    std::optional<ElementCodes> codes = type ? elementCodes(type) : std::nullopt;
    return record(RuntimeStruct::DLDataType, {number(codes ? codes->dlCode : 0, 8),
                                              number(codes ? codes->dlBits : 0, 8), number(codes ? 1 : 0, 16)});
  }
  Constant *tensors(ArrayRef<TensorInterface> list, StringRef name);
  int64_t dimCode(const TensorInterface &tensor, size_t dim);
  Function *function(const Twine &name, Type *result, ArrayRef<Type *> arguments, GlobalValue::LinkageTypes linkage);
  ExpressionBuilder symbolsIn(Value *array);
  Constant *variants();
  Function *arenaBytes(ArrayRef<ProgramCode> programs);
  Value *arenaBytes(const ArenaSize &arena, Value *symbolArray);
  Constant *run(const VariantInterface &variant);
  Function *outputDims();
  Constant *cases();
  Constant *metadata();
  Function *caseOf();
  void eachCase(Value *symbolArray, function_ref<void(size_t)> emit);
  void rejectNull(Value *address, const TensorInterface &output);
  void typedRun(Constant *model);
  void typedArenaBytes(Constant *model);
  Constant *deviceCode(const DeviceReference &device);
  Constant *runtimeTable(StringRef name);
  Constant *services(bool hasWeightsFile);
  Value *arrayOf(ArrayRef<Value *> entries, Type *type);

  const ProgramInterface &interface;
  const Platform &platform;
  Module &module;
  const RuntimeStructs structs;
  LLVMContext &context;
  IRBuilder<> b;
  Type *ptr;
};

} // namespace

int64_t DescriptorEmitter::dimCode(const TensorInterface &tensor, size_t d) {
  if (d < tensor.unlike.size() && !tensor.unlike[d].empty())
    return tensor.dynamic ? HEWN_DIM_DYNAMIC : HEWN_DIM_FORMULA;
  const DimExpr &dim = tensor.dims[d];
  if (std::optional<int64_t> size = dim.constant())
    return *size;
  for (auto [s, symbol] : enumerate(interface.symbols))
    if (dim == DimExpr::symbol(symbol.name))
      return HEWN_DIM_SYMBOL(s);
  bool known = true;
  dim.walkSymbols([&](StringRef name) { known &= interface.hasSymbol(name); });
  return known ? HEWN_DIM_FORMULA : HEWN_DIM_DYNAMIC;
}

Constant *DescriptorEmitter::tensors(ArrayRef<TensorInterface> list, StringRef name) {
  SmallVector<Constant *> entries;
  for (const TensorInterface &tensor : list) {
    SmallVector<Constant *> dims, formulas;
    bool anyFormula = false;
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      int64_t code = dimCode(tensor, d);
      bool isUnlike = d < tensor.unlike.size() && !tensor.unlike[d].empty();
      dims.push_back(number(uint64_t(code), 64));
      formulas.push_back(code == HEWN_DIM_FORMULA ? text(isUnlike ? tensor.unlike[d] : tensor.dims[d].str()) : null());
      anyFormula |= code == HEWN_DIM_FORMULA;
    }
    entries.push_back(
        record(RuntimeStruct::hewn_tensor_info,
               {text(tensor.name), dlType(tensor.elementType), number(tensor.dims.size(), 32), array(dims, "dims"),
                anyFormula ? array(formulas, "formulas") : null(), number(uint64_t(tensor.kind), 32),
                dlType(tensor.held), number(uint64_t(int64_t(tensor.heldRank)), 32), number(tensor.role, 32)}));
  }
  return array(entries, name);
}

Function *DescriptorEmitter::function(const Twine &name, Type *result, ArrayRef<Type *> arguments,
                                      GlobalValue::LinkageTypes linkage) {
  Function *f = Function::Create(FunctionType::get(result, arguments, false), linkage, name, module);
  b.SetInsertPoint(BasicBlock::Create(context, "entry", f));
  return f;
}

ExpressionBuilder DescriptorEmitter::symbolsIn(Value *array) {
  return ExpressionBuilder(b, [this, array](StringRef name) -> Value * {
    for (auto [s, symbol] : enumerate(interface.symbols))
      if (symbol.name == name)
        return b.CreateLoad(b.getInt64Ty(), b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), array, s));
    return b.getInt64(0);
  });
}

/// Emits the decision tree that selects a case by the symbols' values. `emit` emits the code of a
/// case and must terminate its basic block.
void DescriptorEmitter::eachCase(Value *symbolArray, function_ref<void(size_t)> emit) {
  if (interface.tree.questions.empty())
    return emit(0);
  ExpressionBuilder symbols = symbolsIn(symbolArray);
  Function *f = b.GetInsertBlock()->getParent();
  std::function<void(int)> follow = [&](int next) {
    if (next < 0)
      return emit(size_t(-1 - next));
    const graph::CaseTree::Question &question = interface.tree.questions[size_t(next)];
    Value *overflow = nullptr, *difference = symbols.checked(question.condition.difference, overflow);
    Value *holds = question.condition.kind == graph::Condition::Kind::Zero ? b.CreateICmpEQ(difference, b.getInt64(0))
                                                                           : b.CreateICmpSLE(difference, b.getInt64(0));
    if (overflow) // a difference that overflows is far from 0, so the condition does not hold
      holds = b.CreateAnd(holds, b.CreateNot(overflow));
    BasicBlock *yes = BasicBlock::Create(context, "yes", f), *no = BasicBlock::Create(context, "no", f);
    b.CreateCondBr(holds, yes, no);
    b.SetInsertPoint(yes);
    follow(question.yes);
    b.SetInsertPoint(no);
    follow(question.no);
  };
  follow(0);
}

Constant *DescriptorEmitter::variants() {
  SmallVector<Constant *> entries;
  SmallVector<std::pair<std::vector<ProgramCode>, Function *>> arenas;
  auto sameArenas = [](ArrayRef<ProgramCode> a, ArrayRef<ProgramCode> b) {
    return a.size() == b.size() &&
           all_of(zip(a, b), [](auto pair) { return std::get<0>(pair).arena == std::get<1>(pair).arena; });
  };
  for (const VariantInterface &variant : interface.variants) {
    auto *same = find_if(arenas, [&](const auto &known) { return sameArenas(known.first, variant.programs); });
    if (same == arenas.end()) {
      arenas.push_back({variant.programs, arenaBytes(variant.programs)});
      same = std::prev(arenas.end());
    }
    entries.push_back(record(RuntimeStruct::hewn_variant,
                             {text(variant.target), number(variant.cpuFeatures, 64), same->second, run(variant)}));
  }
  return array(entries, "variants");
}

/// Returns the function that runs the model. If the model has several cases, this function selects
/// the case and calls its program.
Constant *DescriptorEmitter::run(const VariantInterface &variant) {
  auto *type = FunctionType::get(b.getInt32Ty(), {ptr, ptr}, false);
  auto programOf = [&](const ProgramCode &program) {
    FunctionCallee callee = module.getOrInsertFunction(program.run, type);
    cast<Function>(callee.getCallee())->setVisibility(GlobalValue::HiddenVisibility);
    return callee;
  };
  if (interface.tree.questions.empty())
    return cast<Constant>(programOf(variant.programs.front()).getCallee());
  Function *f = function(interface.name + ".run", b.getInt32Ty(), {ptr, ptr}, GlobalValue::InternalLinkage);
  Value *symbols = b.CreateLoad(
      ptr, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), f->getArg(1), structs.offset(field::hewn_frame::symbols)));
  eachCase(symbols, [&](size_t k) {
    const ProgramCode &program = variant.programs[k];
    if (program.run.empty()) // the runtime rejects this case before the call
      b.CreateRet(b.getInt32(HEWN_INTERNAL));
    else
      b.CreateRet(b.CreateCall(programOf(program), {f->getArg(0), f->getArg(1)}));
  });
  return f;
}

Function *DescriptorEmitter::arenaBytes(ArrayRef<ProgramCode> programs) {
  Function *f = function(interface.name + ".arena_bytes", b.getInt64Ty(), {ptr}, GlobalValue::InternalLinkage);
  eachCase(f->getArg(0), [&](size_t k) {
    b.CreateRet(programs[k].run.empty() ? b.getInt64(uint64_t(-1)) : arenaBytes(programs[k].arena, f->getArg(0)));
  });
  return f;
}

Value *DescriptorEmitter::arenaBytes(const ArenaSize &arena, Value *symbolArray) {
  Value *overflow = nullptr;
  StringMap<Value *> levels;
  ExpressionBuilder symbols = symbolsIn(symbolArray);
  ExpressionBuilder expressions(b, [&](StringRef name) {
    auto level = levels.find(name);
    return level == levels.end() ? symbols.value(DimExpr::symbol(name)) : level->second;
  });
  for (auto &[name, level] : arena.levels)
    levels[name] = expressions.checked(level, overflow);
  Value *bytes = expressions.checked(arena.bytes, overflow);
  return overflow ? b.CreateSelect(overflow, b.getInt64(uint64_t(-1)), bytes) : bytes;
}

/// Disables LLVM's optimization of a function with thousands of consecutive loads and stores.
/// LLVM's schedulers take time quadratic in the number of these accesses, without a benefit.
static void keepUnscheduled(Function *f, size_t values) {
  constexpr size_t many = 128;
  if (values <= many)
    return;
  f->addFnAttr(Attribute::OptimizeNone);
  f->addFnAttr(Attribute::NoInline); // LLVM requires it for optnone
}

Function *DescriptorEmitter::outputDims() {
  Function *f = function(interface.name + ".output_dims", b.getVoidTy(), {ptr, ptr}, GlobalValue::InternalLinkage);
  keepUnscheduled(f, interface.outputs.size());
  ExpressionBuilder symbols = symbolsIn(f->getArg(0));
  eachCase(f->getArg(0), [&](size_t k) {
    for (auto [i, output] : enumerate(interface.cases[k].outputs)) {
      if (output.dims.empty())
        continue;
      Value *dims = b.CreateLoad(ptr, b.CreateConstInBoundsGEP1_64(ptr, f->getArg(1), i));
      for (auto [d, dim] : enumerate(output.dims)) {
        int64_t code = dimCode(output, d);
        Value *overflow = nullptr;
        Value *size = code == HEWN_DIM_DYNAMIC ? b.getInt64(uint64_t(code)) : symbols.checked(dim, overflow);
        if (overflow) // report an invalid size, -1
          size = b.CreateSelect(overflow, b.getInt64(uint64_t(-1)), size);
        b.CreateStore(size, b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), dims, d));
      }
    }
    b.CreateRetVoid();
  });
  return f;
}

/// Emits int32_t NAME.case_of(symbols), which returns the index of the case for the symbols'
/// values.
Function *DescriptorEmitter::caseOf() {
  Function *f = function(interface.name + ".case_of", b.getInt32Ty(), {ptr}, GlobalValue::InternalLinkage);
  eachCase(f->getArg(0), [&](size_t k) { b.CreateRet(b.getInt32(uint32_t(k))); });
  return f;
}

Constant *DescriptorEmitter::cases() {
  SmallVector<Constant *> entries;
  for (const CaseInterface &one : interface.cases)
    entries.push_back(
        record(RuntimeStruct::hewn_case, {text(one.condition), one.refusal.empty() ? null() : text(one.refusal),
                                          tensors(one.outputs, "outputs")}));
  return array(entries, "cases");
}

Constant *DescriptorEmitter::metadata() {
  SmallVector<Constant *> entries;
  for (const auto &[key, value] : interface.metadata)
    entries.push_back(record(RuntimeStruct::hewn_metadata_entry, {text(key), text(value)}));
  return array(entries, "metadata");
}

Value *DescriptorEmitter::arrayOf(ArrayRef<Value *> entries, Type *type) {
  Value *memory = b.CreateAlloca(type, b.getInt64(std::max<size_t>(entries.size(), 1)));
  for (auto [i, entry] : enumerate(entries))
    b.CreateStore(entry, b.CreateConstInBoundsGEP1_64(type, memory, i));
  return memory;
}

/// Emits code that returns an error from the typed function if the address to which it has to write
/// the pointer of `output` is null. The code that follows runs otherwise.
void DescriptorEmitter::rejectNull(Value *address, const TensorInterface &output) {
  Function *f = b.GetInsertBlock()->getParent();
  BasicBlock *missing = BasicBlock::Create(context, "missing", f), *given = BasicBlock::Create(context, "given", f);
  b.CreateCondBr(b.CreateIsNull(address), missing, given);
  b.SetInsertPoint(missing);
  b.CreateRet(ConstantStruct::get(
      cast<StructType>(f->getReturnType()),
      {number(HEWN_INVALID_ARGUMENT, 32), text("output '" + output.name + "': the address for its pointer is NULL")}));
  b.SetInsertPoint(given);
}

/// Emits hewn_status NAME_run(context, inputs..., outputs..., symbols...), which headerText
/// declares.
void DescriptorEmitter::typedRun(Constant *model) {
  Type *status = structs.type(RuntimeStruct::hewn_status);
  SmallVector<Type *> types(1 + interface.inputs.size(), ptr);
  for (const TensorInterface &output : interface.outputs)
    types.append(output.dynamic ? 2 : 1, ptr);
  types.append(interface.symbols.size(), b.getInt64Ty());
  Function *f = function(interface.name + "_run", status, types, GlobalValue::ExternalLinkage);
  keepUnscheduled(f, types.size());
  auto *next = f->arg_begin();
  Value *runContext = next++;
  SmallVector<Value *> inputs, outputs, dims, symbols, dynamic;
  for (size_t i = 0; i < interface.inputs.size(); ++i)
    inputs.push_back(next++);
  for (const TensorInterface &output : interface.outputs) {
    Value *pointer = next++;
    dynamic.push_back(output.dynamic ? pointer : nullptr);
    outputs.push_back(output.dynamic ? null() : pointer);
    dims.push_back(output.dynamic ? static_cast<Value *>(next++) : null());
  }
  for (size_t i = 0; i < interface.symbols.size(); ++i)
    symbols.push_back(next++);
  for (auto [output, address] : zip(interface.outputs, dynamic))
    if (address)
      rejectNull(address, output);
  Value *outputArray = arrayOf(outputs, ptr);
  FunctionCallee door =
      module.getOrInsertFunction("hewn_run_pointers", FunctionType::get(status, {ptr, ptr, ptr, ptr, ptr, ptr}, false));
  Value *result = b.CreateCall(door, {model, runContext, arrayOf(inputs, ptr), outputArray, arrayOf(dims, ptr),
                                      arrayOf(symbols, b.getInt64Ty())});
  for (auto [i, pointer] : enumerate(dynamic))
    if (pointer)
      b.CreateStore(b.CreateLoad(ptr, b.CreateConstInBoundsGEP1_64(ptr, outputArray, i)), pointer);
  b.CreateRet(result);
}

/// Emits int64_t NAME_arena_bytes(symbols...), which returns the result of hewn_arena_bytes.
void DescriptorEmitter::typedArenaBytes(Constant *model) {
  SmallVector<Type *> types(interface.symbols.size(), b.getInt64Ty());
  Function *f = function(interface.name + "_arena_bytes", b.getInt64Ty(), types, GlobalValue::ExternalLinkage);
  SmallVector<Value *> symbols;
  for (Argument &argument : f->args())
    symbols.push_back(&argument);
  FunctionCallee callee =
      module.getOrInsertFunction("hewn_arena_bytes", FunctionType::get(b.getInt64Ty(), {ptr, ptr}, false));
  b.CreateRet(b.CreateCall(callee, {model, arrayOf(symbols, b.getInt64Ty())}));
}

Constant *DescriptorEmitter::deviceCode(const DeviceReference &device) {
  SmallVector<Constant *> kernels;
  for (const DeviceKernels::Kernel &kernel : device.kernels->kernels)
    kernels.push_back(
        record(RuntimeStruct::hewn_device_kernel,
               {text(kernel.name), number(uint64_t(kernel.threads), 32), number(uint64_t(kernel.sharedBytes), 32),
                number(kernel.meets, 32), number(uint64_t(kernel.counters), 32)}));
  StructType *state = structs.type(RuntimeStruct::hewn_device_state);
  return global(record(RuntimeStruct::hewn_device_code,
                       {runtimeTable(device.table), text(device.text), text(device.language),
                        number(kernels.size(), 32), number(0, 32), array(kernels, "kernels"),
                        global(Constant::getNullValue(state), "device_state", /*isConstant=*/false)}),
                "device");
}

/// Declares a table of the runtime.
Constant *DescriptorEmitter::runtimeTable(StringRef name) {
  auto *table = new GlobalVariable(module, b.getInt8Ty(), true, GlobalValue::ExternalLinkage, nullptr, name);
  table->setVisibility(GlobalValue::HiddenVisibility);
  return table;
}

/// Emits the hewn_services of the model. The linker keeps only the services that this table
/// references.
Constant *DescriptorEmitter::services(bool hasWeightsFile) {
  return global(record(RuntimeStruct::hewn_services,
                       {number(structs.size(RuntimeStruct::hewn_services), 32), number(0, 32),
                        runtimeTable("hewn_rt_platform"), platform.hasThreads ? runtimeTable("hewn_rt_pool") : null(),
                        hasWeightsFile ? runtimeTable("hewn_rt_weights") : null(),
                        interface.numRanks > 0 ? runtimeTable("hewn_rt_ranks") : null()}),
                "services");
}

void DescriptorEmitter::emit(const WeightsReference &weights, const DeviceReference *device) {
  SmallVector<Constant *> symbols;
  for (const SymbolInterface &symbol : interface.symbols)
    symbols.push_back(record(RuntimeStruct::hewn_symbol,
                             {text(symbol.name), number(uint64_t(symbol.min), 64), number(uint64_t(symbol.max), 64)}));
  Constant *file = null(), *embedded = null(), *state = null(), *digest = null();
  if (weights.bytes) {
    digest = text(weights.digest);
    if (weights.file.empty()) {
      auto *data = new GlobalVariable(module, b.getInt8Ty(), true, GlobalValue::ExternalLinkage, nullptr,
                                      interface.name + "_weights");
      data->setVisibility(GlobalValue::HiddenVisibility);
      embedded = data;
    } else {
      file = text(weights.file);
      StructType *type = structs.type(RuntimeStruct::hewn_weights_state);
      state = global(Constant::getNullValue(type), "weights_state", /*isConstant=*/false);
    }
  }
  Constant *variantTable = variants();
  bool several = interface.cases.size() > 1;
  Function *dims = outputDims();
  Constant *value = record(RuntimeStruct::hewn_model, {number(HEWN_ABI_VERSION, 32),
                                                       number(structs.size(RuntimeStruct::hewn_model), 32),
                                                       text(interface.name),
                                                       text(interface.digest),
                                                       text(interface.target),
                                                       runtimeTable("hewn_rt_table"),
                                                       number(interface.inputs.size(), 32),
                                                       number(interface.outputs.size(), 32),
                                                       number(interface.symbols.size(), 32),
                                                       number(interface.variants.size(), 32),
                                                       tensors(interface.inputs, "inputs"),
                                                       tensors(interface.outputs, "outputs"),
                                                       array(symbols, "symbols"),
                                                       variantTable,
                                                       file,
                                                       digest,
                                                       number(weights.bytes, 64),
                                                       embedded,
                                                       state,
                                                       dims,
                                                       device ? deviceCode(*device) : null(),
                                                       several ? cases() : null(),
                                                       several ? caseOf() : null(),
                                                       number(several ? interface.cases.size() : 0, 32),
                                                       number(uint64_t(interface.numRanks), 32),
                                                       metadata(),
                                                       number(interface.metadata.size(), 32),
                                                       number(0, 32),
                                                       services(!file->isNullValue())});
  auto *model = new GlobalVariable(module, value->getType(), true, GlobalValue::ExternalLinkage, value, interface.name);
  typedRun(model);
  typedArenaBytes(model);
}

void emitDescriptor(const ProgramInterface &interface, const WeightsReference &weights, const Platform &platform,
                    Module &module, const DeviceReference *device) {
  DescriptorEmitter(interface, platform, module).emit(weights, device);
}

} // namespace hewn::codegen
