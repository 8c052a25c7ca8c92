// SPDX-License-Identifier: Apache-2.0
// Memory allocation for codecs: malloc, limited by what an image of the declared size can need.
// Other fields of a header also determine allocations (for example, JPEG 2000 precincts of two
// pixels each), and no library limits all of them. isolate.cmake redirects the codecs' calls of
// malloc etc. to these functions, and `hewn_own_*` to the C library's functions.
#include "image.h"

#include <errno.h>

void *hewn_own_malloc(size_t size);
void hewn_own_free(void *memory);
void *hewn_budget_malloc(size_t size);
void *hewn_budget_calloc(size_t count, size_t size);
void *hewn_budget_realloc(void *memory, size_t size);
int hewn_budget_posix_memalign(void **memory, size_t alignment, size_t size);
void hewn_budget_free(void *memory);

/// Header of each block that a codec allocates. Its size is malloc's alignment.
typedef struct block {
  void *base; ///< pointer that malloc returned
  size_t size;
} block;

/// Bytes that are counted for each block of a codec in addition to its size, so that the number of
/// small blocks is limited, too.
enum { EACH = 2 * sizeof(block) };

static __thread hewn_image *current;

void hewn_image_spend(hewn_image *image) { current = image; }

static void *take(size_t alignment, size_t size) {
  if (!current || current->left < EACH || size > (size_t)(current->left - EACH)) {
    if (current)
      current->spent = 1;
    return NULL;
  }
  unsigned char *base = hewn_own_malloc(sizeof(block) + alignment + size);
  if (!base)
    return NULL;
  uintptr_t begin = ((uintptr_t)base + sizeof(block) + alignment - 1) / alignment * alignment;
  unsigned char *memory = base + (begin - (uintptr_t)base);
  block *head = (block *)(void *)(memory - sizeof(block));
  *head = (block){base, size};
  current->left -= (int64_t)size + EACH;
  return memory;
}

static block *headOf(void *memory) { return (block *)(void *)((unsigned char *)memory - sizeof(block)); }

void *hewn_budget_malloc(size_t size) { return take(sizeof(block), size); }

void *hewn_budget_calloc(size_t count, size_t size) {
  if (size && count > SIZE_MAX / size)
    return NULL;
  void *memory = take(sizeof(block), count * size);
  if (memory)
    memset(memory, 0, count * size);
  return memory;
}

void *hewn_budget_realloc(void *memory, size_t size) {
  void *moved = take(sizeof(block), size);
  if (moved && memory) {
    size_t before = headOf(memory)->size;
    memcpy(moved, memory, before < size ? before : size);
    hewn_budget_free(memory);
  }
  return moved;
}

int hewn_budget_posix_memalign(void **memory, size_t alignment, size_t size) {
  *memory = take(alignment < sizeof(block) ? sizeof(block) : alignment, size);
  return *memory ? 0 : ENOMEM;
}

void hewn_budget_free(void *memory) {
  if (!memory)
    return;
  block *head = headOf(memory);
  if (current)
    current->left += (int64_t)head->size + EACH;
  hewn_own_free(head->base);
}
