// SPDX-License-Identifier: Apache-2.0
// Loads the weights file of a model by WASI (wasi_snapshot_preview1), once per instance of the
// module. All contexts of the model share the weights.

#include "core/weights.h"
#include "platform/wasm/allocator.h"

#include <string.h>

#define WASI(name) __attribute__((import_module("wasi_snapshot_preview1"), import_name(#name)))

// Values of WASI's errno, rights and file types.
enum { WASI_SUCCESS = 0, WASI_ACCESS = 2, WASI_BAD_FILE = 8, WASI_NO_ENTRY = 44, WASI_NOT_CAPABLE = 76 };
#define WASI_RIGHT_READ ((uint64_t)1 << 1)
#define WASI_RIGHT_FILESTAT ((uint64_t)1 << 21)
#define WASI_FOLLOW_LINKS 1u
#define WASI_REGULAR_FILE 4
/// Descriptors below this one are the standard streams. Those of preopened folders follow.
#define WASI_FIRST_FOLDER 3u

typedef struct wasi_prestat {
  uint8_t tag;
  uint32_t name_bytes;
} wasi_prestat;

typedef struct wasi_filestat {
  uint64_t device;
  uint64_t inode;
  uint8_t type;
  uint64_t links;
  uint64_t size;
  uint64_t times[3];
} wasi_filestat;
_Static_assert(sizeof(wasi_filestat) == 64, "the layout of WASI");

typedef struct wasi_buffer {
  void *data;
  size_t bytes;
} wasi_buffer;

WASI(fd_prestat_get) int32_t wasi_fd_prestat_get(uint32_t file, wasi_prestat *result);
WASI(path_open)
int32_t wasi_path_open(uint32_t folder, uint32_t lookup, const char *path, size_t path_bytes, uint32_t open_flags,
                       uint64_t rights, uint64_t inherited, uint32_t flags, uint32_t *result);
WASI(fd_filestat_get) int32_t wasi_fd_filestat_get(uint32_t file, wasi_filestat *result);
WASI(fd_read) int32_t wasi_fd_read(uint32_t file, const wasi_buffer *buffers, size_t count, size_t *read);
WASI(fd_close) int32_t wasi_fd_close(uint32_t file);

/// The content of `hewn_weights_state.opaque`. If all bytes are zero, the weights are not loaded.
typedef struct weights_state {
  void *base;
  uint32_t users;
} weights_state;
_Static_assert(sizeof(weights_state) <= sizeof(hewn_weights_state), "the state fits");

static weights_state *stateOf(const hewn_model *model) { return (weights_state *)(void *)model->weights_state; }

static int32_t failErrno(hewn_context *context, const char *path, const char *what, int32_t error) {
  hewn_text text;
  if (error == WASI_NO_ENTRY)
    return hewn_weights_fail(context, path, " does not exist in any folder that the host has opened");
  if (error == WASI_ACCESS || error == WASI_NOT_CAPABLE)
    return hewn_weights_fail(context, path, " may not be read (permission denied)");
  if (!hewn_weights_open_failure(context, path, &text))
    return HEWN_IO;
  hewn_text_put(&text, what);
  hewn_text_int(&text, error);
  return hewn_text_close(context, HEWN_IO, &text);
}

/// Opens the file in the first preopened folder that has it. Returns WASI's errno.
static int32_t openPath(const char *path, uint32_t *file) {
  int32_t error = WASI_NO_ENTRY;
  wasi_prestat folder;
  for (uint32_t at = WASI_FIRST_FOLDER; wasi_fd_prestat_get(at, &folder) == WASI_SUCCESS; ++at) {
    error =
        wasi_path_open(at, WASI_FOLLOW_LINKS, path, strlen(path), 0, WASI_RIGHT_READ | WASI_RIGHT_FILESTAT, 0, 0, file);
    if (error == WASI_SUCCESS)
      return error;
  }
  return error;
}

/// Reads the file, of `bytes` bytes, to `base`.
static int32_t readAll(hewn_context *context, const char *path, uint32_t file, void *base, size_t bytes) {
  for (size_t at = 0; at < bytes;) {
    wasi_buffer rest = {(unsigned char *)base + at, bytes - at};
    size_t got = 0;
    int32_t error = wasi_fd_read(file, &rest, 1, &got);
    if (error != WASI_SUCCESS)
      return failErrno(context, path, " cannot be read: WASI errno ", error);
    if (got == 0) // truncated since it was examined
      return hewn_weights_fail_size(context, path, (int64_t)bytes, (int64_t)at);
    at += got;
  }
  return HEWN_OK;
}

/// Reads the open file and checks it.
static int32_t takeFile(hewn_context *context, const char *path, uint32_t file, weights_state *state) {
  uint64_t want = context->model->weights_bytes + sizeof(hewn_weights_header);
  wasi_filestat status;
  int32_t error = wasi_fd_filestat_get(file, &status);
  if (error != WASI_SUCCESS)
    return failErrno(context, path, " cannot be examined: WASI errno ", error);
  if (status.type != WASI_REGULAR_FILE)
    return hewn_weights_fail(context, path, " is not a regular file");
  if (status.size != want)
    return hewn_weights_fail_size(context, path, (int64_t)want, (int64_t)status.size);
  void *base = hewn_allocate(hewn_rt_platform.allocator, (int64_t)want, HEWN_ALIGNMENT);
  if (!base)
    return hewn_rt_fail(context, HEWN_OUT_OF_MEMORY, NULL, "out of memory: {a} bytes for weights", (int64_t)want, 0);
  int32_t code = readAll(context, path, file, base, (size_t)want);
  if (code == HEWN_OK)
    code = hewn_weights_check(context, path, base, want);
  if (code != HEWN_OK) {
    hewn_wasm_release(base);
    return code;
  }
  state->base = base;
  return HEWN_OK;
}

static int32_t acquire(hewn_context *context, const hewn_context_options *options) {
  if (options->weights)
    return hewn_weights_take_memory(context, options);
  const hewn_model *model = context->model;
  const char *path = options->weights_path ? options->weights_path : model->weights_file;
  weights_state *state = stateOf(model);
  if (state->users == 0) {
    uint32_t file;
    int32_t error = openPath(path, &file);
    if (error != WASI_SUCCESS)
      return failErrno(context, path, " cannot be opened: WASI errno ", error);
    int32_t code = takeFile(context, path, file, state);
    (void)wasi_fd_close(file);
    if (code != HEWN_OK)
      return code;
  }
  ++state->users;
  context->holds_weights = 1;
  context->weights = (const unsigned char *)state->base + sizeof(hewn_weights_header);
  return options->flags & HEWN_VERIFY_WEIGHTS ? hewn_weights_verify(context, state->base, path) : HEWN_OK;
}

/// Called if the context holds the weights that it has acquired.
static void release(hewn_context *context) {
  weights_state *state = stateOf(context->model);
  if (--state->users > 0)
    return;
  hewn_wasm_release(state->base);
  state->base = NULL;
}

const hewn_weights_table hewn_rt_weights = {acquire, release};
