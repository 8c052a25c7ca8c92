// SPDX-License-Identifier: Apache-2.0
//
// State of the emulated devices: contexts, streams, events and memory.
//
// Streams execute as late as the driver's interface allows: a step runs only when somebody waits
// for it. Device addresses are outside of the process's address space, so a host access faults. A
// kernel error is sticky: the context is lost, with everything in it.
#ifndef HEWN_TEST_EMULATOR_DRIVER_DEVICE_H
#define HEWN_TEST_EMULATOR_DRIVER_DEVICE_H

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace emulator {

enum Result {
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNoDevice = 100,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinary = 209,
  kInvalidPtx = 218,
  kUnsupportedPtx = 222,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kLaunchFailed = 719,
  kTooLarge = 720,
  kCapturing = 900,
  kWrongThread = 908,
};

/// Default number of devices, and the largest number that HEWN_EMULATOR_DEVICES can set.
inline constexpr int kDevices = 2, kMostDevices = 4;

/// One operation in a stream of an emulated device. If the operation returns kNotReady, it waits
/// for another process, and the stream calls it again.
using Step = std::function<int()>;
/// Recorded steps of a stream, as the result of stream capture.
using Graph = std::vector<Step>;

struct Context;

struct Stream {
  Context *context;
  std::deque<Step> work;
  uint64_t asked = 0, done = 0;
  std::unique_ptr<Graph> recording;
  /// Identifies the thread that captures this stream: the address of a thread-local variable of
  /// that thread.
  const int *recorder = nullptr;
  /// Runs the steps of this stream up to number `upTo`. If `waits` is false, returns kNotReady at
  /// the first step that is not ready.
  int flush(uint64_t upTo = ~uint64_t(0), bool waits = true);
};

struct Event {
  std::shared_ptr<Stream> stream;
  uint64_t at = 0;
  /// False if the event was created without timing.
  bool timed = true;
  /// Time at which the stream reached the event. The event and the stream's step share it, because
  /// the event may be destroyed before the step runs.
  std::shared_ptr<std::chrono::steady_clock::time_point> time;
};

struct Context {
  int device = 0;
  int retained = 0; // reference count of a primary context
  bool lost = false;
  /// The context's legacy default stream (handles 0 to 2). Its steps run at once, after the work of
  /// all other streams.
  std::shared_ptr<Stream> legacy;
  std::set<std::shared_ptr<Stream>> streams;
  /// The context's other objects (events, graphs, modules) by handle, with their destructors.
  std::map<void *, std::function<void()>> objects;

  int flush(bool waits = true);
  void clear();
};

extern std::recursive_mutex mutex;
/// Number of objects that were still alive when their contexts were destroyed without an error.
/// Never reset.
extern uint64_t leaked;

/// The device's primary context.
Context &primary(int device);
/// Stack of the calling thread's contexts. The last one is current.
std::vector<Context *> &current();
/// All existing contexts of the emulated devices.
std::set<Context *> &contexts();

/// Returns the stream of a handle, or null if the current context has no such stream.
std::shared_ptr<Stream> streamOf(void *handle);
/// Appends the step to the stream, or to the graph that the stream captures. Returns an error code.
int ask(void *stream, Step step);

/// Allocates device memory in the current context. Returns its address, or 0 on failure.
uint64_t allocate(size_t bytes);
int release(uint64_t address);
/// Returns the host pointer for `bytes` bytes at a device address. Returns null if they are not
/// inside of one allocation of `device` (-1: of any device).
char *memoryAt(uint64_t address, size_t bytes, int device = -1);
/// Returns the device that owns the address, or -1.
int deviceOf(uint64_t address);
/// Converts a device address to the address of its bytes in this process.
uint64_t hostAddress(uint64_t address);
/// A block of pinned host memory, which the device accesses directly.
void *allocatePinned(size_t bytes);
int releasePinned(void *memory);
bool isPinned(const void *memory, size_t bytes);

size_t numAllocations();

} // namespace emulator

#endif
