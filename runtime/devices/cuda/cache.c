// SPDX-License-Identifier: Apache-2.0
// On-disk cache of code that the driver has compiled. A file is named by the digest of everything
// that its code depends on. Files appear atomically (by rename) and are verified when read, so that
// several processes may share the folder. On a missing or invalid file the code is compiled again.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "devices/cuda/state.h"
#include "platform/posix/system.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT 1
#define DEFAULT_LIMIT ((uint64_t)256 << 20)
#define PATH_BYTES 1024
#define NAME_BYTES 48

typedef struct cache_header {
  char magic[8]; ///< "HEWNGPU\0"
  cache_key key;
  uint64_t bytes; ///< size of the code that follows
  uint64_t check; ///< digest of the code
} cache_header;

static const char magic[8] = "HEWNGPU";
static const char suffix[] = ".cubin";

static uint64_t mix(uint64_t digest, const void *data, size_t bytes) {
  const unsigned char *at = data;
  for (size_t i = 0; i < bytes; ++i)
    digest = (digest ^ at[i]) * UINT64_C(0x100000001b3); // one step of the hash FNV-1a
  return digest ^ digest >> 29;
}

cache_key hewn_cuda_cache_key(const char *text, const char *device, int version) {
  cache_key key = {{UINT64_C(0xcbf29ce484222325), UINT64_C(0x9e3779b97f4a7c15)}};
  const int format = FORMAT;
  for (int i = 0; i < 2; ++i) {
    key.digest[i] = mix(key.digest[i], &format, sizeof(format));
    key.digest[i] = mix(key.digest[i], &version, sizeof(version));
    key.digest[i] = mix(key.digest[i], device, strlen(device) + 1);
    key.digest[i] = mix(key.digest[i], text, strlen(text));
  }
  return key;
}

/// Writes the file name of a cache entry, "<digest>.cubin", to `name`.
static void nameOf(cache_key key, char *name) {
  static const char digits[] = "0123456789abcdef";
  for (int i = 0; i < 32; ++i)
    name[i] = digits[key.digest[i / 16] >> (60 - i % 16 * 4) & 15];
  memcpy(name + 32, suffix, sizeof(suffix));
}

/// Writes the path "folder/name" to `path`. Returns 0 if it is too long.
static int join(char *path, const char *folder, const char *name) {
  size_t length = strlen(folder), more = strlen(name);
  if (length + more + 2 > PATH_BYTES)
    return 0;
  memcpy(path, folder, length);
  path[length] = '/';
  memcpy(path + length + 1, name, more + 1);
  return 1;
}

static int pathOf(char *path, const char *folder, cache_key key) {
  char name[NAME_BYTES];
  nameOf(key, name);
  return join(path, folder, name);
}

static int readAll(int file, void *to, size_t bytes) {
  for (size_t at = 0; at < bytes;) {
    ssize_t got = read(file, (unsigned char *)to + at, bytes - at);
    if (got <= 0)
      return 0;
    at += (size_t)got;
  }
  return 1;
}

static int writeAll(int file, const void *from, size_t bytes) {
  for (size_t at = 0; at < bytes;) {
    ssize_t put = write(file, (const unsigned char *)from + at, bytes - at);
    if (put <= 0)
      return 0;
    at += (size_t)put;
  }
  return 1;
}

static void *readFile(hewn_context *context, int file, cache_key key) {
  cache_header header;
  struct stat status;
  if (!readAll(file, &header, sizeof(header)) || memcmp(header.magic, magic, sizeof(magic)) != 0 ||
      memcmp(&header.key, &key, sizeof(key)) != 0 || hewn_sys_fstat(file, &status) != 0 || header.bytes == 0 ||
      (uint64_t)status.st_size != sizeof(header) + header.bytes)
    return NULL;
  void *code = hewn_allocate(&context->allocator, (int64_t)header.bytes, HEWN_ALIGNMENT);
  if (code && readAll(file, code, (size_t)header.bytes) &&
      mix(key.digest[0], code, (size_t)header.bytes) == header.check) {
    futimens(file, NULL); // marks the file as recently used
    return code;
  }
  hewn_cuda_release(context, code);
  return NULL;
}

void *hewn_cuda_cache_find(hewn_context *context, const char *folder, cache_key key) {
  char path[PATH_BYTES];
  int file = pathOf(path, folder, key) ? open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC) : -1;
  if (file < 0)
    return NULL;
  void *code = readFile(context, file, key);
  close(file);
  return code;
}

void hewn_cuda_cache_drop(const char *folder, cache_key key) {
  char path[PATH_BYTES];
  if (pathOf(path, folder, key))
    unlink(path);
}

/// Returns true for names that this cache writes: "<digest>.cubin", or
/// "<digest>.<process>.<number>.cubin.part" for a file that is being written.
static int isOurs(const char *name) {
  size_t digits = strspn(name, "0123456789abcdef"), middle;
  if (digits != 32)
    return 0;
  name += digits;
  if (strcmp(name, suffix) == 0)
    return 1;
  middle = strspn(name, ".0123456789");
  return middle > 0 && strcmp(name + middle - 1, ".cubin.part") == 0;
}

/// If the cache's files exceed `limit` bytes, deletes the least recently used one. Returns true if
/// it deleted a file.
static int prune(const char *folder, uint64_t limit) {
  uint64_t total = 0;
  char oldest[PATH_BYTES] = "", path[PATH_BYTES];
  struct timespec when = {0, 0};
  DIR *list = opendir(folder);
  if (!list)
    return 0;
  for (struct dirent *entry; (entry = readdir(list)) != NULL;) {
    struct stat status;
    // Incomplete files of killed processes count, too. Other files in the folder are ignored.
    if (!isOurs(entry->d_name) || !join(path, folder, entry->d_name) || hewn_sys_lstat(path, &status) != 0 ||
        !S_ISREG(status.st_mode))
      continue;
    total += (uint64_t)status.st_size;
    if (!oldest[0] || status.st_mtim.tv_sec < when.tv_sec ||
        (status.st_mtim.tv_sec == when.tv_sec && status.st_mtim.tv_nsec < when.tv_nsec)) {
      when = status.st_mtim;
      memcpy(oldest, path, sizeof(path));
    }
  }
  closedir(list);
  return total > limit && oldest[0] && unlink(oldest) == 0;
}

/// Creates a new file. Replaces an existing one, which a killed process with the same process id
/// left.
static int openPart(const char *path) {
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  int file = open(path, flags, 0666);
  if (file >= 0 || errno != EEXIST)
    return file;
  return unlink(path) == 0 ? open(path, flags, 0666) : -1;
}

void hewn_cuda_cache_keep(hewn_context *context, const char *folder, uint64_t limit, cache_key key, const void *code,
                          size_t bytes) {
  cache_header header;
  char path[PATH_BYTES], part[PATH_BYTES], name[NAME_BYTES + 64];
  if (!limit)
    limit = DEFAULT_LIMIT;
  if (bytes + sizeof(header) > limit || !pathOf(path, folder, key))
    return;
  mkdir(folder, 0777);
  // A name that is unique among processes and contexts.
  hewn_text text = {name, name + sizeof(name) - 1};
  char digest[NAME_BYTES];
  nameOf(key, digest);
  digest[32] = '\0';
  hewn_text_put(&text, digest);
  hewn_text_put(&text, ".");
  hewn_text_int(&text, getpid());
  hewn_text_put(&text, ".");
  hewn_text_int(&text, (int64_t)((uintptr_t)context % 1000000007));
  hewn_text_put(&text, ".cubin.part");
  *text.at = '\0';
  int file = join(part, folder, name) ? openPart(part) : -1;
  if (file < 0)
    return;
  memcpy(header.magic, magic, sizeof(magic));
  header.key = key;
  header.bytes = bytes;
  header.check = mix(key.digest[0], code, bytes);
  int whole = writeAll(file, &header, sizeof(header)) && writeAll(file, code, bytes);
  if (close(file) != 0 || !whole || rename(part, path) != 0)
    unlink(part);
  while (prune(folder, limit))
    ;
}
