// SPDX-License-Identifier: Apache-2.0
// The allocator of a WebAssembly module, and the platform's table. The module's memory only grows,
// so freed blocks stay in a list of free blocks, sorted by address, in which neighbors are merged.
// An allocation takes the first block that is large enough. A module has one thread.

#include "platform/wasm/allocator.h"
#include "hewn/services.h"

#define PAGE ((size_t)1 << 16)
#define UNIT ((size_t)16) ///< blocks begin at multiples of this size, which is that of a header

/// Header of a block, free or allocated, directly before the caller's bytes.
typedef struct block {
  size_t bytes;       ///< size of the block with its header, a multiple of UNIT
  struct block *next; ///< next free block
  size_t unused[2];
} block;
_Static_assert(sizeof(block) == UNIT, "a header is one unit");

static block *freeBlocks;

/// Adds a block to the list of free blocks, and merges it with its neighbors.
static void addFree(block *added) {
  block **at = &freeBlocks, *before = NULL;
  while (*at && *at < added) {
    before = *at;
    at = &before->next;
  }
  added->next = *at;
  *at = added;
  if (added->next && (char *)added + added->bytes == (char *)added->next) {
    added->bytes += added->next->bytes;
    added->next = added->next->next;
  }
  if (before && (char *)before + before->bytes == (char *)added) {
    before->bytes += added->bytes;
    before->next = added->next;
  }
}

/// Takes `bytes` bytes with a header so that the bytes after it are aligned, from the free blocks.
static void *takeFree(size_t bytes, size_t alignment) {
  for (block **at = &freeBlocks; *at; at = &(*at)->next) {
    block *found = *at;
    uintptr_t begin = (uintptr_t)found, data = (begin + UNIT + alignment - 1) & ~(uintptr_t)(alignment - 1);
    size_t front = data - UNIT - begin;
    if (found->bytes < front || found->bytes - front < bytes)
      continue;
    size_t rest = found->bytes - front - bytes;
    *at = found->next;
    block *taken = (block *)(data - UNIT);
    taken->bytes = bytes;
    if (front > 0) {
      found->bytes = front;
      addFree(found);
    }
    if (rest > 0) {
      block *behind = (block *)(data - UNIT + bytes);
      behind->bytes = rest;
      addFree(behind);
    }
    return (void *)data;
  }
  return NULL;
}

void *hewn_wasm_allocate(size_t bytes, size_t alignment) {
  alignment = alignment < UNIT ? UNIT : alignment;
  if (bytes > PTRDIFF_MAX - 2 * UNIT - PAGE || alignment > PAGE)
    return NULL;
  bytes = (bytes + 2 * UNIT - 1) / UNIT * UNIT;
  void *memory = takeFree(bytes, alignment);
  if (memory)
    return memory;
  size_t pages = (bytes + alignment + PAGE - 1) / PAGE, before = __builtin_wasm_memory_grow(0, pages);
  if (before == SIZE_MAX)
    return NULL;
  block *grown = (block *)(before * PAGE);
  grown->bytes = pages * PAGE;
  addFree(grown);
  return takeFree(bytes, alignment);
}

void hewn_wasm_release(void *memory) {
  if (memory)
    addFree((block *)memory - 1);
}

static void *allocate(void *user, size_t bytes, size_t alignment) {
  (void)user;
  return hewn_wasm_allocate(bytes, alignment);
}

static void release(void *user, void *memory) {
  (void)user;
  hewn_wasm_release(memory);
}

static const hewn_allocator allocator = {allocate, release, NULL};

/// Returns all bits: an engine validates a module before it runs it, so that it has all
/// instructions of a module that runs.
static uint64_t allFeatures(void) { return UINT64_MAX; }

static const char *featureName(uint64_t bit) {
  (void)bit;
  return "";
}

const hewn_platform_table hewn_rt_platform = {&allocator, allFeatures, featureName, NULL, NULL};
