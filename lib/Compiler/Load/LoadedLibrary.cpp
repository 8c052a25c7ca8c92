// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/Load/LoadedLibrary.h"
#include "lib/Compiler/Load/WasmInstance.h"
#include "lib/Compiler/Load/WasmLibrary.h"
#include "lib/Target/Targets.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cstdlib>

namespace hewn {

std::string shapeText(const Array &array) {
  std::string text;
  for (int64_t dim : array.shape)
    text += (text.empty() ? "" : "x") + std::to_string(dim);
  return text.empty() ? "scalar" : text;
}

std::string dataTypeText(DLDataType type) {
  if (type.code == HEWN_DL_BOOL)
    return "bool";
  const char *kind = type.code == kDLInt      ? "int"
                     : type.code == kDLUInt   ? "uint"
                     : type.code == kDLBfloat ? "bfloat"
                                              : "float";
  return kind + std::to_string(type.bits);
}

static void *allocate(void *, size_t bytes, size_t alignment) {
  void *memory = nullptr;
  return posix_memalign(&memory, std::max<size_t>(64, alignment), std::max<size_t>(1, bytes)) == 0 ? memory : nullptr;
}
static void release(void *, void *memory) { std::free(memory); }

std::string LoadedLibrary::force(const std::string &variant) {
  const hewn_model &whole = *descriptor;
  forced = whole;
  forced.num_variants = 1;
  llvm::SmallVector<std::string> names;
  for (int32_t i = 0; i < whole.num_variants; ++i) {
    names.push_back(whole.variants[i].target);
    if (variant == names.back())
      forced.variants = &whole.variants[i];
  }
  descriptor = &forced;
  if (llvm::is_contained(names, variant))
    return "";
  return std::string(whole.name) + " has no variant '" + variant + "'; there are: " + llvm::join(names, ", ");
}

bool LoadedLibrary::loads(const std::string &path) { return target::isLibrary(path) || WasmLibrary::isModule(path); }

const hewn_variant &LoadedLibrary::variant() const {
  return module ? descriptor->variants[0] : *descriptor->runtime->model_variant(descriptor);
}

void LoadedLibrary::setWasmEngine(std::string path) { WasmInstance::setEngine(std::move(path)); }

std::unique_ptr<LoadedLibrary> LoadedLibrary::open(const std::string &path, const std::string &variant,
                                                   hewn_context_options options, std::string &problem,
                                                   const RanksOf &ranks) {
  std::unique_ptr<LoadedLibrary> loaded(new LoadedLibrary);
  if (WasmLibrary::isModule(path)) {
    llvm::Expected<std::unique_ptr<WasmLibrary>> module = WasmLibrary::open(path, options);
    if (!module) {
      problem = "cannot load '" + path + "': " + llvm::toString(module.takeError());
      return nullptr;
    }
    loaded->module = std::move(*module);
    loaded->descriptor = &loaded->module->descriptor;
    problem = variant.empty() ? "" : loaded->force(variant);
    return problem.empty() ? std::move(loaded) : nullptr;
  }
  hewn_status status = hewn_library_open(path.c_str(), &loaded->library);
  if (status.code != HEWN_OK) {
    problem = status.message;
    return nullptr;
  }
  loaded->descriptor = hewn_library_model(loaded->library);
  if (!variant.empty() && !(problem = loaded->force(variant)).empty())
    return nullptr;
  options.size = sizeof(options);
  if (loaded->descriptor->num_ranks > 0 && ranks && !ranks(*loaded->descriptor, options, problem))
    return nullptr;
  if (!options.allocator.allocate)
    options.allocator = {allocate, release, nullptr};
  auto create = [&] {
    return loaded->descriptor->runtime->context_create(loaded->descriptor, &options, &loaded->context);
  };
  status = create();
  // A library with an older runtime rejects the transfer hook, before it synchronizes ranks. In
  // that case the context is created again without the hook.
  if (status.code == HEWN_INVALID_ARGUMENT && !loaded->context && options.transfer_hook.transfer) {
    options.transfer_hook = {};
    status = create();
  }
  if (status.code == HEWN_OK)
    return loaded;
  problem = status.message;
  return nullptr;
}

LoadedLibrary::~LoadedLibrary() {
  if (context)
    descriptor->runtime->context_destroy(context);
  hewn_library_close(library);
}

int LoadedLibrary::inputNamed(const std::string &name) const {
  for (int i = 0; i < descriptor->num_inputs; ++i)
    if (name == descriptor->inputs[i].name)
      return i;
  return -1;
}

hewn_status LoadedLibrary::run(const std::vector<Array> &inputs, std::vector<Array> &outputs) {
  if (module) {
    message = llvm::toString(module->run(inputs, outputs));
    return {message.empty() ? HEWN_OK : HEWN_INTERNAL, message.c_str()};
  }
  std::vector<DLTensor> in(inputs.size()), out(descriptor->num_outputs);
  for (size_t i = 0; i < in.size(); ++i) {
    in[i] = {};
    in[i].data = const_cast<char *>(inputs[i].bytes.data());
    in[i].device = {kDLCPU, 0};
    in[i].ndim = int32_t(inputs[i].shape.size());
    in[i].dtype = inputs[i].type;
    in[i].shape = const_cast<int64_t *>(inputs[i].shape.data());
  }
  std::vector<std::vector<int64_t>> shapes(out.size());
  for (size_t i = 0; i < out.size(); ++i) {
    shapes[i].resize(descriptor->outputs[i].rank + 1);
    out[i] = {};
    out[i].device = {kDLCPU, 0};
    out[i].shape = shapes[i].data();
  }
  hewn_status status =
      descriptor->runtime->run(descriptor, context, in.data(), int32_t(in.size()), out.data(), int32_t(out.size()));
  if (status.code != HEWN_OK)
    return status;
  outputs.resize(out.size()); // reuses the memory of an earlier run
  for (size_t i = 0; i < out.size(); ++i) {
    outputs[i].type = out[i].dtype;
    outputs[i].shape.assign(out[i].shape, out[i].shape + out[i].ndim);
    const char *data = static_cast<const char *>(out[i].data);
    outputs[i].bytes.assign(data, data + outputs[i].elements() * outputs[i].elementBytes());
    descriptor->runtime->output_release(context, out[i].data);
  }
  return status;
}

} // namespace hewn
