// SPDX-License-Identifier: Apache-2.0
#include "test/Emulator/Driver/Device.h"

#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace emulator {

std::recursive_mutex mutex;
uint64_t leaked = 0;

namespace {

constexpr uint64_t kBase = uint64_t(1) << 60, kPerDevice = uint64_t(1) << 56, kHostBits = kPerDevice - 1;
constexpr size_t kPage = 4096;
size_t roundUp(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

struct Allocation {
  size_t bytes;
  Context *context;
};
std::map<uint64_t, Allocation> allocations;
std::map<char *, size_t> pinned;

} // namespace

/// Sleeps between two polls of another process. Unlocks the mutex meanwhile, so that other threads
/// of this process can call the driver.
static void pause() {
  mutex.unlock();
  usleep(50);
  mutex.lock();
}

int Stream::flush(uint64_t upTo, bool waits) {
  while (done < upTo && !work.empty()) {
    Step step = std::move(work.front());
    work.pop_front();
    ++done;
    int result = step();
    if (result == kNotReady) {
      work.push_front(std::move(step));
      --done;
      if (!waits)
        return kNotReady;
      pause();
      continue;
    }
    if (result) {
      context->lost = true;
      work.clear();
      done = asked;
      return result;
    }
  }
  return context->lost ? kLaunchFailed : 0;
}

int Context::flush(bool waits) {
  for (auto &stream : std::set<std::shared_ptr<Stream>>(streams))
    if (int result = stream->flush(~uint64_t(0), waits))
      return result;
  return lost ? kLaunchFailed : 0;
}

void Context::clear() {
  if (!lost)
    leaked += objects.size() + streams.size();
  for (auto &stream : streams)
    stream->work.clear();
  streams.clear();
  legacy.reset();
  std::map<void *, std::function<void()>> gone = std::move(objects);
  objects.clear();
  for (auto &[handle, destroy] : gone)
    destroy();
  std::vector<uint64_t> mine;
  for (auto &[address, allocation] : allocations)
    if (allocation.context == this)
      mine.push_back(address);
  leaked += lost ? 0 : mine.size();
  lost = false;
  for (uint64_t address : mine)
    release(address);
}

Context &primary(int device) {
  static Context all[kMostDevices];
  all[device].device = device;
  contexts().insert(&all[device]);
  return all[device];
}

std::vector<Context *> &current() {
  static thread_local std::vector<Context *> stack;
  return stack;
}

std::set<Context *> &contexts() {
  static std::set<Context *> all;
  return all;
}

std::shared_ptr<Stream> streamOf(void *handle) {
  if (current().empty())
    return nullptr;
  Context *context = current().back();
  if (uintptr_t(handle) <= 2) {
    if (!context->legacy)
      context->legacy.reset(new Stream{context, {}, 0, 0, nullptr});
    return context->legacy;
  }
  for (auto &stream : context->streams)
    if (stream.get() == handle)
      return stream;
  return nullptr;
}

int ask(void *handle, Step step) {
  std::shared_ptr<Stream> stream = streamOf(handle);
  if (!stream)
    return kInvalidHandle;
  if (stream->recording)
    return stream->recording->push_back(std::move(step)), 0;
  if (stream == stream->context->legacy) {
    if (int result = stream->context->flush())
      return result;
    int result = step();
    for (; result == kNotReady; result = step())
      pause();
    return result ? (stream->context->lost = true, result) : 0;
  }
  stream->work.push_back(std::move(step));
  ++stream->asked;
  return 0;
}

uint64_t allocate(size_t bytes) {
  if (bytes == 0 || bytes > size_t(1) << 36)
    return 0;
  // A device allocation ends at the end of a page, except for alignment. An inaccessible page
  // follows, so that an access beyond the allocation faults.
  size_t pages = roundUp(bytes);
  void *memory =
      mmap(nullptr, pages + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || mprotect(static_cast<char *>(memory) + pages, kPage, PROT_NONE) != 0)
    return 0;
  size_t front = (pages - bytes) / 64 * 64;
  std::memset(static_cast<char *>(memory) + front, 0xff, bytes);
  Context *context = current().back();
  uint64_t address = reinterpret_cast<uint64_t>(memory) + front + kBase + uint64_t(context->device) * kPerDevice;
  allocations[address] = {bytes, context};
  return address;
}

int release(uint64_t address) {
  auto found = allocations.find(address);
  if (found == allocations.end())
    return kInvalidValue;
  int result = found->second.context->flush(); // cuMemFree waits for all work of the context
  uint64_t start = hostAddress(address) / kPage * kPage;
  if (found->second.context->lost)
    return result;
  munmap(reinterpret_cast<void *>(start), roundUp(found->second.bytes) + kPage);
  allocations.erase(found);
  return 0;
}

static std::map<uint64_t, Allocation>::iterator allocationAt(uint64_t address) {
  auto next = allocations.upper_bound(address);
  return next == allocations.begin() ? allocations.end() : --next;
}

char *memoryAt(uint64_t address, size_t bytes, int device) {
  auto found = allocationAt(address);
  if (found == allocations.end() || address + bytes > found->first + found->second.bytes ||
      (device >= 0 && found->second.context->device != device))
    return nullptr;
  return reinterpret_cast<char *>(hostAddress(address));
}

int deviceOf(uint64_t address) {
  auto found = allocationAt(address);
  return found == allocations.end() || address > found->first + found->second.bytes ? -1
                                                                                    : found->second.context->device;
}

uint64_t hostAddress(uint64_t address) { return address & kHostBits; }

void *allocatePinned(size_t bytes) {
  char *memory = static_cast<char *>(std::malloc(bytes));
  std::memset(memory, 0xff, bytes);
  pinned[memory] = bytes;
  return memory;
}

int releasePinned(void *memory) {
  if (!pinned.erase(static_cast<char *>(memory)))
    return kInvalidValue;
  std::free(memory);
  return 0;
}

bool isPinned(const void *memory, size_t bytes) {
  auto *at = static_cast<const char *>(memory);
  for (auto &[start, size] : pinned)
    if (at >= start && at + bytes <= start + size)
      return true;
  return false;
}

size_t numAllocations() { return allocations.size(); }

} // namespace emulator
