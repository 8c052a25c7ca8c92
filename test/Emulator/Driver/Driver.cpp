// SPDX-License-Identifier: Apache-2.0
//
// A libcuda.so.1 for machines without a GPU: implements the functions of NVIDIA's driver that the
// runtime calls, on the CPU.
//
// The driver takes only the kernels' names from the PTX. It runs the same kernels from the LLVM IR
// in the file that HEWN_EMULATOR_CODE names. The state of the devices is in Device.h. Further
// environment variables:
// - HEWN_EMULATOR_SCHEDULE: forward, backward or random.
// - HEWN_EMULATOR_RACES: enables race detection (Races.h).
// - HEWN_EMULATOR_BLOCKS: the maximum number of blocks of a kernel.
// - HEWN_EMULATOR_DEVICES: the number of devices, at most 4 (default 2).
// - HEWN_EMULATOR_FAIL: the failure to simulate. Values are no-device, old-driver, wrong-device,
//   small-device, `no-meetings` (no cooperative launches), shared-memory, linker, out-of-memory,
//   no-pinned-memory, and launch (a kernel fails when it runs).
//
// The function emulator_fail_at makes any single call fail.
#include "test/Emulator/Driver/Code.h"
#include "test/Emulator/Driver/Device.h"
#include "test/Emulator/Driver/Mbarriers.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

using namespace emulator;

struct Module {
  std::unique_ptr<Code> code;
  std::string text;
};

/// Sizes in bytes of a block's shared memory: the default limit, and the largest size that a kernel
/// can request.
constexpr int kFreeShared = 48 << 10, kMostShared = 227 << 10;

struct Function {
  const Kernel *kernel;
  std::string name;
  int mostShared = kFreeShared;
};

struct Link {
  std::string image;
};

const std::string kTranslated = "translated for the emulator\n";

uint64_t launches = 0, graphLaunches = 0, translations = 0, hostCopies = 0;
/// For injected failures: the number of driver calls so far, the number of the call that fails
/// (from 1), and the error code that this call returns.
uint64_t calls = 0, failAt = 0;
int failWith = 0;
/// Number of streams that all threads capture. `recordingsHere` counts those of this thread, which
/// may neither wait nor allocate during the capture.
int recordings = 0;
thread_local int recordingsHere = 0;

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

/// Returns the number of blocks to run: `wanted`, limited by HEWN_EMULATOR_BLOCKS. Results do not
/// depend on it. With fewer blocks, each block runs several tasks.
int64_t blocksOf(unsigned wanted) {
  const char *most = std::getenv("HEWN_EMULATOR_BLOCKS");
  return most ? std::min<int64_t>(wanted, std::max(1, std::atoi(most))) : wanted;
}

Context *context() { return current().back(); }

/// Registers an object with the current context, which owns it.
template <typename T> T *keep(T *object) {
  context()->objects[object] = [object] { delete object; };
  return object;
}
template <typename T> int drop(T *object) {
  return context()->objects.erase(object) ? (delete object, 0) : kInvalidHandle;
}

int init(unsigned) { return fails("no-device") ? kNoDevice : 0; }
int driverGetVersion(int *version) { return *version = fails("old-driver") ? 12000 : 13000, 0; }
int numDevices() {
  const char *wanted = std::getenv("HEWN_EMULATOR_DEVICES");
  return wanted ? std::min(std::atoi(wanted), kMostDevices) : kDevices;
}
int deviceGetCount(int *count) { return *count = numDevices(), 0; }
// A device handle differs from its ordinal, so that mistaking one for the other is an error.
int deviceGet(int *device, int ordinal) {
  return *device = ordinal + 70, ordinal >= 0 && ordinal < numDevices() ? 0 : kInvalidValue;
}
int deviceGetName(char *name, int bytes, int) { return std::snprintf(name, size_t(bytes), "emulator"), 0; }
/// Number of SMs of the device. It is small, so that a block of a test kernel has more than one
/// task.
constexpr int kProcessors = 3;
int deviceGetAttribute(int *value, int attribute, int) {
  const int processors = 16, cooperates = 95, mostShared = 97;
  *value = attribute == processors   ? kProcessors
           : attribute == cooperates ? !fails("no-meetings")
           : attribute == mostShared ? fails("small-device") ? 99 << 10 : kMostShared
                                     : 0;
  return 0;
}

int primaryRetain(Context **made, int device) {
  *made = &primary(device - 70);
  return ++(*made)->retained, 0;
}
int primaryRelease(int device) {
  Context &released = primary(device - 70);
  if (released.retained == 0)
    return kInvalidContext;
  if (--released.retained == 0)
    released.clear();
  return 0;
}
int pushCurrent(Context *pushed) {
  if (!pushed || !contexts().count(pushed))
    return kInvalidContext;
  return current().push_back(pushed), 0;
}
int popCurrent(Context **popped) {
  if (current().empty())
    return kInvalidContext;
  *popped = context();
  return current().pop_back(), 0;
}
int ctxGetDevice(int *device) { return *device = context()->device + 70, 0; }

int getErrorString(int result, const char **text) {
  *text = result == kOutOfMemory    ? "out of memory"
          : result == kLaunchFailed ? "unspecified launch failure"
                                    : "an error";
  return 0;
}

int translate(const char *text) {
  if (fails("old-driver"))
    return kUnsupportedPtx;
  if (fails("wrong-device"))
    return kNoBinary;
  if (text && !std::strstr(text, ".version")) // devices also reject text without a version
    return kInvalidImage;
  return ++translations, text ? 0 : kInvalidValue;
}

/// Returns true if the text has PTX version 7 and a kernel with more than 544 parameters of eight
/// bytes each. PTX 7 allows no more.
bool hasTooManyArguments(const std::string &text) {
  constexpr size_t most = 544;
  if (text.find(".version 7") == std::string::npos)
    return false;
  size_t count = 0;
  for (size_t at = text.find(".entry"); at != std::string::npos; at = text.find(".entry", at + 1), count = 0)
    for (size_t end = text.find("\n)", at), next = text.find(".param", at); next < end;
         next = text.find(".param", next + 1))
      if (++count > most)
        return true;
  return false;
}

int moduleLoad(Module **module, const void *image, unsigned, int *, void **) {
  auto made = std::make_unique<Module>();
  made->text = static_cast<const char *>(image);
  if (made->text.rfind(kTranslated, 0) != 0)
    if (int result = translate(made->text.c_str()))
      return result;
  if (hasTooManyArguments(made->text))
    return kInvalidPtx;
  const char *path = std::getenv("HEWN_EMULATOR_CODE");
  std::string problem = "HEWN_EMULATOR_CODE is not set";
  if (path)
    made->code = loadCode(path, problem);
  if (!made->code) {
    std::fprintf(stderr, "emulator: %s\n", problem.c_str());
    return kInvalidValue;
  }
  return *module = keep(made.release()), 0;
}

int moduleGetFunction(Function **function, Module *module, const char *name) {
  std::string entry = ".entry " + std::string(name) + "(";
  const Kernel *kernel = module->code->find(name);
  if (!kernel || module->text.find(entry) == std::string::npos) {
    std::fprintf(stderr, "emulator: no kernel %s\n", name);
    return kNotFound;
  }
  static std::map<std::pair<Module *, std::string>, Function> functions;
  Function &made = functions[{module, name}] = {kernel, name};
  return *function = &made, 0;
}

int occupancy(int *blocks, Function *, int, size_t) { return *blocks = 1, 0; }
int funcSetAttribute(Function *function, int attribute, int value) {
  constexpr int mostShared = 8;
  if (attribute != mostShared || value > kMostShared || fails("shared-memory"))
    return kInvalidValue;
  return function->mostShared = value, 0;
}

int linkCreate(unsigned, int *, void **, Link **link) {
  return fails("linker") ? kInvalidValue : (*link = keep(new Link), 0);
}
int linkAddData(Link *link, int, void *data, size_t bytes, const char *, unsigned, int *, void **) {
  link->image = kTranslated + std::string(static_cast<const char *>(data), bytes);
  return translate(link->image.c_str());
}
int linkComplete(Link *link, const void **image, size_t *bytes) {
  return *image = link->image.data(), *bytes = link->image.size() + 1, 0;
}

int memGetInfo(size_t *available, size_t *total) { return *available = 1000, *total = 4000, 0; }

int memAlloc(uint64_t *address, size_t bytes) {
  if (recordingsHere)
    return kCapturing;
  *address = fails("out-of-memory") ? 0 : allocate(bytes);
  return *address ? 0 : kOutOfMemory;
}

int memFree(uint64_t address) { return release(address); }

int memHostAlloc(void **memory, size_t bytes, unsigned) {
  if (recordingsHere)
    return kCapturing;
  if (fails("no-pinned-memory"))
    return kOutOfMemory;
  *memory = allocatePinned(bytes);
  void *made = *memory;
  context()->objects[made] = [made] { releasePinned(made); };
  return 0;
}
int memFreeHost(void *memory) {
  int result = context()->flush();
  context()->objects.erase(memory);
  int freed = releasePinned(memory);
  return result ? result : freed;
}

int pointerGetAttribute(int *value, int attribute, uint64_t address) {
  return attribute == 9 && (*value = deviceOf(address)) >= 0 ? 0 : kInvalidValue;
}

int copyIn(uint64_t to, const void *from, size_t bytes, void *stream) {
  if (recordingsHere)
    return kCapturing;
  ++hostCopies;
  // As NVIDIA's driver does, a copy from pageable host memory reads this memory before the call
  // returns.
  std::shared_ptr<std::vector<char>> taken;
  if (!isPinned(from, bytes)) {
    auto *bytesOf = static_cast<const char *>(from);
    taken = std::make_shared<std::vector<char>>(bytesOf, bytesOf + bytes);
  }
  int device = context()->device;
  return ask(stream, [=] {
    char *memory = memoryAt(to, bytes, device);
    return memory ? (std::memcpy(memory, taken ? taken->data() : from, bytes), 0) : kInvalidValue;
  });
}
int copyOut(void *to, uint64_t from, size_t bytes, void *stream) {
  if (recordingsHere)
    return kCapturing;
  ++hostCopies;
  int device = context()->device;
  int result = ask(stream, [=] {
    char *memory = memoryAt(from, bytes, device);
    return memory ? (std::memcpy(to, memory, bytes), 0) : kInvalidValue;
  });
  return result || isPinned(to, bytes) ? result : streamOf(stream)->flush();
}
int copyWithin(uint64_t to, uint64_t from, size_t bytes, void *stream) {
  int device = context()->device;
  return ask(stream, [=] {
    char *target = memoryAt(to, bytes, device), *source = memoryAt(from, bytes, device);
    return target && source ? (std::memmove(target, source, bytes), 0) : kInvalidValue;
  });
}

int streamCreate(void **stream, unsigned) {
  auto made = std::make_shared<Stream>();
  made->context = context();
  context()->streams.insert(made);
  return *stream = made.get(), 0;
}
int streamDestroy(void *stream) {
  std::shared_ptr<Stream> found = streamOf(stream);
  if (!found)
    return kInvalidHandle;
  int result = found->flush();
  found->context->streams.erase(found);
  return result;
}
int streamGetCtx(void *stream, Context **found) {
  if (uintptr_t(stream) <= 2)
    return current().empty() ? kInvalidContext : (*found = context(), 0);
  for (Context *one : contexts())
    for (auto &candidate : one->streams)
      if (candidate.get() == stream)
        return *found = one, 0;
  return kInvalidHandle;
}
int streamIsCapturing(void *stream, int *state) {
  std::shared_ptr<Stream> found = streamOf(stream);
  return found ? (*state = found->recording != nullptr, 0) : kInvalidHandle;
}
int streamWaitEvent(void *stream, Event *event, unsigned) {
  Event waited = *event;
  return ask(stream, [waited] { return waited.stream ? waited.stream->flush(waited.at, /*waits=*/false) : 0; });
}
int streamQuery(void *stream) {
  std::shared_ptr<Stream> found = streamOf(stream);
  if (!found || found->recording)
    return found ? kCapturing : kInvalidHandle;
  return found == context()->legacy ? context()->flush(/*waits=*/false) : found->flush(~uint64_t(0), /*waits=*/false);
}
int streamSynchronize(void *stream) {
  std::shared_ptr<Stream> found = streamOf(stream);
  if (!found || found->recording)
    return found ? kCapturing : kInvalidHandle;
  return found == context()->legacy ? context()->flush() : found->flush();
}

int eventCreate(Event **event, unsigned flags) {
  constexpr unsigned withoutTime = 2;
  *event = keep(new Event);
  (*event)->timed = !(flags & withoutTime);
  return 0;
}
int eventRecord(Event *event, void *stream) {
  event->stream = streamOf(stream);
  if (!event->stream || event->stream->recording)
    return event->stream ? kCapturing : kInvalidHandle;
  if (event->timed) {
    auto time = event->time = std::make_shared<std::chrono::steady_clock::time_point>();
    if (int result = ask(stream, [time] { return *time = std::chrono::steady_clock::now(), 0; }))
      return result;
  }
  return event->at = event->stream->asked, 0;
}
/// Returns the time between two events. The stream must have reached both.
int eventElapsedTime(float *milliseconds, Event *from, Event *to) {
  const std::chrono::steady_clock::time_point never;
  if (!from->time || !to->time)
    return kInvalidHandle;
  if (*from->time == never || *to->time == never)
    return kNotReady;
  *milliseconds = std::chrono::duration<float, std::milli>(*to->time - *from->time).count();
  return 0;
}
int eventQuery(Event *event) { return event->stream ? event->stream->flush(event->at, /*waits=*/false) : 0; }
int eventSynchronize(Event *event) { return event->stream ? event->stream->flush(event->at) : 0; }

int beginCapture(void *stream, int mode) {
  const int threadLocal = 1;
  std::shared_ptr<Stream> found = streamOf(stream);
  if (!found || found->recording || found == context()->legacy)
    return kInvalidValue;
  if (mode != threadLocal) {
    std::fprintf(stderr, "emulator: the capture mode is not thread-local: calls of other threads would fail\n");
    return kInvalidValue;
  }
  found->recording = std::make_unique<Graph>();
  found->recorder = &recordingsHere;
  return ++recordingsHere, ++recordings, 0;
}
int endCapture(void *stream, Graph **graph) {
  std::shared_ptr<Stream> found = streamOf(stream);
  *graph = nullptr;
  if (!found || !found->recording)
    return kInvalidValue;
  if (found->recorder != &recordingsHere)
    return kWrongThread;
  --recordingsHere;
  --recordings;
  std::unique_ptr<Graph> made = std::move(found->recording);
  return *graph = keep(made.release()), 0;
}
void abandonCapture(void *stream, Graph **graph) {
  if (endCapture(stream, graph) == 0)
    drop(*graph);
  *graph = nullptr;
}
int graphInstantiate(Graph **exec, Graph *graph, unsigned long long) { return *exec = keep(new Graph(*graph)), 0; }
int graphLaunch(Graph *exec, void *stream) {
  ++graphLaunches;
  return ask(stream, [steps = *exec, at = size_t(0)]() mutable {
    for (; at < steps.size(); ++at)
      // A repeated call of a graph launch resumes at the step that was not ready.
      if (int result = steps[at]())
        return result;
    return at = 0, 0;
  });
}

/// Checks the parameters of a tensor map as the driver does, and that the tensor is inside of one
/// allocation.
int tensorMapEncodeTiled(void *map, int type, unsigned rank, void *memory, const uint64_t *extents,
                         const uint64_t *strides, const unsigned *box, const unsigned *steps, int interleave,
                         int swizzle, int, int) {
  constexpr unsigned mostDims = 3, mostOfBox = 256;
  constexpr int tfloat32 = 11;
  auto address = uint64_t(uintptr_t(memory));
  if (uintptr_t(map) % 64 != 0 || type < 0 || (type > 2 && type != tfloat32) || rank < 1 || rank > mostDims ||
      address % 16 != 0 || interleave != 0)
    return kInvalidValue;
  Tensor tensor{Tensor::kMagic,  hostAddress(address), type == tfloat32 ? 4u : 1u << type, rank, {}, {}, {},
                type == tfloat32};
  uint64_t span = tensor.bytes;
  for (unsigned i = 0; i < rank; ++i) {
    tensor.extents[i] = extents[i];
    tensor.strides[i] = i ? strides[i - 1] : tensor.bytes;
    tensor.box[i] = box[i];
    if (extents[i] == 0 || box[i] == 0 || box[i] > mostOfBox || steps[i] != 1 || (i && tensor.strides[i] % 16 != 0))
      return kInvalidValue;
    span += (extents[i] - 1) * tensor.strides[i];
  }
  unsigned line = box[0] * tensor.bytes;
  if (line % 16 != 0 || swizzle < 1 || swizzle > 3 || line != 16u << swizzle ||
      !memoryAt(address, span, context()->device))
    return kInvalidValue;
  std::memset(map, 0, kTensorBytes);
  std::memcpy(map, &tensor, sizeof(tensor));
  return 0;
}

int launch(Function *function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,
           unsigned blockZ, unsigned sharedBytes, void *stream, void **arguments, bool together) {
  const Kernel &kernel = *function->kernel;
  if (together && gridX > unsigned(kProcessors))
    return kTooLarge;
  if (gridX == 0 || gridY != 1 || gridZ != 1 || blockY != 1 || blockZ != 1 || int(sharedBytes) > function->mostShared ||
      (kernel.sharedBytes() > kFreeShared && sharedBytes < kernel.sharedBytes()))
    return kInvalidValue;
  ++launches;
  std::vector<uint64_t> values;
  std::vector<std::shared_ptr<Tensor>> tensors; // owned by the step until the kernel has run
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    uint64_t value;
    if (kernel.parameters[i] == Kernel::Argument::Tensor) {
      tensors.push_back(std::make_shared<Tensor>());
      std::memcpy(tensors.back().get(), arguments[i], sizeof(Tensor));
      values.push_back(reinterpret_cast<uint64_t>(tensors.back().get()));
      continue;
    }
    std::memcpy(&value, arguments[i], sizeof(value));
    if (kernel.parameters[i] == Kernel::Argument::Pointer && value) {
      if (!memoryAt(value, 0, context()->device)) {
        std::fprintf(stderr, "emulator: argument %zu of %s is not a device address\n", i, function->name.c_str());
        return kInvalidValue;
      }
      value = hostAddress(value);
    }
    values.push_back(value);
  }
  return ask(stream, [=, &kernel] {
    (void)tensors;
    if (fails("launch"))
      return int(kLaunchFailed);
    std::string problem = runGrid(kernel, blocksOf(gridX), blockX, values.data(), schedule(), together);
    if (problem.empty())
      return 0;
    std::fprintf(stderr, "emulator: %s: %s\n", function->name.c_str(), problem.c_str());
    return int(kLaunchFailed);
  });
}

int launchKernel(Function *function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,
                 unsigned blockZ, unsigned sharedBytes, void *stream, void **arguments, void **) {
  return launch(function, gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes, stream, arguments, false);
}
int launchTogether(Function *function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,
                   unsigned blockZ, unsigned sharedBytes, void *stream, void **arguments) {
  return launch(function, gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes, stream, arguments, true);
}

int setBytes(uint64_t at, unsigned char value, size_t bytes, void *stream) {
  int device = context()->device;
  return ask(stream, [=] {
    char *memory = memoryAt(at, bytes, device);
    return memory ? (std::memset(memory, value, bytes), 0) : kInvalidValue;
  });
}

/// Returns the error that a call reports before it does anything: the injected failure, no current
/// context, or a lost context.
int problemOf(bool acquires, bool inContext) {
  if (acquires && ++calls == failAt) {
    if (failWith == kLaunchFailed && !current().empty())
      context()->lost = true;
    return failWith;
  }
  if (inContext && current().empty())
    return kInvalidContext;
  return inContext && context()->lost ? kLaunchFailed : 0;
}

/// Wraps the implementation of a driver function: takes the lock, and returns the error of
/// `problemOf` if there is one.
template <auto F, bool acquires, bool inContext> struct Entry;
template <typename... Arguments, int (*F)(Arguments...), bool acquires, bool inContext>
struct Entry<F, acquires, inContext> {
  static int call(Arguments... arguments) {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    int problem = problemOf(acquires, inContext);
    if constexpr (std::is_same_v<decltype(F), decltype(&endCapture)>)
      if (problem && !current().empty()) // the capture ends although the call fails
        abandonCapture(arguments...);
    return problem ? problem : F(arguments...);
  }
};

template <auto F> void *makes() { return reinterpret_cast<void *>(&Entry<F, true, true>::call); }
template <auto F> void *asks() { return reinterpret_cast<void *>(&Entry<F, true, false>::call); }
template <auto F> void *frees() { return reinterpret_cast<void *>(&Entry<F, false, true>::call); }
template <auto F> void *always() { return reinterpret_cast<void *>(&Entry<F, false, false>::call); }

} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

/// Return counts for tests: live allocations, kernel launches, graph launches, translated PTX
/// texts, and copies between host and device.
EXPORT uint64_t emulator_allocations() { return numAllocations(); }
EXPORT uint64_t emulator_launches() { return launches; }
EXPORT uint64_t emulator_graphs() { return graphLaunches; }
EXPORT uint64_t emulator_translations() { return translations; }
EXPORT uint64_t emulator_host_copies() { return hostCopies; }
/// Returns the number of objects that the application still has to release.
EXPORT uint64_t emulator_objects() {
  uint64_t count = numAllocations() + leaked;
  for (Context *one : contexts())
    count += one->objects.size() + one->streams.size() + uint64_t(one->retained);
  return count + uint64_t(recordings);
}
/// Returns the number of stream steps that have not run yet.
EXPORT uint64_t emulator_waiting() {
  uint64_t count = 0;
  for (Context *one : contexts())
    for (auto &stream : one->streams)
      count += stream->work.size();
  return count;
}
/// Makes the `call`th of the following calls that can fail return `result`. `call` 0 cancels an
/// earlier request. Returns the number of such calls since the previous invocation.
EXPORT uint64_t emulator_fail_at(uint64_t call, int result) {
  uint64_t made = calls;
  calls = 0;
  failAt = call;
  failWith = result;
  return made;
}
/// The following functions are for other emulated libraries (../Nccl). `emulator_enqueue` appends a
/// step to a stream, or to the graph that the stream captures; `drop` destroys the argument when no
/// stream and no graph holds the step. `emulator_memory` returns the host pointer for a device
/// address. `emulator_device` returns the ordinal of the current context's device.
EXPORT int emulator_enqueue(void *stream, int (*step)(void *), void *argument, void (*drop)(void *)) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  std::shared_ptr<void> kept(argument, drop);
  return current().empty() ? kInvalidContext : ask(stream, [step, kept] { return step(kept.get()); });
}
EXPORT void *emulator_memory(uint64_t address, uint64_t bytes, int device) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  return memoryAt(address, bytes, device);
}
/// Runs the current context's streams until a step waits for another process.
EXPORT void emulator_progress() {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  if (!current().empty())
    context()->flush(/*waits=*/false);
}
EXPORT int emulator_is_recorded(void *stream) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  std::shared_ptr<Stream> found = streamOf(stream);
  return found && found->recording;
}
EXPORT int emulator_device() { return current().empty() ? -1 : context()->device; }
/// Creates a context that is not the device's primary one.
EXPORT void *emulator_context_create(int device) {
  auto *made = new Context;
  made->device = device;
  contexts().insert(made);
  return made;
}
EXPORT void emulator_context_destroy(void *made) {
  auto *gone = static_cast<Context *>(made);
  gone->clear();
  contexts().erase(gone);
  delete gone;
}

EXPORT int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t, int *found) {
  static const std::map<std::string, void *> table = {
      {"cuInit", asks<init>()},
      {"cuDriverGetVersion", asks<driverGetVersion>()},
      {"cuDeviceGetCount", asks<deviceGetCount>()},
      {"cuDeviceGet", asks<deviceGet>()},
      {"cuDeviceGetName", always<deviceGetName>()},
      {"cuDeviceGetAttribute", asks<deviceGetAttribute>()},
      {"cuDevicePrimaryCtxRetain", asks<primaryRetain>()},
      {"cuDevicePrimaryCtxRelease", always<primaryRelease>()},
      {"cuCtxPushCurrent", always<pushCurrent>()},
      {"cuCtxPopCurrent", always<popCurrent>()},
      {"cuCtxGetDevice", asks<ctxGetDevice>()},
      {"cuGetErrorString", always<getErrorString>()},
      {"cuModuleLoadDataEx", makes<moduleLoad>()},
      {"cuModuleUnload", frees<drop<Module>>()},
      {"cuModuleGetFunction", makes<moduleGetFunction>()},
      {"cuFuncSetAttribute", makes<funcSetAttribute>()},
      {"cuLinkCreate", makes<linkCreate>()},
      {"cuLinkAddData", makes<linkAddData>()},
      {"cuLinkComplete", makes<linkComplete>()},
      {"cuLinkDestroy", frees<drop<Link>>()},
      {"cuMemGetInfo", always<memGetInfo>()},
      {"cuMemAlloc", makes<memAlloc>()},
      {"cuMemFree", frees<memFree>()},
      {"cuMemHostAlloc", makes<memHostAlloc>()},
      {"cuMemFreeHost", frees<memFreeHost>()},
      {"cuPointerGetAttribute", asks<pointerGetAttribute>()},
      {"cuMemcpyHtoDAsync", makes<copyIn>()},
      {"cuMemcpyDtoHAsync", makes<copyOut>()},
      {"cuMemcpyDtoDAsync", makes<copyWithin>()},
      {"cuStreamCreate", makes<streamCreate>()},
      {"cuStreamDestroy", frees<streamDestroy>()},
      {"cuStreamGetCtx", asks<streamGetCtx>()},
      {"cuStreamIsCapturing", makes<streamIsCapturing>()},
      {"cuStreamWaitEvent", makes<streamWaitEvent>()},
      {"cuStreamQuery", makes<streamQuery>()},
      {"cuStreamSynchronize", makes<streamSynchronize>()},
      {"cuStreamBeginCapture", makes<beginCapture>()},
      {"cuStreamEndCapture", makes<endCapture>()},
      {"cuEventCreate", makes<eventCreate>()},
      {"cuEventRecord", makes<eventRecord>()},
      {"cuEventQuery", makes<eventQuery>()},
      {"cuEventSynchronize", makes<eventSynchronize>()},
      {"cuEventElapsedTime", makes<eventElapsedTime>()},
      {"cuEventDestroy", frees<drop<Event>>()},
      {"cuGraphInstantiateWithFlags", makes<graphInstantiate>()},
      {"cuGraphLaunch", makes<graphLaunch>()},
      {"cuGraphExecDestroy", frees<drop<Graph>>()},
      {"cuGraphDestroy", frees<drop<Graph>>()},
      {"cuTensorMapEncodeTiled", makes<tensorMapEncodeTiled>()},
      {"cuLaunchKernel", makes<launchKernel>()},
      {"cuLaunchCooperativeKernel", makes<launchTogether>()},
      {"cuOccupancyMaxActiveBlocksPerMultiprocessor", asks<occupancy>()},
      {"cuMemsetD8Async", makes<setBytes>()},
  };
  auto entry = table.find(name);
  *function = entry == table.end() ? nullptr : entry->second;
  *found = *function == nullptr;
  return version >= 12000 && *function ? 0 : kNotFound;
}
