// SPDX-License-Identifier: Apache-2.0
// Loads compiled libraries. The dynamic loader identifies a library by its path: if a library was
// recompiled to the path of a loaded one, dlopen would return the old one. Such a file is opened
// here and loaded through its file descriptor, under a unique path. (The loader still detects by
// device and inode that it has loaded the same file before.)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "core/context.h"
#include "platform/posix/platform.h"
#include "platform/posix/system.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096

struct hewn_library {
  void *handle;
  const hewn_model *model;
  char path[PATH_BYTES];
  char name[PATH_BYTES]; ///< path under which the loader knows the library, if it is not `path`
  char message[PATH_BYTES + HEWN_MESSAGE_BYTES];
};

static hewn_status statusOf(int32_t code, const char *message) {
  hewn_status status = {code, message};
  return status;
}

static hewn_status fail(hewn_library *library, int32_t code, const char *first, const char *then) {
  hewn_text text = {library->message, library->message + sizeof(library->message) - 1};
  hewn_text_put(&text, first);
  hewn_text_put(&text, then);
  *text.at = '\0';
  return statusOf(code, library->message);
}

/// Writes a unique path for the file descriptor `file` of a library in `folder` (absolute, without
/// symbolic links):
///
///     <folder>/../..<up to the root>/proc/self/fd<slashes and dots><file>
///
/// The path begins with the folder, because the weights file is searched there. A random number,
/// encoded as "/" or "/." for each bit, makes the path different from all earlier ones, including
/// those of descriptors that are closed. Returns 0 if the path is too long.
static int nameOf(char *name, const char *folder, int file) {
  uint64_t bits;
  if (strlen(folder) > PATH_BYTES / 4 || hewn_sys_getrandom(&bits, sizeof(bits)) != sizeof(bits))
    return 0;
  hewn_text text = {name, name + PATH_BYTES - 1};
  hewn_text_put(&text, folder);
  for (const char *at = folder; *at; ++at)
    if (*at == '/')
      hewn_text_put(&text, "/..");
  hewn_text_put(&text, HEWN_LOADED_BY_FILE);
  for (int i = 0; i < 64; ++i, bits >>= 1)
    hewn_text_put(&text, bits & 1 ? "/." : "/");
  hewn_text_put(&text, "/");
  hewn_text_int(&text, file);
  *text.at = '\0';
  return 1;
}

/// Writes the folder of a path, without symbolic links. Returns 0 if it does not exist.
static int folderOf(const char *path, char *folder) {
  char cut[PATH_BYTES];
  size_t length = (size_t)(strrchr(path, '/') - path);
  memcpy(cut, path, length + 1);
  cut[length + 1] = '\0';
  return realpath(cut, folder) != NULL;
}

/// Loads a file by descriptor whose path the loader knows already. Returns false if the file cannot
/// be opened; sets `handle` to NULL if it cannot be loaded.
static int loadAnew(hewn_library *library, int flags) {
  char folder[PATH_BYTES];
  int file = open(library->path, O_RDONLY | O_CLOEXEC);
  int named = file >= 0 && folderOf(library->path, folder) && nameOf(library->name, folder, file);
  if (named)
    library->handle = dlopen(library->name, flags);
  if (file >= 0)
    close(file);
  return named;
}

/// Returns the reason why an existing file cannot be loaded, or NULL if it is not known. The
/// dynamic loader's own messages are misleading: it reports code for another architecture as a
/// missing file, and an object file as an invalid ELF header.
static const char *whyNone(const char *path) {
#if defined(__x86_64__)
  const uint16_t own = EM_X86_64;
#elif defined(__aarch64__)
  const uint16_t own = EM_AARCH64;
#elif defined(__riscv)
  const uint16_t own = EM_RISCV;
#else
  const uint16_t own = EM_NONE;
#endif
  Elf64_Ehdr header;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t bytes = file >= 0 ? read(file, &header, sizeof(header)) : 0;
  if (file >= 0)
    close(file);
  if (bytes != (ssize_t)sizeof(header))
    return NULL;
  const int isElf = memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
  if ((isElf && header.e_type == ET_REL) || memcmp(header.e_ident, "!<arch>\n", 8) == 0)
    return ": an object or archive, which must be linked into a program; only a library (.so) can be loaded";
  if (!isElf)
    return ": not a library; `hewn compile` makes one from an ONNX model";
  return own != EM_NONE && header.e_machine != own ? ": compiled for another architecture than this machine's" : NULL;
}

/// Returns true if the file is shorter than its loadable segments. The loader would map it, and
/// reading the missing part would raise SIGBUS. Files that are not ELF libraries are left to the
/// loader.
static int isCut(const char *path) {
  Elf64_Ehdr header;
  Elf64_Phdr segment;
  struct stat file;
  int from = open(path, O_RDONLY | O_CLOEXEC);
  int isLibrary = from >= 0 && hewn_sys_fstat(from, &file) == 0 &&
                  pread(from, &header, sizeof(header), 0) == (ssize_t)sizeof(header) &&
                  memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_phentsize == sizeof(segment);
  int cut = 0;
  for (int i = 0; isLibrary && !cut && i < header.e_phnum; ++i) {
    off_t at = (off_t)header.e_phoff + i * (off_t)sizeof(segment);
    cut = pread(from, &segment, sizeof(segment), at) != (ssize_t)sizeof(segment) ||
          (segment.p_type == PT_LOAD &&
           (segment.p_filesz > (uint64_t)file.st_size || segment.p_offset > (uint64_t)file.st_size - segment.p_filesz));
  }
  if (from >= 0)
    close(from);
  return cut;
}

static hewn_status openLibrary(hewn_library *library, const char *path) {
  size_t length = strlen(path), folder = strchr(path, '/') ? 0 : 2;
  if (length + folder >= PATH_BYTES)
    return fail(library, HEWN_INVALID_ARGUMENT, "the library's path is too long", "");
  memcpy(library->path, "./", folder); // otherwise the loader would search its library path
  memcpy(library->path + folder, path, length + 1);
  if (isCut(library->path))
    return fail(library, HEWN_IO, path, ": the file is truncated");
  const int flags = RTLD_NOW | RTLD_LOCAL;
  void *known = dlopen(library->path, flags | RTLD_NOLOAD);
  int tried = 1;
  if (known)
    tried = loadAnew(library, flags);
  else
    library->handle = dlopen(library->path, flags);
  if (known)
    dlclose(known);
  if (!tried)
    return fail(library, HEWN_IO, path, ": cannot be opened, or its path is too long");
  const char *none = library->handle ? NULL : whyNone(library->path);
  if (none)
    return fail(library, HEWN_UNSUPPORTED, path, none);
  if (!library->handle) {
    const char *why = dlerror();
    size_t ours = strlen(library->name);
    if (why && ours && strncmp(why, library->name, ours) == 0)
      return fail(library, HEWN_IO, path, why + ours);
    return fail(library, HEWN_IO, why ? why : "the library can't be loaded", "");
  }
  const hewn_model *model = dlsym(library->handle, HEWN_MODEL_SYMBOL);
  if (!model)
    return fail(library, HEWN_UNSUPPORTED, path, ": not a model compiled by hewn");
  if (model->abi_version != HEWN_ABI_VERSION)
    return fail(library, HEWN_UNSUPPORTED, path, ": compiled for another version of the runtime");
  library->model = model;
  return statusOf(HEWN_OK, "");
}

hewn_status hewn_library_open(const char *path, hewn_library **out) {
  if (!out)
    return statusOf(HEWN_INVALID_ARGUMENT, "the library pointer is NULL");
  *out = NULL;
  if (!path)
    return statusOf(HEWN_INVALID_ARGUMENT, "the path is NULL");
  int savedErrno = errno;
  hewn_library *library = hewn_default_allocator.allocate(NULL, sizeof(*library), HEWN_ALIGNMENT);
  if (!library)
    return statusOf(HEWN_OUT_OF_MEMORY, "out of memory for the library");
  memset(library, 0, sizeof(*library));
  *out = library;
  hewn_status status = openLibrary(library, path);
  errno = savedErrno;
  return status;
}

const hewn_model *hewn_library_model(const hewn_library *library) { return library ? library->model : NULL; }

void hewn_library_close(hewn_library *library) {
  if (!library)
    return;
  int savedErrno = errno;
  if (library->handle)
    dlclose(library->handle);
  hewn_default_allocator.release(NULL, library);
  errno = savedErrno;
}
