// SPDX-License-Identifier: Apache-2.0
// Identifies a process by its id and start time, to detect whether a rank has exited.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "ranks/process.h"
#include "core/context.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

uint64_t hewn_process_start(int32_t process) {
  char path[64], text[1024];
  hewn_text name = {path, path + sizeof(path) - 1};
  hewn_text_put(&name, "/proc/");
  hewn_text_int(&name, process);
  hewn_text_put(&name, "/stat");
  *name.at = '\0';
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return errno == ENOENT || errno == ESRCH ? 0 : HEWN_PROCESS_UNKNOWN;
  ssize_t got = read(file, text, sizeof(text) - 1);
  close(file);
  if (got <= 0)
    return got < 0 && errno == ESRCH ? 0 : HEWN_PROCESS_UNKNOWN;
  text[got] = '\0';
  char *at = strrchr(text, ')'); // the process name before it may contain any character
  if (!at || at[1] == '\0')
    return HEWN_PROCESS_UNKNOWN;
  if (at[2] == 'Z' || at[2] == 'X')
    return 0;
  ++at; // now before field 3; the start time is field 22
  for (int field = 0; at && field < 19; ++field)
    at = strchr(at + 1, ' ');
  uint64_t start = 0;
  for (at += at != NULL; at && *at >= '0' && *at <= '9'; ++at)
    start = start * 10 + (uint64_t)(*at - '0');
  return at ? start : HEWN_PROCESS_UNKNOWN;
}
