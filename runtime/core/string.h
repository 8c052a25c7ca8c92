// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_CORE_STRING_H
#define HEWN_RUNTIME_CORE_STRING_H

/// \file
/// The functions on bytes and strings that the runtime uses. The core requires memcpy, memmove,
/// memset and memcmp of its environment, and no other function. In a freestanding build, these are
/// builtins, which the compiler expands where the size is a small constant.

#include <stddef.h>

#if __STDC_HOSTED__
#include <string.h>
#else
void *memcpy(void *to, const void *from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);
#define memcpy __builtin_memcpy
#define memmove __builtin_memmove
#define memset __builtin_memset
#define memcmp __builtin_memcmp
#endif

/// Returns the length of a string in bytes, without the zero byte at its end.
static inline size_t hewn_strlen(const char *text) {
  size_t length = 0;
  while (text[length])
    ++length;
  return length;
}

/// Compares strings as unsigned bytes. Returns a value below, equal to or above 0.
static inline int hewn_strcmp(const char *a, const char *b) {
  while (*a && *a == *b)
    ++a, ++b;
  return (unsigned char)*a - (unsigned char)*b;
}

/// Returns the address of the first occurrence of `part` in `text`, or NULL if there is none.
static inline const char *hewn_strstr(const char *text, const char *part) {
  for (;; ++text) {
    size_t i = 0;
    while (part[i] && text[i] == part[i])
      ++i;
    if (!part[i])
      return text;
    if (!*text)
      return NULL;
  }
}

#endif // HEWN_RUNTIME_CORE_STRING_H
