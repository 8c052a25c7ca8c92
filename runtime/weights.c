// SPDX-License-Identifier: Apache-2.0
// Loads the weights file of a model: maps it read-only, or reads it, once per process. All contexts
// of the model share the weights, and the last one unmaps them. Processes share the pages of a
// mapped file.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "context.h"
#include "threads/futex.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

typedef char stateFits[sizeof(weights_state) <= sizeof(hewn_weights_state) ? 1 : -1];
typedef char headerIs64[sizeof(hewn_weights_header) == 64 ? 1 : -1];

static weights_state *stateOf(const hewn_model *model) { return (weights_state *)(void *)model->weights_state; }

static int openFailure(hewn_context *context, const char *path, hewn_text *text) {
  if (!hewn_message_open(context, text))
    return 0;
  hewn_text_put(text, "model ");
  hewn_text_name(text, context->model->name);
  hewn_text_put(text, ": weights file ");
  hewn_text_name(text, path);
  return 1;
}

static int32_t fail(hewn_context *context, const char *path, const char *message) {
  hewn_text text;
  if (!openFailure(context, path, &text))
    return HEWN_IO;
  hewn_text_put(&text, message);
  return hewn_text_close(context, HEWN_IO, &text);
}

static int32_t failErrno(hewn_context *context, const char *path, const char *what, int error) {
  hewn_text text;
  if (error == ENOENT || error == ENOTDIR)
    return fail(context, path, " does not exist");
  if (error == EACCES || error == EPERM)
    return fail(context, path, " may not be read (permission denied)");
  if (!openFailure(context, path, &text))
    return HEWN_IO;
  hewn_text_put(&text, what);
  hewn_text_int(&text, error);
  return hewn_text_close(context, HEWN_IO, &text);
}

static int32_t failSize(hewn_context *context, const char *path, int64_t want, int64_t got) {
  hewn_text text;
  if (!openFailure(context, path, &text))
    return HEWN_IO;
  hewn_text_put(&text, got < want ? " is truncated: " : " is too long: ");
  hewn_text_int(&text, want);
  hewn_text_put(&text, " bytes expected, got ");
  hewn_text_int(&text, got);
  return hewn_text_close(context, HEWN_IO, &text);
}

/// Reports that the weights file has the digest of another model.
static int32_t failDigest(hewn_context *context, const char *path, const char *got) {
  char digest[sizeof(((hewn_weights_header *)0)->digest) + 1];
  memcpy(digest, got, sizeof(digest) - 1);
  digest[sizeof(digest) - 1] = '\0';
  hewn_text text;
  if (!openFailure(context, path, &text))
    return HEWN_IO;
  hewn_text_put(&text, " belongs to another model: digest ");
  hewn_text_name(&text, context->model->weights_digest);
  hewn_text_put(&text, " expected, got ");
  hewn_text_name(&text, digest);
  return hewn_text_close(context, HEWN_IO, &text);
}

/// Writes the path of the running program, and returns its length or 0. The path is used for
/// descriptors that are linked into the program, because the loader only knows how the program was
/// invoked.
static size_t programPath(char *path) {
  ssize_t length = readlink("/proc/self/exe", path, PATH_BYTES - 1);
  return length > 0 ? (size_t)length : 0;
}

/// Returns the length of the folder, including the slash, in the loader's name of a library.
static size_t folderLength(const char *name) {
  const char *up = strstr(name, "/../"), *end = strrchr(name, '/');
  if (up && strstr(up, "/.." HEWN_LOADED_BY_FILE "/")) // a path of nameOf in load.c
    end = up;
  return (size_t)(end - name) + 1;
}

/// Writes the path of the model's weights file. Returns false if it is too long.
static int findPath(const hewn_model *model, char *path) {
  Dl_info info;
  size_t length = 0;
  // Uses the address of the state, not of the descriptor: the loader may have copied the descriptor
  // into the program (copy relocation).
  if (dladdr(model->weights_state, &info) && info.dli_fname && strchr(info.dli_fname, '/')) {
    length = folderLength(info.dli_fname);
    if (length >= PATH_BYTES)
      return 0;
    memcpy(path, info.dli_fname, length);
  } else {
    length = programPath(path);
    while (length > 0 && path[length - 1] != '/')
      --length;
  }
  size_t name = strlen(model->weights_file);
  if (length + name >= PATH_BYTES)
    return 0;
  memcpy(path + length, model->weights_file, name + 1);
  return 1;
}

/// Checks the header of a weights file that is at least as long as the header.
static int32_t checkHeader(hewn_context *context, const char *path, const hewn_weights_header *header) {
  const hewn_model *model = context->model;
  char want[sizeof(header->digest)] = {0};
  if (memcmp(header->magic, "HEWNW", sizeof(header->magic)) != 0)
    return fail(context, path, " is not a weights file of hewn");
  if (header->version != HEWN_WEIGHTS_VERSION)
    return fail(context, path,
                " was written by another version of hewn: compile the model "
                "again");
  size_t length = strlen(model->weights_digest);
  memcpy(want, model->weights_digest, length < sizeof(want) ? length : sizeof(want));
  if (memcmp(want, header->digest, sizeof(want)) != 0)
    return failDigest(context, path, header->digest);
  if (header->data_bytes != model->weights_bytes)
    return failSize(context, path, (int64_t)model->weights_bytes, (int64_t)header->data_bytes);
  return HEWN_OK;
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
  *code = at < bytes && got == 0 ? failSize(context, path, (int64_t)bytes, (int64_t)at)
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
  if (fstat(file, &status) != 0)
    return failErrno(context, path, " cannot be examined: errno ", errno);
  if (!S_ISREG(status.st_mode))
    return fail(context, path, " is not a regular file");
  if ((uint64_t)status.st_size < sizeof(hewn_weights_header))
    return failSize(context, path, (int64_t)want, (int64_t)status.st_size);
  size_t bytes = (size_t)status.st_size;
  int32_t code = HEWN_OK;
  // A weights file of the wrong size is never copied. It is mapped only to check its header,
  // because a wrong digest explains the error better than the wrong size.
  copy = copy && bytes == want;
  void *base = copy ? readFile(context, path, file, bytes, &code) : mapFile(context, path, file, bytes, &code);
  if (!base)
    return code;
  code = checkHeader(context, path, base);
  if (code == HEWN_OK && bytes != want)
    code = failSize(context, path, (int64_t)want, (int64_t)bytes);
  if (code != HEWN_OK) {
    munmap(base, bytes);
    return code;
  }
  state->base = base;
  state->bytes = bytes;
  state->copied = copy;
  return HEWN_OK;
}

static int32_t openFile(hewn_context *context, const char *path, uint32_t copy, weights_state *state) {
  char found[PATH_BYTES];
  if (!path) {
    if (!findPath(context->model, found))
      return fail(context, context->model->weights_file, ": its path is too long");
    path = found;
  }
  // O_NONBLOCK is set because opening a FIFO must not block.
  int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0)
    return failErrno(context, path, " cannot be opened: errno ", errno);
  int32_t code = takeFile(context, path, file, copy, state);
  close(file);
  return code;
}

static int32_t verify(hewn_context *context, const weights_state *state) {
  const hewn_weights_header *header = state->base;
  if (hewn_weights_checksum(context->weights, context->model->weights_bytes) == header->checksum)
    return HEWN_OK;
  return fail(context, context->model->weights_file, " is damaged: the checksum does not match the data");
}

int32_t hewn_weights_acquire(hewn_context *context, const char *path, uint32_t flags) {
  const hewn_model *model = context->model;
  context->weights = model->weights;
  if (model->weights || !model->weights_file)
    return HEWN_OK;
  weights_state *state = stateOf(model);
  int32_t code = HEWN_OK;
  hewn_lock(&state->lock);
  uint32_t copy = (flags & HEWN_COPY_WEIGHTS) != 0;
  if (state->users == 0)
    code = openFile(context, path, copy, state);
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
  if (code == HEWN_OK && (flags & HEWN_VERIFY_WEIGHTS))
    code = verify(context, state);
  return code;
}

void hewn_weights_release(hewn_context *context) {
  if (!context->holds_weights)
    return;
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
