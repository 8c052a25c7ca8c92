// SPDX-License-Identifier: Apache-2.0
//
// A libnccl.so.2 for machines without GPUs: implements the functions of NVIDIA's NCCL that the
// runtime calls, between processes of one machine. README.md lists the failures that it simulates.
#include "hewn/communicator.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

enum Result {
  Success = 0,
  SystemError = 2,
  InternalError = 3,
  InvalidArgument = 4,
  InvalidUsage = 5,
  RemoteError = 6,
  InProgress = 7
};
enum Kind : uint64_t { Gather = 1, Sum = 2, Scatter = 3, Send = 4, Receive = 5 };

constexpr size_t kChunk = 8192, kMostRanks = 8, kSumBlock = 1024;
constexpr int kNotReady = 600, kLaunchFailed = 719;

/// Data of one rank in one round of a collective. In round `r`, `at` becomes 2r + 1 when the rank
/// has written its data, and 2r + 2 when it has read the data of all ranks.
struct Slot {
  std::atomic<uint64_t> at;
  uint64_t kind, bytes;
  int device;
  alignas(64) char data[kChunk];
};
/// Channel for messages from one rank to another. `state` is 1 if a chunk has not been received
/// yet.
struct Channel {
  std::atomic<uint32_t> state;
  uint64_t bytes;
  alignas(64) char data[kChunk];
};
struct Shared {
  std::atomic<uint32_t> attached;
  Slot slots[kMostRanks];
  Channel channels[kMostRanks * kMostRanks];
};

struct Comm {
  Shared *shared = nullptr;
  std::string name;
  int rank = 0, ranks = 0, device = -1;
  uint64_t rounds = 0;
  /// Number of further status queries for which the communicator returns InProgress for its last
  /// call, as an asynchronous NCCL does.
  int busy = 0;
  /// Number of calls on this communicator that captured graphs contain.
  int recorded = 0;
  bool isReady = false, isFinal = false, isAborted = false;
  Result error = Success;
  ~Comm() {
    if (shared)
      munmap(shared, sizeof(Shared));
  }
};
using Handle = std::shared_ptr<Comm>;

std::atomic<int64_t> comms = 0, stuck = 0;

/// Functions of the emulated driver, found by name.
struct Driver {
  int (*enqueue)(void *, int (*)(void *), void *, void (*)(void *));
  void *(*memory)(uint64_t, uint64_t, int);
  int (*device)();
  void (*progress)();
  int (*isRecorded)(void *);
};
Driver &driver() {
  static Driver made = [] {
    Driver found = {};
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    auto find = [&](auto &function, const char *name) {
      void *symbol = library ? dlsym(library, name) : nullptr;
      std::memcpy(&function, &symbol, sizeof(symbol));
    };
    find(found.enqueue, "emulator_enqueue");
    find(found.memory, "emulator_memory");
    find(found.device, "emulator_device");
    find(found.progress, "emulator_progress");
    find(found.isRecorded, "emulator_is_recorded");
    return found;
  }();
  return made;
}

bool fails(const char *what, int rank) {
  const char *wanted = std::getenv("HEWN_EMULATOR_NCCL"), *of = std::getenv("HEWN_EMULATOR_NCCL_RANK");
  return wanted && std::strcmp(wanted, what) == 0 && std::atoi(of ? of : "1") == rank;
}

int complain(const char *what) { return std::fprintf(stderr, "emulated NCCL: %s\n", what), kLaunchFailed; }

size_t bytesOf(int type) {
  const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return type >= 0 && type < 10 ? sizes[type] : 0;
}
DLDataType typeOf(int type) {
  const uint8_t codes[] = {kDLInt, kDLUInt, kDLInt, kDLUInt, kDLInt, kDLUInt, kDLFloat, kDLFloat, kDLFloat, kDLBfloat};
  return {codes[type], uint8_t(8 * bytesOf(type)), 1};
}

/// A step of a stream that executes one NCCL call. A graph may execute the step several times.
struct Transfer {
  Handle comm;
  Kind kind;
  uint64_t from, to;
  uint64_t bytes; ///< bytes that a rank contributes to a collective, or size of a message
  int type, peer;
  bool isRecorded;
  /// Progress of the current execution of this stream step, which executes one NCCL call.
  uint64_t offset = 0;
  enum { Bring, Read, Leave } phase = Bring;

  char *at(uint64_t address, uint64_t size) const {
    return static_cast<char *>(driver().memory(address, size, comm->device));
  }
  bool areAt(uint64_t round) const {
    for (int r = 0; r < comm->ranks; ++r)
      if (comm->shared->slots[r].at.load(std::memory_order_acquire) < round)
        return false;
    return true;
  }
  int ended() { return offset = 0, phase = Bring, 0; }
  int step();
  int meet();
  int message();
  void read(char *result, size_t size);
};

/// Computes the result for the chunk at `offset` from the data of all ranks, and writes it.
void Transfer::read(char *result, size_t size) {
  const Slot *slots = comm->shared->slots;
  if (kind == Gather) {
    for (int r = 0; r < comm->ranks; ++r)
      std::memcpy(result + uint64_t(r) * bytes + offset, slots[r].data, size);
    return;
  }
  uint64_t part = bytes / uint64_t(comm->ranks), first = uint64_t(comm->rank) * part;
  for (size_t block = 0; block < size; block += kSumBlock) {
    size_t count = std::min(kSumBlock, size - block);
    std::vector<char> sum(count);
    int start = int((offset + block) / kSumBlock + 1) % comm->ranks;
    std::memcpy(sum.data(), slots[start].data + block, count);
    for (int i = 1; i < comm->ranks; ++i)
      hewn_communicator_add(sum.data(), slots[(start + i) % comm->ranks].data + block, int64_t(count / bytesOf(type)),
                            typeOf(type));
    uint64_t begin = offset + block, end = begin + count, low = 0, high = bytes;
    if (kind == Scatter)
      low = first, high = first + part;
    begin = std::max(begin, low);
    end = std::min(end, high);
    if (begin < end)
      std::memcpy(result + (begin - low), sum.data() + (begin - offset - block), end - begin);
  }
}

int Transfer::meet() {
  Slot &own = comm->shared->slots[comm->rank];
  uint64_t round = 2 * comm->rounds;
  size_t size = std::min<uint64_t>(kChunk, bytes - offset);
  if (phase == Bring) {
    if (!areAt(round))
      return kNotReady;
    const char *mine = at(from + offset, size);
    if (!mine)
      return complain("the sent data is not in the device's memory");
    if (fails("die", comm->rank))
      _exit(9);
    std::memcpy(own.data, mine, size);
    own.kind = kind;
    own.bytes = bytes;
    own.at.store(round + 1, std::memory_order_release);
    phase = Read;
  }
  if (phase == Read) {
    if (!areAt(round + 1))
      return kNotReady;
    for (int r = 0; r < comm->ranks; ++r)
      if (comm->shared->slots[r].kind != kind || comm->shared->slots[r].bytes != bytes)
        return complain("ranks make different calls");
    uint64_t whole = kind == Gather    ? bytes * uint64_t(comm->ranks)
                     : kind == Scatter ? bytes / uint64_t(comm->ranks)
                                       : bytes;
    char *result = at(to, whole);
    if (!result)
      return complain("the receive buffer is not in the device's memory");
    read(result, size);
    own.at.store(round + 2, std::memory_order_release);
    ++comm->rounds;
    offset += size;
    phase = Bring;
  }
  return offset < bytes ? meet() : ended();
}

int Transfer::message() {
  int sender = kind == Send ? comm->rank : peer, receiver = kind == Send ? peer : comm->rank;
  Channel &line = comm->shared->channels[size_t(sender) * kMostRanks + size_t(receiver)];
  for (; offset < bytes;) {
    size_t size = std::min<uint64_t>(kChunk, bytes - offset);
    if (line.state.load(std::memory_order_acquire) != (kind == Receive))
      return kNotReady;
    char *memory = at((kind == Send ? from : to) + offset, size);
    if (!memory)
      return complain("the buffer of a message is not in the device's memory");
    if (fails("die", comm->rank))
      _exit(9);
    if (kind == Receive && line.bytes != bytes)
      return complain("ranks make different calls");
    line.bytes = bytes;
    std::memcpy(kind == Send ? line.data : memory, kind == Send ? memory : line.data, size);
    offset += size;
    line.state.store(kind == Send, std::memory_order_release);
  }
  return ended();
}

int Transfer::step() {
  if (comm->isAborted) // an abort ends the transfer in any state
    return ended();
  if (fails("stop", comm->rank) || comm->error)
    return kNotReady;
  return kind == Send || kind == Receive ? message() : meet();
}

Result begin(Handle *handle, Kind kind, const void *from, void *to, size_t count, int type, int peer, void *stream) {
  Comm &comm = **handle;
  if (!comm.isReady || comm.busy || comm.isFinal)
    return complain("a call on a communicator that is still busy with the previous call"), InvalidUsage;
  if (bytesOf(type) == 0 || driver().device() != comm.device)
    return InvalidArgument;
  if (fails("call", comm.rank))
    return InternalError;
  if (fails("async", comm.rank))
    comm.error = RemoteError;
  uint64_t bytes = uint64_t(count) * bytesOf(type) * (kind == Scatter ? uint64_t(comm.ranks) : 1);
  auto *made = new Transfer{*handle, kind, uint64_t(uintptr_t(from)),       uint64_t(uintptr_t(to)), bytes,
                            type,    peer, driver().isRecorded(stream) != 0};
  comm.recorded += made->isRecorded;
  int result = driver().enqueue(
      stream, [](void *argument) { return static_cast<Transfer *>(argument)->step(); }, made,
      [](void *argument) {
        auto *gone = static_cast<Transfer *>(argument);
        gone->comm->recorded -= gone->isRecorded;
        delete gone;
      });
  comm.busy = 2;
  return result ? InternalError : InProgress;
}

struct Id {
  char text[128];
};

struct Config {
  size_t size;
  unsigned magic, version;
  int blocking;
};

} // namespace

EXPORT int64_t emulator_nccl_comms() { return comms; }
/// Returns the number of situations so far in which NVIDIA's NCCL would have hung.
EXPORT int64_t emulator_nccl_stuck() { return stuck; }

EXPORT int ncclGetVersion(int *version) {
  return *version = fails("old", 0) || fails("old", 1) ? 21300 : 22304, Success;
}

EXPORT const char *ncclGetErrorString(int result) {
  return result == SystemError     ? "unhandled system error"
         : result == InternalError ? "internal error"
         : result == InvalidUsage  ? "invalid usage"
         : result == RemoteError   ? "remote process exited or there was a network error"
                                   : "an error";
}

EXPORT int ncclGetUniqueId(Id *id) {
  if (fails("id", 0))
    return SystemError;
  static int made = 0;
  std::snprintf(id->text, sizeof(id->text), "/hewn-nccl-%d-%d", int(getpid()), made++);
  shm_unlink(id->text);
  int file = shm_open(id->text, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  bool isMade = file >= 0 && ftruncate(file, sizeof(Shared)) == 0;
  if (file >= 0)
    close(file);
  return isMade ? Success : SystemError;
}

EXPORT int ncclCommInitRankConfig(Handle **handle, int ranks, Id id, int rank, Config *config) {
  if (config->size < sizeof(Config) || config->magic != 0xcafebeef || config->version < 21400 || config->blocking != 0)
    return complain("the configuration is not that of a non-blocking communicator"), InvalidArgument;
  if (fails("init", rank))
    return SystemError;
  int file = shm_open(id.text, O_RDWR | O_CLOEXEC, 0600);
  void *base = file < 0 ? MAP_FAILED : mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0)
    close(file);
  if (base == MAP_FAILED || rank < 0 || rank >= ranks || ranks > int(kMostRanks))
    return SystemError;
  auto made = std::make_shared<Comm>();
  made->shared = static_cast<Shared *>(base);
  made->name = id.text;
  made->rank = rank;
  made->ranks = ranks;
  made->device = driver().device();
  made->shared->slots[rank].device = made->device;
  if (++made->shared->attached == uint32_t(ranks))
    shm_unlink(id.text);
  ++comms;
  return *handle = new Handle(made), InProgress;
}

EXPORT int ncclCommGetAsyncError(Handle *handle, int *error) {
  Comm &comm = **handle;
  *error = InProgress;
  if (comm.busy) {
    --comm.busy;
    return Success;
  }
  if (!comm.isReady) {
    if (comm.shared->attached < uint32_t(comm.ranks))
      return Success;
    for (int r = 0; r < comm.ranks; ++r)
      if (r != comm.rank && comm.shared->slots[r].device == comm.device)
        comm.error = InvalidUsage; // NCCL rejects two ranks on one device
    if (fails("late-init", comm.rank))
      comm.error = RemoteError;
    comm.isReady = comm.error == Success;
  }
  return *error = comm.error, Success;
}

EXPORT int ncclCommFinalize(Handle *handle) {
  (*handle)->isFinal = true;
  (*handle)->busy = 2;
  return InProgress;
}
/// Communicators that are aborted when the group of calls ends (ncclGroupEnd).
static thread_local std::vector<Handle *> ending;
static thread_local bool isGroup = false;

/// Destroying a communicator: NVIDIA's NCCL waits until no captured graph contains a call on it.
/// Here such a graph is an error.
static void end(Handle *handle) {
  driver().progress();
  if ((*handle)->recorded > 0) {
    complain("a communicator ends while captured graphs contain calls on it");
    ++stuck;
  }
  --comms;
  shm_unlink((*handle)->name.c_str()); // the name still exists if some rank has not attached
  delete handle;
}
EXPORT int ncclCommDestroy(Handle *handle) {
  if (!(*handle)->isFinal || (*handle)->busy)
    return InvalidUsage;
  return end(handle), Success;
}
EXPORT int ncclCommAbort(Handle *handle) {
  (*handle)->isAborted = true;
  if (isGroup)
    return ending.push_back(handle), Success;
  return end(handle), Success;
}
EXPORT int ncclGroupStart() { return isGroup = true, Success; }
EXPORT int ncclGroupEnd() {
  for (Handle *handle : ending)
    end(handle);
  ending.clear();
  return isGroup = false, Success;
}

EXPORT int ncclAllReduce(const void *from, void *to, size_t count, int type, int, Handle *comm, void *stream) {
  return begin(comm, Sum, from, to, count, type, -1, stream);
}
EXPORT int ncclReduceScatter(const void *from, void *to, size_t count, int type, int, Handle *comm, void *stream) {
  return begin(comm, Scatter, from, to, count, type, -1, stream);
}
EXPORT int ncclAllGather(const void *from, void *to, size_t count, int type, Handle *comm, void *stream) {
  return begin(comm, Gather, from, to, count, type, -1, stream);
}
EXPORT int ncclSend(const void *from, size_t count, int type, int peer, Handle *comm, void *stream) {
  return begin(comm, Send, from, nullptr, count, type, peer, stream);
}
EXPORT int ncclRecv(void *to, size_t count, int type, int peer, Handle *comm, void *stream) {
  return begin(comm, Receive, nullptr, to, count, type, peer, stream);
}
