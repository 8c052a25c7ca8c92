// SPDX-License-Identifier: Apache-2.0
//
// Emits the addresses of a program's values: constants, the arena, outputs, dynamic allocations.
#include "hewn/services.h"
#include "lib/Codegen/Program/ProgramEmitter.h"
#include "lib/Transforms/Plan/Copies/Memories.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

using namespace mlir;
using hewn::graph::DimExpr;

namespace hewn::codegen {

/// Limit in bytes up to which a constant is stored in the program's module. Larger constants are
/// stored with the weights.
static constexpr size_t kSmallConstant = 256;

/// Returns the bytes of the elements as they are stored in memory: a bool or a 4-bit integer takes
/// one byte.
static std::string bytesOfElements(DenseElementsAttr elements) {
  std::string bytes;
  Type type = elements.getElementType();
  unsigned bits = type.getIntOrFloatBitWidth();
  auto append = [&](const APInt &value) {
    uint64_t word = value.getZExtValue();
    bytes.append(reinterpret_cast<const char *>(&word), std::max(1u, bits / 8));
  };
  if (isa<FloatType>(type))
    for (const APFloat &value : elements.getValues<APFloat>())
      append(value.bitcastToAPInt());
  else
    for (const APInt &value : elements.getValues<APInt>())
      append(value);
  return bytes;
}

FailureOr<llvm::Value *> ProgramEmitter::constantPointer(graph::ConstantOp op) {
  std::optional<int64_t> size = plan::bufferBytes(op.getResult()).constant();
  ArrayRef<char> bytes;
  std::string own;
  if (auto weight = dyn_cast<graph::WeightAttr>(op.getValue())) {
    bytes = table.bytes(weight);
    if (int64_t(bytes.size()) != weight.getBytes())
      return op.emitOpError("refers to missing weights: ") << weight.getKey();
  } else if (auto elements = dyn_cast<DenseElementsAttr>(op.getValue())) {
    own = bytesOfElements(elements);
    bytes = ArrayRef<char>(own.data(), own.size());
  } else {
    return op.emitOpError("has a value of an unsupported attribute type");
  }
  if (!size || int64_t(bytes.size()) != *size)
    return op.emitOpError("has ") << bytes.size() << " bytes of data, but the number of bytes of its type is "
                                  << size.value_or(-1);
  if (bytes.size() > kSmallConstant || device) { // a device cannot read the module's constants
    uint64_t at = own.empty() ? weights.add(bytes, &table) : weights.add(std::move(own));
    if (device)
      devicePointers[op.getResult()] = offset(deviceWeights, b.getInt64(at));
    return offset(weightsBase, b.getInt64(at));
  }
  auto *data = llvm::ConstantDataArray::getRaw(StringRef(bytes.data(), bytes.size()), bytes.size(), i8);
  auto *global = new llvm::GlobalVariable(module, data->getType(), /*isConstant=*/true,
                                          llvm::GlobalValue::PrivateLinkage, data, ".constant");
  global->setAlignment(llvm::Align(64));
  global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  return static_cast<llvm::Value *>(global);
}

plan::BufferAttr ProgramEmitter::placeOf(OpResult result) {
  return cast<plan::BufferAttr>(
      result.getOwner()->getAttrOfType<ArrayAttr>(plan::kBuffersAttr)[result.getResultNumber()]);
}

llvm::Value *ProgramEmitter::place(OpResult result) {
  plan::BufferAttr where = placeOf(result);
  bool onDevice = isOnDevice(result);
  if (where.getKind() == plan::BufferKind::Dynamic)
    return allocate(plan::bufferDims(result), cast<RankedTensorType>(result.getType()), onDevice);
  DimExpr at = where.getOffset().value_or(DimExpr(0));
  if (where.getKind() == plan::BufferKind::Subview) {
    Value whole = plan::assemblyOf(result).getOutput();
    llvm::Value *memory = pointers.lookup(whole);
    if (!memory) // allocate the result with its first subview
      pointers[whole] = memory = place(cast<OpResult>(whole));
    return offset(memory, value(at));
  }
  if (where.getKind() == plan::BufferKind::Output) {
    unsigned i = unsigned(at.constant().value_or(0));
    if (device && !onDevice) // the caller's output may be in device memory
      return allocate(plan::bufferDims(result), cast<RankedTensorType>(result.getType()), onDevice);
    if (onDevice) { // copied to the caller's memory at the end of the run
      if (interface.outputs[i].dynamic)
        return allocate(plan::bufferDims(result), cast<RankedTensorType>(result.getType()), onDevice);
      llvm::Value *memory = b.CreateCall(service("hewn_device_output", ptr, {ptr, i32, i64}),
                                         {runContext, b.getInt32(i), bytesOf(result)});
      failIfNull(memory);
      return memory;
    }
    return outputPointer(i);
  }
  if (where.getKind() == plan::BufferKind::Slice)
    return slices[result.getOwner()->getParentOp()][unsigned(at.constant().value_or(0))];
  return offset(onDevice ? deviceArena : arena, value(at));
}

llvm::Value *ProgramEmitter::outputPointer(unsigned i) {
  if (interface.outputs[i].dynamic)
    return allocateOutput(i, interface.outputs[i].dims);
  return b.CreateLoad(ptr, b.CreateConstInBoundsGEP1_64(ptr, outputPointers, i));
}

bool ProgramEmitter::isOnDevice(Value v) { return device && plan::memoryOf(v) == plan::Memory::Device; }

llvm::Value *ProgramEmitter::allocate(ArrayRef<DimExpr> dims, RankedTensorType type, bool onDevice) {
  // Sizes of dynamic buffers depend on data: a dim may be negative, and their product may overflow.
  llvm::Value *bad = nullptr;
  llvm::Value *bytes = expressions.checked(plan::bufferBytes(type, dims), bad);
  if (!bad)
    bad = b.getFalse();
  for (const DimExpr &dim : dims)
    if (!dim.constant())
      bad = b.CreateOr(bad, b.CreateICmpSLT(value(dim), b.getInt64(0)));
  return allocateBytes(b.CreateSelect(bad, b.getInt64(uint64_t(-1)), bytes), onDevice);
}

llvm::Value *ProgramEmitter::allocateBytes(llvm::Value *bytes, bool onDevice) {
  llvm::Value *memory =
      onDevice ? b.CreateCall(service("hewn_device_alloc", ptr, {ptr, i64}), {runContext, bytes})
               : b.CreateCall(service("hewn_rt_alloc", ptr, {ptr, i64, i64}), {runContext, bytes, b.getInt64(64)});
  if (!stepMemory.empty()) {
    Slot holder = variable(ptr);
    stepMemory.back().push_back(holder);
    if (device && !onDevice)
      hostMemory.insert(holder);
    b.CreateStore(memory, holder);
  }
  failIfNull(memory);
  return memory;
}

void ProgramEmitter::release(llvm::Value *memory, bool onDevice) {
  b.CreateCall(service(onDevice ? "hewn_device_free" : "hewn_rt_free", b.getVoidTy(), {ptr, ptr}),
               {runContext, memory});
}

llvm::Value *ProgramEmitter::allocateOutput(unsigned index, ArrayRef<DimExpr> dims) {
  Slot array = variable(i64, b.getInt64(std::max<size_t>(dims.size(), 1)));
  for (auto [d, size] : llvm::enumerate(values(dims)))
    b.CreateStore(size, b.CreateConstInBoundsGEP1_64(i64, array, d));
  llvm::Value *memory = b.CreateCall(service("hewn_rt_alloc_output", ptr, {ptr, i32, i32, ptr}),
                                     {runContext, b.getInt32(index), b.getInt32(dims.size()), array});
  failIfNull(memory);
  return memory;
}

llvm::Value *ProgramEmitter::bytesOf(Value v) {
  return value(plan::bufferBytes(cast<RankedTensorType>(v.getType()), graph::getDims(v)));
}

SmallVector<llvm::Value *> ProgramEmitter::values(ArrayRef<DimExpr> dims) {
  return llvm::map_to_vector(dims, [&](const DimExpr &dim) { return value(dim); });
}

llvm::Value *ProgramEmitter::offset(llvm::Value *base, llvm::Value *bytes) {
  if (auto *constant = dyn_cast<llvm::ConstantInt>(bytes); constant && constant->isZero())
    return base;
  return b.CreateGEP(i8, base, bytes);
}

void ProgramEmitter::copy(llvm::Value *to, llvm::Value *from, llvm::Value *bytes) {
  if (to == from)
    return;
  if (device)
    deviceCopy(to, from, bytes, HEWN_DEVICE_WITHIN);
  else
    b.CreateMemCpy(to, llvm::Align(1), from, llvm::Align(1), bytes);
}

void ProgramEmitter::copyByCall(llvm::Value *to, llvm::Value *from, llvm::Value *bytes) {
  constexpr StringRef name = "copy.bytes";
  llvm::Function *function = module.getFunction(name);
  if (!function) {
    auto *type = llvm::FunctionType::get(b.getVoidTy(), {ptr, ptr, i64}, false);
    function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
    function->addFnAttr(llvm::Attribute::NoInline);
    llvm::IRBuilder<> body(llvm::BasicBlock::Create(context, "entry", function));
    body.CreateMemCpy(function->getArg(0), llvm::Align(1), function->getArg(1), llvm::Align(1), function->getArg(2));
    body.CreateRetVoid();
  }
  b.CreateCall(function, {to, from, bytes});
}

ProgramEmitter::Slot ProgramEmitter::variable(llvm::Type *type, llvm::Value *count) {
  llvm::BasicBlock &entry = run->getEntryBlock();
  return llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(type, count);
}

llvm::Value *ProgramEmitter::pointer(Value v) {
  auto both = devicePointers.find(v);
  return both == devicePointers.end() ? hostPointer(v) : both->second;
}

llvm::Value *ProgramEmitter::hostPointer(Value v) {
  if (auto found = pointers.find(v); found != pointers.end())
    return found->second;
  auto argument = dyn_cast<BlockArgument>(v);
  if (!argument || argument.getOwner() != &program.getBody().front())
    return llvm::PoisonValue::get(ptr);
  // Load an input's pointer at each use. If all pointers were loaded at the beginning, LLVM would
  // spill them (see outputPointer).
  return b.CreateLoad(ptr, b.CreateConstInBoundsGEP1_64(ptr, inputPointers, argument.getArgNumber()));
}

void ProgramEmitter::bind(ArrayRef<DimExpr> dims, ArrayRef<llvm::Value *> actual) {
  for (auto [dim, size] : llvm::zip(dims, actual)) {
    ArrayRef<DimExpr::Term> terms = dim.terms();
    if (terms.size() != 1 || terms[0].coefficient != 1 || terms[0].factors.size() != 1)
      continue;
    StringRef name = terms[0].factors[0]->name;
    if (!name.empty() && !symbols.count(name))
      symbols[name] = size;
  }
}

bool ProgramEmitter::isBound(const DimExpr &expr) {
  bool bound = true;
  expr.walkSymbols([&](StringRef name) { bound &= symbols.count(name) > 0; });
  return bound;
}

} // namespace hewn::codegen
