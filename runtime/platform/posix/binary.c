// SPDX-License-Identifier: Apache-2.0
// Finds the file that is mapped at an address. The dynamic loader knows a binary by the name under
// which it was started or loaded, which is wrong after the process has changed its folder. The
// kernel knows the file.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "platform/posix/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES 4608 // a path of 4096 bytes and the fields before it

/// Reads a hexadecimal number and advances `*at` to the character after it.
static uintptr_t readHex(const char **at, const char *end) {
  uintptr_t value = 0;
  for (; *at < end; ++*at) {
    char c = **at;
    uintptr_t digit = c >= '0' && c <= '9'   ? (uintptr_t)(c - '0')
                      : c >= 'a' && c <= 'f' ? (uintptr_t)(c - 'a' + 10)
                                             : 16;
    if (digit == 16)
      break;
    value = value * 16 + digit;
  }
  return value;
}

/// Returns true if the line of /proc/self/maps describes a mapping that contains `address`:
/// 7f0012340000-7f0012360000 r--p 00000000 fe:01 1234567   /path/libmodel.so
static int hasAddress(const char *line, const char *end, uintptr_t address) {
  uintptr_t from = readHex(&line, end);
  if (line == end || *line++ != '-')
    return 0;
  return from <= address && address < readHex(&line, end);
}

size_t hewn_binary_path(const void *address, char *path, size_t bytes) {
  char buffer[LINE_BYTES];
  size_t held = 0, length = 0;
  int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), isFound = 0;
  while (file >= 0 && !isFound && held < sizeof(buffer)) {
    ssize_t got = read(file, buffer + held, sizeof(buffer) - held);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      break;
    held += (size_t)got;
    const char *line = buffer, *end;
    while (!isFound && (end = memchr(line, '\n', (size_t)(buffer + held - line)))) {
      const char *from = memchr(line, '/', (size_t)(end - line)); // no field before the path has a slash
      isFound = hasAddress(line, end, (uintptr_t)address);
      if (isFound && from && (size_t)(end - from) < bytes) {
        length = (size_t)(end - from);
        memcpy(path, from, length);
        path[length] = '\0';
      }
      line = end + 1;
    }
    held = (size_t)(buffer + held - line);
    memmove(buffer, line, held);
  }
  if (file >= 0)
    close(file);
  return length;
}
