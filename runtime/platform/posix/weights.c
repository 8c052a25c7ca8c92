// SPDX-License-Identifier: Apache-2.0
// Loads the weights file of a model: maps it read-only, or reads it, once per process. All contexts
// of the model share the weights, and the last one unmaps them. Processes share the pages of a
// mapped file.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "core/weights.h"
#include "platform/posix/futex.h"
#include "platform/posix/platform.h"
#include "platform/posix/system.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PATH_BYTES 4096

/// The content of `hewn_weights_state.opaque`. If all bytes are zero, the weights are not mapped.
typedef struct weights_state {
  uint32_t lock;
  uint32_t users;
  void *base;
  size_t bytes;
  uint32_t copied; ///< 1 if `base` is private memory instead of a mapping of the file
} weights_state;

_Static_assert(sizeof(weights_state) <= sizeof(hewn_weights_state), "the state fits");

static weights_state *stateOf(const hewn_model *model) { return (weights_state *)(void *)model->weights_state; }

static int32_t failErrno(hewn_context *context, const char *path, const char *what, int error) {
  hewn_text text;
  if (error == ENOENT || error == ENOTDIR)
    return hewn_weights_fail(context, path, " does not exist");
  if (error == EACCES || error == EPERM)
    return hewn_weights_fail(context, path, " may not be read (permission denied)");
  if (!hewn_weights_open_failure(context, path, &text))
    return HEWN_IO;
  hewn_text_put(&text, what);
  hewn_text_int(&text, error);
  return hewn_text_close(context, HEWN_IO, &text);
}

/// Reports that neither of the two paths of the weights file exists.
static int32_t failMissing(hewn_context *context, const char *path, const char *other) {
  hewn_text text;
  if (!hewn_weights_open_failure(context, path, &text))
    return HEWN_IO;
  hewn_text_put(&text, " does not exist, nor does ");
  hewn_text_name(&text, other);
  return hewn_text_close(context, HEWN_IO, &text);
}

/// Returns the length of the folder, including the slash, in the loader's name of a library.
static size_t folderLength(const char *name) {
  const char *up = strstr(name, "/../"), *end = strrchr(name, '/');
  if (up && strstr(up, "/.." HEWN_LOADED_BY_FILE "/")) // a path of nameOf in load.c
    end = up;
  return (size_t)(end - name) + 1;
}

/// Appends the name of the model's weights file to the folder in `path`, which has `length` bytes
/// with the slash. Returns false if there is no folder, or if the path is too long.
static int appendName(const hewn_model *model, char *path, size_t length) {
  size_t name = strlen(model->weights_file);
  if (length == 0 || length + name >= PATH_BYTES)
    return 0;
  memcpy(path + length, model->weights_file, name + 1);
  return 1;
}

/// Writes the path of the weights file in the folder of the binary that contains the model, as the
/// kernel knows it: absolute and without symbolic links, also if the process has changed its folder
/// since it loaded the binary. Returns false if the kernel does not tell.
static int findMapped(const hewn_model *model, char *path) {
  // The digest is a constant of the binary. The descriptor is not: the loader may have copied it
  // into the program (copy relocation).
  size_t length = hewn_binary_path(model->weights_digest, path, PATH_BYTES);
  while (length > 0 && path[length - 1] != '/')
    --length;
  return appendName(model, path, length);
}

/// Writes the path of the weights file in the folder of the binary as the loader names it. This
/// folder differs from that of `findMapped` if the binary was loaded through a symbolic link. A
/// relative name is only correct until the process changes its folder; it is used if
/// `isRelativeToo`.
static int findNamed(const hewn_model *model, int isRelativeToo, char *path) {
  Dl_info info;
  if (!dladdr(model->weights_state, &info) || !info.dli_fname || !strchr(info.dli_fname, '/') ||
      (info.dli_fname[0] != '/' && !isRelativeToo))
    return 0;
  size_t length = folderLength(info.dli_fname);
  if (length >= PATH_BYTES)
    return 0;
  memcpy(path, info.dli_fname, length);
  return appendName(model, path, length);
}

/// Reads the weights file into private memory. Returns NULL on failure, with the status code in
/// `*code`.
static void *readFile(hewn_context *context, const char *path, int file, size_t bytes, int32_t *code) {
  unsigned char *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) {
    *code = hewn_rt_fail(context, HEWN_OUT_OF_MEMORY, NULL, "out of memory: {a} bytes for weights", (int64_t)bytes, 0);
    return NULL;
  }
#ifdef MADV_HUGEPAGE
  (void)madvise(base, bytes, MADV_HUGEPAGE);
#endif
  size_t at = 0;
  ssize_t got = 1;
  while (at < bytes && (got > 0 || (got < 0 && errno == EINTR))) {
    got = pread(file, base + at, bytes - at, (off_t)at);
    at += got > 0 ? (size_t)got : 0;
  }
  if (at == bytes && mprotect(base, bytes, PROT_READ) == 0)
    return base;
  // If the read ended early, the file was truncated since fstat.
  *code = at < bytes && got == 0 ? hewn_weights_fail_size(context, path, (int64_t)bytes, (int64_t)at)
                                 : failErrno(context, path, " cannot be read: errno ", errno);
  munmap(base, bytes);
  return NULL;
}

static void *mapFile(hewn_context *context, const char *path, int file, size_t bytes, int32_t *code) {
  void *base = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  if (base == MAP_FAILED) {
    *code = failErrno(context, path, " cannot be mapped: errno ", errno);
    return NULL;
  }
#ifdef MADV_HUGEPAGE
  // Requests huge pages for the mapped weights, if the file system supports them: they reduce TLB
  // misses of memory-bound models.
  (void)madvise(base, bytes, MADV_HUGEPAGE);
#endif
  return base;
}

/// Maps or reads the weights file `file`, and checks its size and header.
static int32_t takeFile(hewn_context *context, const char *path, int file, uint32_t copy, weights_state *state) {
  uint64_t want = context->model->weights_bytes + sizeof(hewn_weights_header);
  struct stat status;
  if (hewn_sys_fstat(file, &status) != 0)
    return failErrno(context, path, " cannot be examined: errno ", errno);
  if (!S_ISREG(status.st_mode))
    return hewn_weights_fail(context, path, " is not a regular file");
  if ((uint64_t)status.st_size < sizeof(hewn_weights_header))
    return hewn_weights_fail_size(context, path, (int64_t)want, (int64_t)status.st_size);
  size_t bytes = (size_t)status.st_size;
  int32_t code = HEWN_OK;
  // A weights file of the wrong size is never copied. It is mapped only to check its header,
  // because a wrong digest explains the error better than the wrong size.
  copy = copy && bytes == want;
  void *base = copy ? readFile(context, path, file, bytes, &code) : mapFile(context, path, file, bytes, &code);
  if (!base)
    return code;
  code = hewn_weights_check(context, path, base, bytes);
  if (code != HEWN_OK) {
    munmap(base, bytes);
    return code;
  }
  state->base = base;
  state->bytes = bytes;
  state->copied = copy;
  return HEWN_OK;
}

/// Opens a file for reading. Returns a negative number on failure.
static int openPath(const char *path) {
  // O_NONBLOCK is set because opening a FIFO must not block.
  return open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/// Opens the weights file at `path`, or in the folder of the model's binary if `path` is NULL.
/// Stores its path in `used`, an array of PATH_BYTES.
static int32_t openFile(hewn_context *context, const char *path, uint32_t copy, weights_state *state, char *used) {
  const hewn_model *model = context->model;
  char named[PATH_BYTES];
  int isBeside = !path;
  if (path && strlen(path) >= PATH_BYTES)
    return hewn_weights_fail(context, path, ": its path is too long");
  if (path)
    memcpy(used, path, strlen(path) + 1);
  else if (!findMapped(model, used) && !findNamed(model, /*isRelativeToo=*/1, used))
    return hewn_weights_fail(context, model->weights_file, ": its folder is unknown, or its path is too long");
  int file = openPath(used);
  if (file < 0 && isBeside && errno == ENOENT && findNamed(model, /*isRelativeToo=*/0, named) &&
      strcmp(named, used) != 0) {
    file = openPath(named);
    if (file < 0 && errno == ENOENT)
      return failMissing(context, used, named);
    memcpy(used, named, strlen(named) + 1);
  }
  if (file < 0)
    return failErrno(context, used, " cannot be opened: errno ", errno);
  int32_t code = takeFile(context, used, file, copy, state);
  close(file);
  return code;
}

/// Checks the file at `path` like a file that is loaded, with its checksum, although the context
/// uses the weights that another context has loaded.
static int32_t verifyFile(hewn_context *context, const char *path, char *used) {
  weights_state file = {0};
  int32_t code = openFile(context, path, /*copy=*/0, &file, used);
  if (code != HEWN_OK)
    return code;
  code = hewn_weights_verify(context, file.base, used);
  munmap(file.base, file.bytes);
  return code;
}

static int32_t acquire(hewn_context *context, const hewn_context_options *options) {
  const hewn_model *model = context->model;
  const char *path = options->weights_path;
  if (options->weights)
    return hewn_weights_take_memory(context, options);
  char used[PATH_BYTES];
  weights_state *state = stateOf(model);
  int32_t code = HEWN_OK;
  hewn_lock(&state->lock);
  uint32_t copy = (options->flags & HEWN_COPY_WEIGHTS) != 0, isShared = state->users > 0;
  if (!isShared)
    code = openFile(context, path, copy, state, used);
  else if (copy && !state->copied)
    code = hewn_message_fail(context, HEWN_INVALID_ARGUMENT,
                             "options.flags requires a copy of the weights, which another context has mapped "
                             "already: set the flag for the first context");
  if (code == HEWN_OK) {
    ++state->users;
    context->holds_weights = 1;
    context->weights = (const unsigned char *)state->base + sizeof(hewn_weights_header);
  }
  hewn_unlock(&state->lock);
  if (code != HEWN_OK || !(options->flags & HEWN_VERIFY_WEIGHTS))
    return code;
  if (isShared && path && (code = verifyFile(context, path, used)) != HEWN_OK)
    return code;
  if (isShared && !hewn_binary_path(state->base, used, PATH_BYTES)) // a copy
    return hewn_weights_verify(context, state->base, model->weights_file);
  return hewn_weights_verify(context, state->base, used);
}

/// Called if the context holds the weights that it has acquired.
static void release(hewn_context *context) {
  weights_state *state = stateOf(context->model);
  hewn_lock(&state->lock);
  if (--state->users == 0) {
    munmap(state->base, state->bytes);
    state->base = NULL;
    state->bytes = 0;
    state->copied = 0;
  }
  hewn_unlock(&state->lock);
}

const hewn_weights_table hewn_rt_weights = {acquire, release};
