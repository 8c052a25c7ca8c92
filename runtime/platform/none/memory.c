// SPDX-License-Identifier: Apache-2.0
// The functions of the C library to which compilers lower copies and comparisons. Each is used only
// if the program that links a model defines none. Compiled without builtins, so that the loops do
// not become calls of these functions.

#include <stddef.h>

#define WEAK __attribute__((weak))

WEAK void *memcpy(void *restrict to, const void *restrict from, size_t bytes) {
  unsigned char *t = to;
  const unsigned char *f = from;
  while (bytes-- > 0)
    *t++ = *f++;
  return to;
}

WEAK void *memmove(void *to, const void *from, size_t bytes) {
  unsigned char *t = to;
  const unsigned char *f = from;
  if (t <= f) {
    while (bytes-- > 0)
      *t++ = *f++;
  } else {
    while (bytes-- > 0)
      t[bytes] = f[bytes];
  }
  return to;
}

WEAK void *memset(void *to, int value, size_t bytes) {
  unsigned char *t = to;
  while (bytes-- > 0)
    *t++ = (unsigned char)value;
  return to;
}

WEAK int memcmp(const void *a, const void *b, size_t bytes) {
  const unsigned char *left = a, *right = b;
  for (; bytes > 0 && *left == *right; --bytes)
    ++left, ++right;
  return bytes > 0 ? *left - *right : 0;
}
