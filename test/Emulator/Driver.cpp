// SPDX-License-Identifier: Apache-2.0
//
// A libcuda.so.1 without a device: the functions of NVIDIA's driver that the runtime calls, on the CPU.
//
// The PTX that it is given is not read but for its kernels' names: it runs the same kernels from the LLVM IR in the file that
// HEWN_EMULATOR_CODE names. Pointers to its "device" memory lie where no process has memory, so that whoever mixes up the two
// memories crashes. HEWN_EMULATOR_SCHEDULE is forward, backward or random; HEWN_EMULATOR_FAIL names what goes wrong:
// no-device, old-driver, wrong-device, out-of-memory, launch.
#include "test/Emulator/Code.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <sys/mman.h>

namespace {

using namespace emulator;

constexpr uint64_t kDevice = uint64_t(1) << 60;
constexpr int kInvalidValue = 1, kOutOfMemory = 2, kNoDevice = 100, kNoBinary = 209, kUnsupportedPtx = 222,
              kNotFound = 500, kLaunchFailed = 719, kCapturing = 900;

struct Module {
  std::unique_ptr<Code> code;
  std::string text;
};

/// What a stream was asked for while it was recorded.
using Graph = std::vector<std::function<int()>>;

struct Function {
  const Kernel *kernel;
  std::string name;
};

std::mutex mutex;
/// Device memory: address, bytes.
std::map<uint64_t, size_t> allocations;
uint64_t launches = 0;
std::map<std::string, std::unique_ptr<Function>> functions;
Graph *recording = nullptr;
uint64_t graphLaunches = 0;

bool fails(const char *what) {
  const char *wanted = std::getenv("HEWN_EMULATOR_FAIL");
  return wanted && std::strcmp(wanted, what) == 0;
}

Schedule schedule() {
  const char *wanted = std::getenv("HEWN_EMULATOR_SCHEDULE");
  if (wanted && std::strcmp(wanted, "backward") == 0)
    return Schedule::Backward;
  return wanted && std::strcmp(wanted, "random") == 0 ? Schedule::Random : Schedule::Forward;
}

constexpr size_t kPage = 4096;
size_t roundUp(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

/// Where `bytes` at a device's address are; null where they are not all in one allocation.
char *memoryAt(uint64_t address, size_t bytes) {
  auto next = allocations.upper_bound(address);
  if (next == allocations.begin())
    return nullptr;
  auto &[start, size] = *--next;
  return address + bytes <= start + size ? reinterpret_cast<char *>(address - kDevice) : nullptr;
}

int init(unsigned) { return fails("no-device") ? kNoDevice : 0; }
int driverGetVersion(int *version) { return *version = fails("old-driver") ? 12000 : 13000, 0; }
int deviceGetCount(int *count) { return *count = 1, 0; }
int deviceGet(int *device, int ordinal) { return *device = ordinal, ordinal == 0 ? 0 : kInvalidValue; }
int deviceGetName(char *name, int bytes, int) { return std::snprintf(name, size_t(bytes), "emulator"), 0; }
int deviceGetAttribute(int *value, int, int) { return *value = 0, 0; }
int primaryRetain(void **context, int) { return *context = &allocations, 0; }
int primaryRelease(int) { return 0; }
int pushCurrent(void *) { return 0; }
int popCurrent(void **context) { return *context = &allocations, 0; }

int getErrorString(int result, const char **text) {
  *text = result == kOutOfMemory    ? "out of memory"
          : result == kLaunchFailed ? "unspecified launch failure"
                                    : "an error";
  return 0;
}

int moduleLoad(void **module, const void *image, unsigned, int *, void **) {
  if (fails("old-driver"))
    return kUnsupportedPtx;
  if (fails("wrong-device"))
    return kNoBinary;
  auto made = std::make_unique<Module>();
  made->text = static_cast<const char *>(image);
  const char *path = std::getenv("HEWN_EMULATOR_CODE");
  std::string problem = "HEWN_EMULATOR_CODE is not set";
  if (path)
    made->code = loadCode(path, problem);
  if (!made->code) {
    std::fprintf(stderr, "emulator: %s\n", problem.c_str());
    return kInvalidValue;
  }
  *module = made.release();
  return 0;
}

int moduleUnload(void *module) { return delete static_cast<Module *>(module), 0; }

int moduleGetFunction(void **function, void *module, const char *name) {
  auto *from = static_cast<Module *>(module);
  std::string entry = ".entry " + std::string(name) + "(";
  const Kernel *kernel = from->code->find(name);
  if (!kernel || from->text.find(entry) == std::string::npos) {
    std::fprintf(stderr, "emulator: no kernel %s\n", name);
    return kNotFound;
  }
  std::lock_guard<std::mutex> lock(mutex);
  auto &made = functions[std::to_string(uintptr_t(module)) + name];
  made.reset(new Function{kernel, name});
  *function = made.get();
  return 0;
}

int memAlloc(uint64_t *address, size_t bytes) {
  if (recording)
    return kCapturing;
  if (fails("out-of-memory") || bytes == 0 || bytes > size_t(1) << 36)
    return kOutOfMemory;
  // The end is the end of a page (but for alignment), with a page behind it that nobody may touch.
  size_t pages = roundUp(bytes);
  void *memory =
      mmap(nullptr, pages + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || mprotect(static_cast<char *>(memory) + pages, kPage, PROT_NONE) != 0)
    return kOutOfMemory;
  size_t front = (pages - bytes) / 64 * 64;
  std::memset(static_cast<char *>(memory) + front, 0xff, bytes);
  *address = reinterpret_cast<uint64_t>(memory) + front + kDevice;
  std::lock_guard<std::mutex> lock(mutex);
  allocations[*address] = bytes;
  return 0;
}

int memFree(uint64_t address) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = allocations.find(address);
  if (found == allocations.end())
    return kInvalidValue;
  uint64_t start = (address - kDevice) / kPage * kPage;
  munmap(reinterpret_cast<void *>(start), roundUp(found->second) + kPage);
  allocations.erase(found);
  return 0;
}

int copyIn(uint64_t to, const void *from, size_t bytes, void *) {
  if (recording)
    return kCapturing;
  char *memory = memoryAt(to, bytes);
  return memory ? (std::memcpy(memory, from, bytes), 0) : kInvalidValue;
}
int copyOut(void *to, uint64_t from, size_t bytes, void *) {
  if (recording)
    return kCapturing;
  char *memory = memoryAt(from, bytes);
  return memory ? (std::memcpy(to, memory, bytes), 0) : kInvalidValue;
}
int copyWithin(uint64_t to, uint64_t from, size_t bytes, void *stream) {
  if (recording)
    return recording->push_back([=] { return copyWithin(to, from, bytes, stream); }), 0;
  char *target = memoryAt(to, bytes), *source = memoryAt(from, bytes);
  return target && source ? (std::memmove(target, source, bytes), 0) : kInvalidValue;
}

int streamCreate(void **stream, unsigned) { return *stream = &launches, 0; }
int streamDestroy(void *) { return 0; }
int streamSynchronize(void *) { return recording ? kCapturing : 0; }

int beginCapture(void *, int) { return recording ? kInvalidValue : (recording = new Graph, 0); }
int endCapture(void *, Graph **graph) {
  *graph = recording;
  recording = nullptr;
  return *graph ? 0 : kInvalidValue;
}
int graphInstantiate(Graph **exec, Graph *graph, unsigned long long) { return *exec = new Graph(*graph), 0; }
int graphDestroy(Graph *graph) { return delete graph, 0; }
int graphLaunch(Graph *exec, void *) {
  ++graphLaunches;
  for (auto &step : *exec)
    if (int result = step())
      return result;
  return 0;
}

int launchKernel(Function *function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,
                 unsigned blockZ, unsigned, void *, void **arguments, void **) {
  if (fails("launch"))
    return kLaunchFailed;
  if (gridX == 0 || gridY != 1 || gridZ != 1 || blockY != 1 || blockZ != 1)
    return kInvalidValue;
  ++launches;
  const Kernel &kernel = *function->kernel;
  std::vector<uint64_t> values;
  for (size_t i = 0; i < kernel.pointers.size(); ++i) {
    uint64_t value;
    std::memcpy(&value, arguments[i], sizeof(value));
    if (kernel.pointers[i] && value) {
      if (!memoryAt(value, 0)) {
        std::fprintf(stderr, "emulator: argument %zu of %s is no device memory\n", i, function->name.c_str());
        return kInvalidValue;
      }
      value -= kDevice;
    }
    values.push_back(value);
  }
  auto run = [=, &kernel] {
    std::string problem = runGrid(kernel, gridX, blockX, values.data(), schedule());
    if (problem.empty())
      return 0;
    std::fprintf(stderr, "emulator: %s: %s\n", function->name.c_str(), problem.c_str());
    return kLaunchFailed;
  };
  return recording ? (recording->push_back(run), 0) : run();
}

} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

/// For tests: how much is allocated, and how many kernels were launched.
EXPORT uint64_t emulator_allocations() { return allocations.size(); }
EXPORT uint64_t emulator_launches() { return launches; }
/// How many recorded runs were played.
EXPORT uint64_t emulator_graphs() { return graphLaunches; }

EXPORT int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t, int *found) {
  static const std::map<std::string, void *> table = {
      {"cuInit", reinterpret_cast<void *>(init)},
      {"cuDriverGetVersion", reinterpret_cast<void *>(driverGetVersion)},
      {"cuDeviceGetCount", reinterpret_cast<void *>(deviceGetCount)},
      {"cuDeviceGet", reinterpret_cast<void *>(deviceGet)},
      {"cuDeviceGetName", reinterpret_cast<void *>(deviceGetName)},
      {"cuDeviceGetAttribute", reinterpret_cast<void *>(deviceGetAttribute)},
      {"cuDevicePrimaryCtxRetain", reinterpret_cast<void *>(primaryRetain)},
      {"cuDevicePrimaryCtxRelease", reinterpret_cast<void *>(primaryRelease)},
      {"cuCtxPushCurrent", reinterpret_cast<void *>(pushCurrent)},
      {"cuCtxPopCurrent", reinterpret_cast<void *>(popCurrent)},
      {"cuGetErrorString", reinterpret_cast<void *>(getErrorString)},
      {"cuModuleLoadDataEx", reinterpret_cast<void *>(moduleLoad)},
      {"cuModuleUnload", reinterpret_cast<void *>(moduleUnload)},
      {"cuModuleGetFunction", reinterpret_cast<void *>(moduleGetFunction)},
      {"cuMemAlloc", reinterpret_cast<void *>(memAlloc)},
      {"cuMemFree", reinterpret_cast<void *>(memFree)},
      {"cuMemcpyHtoDAsync", reinterpret_cast<void *>(copyIn)},
      {"cuMemcpyDtoHAsync", reinterpret_cast<void *>(copyOut)},
      {"cuMemcpyDtoDAsync", reinterpret_cast<void *>(copyWithin)},
      {"cuStreamCreate", reinterpret_cast<void *>(streamCreate)},
      {"cuStreamDestroy", reinterpret_cast<void *>(streamDestroy)},
      {"cuStreamSynchronize", reinterpret_cast<void *>(streamSynchronize)},
      {"cuStreamBeginCapture", reinterpret_cast<void *>(beginCapture)},
      {"cuStreamEndCapture", reinterpret_cast<void *>(endCapture)},
      {"cuGraphInstantiateWithFlags", reinterpret_cast<void *>(graphInstantiate)},
      {"cuGraphLaunch", reinterpret_cast<void *>(graphLaunch)},
      {"cuGraphExecDestroy", reinterpret_cast<void *>(graphDestroy)},
      {"cuGraphDestroy", reinterpret_cast<void *>(graphDestroy)},
      {"cuLaunchKernel", reinterpret_cast<void *>(launchKernel)},
  };
  auto entry = table.find(name);
  *function = entry == table.end() ? nullptr : entry->second;
  *found = *function == nullptr;
  return version >= 12000 && *function ? 0 : kNotFound;
}
