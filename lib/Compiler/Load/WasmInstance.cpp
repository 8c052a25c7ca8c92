// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/Load/WasmInstance.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/DynamicLibrary.h"
#include <cstdlib>

using namespace llvm;

namespace hewn {

namespace {

//===------------------------------------------------------------------------------------------===//
// The declarations of wasm.h that this file uses
//===------------------------------------------------------------------------------------------===//

struct wasm_engine_t;
struct wasm_store_t;
struct wasm_module_t;
struct wasm_instance_t;
struct wasm_trap_t;
struct wasm_extern_t;
struct wasm_func_t;
struct wasm_global_t;
struct wasm_memory_t;
struct wasm_functype_t;
struct wasm_valtype_t;
struct wasm_importtype_t;
struct wasm_exporttype_t;

template <typename T> struct Vector {
  size_t size = 0;
  T *data = nullptr;
};
using wasm_byte_vec_t = Vector<char>;
using wasm_extern_vec_t = Vector<wasm_extern_t *>;
using wasm_exporttype_vec_t = Vector<wasm_exporttype_t *>;
using wasm_importtype_vec_t = Vector<wasm_importtype_t *>;
using wasm_valtype_vec_t = Vector<wasm_valtype_t *>;

constexpr uint8_t WASM_I32 = 0;
struct wasm_val_t {
  uint8_t kind;
  union {
    int32_t i32;
    int64_t i64;
    void *ref;
  } of;
};
using wasm_val_vec_t = Vector<wasm_val_t>;

/// The functions of the engine's library.
struct Api {
  wasm_engine_t *(*wasm_engine_new)();
  void (*wasm_engine_delete)(wasm_engine_t *);
  wasm_store_t *(*wasm_store_new)(wasm_engine_t *);
  void (*wasm_store_delete)(wasm_store_t *);
  wasm_module_t *(*wasm_module_new)(wasm_store_t *, const wasm_byte_vec_t *);
  void (*wasm_module_delete)(wasm_module_t *);
  void (*wasm_module_imports)(const wasm_module_t *, wasm_importtype_vec_t *);
  void (*wasm_module_exports)(const wasm_module_t *, wasm_exporttype_vec_t *);
  void (*wasm_importtype_vec_delete)(wasm_importtype_vec_t *);
  void (*wasm_exporttype_vec_delete)(wasm_exporttype_vec_t *);
  const wasm_byte_vec_t *(*wasm_exporttype_name)(const wasm_exporttype_t *);
  wasm_instance_t *(*wasm_instance_new)(wasm_store_t *, const wasm_module_t *, const wasm_extern_vec_t *,
                                        wasm_trap_t **);
  void (*wasm_instance_delete)(wasm_instance_t *);
  void (*wasm_instance_exports)(const wasm_instance_t *, wasm_extern_vec_t *);
  void (*wasm_extern_vec_delete)(wasm_extern_vec_t *);
  wasm_func_t *(*wasm_extern_as_func)(wasm_extern_t *);
  wasm_global_t *(*wasm_extern_as_global)(wasm_extern_t *);
  wasm_memory_t *(*wasm_extern_as_memory)(wasm_extern_t *);
  wasm_functype_t *(*wasm_func_type)(const wasm_func_t *);
  void (*wasm_functype_delete)(wasm_functype_t *);
  const wasm_valtype_vec_t *(*wasm_functype_params)(const wasm_functype_t *);
  const wasm_valtype_vec_t *(*wasm_functype_results)(const wasm_functype_t *);
  uint8_t (*wasm_valtype_kind)(const wasm_valtype_t *);
  wasm_trap_t *(*wasm_func_call)(const wasm_func_t *, const wasm_val_vec_t *, wasm_val_vec_t *);
  void (*wasm_global_get)(const wasm_global_t *, wasm_val_t *);
  char *(*wasm_memory_data)(wasm_memory_t *);
  size_t (*wasm_memory_data_size)(const wasm_memory_t *);
  void (*wasm_trap_message)(const wasm_trap_t *, wasm_byte_vec_t *);
  void (*wasm_trap_delete)(wasm_trap_t *);
  void (*wasm_byte_vec_delete)(wasm_byte_vec_t *);

  static Expected<const Api *> load();
};

std::string &enginePath() {
  static std::string path = "libwasmtime.so";
  return path;
}

Expected<const Api *> Api::load() {
  static Api api;
  static bool isLoaded = false;
  if (isLoaded)
    return &api;
  std::string why;
  sys::DynamicLibrary library = sys::DynamicLibrary::getPermanentLibrary(enginePath().c_str(), &why);
  if (!library.isValid())
    return createStringError("WebAssembly modules run in wasmtime, whose library cannot be loaded (" + why +
                             "): install wasmtime's C API, or set HEWN_WASMTIME to its library, which PyPI's package "
                             "wasmtime contains as _libwasmtime.so");
  std::string missing;
  auto find = [&](auto &function, const char *name) {
    void *address = library.getAddressOfSymbol(name);
    if (!address && missing.empty())
      missing = name;
    function = reinterpret_cast<std::decay_t<decltype(function)>>(address);
  };
#define FIND(name) find(api.name, #name);
  FIND(wasm_engine_new)
  FIND(wasm_engine_delete)
  FIND(wasm_store_new)
  FIND(wasm_store_delete)
  FIND(wasm_module_new)
  FIND(wasm_module_delete)
  FIND(wasm_module_imports)
  FIND(wasm_module_exports)
  FIND(wasm_importtype_vec_delete)
  FIND(wasm_exporttype_vec_delete)
  FIND(wasm_exporttype_name)
  FIND(wasm_instance_new)
  FIND(wasm_instance_delete)
  FIND(wasm_instance_exports)
  FIND(wasm_extern_vec_delete)
  FIND(wasm_extern_as_func)
  FIND(wasm_extern_as_global)
  FIND(wasm_extern_as_memory)
  FIND(wasm_func_type)
  FIND(wasm_functype_delete)
  FIND(wasm_functype_params)
  FIND(wasm_functype_results)
  FIND(wasm_valtype_kind)
  FIND(wasm_func_call)
  FIND(wasm_global_get)
  FIND(wasm_memory_data)
  FIND(wasm_memory_data_size)
  FIND(wasm_trap_message)
  FIND(wasm_trap_delete)
  FIND(wasm_byte_vec_delete)
#undef FIND
  if (!missing.empty())
    return createStringError("'" + enginePath() + "' is no WebAssembly engine: it has no function " + missing);
  isLoaded = true;
  return &api;
}

/// An object of the engine, which the given function deletes.
template <typename T> using Owned = std::unique_ptr<T, void (*)(T *)>;

class Instance final : public WasmInstance {
public:
  explicit Instance(const Api &api)
      : api(api), engine(api.wasm_engine_new(), api.wasm_engine_delete),
        store(api.wasm_store_new(engine.get()), api.wasm_store_delete), module(nullptr, api.wasm_module_delete),
        instance(nullptr, api.wasm_instance_delete) {}
  ~Instance() override { api.wasm_extern_vec_delete(&exports); }

  Error open(StringRef content);
  Expected<uint32_t> global(StringRef name) override;
  Expected<uint32_t> call(StringRef name, ArrayRef<uint32_t> arguments) override;
  Expected<MutableArrayRef<char>> bytes(uint64_t address, uint64_t size) override;

private:
  /// Returns the last line of a trap's message, which is its cause, and deletes the trap.
  std::string consume(wasm_trap_t *trap);
  bool areIntegers(const wasm_valtype_vec_t &types) {
    return all_of(ArrayRef(types.data, types.size),
                  [&](const wasm_valtype_t *type) { return api.wasm_valtype_kind(type) == WASM_I32; });
  }

  const Api &api;
  Owned<wasm_engine_t> engine;
  Owned<wasm_store_t> store;
  Owned<wasm_module_t> module;
  Owned<wasm_instance_t> instance;
  wasm_extern_vec_t exports;
  StringMap<wasm_extern_t *> named;
  wasm_memory_t *memory = nullptr;
  /// The error of an earlier call, after which the module cannot be called any more, or "".
  std::string failure;
};

std::string Instance::consume(wasm_trap_t *trap) {
  wasm_byte_vec_t message;
  api.wasm_trap_message(trap, &message);
  StringRef text(message.data, message.size);
  text = text.rtrim(StringRef("\0\n ", 3));
  std::string cause = text.substr(text.rfind('\n') + 1).trim().str();
  api.wasm_byte_vec_delete(&message);
  api.wasm_trap_delete(trap);
  return cause;
}

Error Instance::open(StringRef content) {
  wasm_byte_vec_t binary = {content.size(), const_cast<char *>(content.data())};
  module.reset(api.wasm_module_new(store.get(), &binary));
  if (!module)
    return createStringError("not a valid WebAssembly module");
  wasm_importtype_vec_t imports;
  api.wasm_module_imports(module.get(), &imports);
  const bool hasImports = imports.size > 0;
  api.wasm_importtype_vec_delete(&imports);
  if (hasImports)
    return createStringError("the module imports functions, which this host does not have: load it in Python");
  wasm_trap_t *trap = nullptr;
  wasm_extern_vec_t none;
  instance.reset(api.wasm_instance_new(store.get(), module.get(), &none, &trap));
  if (!instance)
    return createStringError("the module cannot be instantiated: " + (trap ? consume(trap) : "out of memory"));
  api.wasm_instance_exports(instance.get(), &exports);
  wasm_exporttype_vec_t types;
  api.wasm_module_exports(module.get(), &types);
  for (size_t i = 0; i < types.size && i < exports.size; ++i) {
    const wasm_byte_vec_t *name = api.wasm_exporttype_name(types.data[i]);
    named[StringRef(name->data, name->size)] = exports.data[i];
  }
  api.wasm_exporttype_vec_delete(&types);
  wasm_extern_t *found = named.lookup("memory");
  memory = found ? api.wasm_extern_as_memory(found) : nullptr;
  return memory ? Error::success() : createStringError("the module has no memory 'memory': it is no model of hewn");
}

Expected<uint32_t> Instance::global(StringRef name) {
  wasm_extern_t *found = named.lookup(name);
  const wasm_global_t *value = found ? api.wasm_extern_as_global(found) : nullptr;
  wasm_val_t got = {};
  if (value)
    api.wasm_global_get(value, &got);
  if (!value || got.kind != WASM_I32)
    return createStringError("the module has no address '" + name + "': it is no model of hewn");
  return uint32_t(got.of.i32);
}

Expected<uint32_t> Instance::call(StringRef name, ArrayRef<uint32_t> arguments) {
  if (!failure.empty())
    return createStringError(failure);
  wasm_extern_t *found = named.lookup(name);
  const wasm_func_t *function = found ? api.wasm_extern_as_func(found) : nullptr;
  if (!function)
    return createStringError("the module has no function '" + name + "': it is no model of hewn");
  Owned<wasm_functype_t> type(api.wasm_func_type(function), api.wasm_functype_delete);
  const wasm_valtype_vec_t &params = *api.wasm_functype_params(type.get());
  const wasm_valtype_vec_t &results = *api.wasm_functype_results(type.get());
  if (params.size != arguments.size() || results.size > 1 || !areIntegers(params) || !areIntegers(results))
    return createStringError("the function '" + name + "' of the module has another type than that of hewn's runtime");
  SmallVector<wasm_val_t> given;
  for (uint32_t argument : arguments)
    given.push_back({WASM_I32, {int32_t(argument)}});
  wasm_val_t result = {};
  wasm_val_vec_t in = {given.size(), given.data()}, out = {results.size, &result};
  if (wasm_trap_t *trap = api.wasm_func_call(function, &in, &out)) {
    failure = "the WebAssembly module failed: " + consume(trap);
    return createStringError(failure);
  }
  return uint32_t(result.of.i32);
}

Expected<MutableArrayRef<char>> Instance::bytes(uint64_t address, uint64_t size) {
  const uint64_t end = api.wasm_memory_data_size(memory);
  if (address > end || size > end - address)
    return createStringError("the module refers to " + std::to_string(size) + " bytes at 0x" +
                             utohexstr(address, /*LowerCase=*/true) + ", outside of its memory");
  return MutableArrayRef<char>(api.wasm_memory_data(memory) + address, size);
}

} // namespace

void WasmInstance::setEngine(std::string path) { enginePath() = std::move(path); }

Expected<std::unique_ptr<WasmInstance>> WasmInstance::create(StringRef content) {
  Expected<const Api *> api = Api::load();
  if (!api)
    return api.takeError();
  auto instance = std::make_unique<Instance>(**api);
  if (Error error = instance->open(content))
    return error;
  return instance;
}

Expected<std::string> WasmInstance::text(uint64_t address) {
  std::string text;
  for (;; ++address) {
    Expected<char> next = read<char>(address);
    if (!next)
      return next.takeError();
    if (!*next)
      return text;
    text += *next;
  }
}

Expected<uint32_t> WasmInstance::allocate(uint64_t size, uint32_t alignment) {
  Expected<uint32_t> address = size <= UINT32_MAX ? call("hewn_wasm_allocate", {uint32_t(size), alignment}) : 0;
  if (address && *address == 0)
    return createStringError("the memory of the WebAssembly module has no " + std::to_string(size) + " bytes left");
  return address;
}

} // namespace hewn
