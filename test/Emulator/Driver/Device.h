// SPDX-License-Identifier: Apache-2.0
//
// The emulated devices' state: contexts and what is in them.
//
// Streams are as lazy as a real one may be: nothing is done before somebody waits for it. Memory that the host may not touch
// lies where no process has memory. An error of a kernel is sticky: the context is lost, and with it all that is in it.
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

/// Those that there are, and the most that HEWN_EMULATOR_DEVICES may say.
inline constexpr int kDevices = 2, kMostDevices = 4;

/// What a stream does. A step that returns kNotReady waits for another process, and is called again.
using Step = std::function<int()>;
/// What a stream was asked for while it was recorded.
using Graph = std::vector<Step>;

struct Context;

struct Stream {
  Context *context;
  std::deque<Step> work;
  uint64_t asked = 0, done = 0;
  std::unique_ptr<Graph> recording;
  /// What is the recording thread's alone.
  const int *recorder = nullptr;
  /// Does what was asked for up to number `upTo`; where it does not wait, as far as other processes let it: kNotReady.
  int flush(uint64_t upTo = ~uint64_t(0), bool waits = true);
};

struct Event {
  std::shared_ptr<Stream> stream;
  uint64_t at = 0;
  /// Whether it may be asked for its time.
  bool timed = true;
  /// When the stream had come to it: shared with the stream's work, which an event may be gone before.
  std::shared_ptr<std::chrono::steady_clock::time_point> time;
};

struct Context {
  int device = 0;
  int retained = 0; // of a primary one
  bool lost = false;
  /// For the handles that stand for it: its work is done at once, behind all other.
  std::shared_ptr<Stream> legacy;
  std::set<std::shared_ptr<Stream>> streams;
  /// All but streams, by handle, with how to destroy it.
  std::map<void *, std::function<void()>> objects;

  int flush(bool waits = true);
  void clear();
};

extern std::recursive_mutex mutex;
/// What was in contexts that were good when they ended, counted for good.
extern uint64_t leaked;

/// The device's primary context.
Context &primary(int device);
/// The thread's contexts, the current one last.
std::vector<Context *> &current();
/// All contexts that there are, for counting.
std::set<Context *> &contexts();

/// The stream of a handle; null for one that does not exist, or is in another context.
std::shared_ptr<Stream> streamOf(void *handle);
/// In the stream's turn, or recorded.
int ask(void *stream, Step step);

/// Device memory in the current context: an address, 0 where there is none.
uint64_t allocate(size_t bytes);
int release(uint64_t address);
/// Where `bytes` at a device's address are; null where they are not all in one allocation of `device` (-1: any).
char *memoryAt(uint64_t address, size_t bytes, int device = -1);
/// Of which device; -1: of none.
int deviceOf(uint64_t address);
/// What the host sees of a pointer.
uint64_t hostAddress(uint64_t address);
/// Memory of the host that the device reads and writes itself.
void *allocatePinned(size_t bytes);
int releasePinned(void *memory);
bool isPinned(const void *memory, size_t bytes);

size_t numAllocations();

} // namespace emulator

#endif
