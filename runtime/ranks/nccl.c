// SPDX-License-Identifier: Apache-2.0
// A communicator that transfers device memory with NCCL. It is based on another communicator, which
// transfers host memory and sets up the connections.
//
// No NCCL call may wait for a peer without a time limit. NCCL communicators are therefore
// nonblocking (ncclConfig_t's `blocking`), and operations are polled with ncclCommGetAsyncError
// until they are complete. If a peer has exited, is late, or NCCL reports an error, all NCCL
// communicators are aborted, which also ends their kernels. Before that, the caller must destroy
// captured graphs: ncclCommAbort waits for the end of all graphs with calls of the communicator.
//
// Reductions are NCCL's: all ranks receive the same bits, because each element is summed once and
// distributed. The order of summation depends on NCCL's version and on the interconnect.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "ranks/nccl.h"
#include "core/context.h"
#include "hewn/communicator.h"
#include "platform/posix/platform.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define DEFAULT_MILLISECONDS 30000
#define GOODBYE_MILLISECONDS 2000 // time limit for closing an idle NCCL communicator
#define PAUSE_NANOSECONDS 20000
#define LOOK_MILLISECONDS 5
#define TEXT_BYTES 384

/// The NCCL communicator of `ranks` ranks from `first` on; `comm` is NULL if it is not open.
typedef struct opened {
  int32_t first, ranks;
  nccl_comm comm;
} opened;

typedef struct nccl_group {
  hewn_communicator table;
  hewn_communicator *over;
  hewn_nccl library;
  opened all, fewer; ///< NCCL communicators of all ranks, and of this rank's only smaller group
  int64_t milliseconds;
  int failed;
  char text[TEXT_BYTES];
} nccl_group;

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

//===----------------------------------------------------------------------===//
// Failing and waiting
//===----------------------------------------------------------------------===//

static void abortComm(nccl_group *group, opened *one) {
  if (one->comm)
    group->library.ncclCommAbort(one->comm);
  one->comm = NULL;
}

/// Marks the communicator as failed and announces it to the other ranks.
static int32_t giveUp(nccl_group *group) {
  group->failed = 1;
  group->over->abandon(group->over->user, group->text);
  return HEWN_PEER_FAILED;
}

static int32_t fail(nccl_group *group, const char *why, const char *more) {
  hewn_text text = {group->text, group->text + sizeof(group->text) - 1};
  hewn_text_put(&text, why);
  hewn_text_put(&text, more);
  *text.at = '\0';
  return giveUp(group);
}

static int32_t failNccl(nccl_group *group, nccl_result result) {
  const char *said = group->library.ncclGetErrorString(result);
  return fail(group, "NCCL: ", said ? said : "unknown error");
}

static int32_t failLate(nccl_group *group) {
  hewn_text text = {group->text, group->text + sizeof(group->text) - 1};
  hewn_text_put(&text, "another rank did not respond within ");
  hewn_text_int(&text, group->milliseconds);
  hewn_text_put(&text, " ms");
  *text.at = '\0';
  return giveUp(group);
}

/// Fails this communicator if `code`, the result of a call of the host communicator `over`, is a
/// failure.
static int32_t failOver(nccl_group *group, int32_t code) {
  const char *why = code == HEWN_OK ? NULL : group->over->message(group->over->user);
  return code == HEWN_OK ? code : fail(group, why ? why : "", "");
}

static int32_t failBefore(nccl_group *group) {
  if (group->text[0] == '\0')
    fail(group, "an earlier run has failed", "");
  return HEWN_PEER_FAILED;
}

/// Checks whether another rank has failed.
static int32_t checkOthers(nccl_group *group) {
  hewn_communicator *over = group->over;
  int knows = over->size > offsetof(hewn_communicator, check) && over->check != NULL;
  return knows ? failOver(group, over->check(over->user)) : HEWN_OK;
}

/// If `result` is "in progress", waits until the NCCL operation on `comm` is complete or enqueued.
static int32_t settle(nccl_group *group, nccl_comm comm, nccl_result result) {
  int64_t begin = now(), looked = begin;
  while (result == NCCL_IN_PROGRESS) {
    nccl_result asked = group->library.ncclCommGetAsyncError(comm, &result);
    if (asked != NCCL_SUCCESS)
      return failNccl(group, asked);
    if (result != NCCL_IN_PROGRESS)
      break;
    int64_t time = now();
    if (time - begin >= group->milliseconds)
      return failLate(group);
    if (time - looked >= LOOK_MILLISECONDS) {
      looked = time;
      int32_t code = checkOthers(group);
      if (code != HEWN_OK)
        return code;
    }
    struct timespec pause = {0, PAUSE_NANOSECONDS};
    nanosleep(&pause, NULL);
  }
  return result == NCCL_SUCCESS ? HEWN_OK : failNccl(group, result);
}

//===----------------------------------------------------------------------===//
// Host memory
//===----------------------------------------------------------------------===//

/// Begins a call of the host communicator `over`: returns its `moved` counter, and forwards the
/// request to measure the waiting time.
static uint64_t ask(nccl_group *group) {
  if (group->over->size > offsetof(hewn_communicator, waited))
    group->over->waited = group->table.waited;
  return group->over->moved;
}

/// Ends a call of the host communicator `over`: adds the bytes that it moved, and copies the
/// waiting time and the message.
static int32_t heard(nccl_group *group, uint64_t before, int32_t code) {
  group->table.moved += group->over->moved - before;
  if (group->over->size > offsetof(hewn_communicator, waited))
    group->table.waited = group->over->waited;
  if (code != HEWN_OK) {
    const char *why = group->over->message(group->over->user);
    hewn_text text = {group->text, group->text + sizeof(group->text) - 1};
    hewn_text_put(&text, why ? why : "");
    *text.at = '\0';
  }
  return code;
}

static void *allocate(void *user, size_t bytes) {
  nccl_group *group = user;
  uint64_t before = ask(group);
  void *memory = group->over->allocate(group->over->user, bytes);
  heard(group, before, memory ? HEWN_OK : HEWN_OUT_OF_MEMORY);
  return memory;
}

static void release(void *user, void *memory) {
  nccl_group *group = user;
  group->over->release(group->over->user, memory);
}

static int32_t allGather(void *user, int32_t first, int32_t ranks, const void *mine, void *all, size_t bytes) {
  nccl_group *group = user;
  uint64_t before = ask(group);
  return heard(group, before, group->over->all_gather(group->over->user, first, ranks, mine, all, bytes));
}

static int32_t allReduce(void *user, int32_t first, int32_t ranks, const void *mine, void *sum, int64_t count,
                         DLDataType type) {
  nccl_group *group = user;
  uint64_t before = ask(group);
  return heard(group, before, group->over->all_reduce(group->over->user, first, ranks, mine, sum, count, type));
}

static int32_t reduceScatter(void *user, int32_t first, int32_t ranks, const void *mine, void *sum, int64_t count,
                             DLDataType type) {
  nccl_group *group = user;
  uint64_t before = ask(group);
  return heard(group, before, group->over->reduce_scatter(group->over->user, first, ranks, mine, sum, count, type));
}

static int32_t sendTo(void *user, int32_t to, const void *data, size_t bytes) {
  nccl_group *group = user;
  uint64_t before = ask(group);
  return heard(group, before, group->over->send(group->over->user, to, data, bytes));
}

static int32_t receiveFrom(void *user, int32_t from, void *data, size_t bytes) {
  nccl_group *group = user;
  uint64_t before = ask(group);
  return heard(group, before, group->over->receive(group->over->user, from, data, bytes));
}

static void abandon(void *user, const char *why) {
  nccl_group *group = user;
  group->failed = 1;
  group->over->abandon(group->over->user, why);
}

static const char *message(void *user) { return ((nccl_group *)user)->text; }

static int32_t check(void *user) {
  nccl_group *group = user;
  return group->failed ? failBefore(group) : checkOthers(group);
}

static void destroy(void *user) {
  nccl_group *group = user;
  group->over->taken = 0;
  munmap(group, sizeof(nccl_group));
}

//===----------------------------------------------------------------------===//
// Device memory
//===----------------------------------------------------------------------===//

/// Data that the first rank of a group sends to the others: NCCL's unique id, or an error.
typedef struct invitation {
  nccl_id id;
  int32_t result;
  int32_t reserved;
} invitation;

static int32_t invite(nccl_group *group, int32_t first, int32_t ranks, nccl_id *id) {
  const hewn_allocator *allocator = &hewn_default_allocator;
  invitation mine;
  memset(&mine, 0, sizeof(mine));
  if (group->table.rank == first)
    mine.result = group->library.ncclGetUniqueId(&mine.id);
  invitation *all = allocator->allocate(allocator->user, (size_t)ranks * sizeof(invitation), HEWN_ALIGNMENT);
  if (!all)
    return fail(group, "out of memory", "");
  uint64_t before = group->over->moved;
  int32_t code =
      failOver(group, group->over->all_gather(group->over->user, first, ranks, &mine, all, sizeof(invitation)));
  group->over->moved = before; // does not count this exchange, which is no transfer of the model
  nccl_result result = code == HEWN_OK ? all[0].result : NCCL_SUCCESS;
  *id = all[0].id;
  allocator->release(allocator->user, all);
  if (code != HEWN_OK || result == NCCL_SUCCESS)
    return code;
  return failNccl(group, result);
}

static opened *findOpened(nccl_group *group, int32_t first, int32_t ranks) {
  opened *one = first == 0 && ranks == group->table.num_ranks ? &group->all : &group->fewer;
  return one->comm && one->first == first && one->ranks == ranks ? one : NULL;
}

static int32_t openRanks(void *user, int32_t first, int32_t ranks) {
  nccl_group *group = user;
  if (group->failed)
    return failBefore(group);
  if (findOpened(group, first, ranks))
    return HEWN_OK;
  opened *one = first == 0 && ranks == group->table.num_ranks ? &group->all : &group->fewer;
  abortComm(group, one); // left by an earlier context, for other ranks
  nccl_config config = {sizeof(nccl_config), (unsigned)NCCL_MAGIC, NCCL_OLDEST, /*blocking=*/0};
  nccl_id id;
  int32_t code = invite(group, first, ranks, &id);
  if (code != HEWN_OK)
    return code;
  nccl_result result = group->library.ncclCommInitRankConfig(&one->comm, ranks, id, group->table.rank - first, &config);
  one->first = first;
  one->ranks = ranks;
  return settle(group, one->comm, result);
}

/// Returns the NCCL communicator for a transfer, or NULL after a failure.
static nccl_comm commOf(nccl_group *group, int32_t first, int32_t ranks) {
  const opened *one = group->failed ? NULL : findOpened(group, first, ranks);
  if (!one && !group->failed)
    fail(group, "the connection of these ranks is not open", "");
  return one ? one->comm : NULL;
}

/// Returns the ncclDataType_t of a type that NCCL can sum, or -1.
static int typeOf(DLDataType type) {
  const int integers[2][4] = {{NCCL_INT8, -1, NCCL_INT32, NCCL_INT64}, {NCCL_UINT8, -1, NCCL_UINT32, NCCL_UINT64}};
  int size = type.bits == 8 ? 0 : type.bits == 16 ? 1 : type.bits == 32 ? 2 : type.bits == 64 ? 3 : -1;
  if (size < 0 || type.lanes != 1)
    return -1;
  if (type.code == kDLInt || type.code == kDLUInt)
    return integers[type.code == kDLUInt][size];
  if (type.code == kDLFloat)
    return size == 1 ? NCCL_FLOAT16 : size == 2 ? NCCL_FLOAT32 : size == 3 ? NCCL_FLOAT64 : -1;
  return type.code == kDLBfloat && size == 1 ? NCCL_BFLOAT16 : -1;
}

static int32_t gatherOnDevice(void *user, int32_t first, int32_t ranks, const void *mine, void *all, size_t bytes,
                              void *stream) {
  nccl_group *group = user;
  nccl_comm comm = commOf(group, first, ranks);
  if (!comm)
    return failBefore(group);
  group->table.moved += (uint64_t)(ranks - 1) * bytes;
  return settle(group, comm, group->library.ncclAllGather(mine, all, bytes, NCCL_INT8, comm, stream));
}

/// Returns the NCCL communicator for a reduction and the ncclDataType_t, or NULL after a failure.
static nccl_comm commOfSum(nccl_group *group, int32_t first, int32_t ranks, DLDataType type, int *number) {
  nccl_comm comm = commOf(group, first, ranks);
  *number = typeOf(type);
  if (!comm || *number >= 0)
    return comm;
  fail(group, "NCCL cannot sum 16-bit integers", "");
  return NULL;
}

static int32_t reduceOnDevice(void *user, int32_t first, int32_t ranks, const void *mine, void *sum, int64_t count,
                              DLDataType type, void *stream) {
  nccl_group *group = user;
  int number;
  nccl_comm comm = commOfSum(group, first, ranks, type, &number);
  if (!comm)
    return failBefore(group);
  // Counts the moved bytes as hewn explain does: each rank reads all addends of its piece and sends
  // the summed piece to all ranks.
  int64_t lines = (count + 63) / 64, rank = group->table.rank - first;
  int64_t from = lines * rank / ranks * 64, to = lines * (rank + 1) / ranks * 64;
  to = to < count ? to : count;
  if (from < to)
    group->table.moved += 2 * (uint64_t)(ranks - 1) * (uint64_t)(to - from) * (type.bits / 8u);
  return settle(group, comm, group->library.ncclAllReduce(mine, sum, (size_t)count, number, NCCL_SUM, comm, stream));
}

static int32_t scatterOnDevice(void *user, int32_t first, int32_t ranks, const void *mine, void *sum, int64_t count,
                               DLDataType type, void *stream) {
  nccl_group *group = user;
  int number;
  nccl_comm comm = commOfSum(group, first, ranks, type, &number);
  if (!comm)
    return failBefore(group);
  group->table.moved += (uint64_t)(ranks - 1) * (uint64_t)count * (type.bits / 8u);
  return settle(group, comm,
                group->library.ncclReduceScatter(mine, sum, (size_t)count, number, NCCL_SUM, comm, stream));
}

static int32_t sendOnDevice(void *user, int32_t to, const void *data, size_t bytes, void *stream) {
  nccl_group *group = user;
  nccl_comm comm = commOf(group, 0, group->table.num_ranks);
  if (!comm)
    return failBefore(group);
  return settle(group, comm, group->library.ncclSend(data, bytes, NCCL_INT8, to, comm, stream));
}

static int32_t receiveOnDevice(void *user, int32_t from, void *data, size_t bytes, void *stream) {
  nccl_group *group = user;
  nccl_comm comm = commOf(group, 0, group->table.num_ranks);
  if (!comm)
    return failBefore(group);
  group->table.moved += bytes;
  return settle(group, comm, group->library.ncclRecv(data, bytes, NCCL_INT8, from, comm, stream));
}

static int32_t checkDevice(void *user, int64_t waited) {
  nccl_group *group = user;
  if (group->failed)
    return failBefore(group);
  opened *both[2] = {&group->all, &group->fewer};
  for (int i = 0; i < 2; ++i) {
    nccl_result error = NCCL_SUCCESS;
    if (!both[i]->comm)
      continue;
    nccl_result asked = group->library.ncclCommGetAsyncError(both[i]->comm, &error);
    if (asked != NCCL_SUCCESS || (error != NCCL_SUCCESS && error != NCCL_IN_PROGRESS))
      return failNccl(group, asked != NCCL_SUCCESS ? asked : error);
  }
  int32_t code = checkOthers(group);
  return code == HEWN_OK && waited >= group->milliseconds ? failLate(group) : code;
}

static void stopDevice(void *user) {
  nccl_group *group = user;
  group->failed = 1;
  // Aborts both NCCL communicators as a group, because kernels of one may wait for kernels of the
  // other.
  group->library.ncclGroupStart();
  abortComm(group, &group->fewer);
  abortComm(group, &group->all);
  group->library.ncclGroupEnd();
}

/// Closes an idle NCCL communicator. Peers may have exited by now, which is not a failure.
static void closeOne(nccl_group *group, opened *one) {
  if (!one->comm)
    return;
  nccl_result result = group->library.ncclCommFinalize(one->comm);
  for (int64_t begin = now(); result == NCCL_IN_PROGRESS && now() - begin < GOODBYE_MILLISECONDS;) {
    struct timespec pause = {0, PAUSE_NANOSECONDS};
    nanosleep(&pause, NULL);
    if (group->library.ncclCommGetAsyncError(one->comm, &result) != NCCL_SUCCESS)
      break;
  }
  if (result == NCCL_SUCCESS)
    group->library.ncclCommDestroy(one->comm);
  else
    group->library.ncclCommAbort(one->comm);
  one->comm = NULL;
}

static void closeDevice(void *user) {
  nccl_group *group = user;
  if (group->failed)
    stopDevice(group);
  closeOne(group, &group->fewer);
  closeOne(group, &group->all);
}

static const hewn_device_transport transport = {openRanks,       gatherOnDevice, reduceOnDevice,
                                                scatterOnDevice, sendOnDevice,   receiveOnDevice,
                                                checkDevice,     stopDevice,     closeDevice};

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

static hewn_status made(int32_t code, const char *message) {
  hewn_status status = {code, message};
  return status;
}

/// Loads NCCL. Returns an error message or NULL.
static const char *load(hewn_nccl *library) {
  // RTLD_NODELETE: NCCL has threads and destructors, so it is never unloaded.
  void *handle = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle)
    return "NCCL is not available: cannot load libnccl.so.2";
  struct entry {
    const char *name;
    size_t offset;
  };
#define ENTRY(name, arguments) {#name, offsetof(hewn_nccl, name)},
  const struct entry entries[] = {
      HEWN_NCCL_FUNCTIONS(ENTRY){"ncclGetErrorString", offsetof(hewn_nccl, ncclGetErrorString)}};
#undef ENTRY
  for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); ++i) {
    void *symbol = dlsym(handle, entries[i].name);
    if (!symbol)
      return "libnccl.so.2 is too old: it must be NCCL 2.14 or newer";
    memcpy((unsigned char *)library + entries[i].offset, &symbol, sizeof(symbol));
  }
  int version = 0;
  if (library->ncclGetVersion(&version) != NCCL_SUCCESS || version < NCCL_OLDEST)
    return "libnccl.so.2 is too old: it must be NCCL 2.14 or newer";
  return NULL;
}

hewn_status hewn_nccl_communicator_create(hewn_communicator *over, int64_t milliseconds,
                                          hewn_communicator **communicator) {
  if (!communicator)
    return made(HEWN_INVALID_ARGUMENT, "the communicator pointer is NULL");
  *communicator = NULL;
  if (!over || over->size < offsetof(hewn_communicator, device))
    return made(HEWN_INVALID_ARGUMENT, "NCCL needs a base communicator");
  if (milliseconds < 0)
    return made(HEWN_INVALID_ARGUMENT, "the time limit is negative");
  int saved = errno;
  hewn_nccl library;
  const char *problem = load(&library);
  errno = saved;
  if (problem)
    return made(HEWN_UNSUPPORTED, problem);
  if (__atomic_exchange_n(&over->taken, 1, __ATOMIC_ACQ_REL))
    return made(HEWN_INVALID_ARGUMENT, "the communicator is in use already");
  void *memory = mmap(NULL, sizeof(nccl_group), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  errno = saved;
  if (memory == MAP_FAILED) {
    over->taken = 0;
    return made(HEWN_OUT_OF_MEMORY, "out of memory for a communicator");
  }
  nccl_group *group = memory;
  hewn_communicator table = {sizeof(hewn_communicator),
                             over->rank,
                             over->num_ranks,
                             group,
                             allocate,
                             release,
                             allGather,
                             allReduce,
                             sendTo,
                             receiveFrom,
                             abandon,
                             message,
                             destroy,
                             0,
                             0,
                             reduceScatter,
                             &transport,
                             check,
                             0};
  group->table = table;
  group->over = over;
  group->library = library;
  group->milliseconds = milliseconds ? milliseconds : DEFAULT_MILLISECONDS;
  *communicator = &group->table;
  return made(HEWN_OK, "");
}
