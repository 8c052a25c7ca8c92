// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/Load/WasmLibrary.h"
#include "lib/Codegen/Emit/LinkerTool.h"
#include "lib/Target/Targets.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/Binary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace hewn {

//===------------------------------------------------------------------------------------------===//
// The structs of dlpack.h and hewn/runtime.h on wasm32: pointers and size_t have 32 bits
//===------------------------------------------------------------------------------------------===//

using Address = uint32_t;

struct WasmLibrary::Tensor {
  Address data = 0;
  DLDevice device = {kDLCPU, 0};
  int32_t ndim = 0;
  DLDataType dtype = {};
  Address shape = 0, strides = 0;
  uint64_t byteOffset = 0;
};

namespace {

struct TensorInfo {
  Address name;
  DLDataType dtype;
  int32_t rank;
  Address dims, formulas;
  int32_t kind;
  DLDataType element;
  int32_t elementRank;
  uint32_t role;
};

struct Symbol {
  Address name;
  uint32_t padding;
  int64_t min, max;
};

struct Model {
  uint32_t abiVersion, structBytes;
  Address name, digest, target, runtime;
  int32_t numInputs, numOutputs, numSymbols, numVariants;
  Address inputs, outputs, symbols, variants, weightsFile;
};

struct Options {
  uint32_t size, threads, flags, arena, arenaBytes, allocator[3], threadHook[2], traceHook[2], weightsPath, device,
      reservedDevice, deviceStream, deviceContext, deviceCache;
  uint64_t deviceCacheBytes;
  uint32_t communicator, deviceHook[2], transferHook[2], weights, weightsBytes, cancelHook[2];
};

struct Status {
  int32_t code;
  Address message;
};

} // namespace

static_assert(sizeof(TensorInfo) == 36 && sizeof(Options) == 120);

/// Returns the name of the model that the valid module describes.
static Expected<std::string> nameOf(MemoryBufferRef file) {
  Expected<std::unique_ptr<object::Binary>> module = object::createBinary(file);
  if (!module)
    return module.takeError();
  std::string name;
  auto read = [&](StringRef text) -> Error {
    Expected<json::Value> description = json::parse(text);
    if (!description)
      return description.takeError();
    const json::Object *object = description->getAsObject();
    name = object ? object->getString("name").value_or("").str() : "";
    return Error::success();
  };
  for (const codegen::LinkerTool *linker : target::linkers())
    if (linker->binaryKind(file.getBuffer()) != codegen::BinaryKind::None)
      if (Error error = linker->readDescriptions(**module, read))
        return createStringError("its description is damaged: " + toString(std::move(error)));
  if (name.empty())
    return createStringError("the module has no description: it is no model of hewn");
  return name;
}

Expected<const char *> WasmLibrary::keepText(uint32_t address) {
  Expected<std::string> text = instance->text(address);
  if (!text)
    return text.takeError();
  texts.push_back(std::move(*text));
  return texts.back().c_str();
}

Error WasmLibrary::describe(uint32_t address, int32_t count, const hewn_tensor_info *&result) {
  std::vector<hewn_tensor_info> &all = infos.emplace_back();
  for (int32_t i = 0; i < count; ++i) {
    Expected<TensorInfo> info = instance->read<TensorInfo>(address + uint64_t(i) * sizeof(TensorInfo));
    if (!info)
      return info.takeError();
    Expected<const char *> name = keepText(info->name);
    if (!name)
      return name.takeError();
    std::vector<int64_t> &own = dims.emplace_back();
    std::vector<const char *> &ownFormulas = formulas.emplace_back();
    for (int32_t d = 0; d < info->rank; ++d) {
      Expected<int64_t> dim = instance->read<int64_t>(info->dims + uint64_t(d) * 8);
      if (!dim)
        return dim.takeError();
      if (*dim < 0 && *dim > HEWN_DIM_FORMULA && -1 - *dim >= descriptor.num_symbols)
        return createStringError("a dim of '" + std::string(*name) + "' refers to a symbol that the model lacks");
      own.push_back(*dim);
      if (!info->formulas)
        continue;
      Expected<Address> formula = instance->read<Address>(info->formulas + uint64_t(d) * 4);
      Expected<const char *> text = formula ? (*formula ? keepText(*formula) : nullptr) : formula.takeError();
      if (!text)
        return text.takeError();
      ownFormulas.push_back(*text);
    }
    all.push_back({*name, info->dtype, int32_t(own.size()), own.data(),
                   ownFormulas.empty() ? nullptr : ownFormulas.data(), info->kind, info->element, info->elementRank,
                   info->role});
  }
  result = all.data();
  return Error::success();
}

Error WasmLibrary::describeSymbols(uint32_t address) {
  for (int32_t i = 0; i < descriptor.num_symbols; ++i) {
    Expected<Symbol> symbol = instance->read<Symbol>(address + uint64_t(i) * sizeof(Symbol));
    Expected<const char *> name = symbol ? keepText(symbol->name) : symbol.takeError();
    if (!name)
      return name.takeError();
    symbols.push_back({*name, symbol->min, symbol->max});
  }
  descriptor.symbols = symbols.data();
  return Error::success();
}

Error WasmLibrary::describe(StringRef name) {
  Expected<uint32_t> found = instance->global(name);
  Expected<Model> guest = found ? instance->read<Model>(model = *found) : found.takeError();
  if (!guest)
    return guest.takeError();
  if (guest->abiVersion != HEWN_ABI_VERSION)
    return createStringError("the module has version " + std::to_string(guest->abiVersion) +
                             " of the runtime's structs; this hewn has version " + std::to_string(HEWN_ABI_VERSION));
  Expected<const char *> own = keepText(guest->name), target = keepText(guest->target);
  if (!own || !target)
    return joinErrors(own.takeError(), target.takeError());
  variant.target = *target;
  descriptor = {};
  descriptor.abi_version = HEWN_ABI_VERSION;
  descriptor.struct_bytes = sizeof(descriptor);
  descriptor.name = *own;
  descriptor.target = *target;
  descriptor.num_inputs = guest->numInputs;
  descriptor.num_outputs = guest->numOutputs;
  descriptor.num_symbols = guest->numSymbols;
  descriptor.num_variants = 1;
  descriptor.variants = &variant;
  if (Error error = describeSymbols(guest->symbols))
    return error;
  if (Error error = describe(guest->inputs, guest->numInputs, descriptor.inputs))
    return error;
  if (Error error = describe(guest->outputs, guest->numOutputs, descriptor.outputs))
    return error;
  Expected<std::string> file = guest->weightsFile ? instance->text(guest->weightsFile) : std::string();
  if (!file)
    return file.takeError();
  weightsFile = *file;
  return Error::success();
}

Expected<std::unique_ptr<WasmLibrary>> WasmLibrary::open(const std::string &path, const hewn_context_options &options) {
  if (options.threads > 1)
    return createStringError("a WebAssembly module runs on one thread, got " + std::to_string(options.threads));
  if (options.trace_hook.event)
    return createStringError("the kernels of a WebAssembly module cannot be traced");
  ErrorOr<std::unique_ptr<MemoryBuffer>> content = MemoryBuffer::getFile(path, /*IsText=*/false, false);
  if (!content)
    return createStringError(content.getError().message());
  auto library = std::make_unique<WasmLibrary>();
  Expected<std::unique_ptr<WasmInstance>> instance = WasmInstance::create((*content)->getBuffer());
  if (!instance)
    return instance.takeError();
  library->instance = std::move(*instance);
  Expected<std::string> name = nameOf(**content);
  if (!name)
    return name.takeError();
  if (Error error = library->describe(*name))
    return error;
  if (Error error = library->createContext(path, options.flags & HEWN_VERIFY_WEIGHTS))
    return error;
  return library;
}

Error WasmLibrary::putWeights(const std::string &path, uint32_t &address, uint32_t &size) {
  if (weightsFile.empty())
    return Error::success();
  if (sys::path::filename(weightsFile) != weightsFile)
    return createStringError("the weights file '" + weightsFile + "' is not in the folder of the module");
  SmallString<128> real;
  sys::fs::real_path(path, real);
  SmallString<128> file = sys::path::parent_path(real), linked = sys::path::parent_path(path);
  sys::path::append(file, weightsFile);
  sys::path::append(linked, weightsFile);
  if (!sys::fs::exists(file) && sys::fs::exists(linked))
    file = linked;
  auto weights = MemoryBuffer::getFile(file, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!weights)
    return createStringError("cannot read the weights file '" + file.str().str() +
                             "': " + weights.getError().message());
  Expected<uint32_t> made = instance->allocate((*weights)->getBufferSize(), /*alignment=*/64);
  if (!made)
    return made.takeError();
  address = *made;
  size = uint32_t((*weights)->getBufferSize());
  auto memory = instance->bytes(address, size);
  if (memory)
    copy((*weights)->getBuffer(), memory->begin());
  return memory.takeError();
}

Error WasmLibrary::createContext(const std::string &path, uint32_t flags) {
  Options options = {};
  options.size = sizeof(options);
  options.flags = flags;
  if (Error error = putWeights(path, options.weights, options.weightsBytes))
    return error;
  Expected<uint32_t> place = instance->allocate(sizeof(Status) + sizeof(Address));
  if (!place)
    return place.takeError();
  status = *place;
  std::vector<uint32_t> held;
  Expected<uint32_t> given = put(&options, sizeof(options), held);
  if (!given)
    return given.takeError();
  if (Error error = callStatus("hewn_context_create", {model, *given, status + uint32_t(sizeof(Status))}))
    return error;
  Expected<Address> made = instance->read<Address>(status + sizeof(Status));
  if (made)
    context = *made;
  return made.takeError();
}

Error WasmLibrary::callStatus(StringRef name, ArrayRef<uint32_t> arguments) {
  SmallVector<uint32_t> all = {status};
  append_range(all, arguments);
  if (Error error = instance->call(name, all).takeError())
    return error;
  Expected<Status> found = instance->read<Status>(status);
  if (!found || found->code == HEWN_OK)
    return found.takeError();
  Expected<std::string> message = instance->text(found->message);
  return message ? createStringError(*message) : message.takeError();
}

Expected<uint32_t> WasmLibrary::put(const void *data, uint64_t size, std::vector<uint32_t> &held) {
  Expected<uint32_t> address = instance->allocate(std::max<uint64_t>(size, 1));
  if (!address)
    return address;
  held.push_back(*address);
  auto memory = instance->bytes(*address, size);
  if (!memory)
    return memory.takeError();
  if (size > 0)
    std::memcpy(memory->data(), data, size);
  return address;
}

Error WasmLibrary::take(const Tensor &tensor, const hewn_tensor_info &info, Array &output) {
  if (tensor.ndim < 0 || tensor.ndim > info.rank)
    return createStringError("the module returned a tensor with " + std::to_string(tensor.ndim) + " dims");
  output.type = info.dtype;
  output.shape.clear();
  uint64_t size = uint64_t(output.elementBytes());
  bool overflows = false;
  for (int32_t d = 0; d < tensor.ndim; ++d) {
    Expected<int64_t> dim = instance->read<int64_t>(tensor.shape + uint64_t(d) * 8);
    if (!dim)
      return dim.takeError();
    output.shape.push_back(*dim);
    overflows |= *dim < 0;
    size = SaturatingMultiply(size, uint64_t(*dim));
  }
  if (overflows)
    return createStringError("the module returned a negative size");
  auto data = instance->bytes(size ? tensor.data + tensor.byteOffset : 0, size);
  if (!data)
    return data.takeError();
  output.bytes.assign(data->begin(), data->end());
  return Error::success();
}

Error WasmLibrary::runWith(const std::vector<Array> &inputs, std::vector<Array> &outputs, std::vector<uint32_t> &held) {
  std::vector<Tensor> in(inputs.size()), out(size_t(descriptor.num_outputs));
  for (auto [tensor, array] : zip_equal(in, inputs)) {
    Expected<uint32_t> data = put(array.bytes.data(), array.bytes.size(), held);
    Expected<uint32_t> shape = put(array.shape.data(), array.shape.size() * sizeof(int64_t), held);
    if (!data || !shape)
      return joinErrors(data.takeError(), shape.takeError());
    tensor.data = *data;
    tensor.shape = *shape;
    tensor.ndim = int32_t(array.shape.size());
    tensor.dtype = array.type;
  }
  for (auto [i, tensor] : enumerate(out)) {
    const std::vector<int64_t> none(size_t(descriptor.outputs[i].rank));
    Expected<uint32_t> shape = put(none.data(), none.size() * sizeof(int64_t), held);
    if (!shape)
      return shape.takeError();
    tensor.shape = *shape;
  }
  Expected<uint32_t> first = put(in.data(), in.size() * sizeof(Tensor), held);
  Expected<uint32_t> results = put(out.data(), out.size() * sizeof(Tensor), held);
  if (!first || !results)
    return joinErrors(first.takeError(), results.takeError());
  if (Error error =
          callStatus("hewn_run_counted", {model, context, *first, uint32_t(in.size()), *results, uint32_t(out.size())}))
    return error;
  outputs.resize(out.size());
  Error problem = Error::success();
  for (auto [i, output] : enumerate(outputs)) {
    Expected<Tensor> made = instance->read<Tensor>(*results + i * sizeof(Tensor));
    if (!made) {
      problem = joinErrors(std::move(problem), made.takeError());
      continue;
    }
    problem = joinErrors(std::move(problem), take(*made, descriptor.outputs[i], output));
    problem = joinErrors(std::move(problem), instance->call("hewn_output_release", {context, made->data}).takeError());
  }
  return problem;
}

Error WasmLibrary::run(const std::vector<Array> &inputs, std::vector<Array> &outputs) {
  std::vector<uint32_t> held;
  Error error = runWith(inputs, outputs, held);
  for (uint32_t address : reverse(held))
    consumeError(instance->call("hewn_wasm_release", {address}).takeError());
  return error;
}

} // namespace hewn
