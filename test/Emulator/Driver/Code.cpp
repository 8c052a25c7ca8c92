// SPDX-License-Identifier: Apache-2.0
#include "test/Emulator/Driver/Code.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/ThreadSafeModule.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include <map>

using namespace llvm;

namespace emulator {

namespace {

class JITCode : public Code {
public:
  Error load(StringRef text);
  const Kernel *find(const std::string &name) override;

private:
  struct Found {
    Kernel kernel;
    std::vector<std::pair<std::string, uint64_t>> shared; // symbol names and sizes in bytes
    bool resolved = false;
  };
  Error addModule(StringRef text);
  void prepare(Module &module);

  std::unique_ptr<orc::LLJIT> jit;
  std::map<std::string, Found> kernels;
  unsigned modules = 0;
};

/// Defines the `simt` function, which returns four values, as a call of `by`, which writes them to
/// an array. For "emulator.product", the operands are passed in arrays after `leading`; otherwise,
/// the argument is passed by value before `leading`.
void define(Module &module, StringRef name, StringRef by, int32_t leading) {
  Function *function = module.getFunction(name);
  if (!function)
    return;
  function->setLinkage(GlobalValue::InternalLinkage);
  function->removeFnAttr(Attribute::Memory);
  IRBuilder<> b(BasicBlock::Create(module.getContext(), "entry", function));
  auto *results = cast<StructType>(function->getReturnType());
  Type *element = results->getElementType(0);
  Value *made = b.CreateAlloca(element, b.getInt64(4));
  SmallVector<Value *> arguments;
  if (by == "emulator.product") {
    Value *factors = b.CreateAlloca(b.getInt32Ty(), b.getInt64(6));
    for (Argument &argument : function->args()) {
      unsigned i = argument.getArgNo();
      b.CreateStore(&argument, i < 6 ? b.CreateConstInBoundsGEP1_64(b.getInt32Ty(), factors, i)
                                     : b.CreateConstInBoundsGEP1_64(element, made, i - 6));
    }
    arguments = {b.getInt32(uint32_t(leading)), factors, made};
  } else {
    arguments = {function->getArg(0), b.getInt32(uint32_t(leading)), made};
  }
  SmallVector<Type *> types;
  for (Value *argument : arguments)
    types.push_back(argument->getType());
  b.CreateCall(module.getOrInsertFunction(by, FunctionType::get(b.getVoidTy(), types, false)), arguments);
  Value *result = PoisonValue::get(results);
  for (unsigned i = 0; i < 4; ++i)
    result = b.CreateInsertValue(result, b.CreateLoad(element, b.CreateConstInBoundsGEP1_64(element, made, i)), i);
  b.CreateRet(result);
}

/// Defines the function `name`, which copies a fixed number of bytes, as a call of the function
/// that copies any number.
void defineCopy(Module &module, StringRef name, int32_t bytes) {
  Function *function = module.getFunction(name);
  if (!function)
    return;
  function->setLinkage(GlobalValue::InternalLinkage);
  IRBuilder<> b(BasicBlock::Create(module.getContext(), "entry", function));
  b.CreateCall(module.getOrInsertFunction("emulator.copy", b.getVoidTy(), b.getInt64Ty(), b.getInt64Ty(),
                                          b.getInt32Ty(), b.getInt32Ty()),
               {function->getArg(0), function->getArg(1), function->getArg(2), b.getInt32(uint32_t(bytes))});
  b.CreateRetVoid();
}

/// Defines a warpgroup MMA, or a wait for one, as a call that passes the accumulators in an array.
void defineGroup(Module &module, Function &function) {
  StringRef name = function.getName();
  bool isWait = !name.consume_front("hewn.simt.group.product.");
  auto *results = cast<StructType>(function.getReturnType());
  unsigned count = results->getNumElements(), first = function.arg_size() - count;
  function.setLinkage(GlobalValue::InternalLinkage);
  IRBuilder<> b(BasicBlock::Create(module.getContext(), "entry", &function));
  Type *element = results->getElementType(0);
  Value *sums = b.CreateAlloca(element, b.getInt64(count));
  auto sum = [&](unsigned i) { return b.CreateConstInBoundsGEP1_64(element, sums, i); };
  for (unsigned i = 0; i < count; ++i)
    b.CreateStore(function.getArg(first + i), sum(i));
  SmallVector<Value *> arguments;
  for (unsigned i = 0; i < first; ++i)
    arguments.push_back(function.getArg(i));
  StringRef by = isWait ? "emulator.group.wait" : "emulator.group.product";
  if (!isWait) {
    SmallVector<StringRef> parts; // element types, major order of left and right, columns
    name.split(parts, '.');
    if (parts[1] == "r")
      by = "emulator.group.product.words";
    arguments.push_back(b.getInt32((parts[0] == "bf16") | (parts[0] == "f32") << 3 | (parts[1] == "k") << 1 |
                                   (parts[2] == "k") << 2 | element->isIntegerTy() << 4 |
                                   parts[0].starts_with("s") << 5 | parts[0].ends_with("s8") << 6));
  }
  arguments.append({b.getInt32(count * 2), sums});
  SmallVector<Type *> types;
  for (Value *argument : arguments)
    types.push_back(argument->getType());
  b.CreateCall(module.getOrInsertFunction(by, FunctionType::get(b.getVoidTy(), types, false)), arguments);
  Value *result = PoisonValue::get(results);
  for (unsigned i = 0; i < count; ++i)
    result = b.CreateInsertValue(result, b.CreateLoad(element, sum(i)), i);
  b.CreateRet(result);
}

/// Inserts alignment checks before memory accesses. A GPU ends a kernel with a misaligned access, a
/// CPU does not.
void checkAlignments(Module &module) {
  std::vector<std::pair<Instruction *, uint64_t>> accesses;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function)) {
      if (isa<LoadInst, StoreInst>(instruction) && !isa<AllocaInst>(getLoadStorePointerOperand(&instruction)))
        if (uint64_t align = getLoadStoreAlignment(&instruction).value(); align > 1)
          accesses.push_back({&instruction, align});
    }
  Type *i32 = Type::getInt32Ty(module.getContext());
  FunctionCallee misaligned =
      module.getOrInsertFunction("emulator.misaligned", Type::getVoidTy(module.getContext()), i32);
  for (auto [access, align] : accesses) {
    IRBuilder<> b(access);
    Value *address = b.CreatePtrToInt(getLoadStorePointerOperand(access), b.getInt64Ty());
    Value *wrong = b.CreateIsNotNull(b.CreateAnd(address, b.getInt64(align - 1)));
    b.SetInsertPoint(SplitBlockAndInsertIfThen(wrong, access, /*Unreachable=*/false));
    b.CreateCall(misaligned, b.getInt32(uint32_t(align)));
    // After a failed check, the emulator lowers the alignment of the access, so that it works at
    // any address and the kernel continues until the error is reported.
    if (auto *load = dyn_cast<LoadInst>(access))
      load->setAlignment(Align(1));
    else
      cast<StoreInst>(access)->setAlignment(Align(1));
  }
}

/// Inserts a call of the race detector before each access of memory that other threads can access.
void tellAccesses(Module &module) {
  struct Access {
    Instruction *instruction;
    Value *address, *bytes;
    bool writes;
  };
  std::vector<Access> accesses;
  const DataLayout &layout = module.getDataLayout();
  Type *i64 = Type::getInt64Ty(module.getContext()), *i32 = Type::getInt32Ty(module.getContext());
  auto add = [&](Instruction &instruction, Value *address, Value *bytes, bool writes) {
    const Value *object = getUnderlyingObject(address, 0);
    const auto *variable = dyn_cast<GlobalVariable>(object);
    if (!isa<AllocaInst>(object) && !(variable && variable->isConstant()))
      accesses.push_back({&instruction, address, bytes, writes});
  };
  for (Function &function : module)
    for (Instruction &instruction : instructions(function)) {
      if (isa<LoadInst, StoreInst>(instruction))
        add(instruction, getLoadStorePointerOperand(&instruction),
            ConstantInt::get(i64, layout.getTypeStoreSize(getLoadStoreType(&instruction))),
            isa<StoreInst>(instruction));
      if (auto *call = dyn_cast<MemIntrinsic>(&instruction)) {
        add(instruction, call->getRawDest(), call->getLength(), true);
        if (auto *transfer = dyn_cast<MemTransferInst>(call))
          add(instruction, transfer->getRawSource(), call->getLength(), false);
      }
    }
  FunctionCallee tell =
      module.getOrInsertFunction("emulator.access", Type::getVoidTy(module.getContext()), i64, i64, i32);
  FunctionCallee store =
      module.getOrInsertFunction("emulator.store", Type::getVoidTy(module.getContext()), i64, i64, i64);
  for (const Access &access : accesses) {
    IRBuilder<> b(access.instruction);
    Value *at = b.CreatePtrToInt(access.address, i64), *bytes = b.CreateZExtOrTrunc(access.bytes, i64);
    auto *stored = dyn_cast<StoreInst>(access.instruction);
    Type *type = stored ? stored->getValueOperand()->getType() : nullptr;
    if (type && (type->isIntegerTy() || type->isFloatingPointTy()) && type->getPrimitiveSizeInBits() <= 64) {
      Type *word = b.getIntNTy(unsigned(type->getPrimitiveSizeInBits()));
      b.CreateCall(store, {at, bytes, b.CreateZExtOrTrunc(b.CreateBitCast(stored->getValueOperand(), word), i64)});
    } else {
      b.CreateCall(tell, {at, bytes, b.getInt32(access.writes)});
    }
  }
}

/// Replaces each atomic addition to a counter in global memory, if its result is unused, by a call
/// that has release order and does not acquire.
void nameReleases(Module &module) {
  Function *add = module.getFunction("hewn.simt.counter.add");
  if (!add)
    return;
  FunctionCallee release = module.getOrInsertFunction("emulator.counter.release", add->getFunctionType());
  for (User *user : make_early_inc_range(add->users()))
    if (auto *call = dyn_cast<CallInst>(user); call && call->use_empty())
      call->setCalledFunction(release);
}

/// Converts the LLVM IR of a GPU kernel to IR for this CPU.
void JITCode::prepare(Module &module) {
  if (looksForRaces())
    tellAccesses(module);
  // This call checks only the kernel's own accesses, so it comes before the emulator adds accesses
  // that need no check.
  checkAlignments(module);
  module.setTargetTriple(jit->getTargetTriple());
  module.setDataLayout(jit->getDataLayout());
  std::vector<std::pair<std::string, uint64_t>> shared;
  for (GlobalVariable &variable : module.globals())
    if (variable.getAddressSpace() == 3) {
      variable.setInitializer(Constant::getNullValue(variable.getValueType()));
      variable.setLinkage(GlobalValue::ExternalLinkage);
      variable.setName("shared" + Twine(modules) + "_" + Twine(shared.size()));
      shared.push_back({variable.getName().str(), module.getDataLayout().getTypeAllocSize(variable.getValueType())});
    }
  bool synchronizes = any_of(module.functions(), [](const Function &function) {
    static const StringRef positions[] = {"hewn.simt.thread", "hewn.simt.block", "hewn.simt.blocks"};
    return function.getName().starts_with("hewn.simt.") && !is_contained(positions, function.getName());
  });
  bool counts = module.getFunction("hewn.simt.counter.add") != nullptr;
  nameReleases(module);
  define(module, "hewn.simt.product", "emulator.product", 32);
  define(module, "hewn.simt.product.f16", "emulator.product", 16);
  define(module, "hewn.simt.product.bf16", "emulator.product", -16);
  define(module, "hewn.simt.product.u8.u8", "emulator.product", kProductOfBytes);
  define(module, "hewn.simt.product.s8.u8", "emulator.product", kProductOfBytes + 1);
  define(module, "hewn.simt.product.u8.s8", "emulator.product", kProductOfBytes + 2);
  define(module, "hewn.simt.product.s8.s8", "emulator.product", kProductOfBytes + 3);
  define(module, "hewn.simt.ldmatrix", "emulator.lines", 0);
  define(module, "hewn.simt.ldmatrix.transposed", "emulator.lines", 1);
  defineCopy(module, "hewn.simt.copy16", 16);
  defineCopy(module, "hewn.simt.copy8", 8);
  defineCopy(module, "hewn.simt.copy4", 4);
  std::vector<Function *> found;
  for (Function &function : module)
    if (function.getName().starts_with("hewn.simt.group.") && function.getReturnType()->isStructTy())
      found.push_back(&function);
  for (Function *function : found)
    defineGroup(module, *function);
  found.clear();
  for (Function &function : module) {
    function.removeFnAttr("target-cpu");
    function.removeFnAttr("target-features");
    if (!function.isDeclaration() && !function.hasLocalLinkage())
      found.push_back(&function);
  }
  Type *i64 = Type::getInt64Ty(module.getContext());
  for (Function *function : found) {
    Found &entry = kernels[function->getName().str()];
    function->setVisibility(GlobalValue::DefaultVisibility);
    entry.shared = shared;
    entry.kernel.synchronizes = synchronizes;
    entry.kernel.counts = counts;
    // void NAME.call(const uint64_t *arguments)
    auto *type =
        FunctionType::get(Type::getVoidTy(module.getContext()), {PointerType::get(module.getContext(), 0)}, false);
    Function *call = Function::Create(type, GlobalValue::ExternalLinkage, function->getName() + ".call", module);
    IRBuilder<> b(BasicBlock::Create(module.getContext(), "entry", call));
    SmallVector<Value *> arguments;
    for (Argument &argument : function->args()) {
      bool isTensor = argument.hasByValAttr();
      // The emulator passes a pointer to the tensor map instead of a copy on the stack.
      argument.removeAttr(Attribute::ByVal);
      entry.kernel.parameters.push_back(isTensor                            ? Kernel::Argument::Tensor
                                        : argument.getType()->isPointerTy() ? Kernel::Argument::Pointer
                                                                            : Kernel::Argument::Value);
      arguments.push_back(
          b.CreateLoad(argument.getType(), b.CreateConstInBoundsGEP1_64(i64, call->getArg(0), argument.getArgNo())));
    }
    b.CreateCall(function, arguments);
    b.CreateRetVoid();
  }
}

Error JITCode::addModule(StringRef text) {
  auto context = std::make_unique<LLVMContext>();
  SMDiagnostic problem;
  std::unique_ptr<MemoryBuffer> buffer = MemoryBuffer::getMemBufferCopy(text);
  std::unique_ptr<Module> module = parseIR(*buffer, problem, *context);
  if (!module)
    return createStringError("line " + std::to_string(problem.getLineNo()) + ": " + problem.getMessage().str());
  prepare(*module);
  ++modules;
  return jit->addIRModule(orc::ThreadSafeModule(std::move(module), std::move(context)));
}

template <typename T> orc::ExecutorSymbolDef symbolOf(T *address) {
  return {orc::ExecutorAddr::fromPtr(address), JITSymbolFlags::Exported};
}

/// Implements type conversions for which LLVM calls a library if the CPU has no instruction. GPUs
/// have instructions for all of them.
APInt rounded(APFloat value, const fltSemantics &to) {
  bool lost = false;
  value.convert(to, APFloat::rmNearestTiesToEven, &lost);
  return value.bitcastToAPInt();
}
__bf16 floatToBfloat(float x) {
  return bit_cast<__bf16>(uint16_t(rounded(APFloat(x), APFloat::BFloat()).getZExtValue()));
}
__bf16 doubleToBfloat(double x) {
  return bit_cast<__bf16>(uint16_t(rounded(APFloat(x), APFloat::BFloat()).getZExtValue()));
}
_Float16 floatToHalf(float x) {
  return bit_cast<_Float16>(uint16_t(rounded(APFloat(x), APFloat::IEEEhalf()).getZExtValue()));
}
_Float16 doubleToHalf(double x) {
  return bit_cast<_Float16>(uint16_t(rounded(APFloat(x), APFloat::IEEEhalf()).getZExtValue()));
}
float halfToFloat(_Float16 x) {
  APFloat half(APFloat::IEEEhalf(), APInt(16, bit_cast<uint16_t>(x)));
  return bit_cast<float>(uint32_t(rounded(half, APFloat::IEEEsingle()).getZExtValue()));
}

Error JITCode::load(StringRef text) {
  auto made = orc::LLJITBuilder().create();
  if (!made)
    return made.takeError();
  jit = std::move(*made);
  orc::SymbolMap symbols;
  symbols[jit->mangleAndIntern("hewn.simt.thread")] = symbolOf(&gpuThread);
  symbols[jit->mangleAndIntern("hewn.simt.block")] = symbolOf(&gpuBlock);
  symbols[jit->mangleAndIntern("hewn.simt.blocks")] = symbolOf(&gpuBlocks);
  symbols[jit->mangleAndIntern("hewn.simt.barrier")] = symbolOf(&gridBarrier);
  symbols[jit->mangleAndIntern("hewn.simt.barrier.some")] = symbolOf(&gridBarrierSome);
  symbols[jit->mangleAndIntern("hewn.simt.counter.add")] = symbolOf(&gpuCounterAdd);
  symbols[jit->mangleAndIntern("hewn.simt.counter.read")] = symbolOf(&gpuCounterRead);
  symbols[jit->mangleAndIntern("hewn.simt.counter.peek")] = symbolOf(&gpuCounterPeek);
  symbols[jit->mangleAndIntern("hewn.simt.shuffle")] = symbolOf(&gpuShuffle);
  symbols[jit->mangleAndIntern("hewn.simt.exp2")] = symbolOf(&gpuExp2);
  symbols[jit->mangleAndIntern("hewn.simt.prefetch")] = symbolOf(&gpuPrefetch);
  symbols[jit->mangleAndIntern("hewn.simt.copies.close")] = symbolOf(&gpuCopiesClose);
  symbols[jit->mangleAndIntern("hewn.simt.copies.wait")] = symbolOf(&gpuCopiesWait);
  symbols[jit->mangleAndIntern("emulator.counter.release")] = symbolOf(&gpuCounterRelease);
  symbols[jit->mangleAndIntern("emulator.misaligned")] = symbolOf(&gpuMisaligned);
  symbols[jit->mangleAndIntern("emulator.access")] = symbolOf(&gpuAccess);
  symbols[jit->mangleAndIntern("emulator.store")] = symbolOf(&gpuStore);
  symbols[jit->mangleAndIntern("emulator.product")] = symbolOf(&gpuProduct);
  symbols[jit->mangleAndIntern("emulator.lines")] = symbolOf(&gpuLdmatrix);
  symbols[jit->mangleAndIntern("emulator.copy")] = symbolOf(&gpuCopy);
  symbols[jit->mangleAndIntern("hewn.simt.group.begin")] = symbolOf(&gpuGroupBegin);
  symbols[jit->mangleAndIntern("hewn.simt.group.close")] = symbolOf(&gpuGroupClose);
  symbols[jit->mangleAndIntern("hewn.simt.group.publish")] = symbolOf(&gpuGroupPublish);
  symbols[jit->mangleAndIntern("hewn.simt.mbarrier.init")] = symbolOf(&gpuMbarrierInit);
  symbols[jit->mangleAndIntern("hewn.simt.mbarriers.ready")] = symbolOf(&gpuMbarrierInitFence);
  symbols[jit->mangleAndIntern("hewn.simt.mbarrier.arrive")] = symbolOf(&gpuMbarrierArrive);
  symbols[jit->mangleAndIntern("hewn.simt.mbarrier.expect")] = symbolOf(&gpuMbarrierExpect);
  symbols[jit->mangleAndIntern("hewn.simt.mbarrier.wait")] = symbolOf(&gpuMbarrierWait);
  symbols[jit->mangleAndIntern("hewn.simt.fetch.2")] = symbolOf(&gpuFetch2);
  symbols[jit->mangleAndIntern("hewn.simt.fetch.3")] = symbolOf(&gpuFetch3);
  symbols[jit->mangleAndIntern("hewn.simt.registers.keep")] = symbolOf(&gpuRegisters);
  symbols[jit->mangleAndIntern("hewn.simt.registers.take")] = symbolOf(&gpuRegisters);
  symbols[jit->mangleAndIntern("emulator.group.product")] = symbolOf(&gpuGroupProduct);
  symbols[jit->mangleAndIntern("emulator.group.product.words")] = symbolOf(&gpuGroupProductWords);
  symbols[jit->mangleAndIntern("hewn.simt.warp.barrier")] = symbolOf(&gpuWarpBarrier);
  symbols[jit->mangleAndIntern("emulator.group.wait")] = symbolOf(&gpuGroupWait);
  symbols[jit->mangleAndIntern("__truncsfbf2")] = symbolOf(&floatToBfloat);
  symbols[jit->mangleAndIntern("__truncdfbf2")] = symbolOf(&doubleToBfloat);
  symbols[jit->mangleAndIntern("__truncsfhf2")] = symbolOf(&floatToHalf);
  symbols[jit->mangleAndIntern("__truncdfhf2")] = symbolOf(&doubleToHalf);
  symbols[jit->mangleAndIntern("__extendhfsf2")] = symbolOf(&halfToFloat);
  if (Error error = jit->getMainJITDylib().define(orc::absoluteSymbols(std::move(symbols))))
    return error;
  // Provides the C library's math functions for LLVM intrinsics, and its memory functions.
  auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(jit->getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  jit->getMainJITDylib().addGenerator(std::move(*process));
  constexpr StringLiteral head = "; ModuleID";
  for (size_t at = text.find(head); at != StringRef::npos;) {
    size_t next = text.find(head, at + head.size());
    if (Error error = addModule(text.slice(at, next)))
      return error;
    at = next;
  }
  return Error::success();
}

const Kernel *JITCode::find(const std::string &name) {
  auto found = kernels.find(name);
  if (found == kernels.end())
    return nullptr;
  Found &entry = found->second;
  if (!entry.resolved) {
    auto call = jit->lookup(name + ".call");
    if (!call) {
      consumeError(call.takeError());
      return nullptr;
    }
    entry.kernel.call = call->toPtr<void (*)(const uint64_t *)>();
    for (auto &[symbol, bytes] : entry.shared)
      if (auto address = jit->lookup(symbol))
        entry.kernel.shared.push_back({address->toPtr<char *>(), bytes});
      else
        consumeError(address.takeError());
    entry.resolved = true;
  }
  return &entry.kernel;
}

} // namespace

std::unique_ptr<Code> loadCode(const std::string &path, std::string &problem) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer) {
    problem = "can't read " + path + ": " + buffer.getError().message();
    return nullptr;
  }
  auto code = std::make_unique<JITCode>();
  if (Error error = code->load((*buffer)->getBuffer())) {
    problem = path + ": " + toString(std::move(error));
    return nullptr;
  }
  return code;
}

} // namespace emulator
