// SPDX-License-Identifier: Apache-2.0
#include "lib/Support/Files/InputFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

using llvm::StringRef;

namespace hewn {

namespace {

/// A file descriptor that is closed on destruction.
class Descriptor {
public:
  explicit Descriptor(int file = -1) : file(file) {}
  ~Descriptor() { reset(-1); }
  Descriptor(const Descriptor &) = delete;
  int get() const { return file; }
  void reset(int other) {
    if (file >= 0)
      close(file);
    file = other;
  }

private:
  int file;
};

/// Flags for opening an input file. O_NONBLOCK: opening a FIFO does not wait for a writer.
constexpr int kToRead = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

std::unique_ptr<llvm::MemoryBuffer> bufferOf(int file, StringRef name, const struct stat &status, std::string &reason) {
  auto buffer = llvm::MemoryBuffer::getOpenFile(file, name, uint64_t(status.st_size),
                                                /*RequiresNullTerminator=*/false);
  if (buffer)
    return std::move(*buffer);
  reason = buffer.getError().message();
  return nullptr;
}

/// Returns a description of the error with which openat with O_NOFOLLOW failed for the entry `name`
/// of `folder`, a folder in `root`.
std::string whyNotOpened(int folder, StringRef root, const char *name, int error) {
  struct stat status;
  if (error == ENOENT)
    return "does not exist: put that file into the folder '" + (root.empty() ? "." : root).str() + "'";
  // The path contains a symbolic link: openat with O_DIRECTORY and O_NOFOLLOW fails with ENOTDIR
  // for it.
  if (error == ELOOP ||
      (error == ENOTDIR && fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode)))
    return "is or passes a symbolic link";
  return error == ENOTDIR || error == ENXIO ? "is not a file" : "can't be opened: " + llvm::sys::StrError(error);
}

} // namespace

std::unique_ptr<llvm::MemoryBuffer> openRegular(StringRef path, std::string &reason) {
  Descriptor file(open(path.str().c_str(), kToRead));
  struct stat status;
  if (file.get() < 0 || fstat(file.get(), &status) != 0) {
    reason = llvm::sys::StrError(errno);
    return nullptr;
  }
  if (!S_ISREG(status.st_mode)) {
    reason = S_ISDIR(status.st_mode) ? llvm::sys::StrError(EISDIR) : "it is not a regular file";
    return nullptr;
  }
  return bufferOf(file.get(), path, status, reason);
}

std::unique_ptr<llvm::MemoryBuffer> openInside(StringRef folder, StringRef location, std::string &reason) {
  auto refuse = [&](std::string why) {
    reason = std::move(why);
    return nullptr;
  };
  if (location.empty() || location.contains('\0') || llvm::sys::path::is_absolute(location))
    return refuse("is not a path inside of the model's folder");
  Descriptor at(open(folder.str().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (at.get() < 0)
    return refuse("can't be opened: " + llvm::sys::StrError(errno));
  for (auto part = llvm::sys::path::begin(location), end = llvm::sys::path::end(location); part != end; ++part) {
    if (*part == "..")
      return refuse("leaves the model's folder");
    std::string name = part->str();
    bool last = std::next(part) == end;
    int next = openat(at.get(), name.c_str(), O_NOFOLLOW | (last ? kToRead : O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (next < 0)
      return refuse(whyNotOpened(at.get(), folder, name.c_str(), errno));
    at.reset(next);
  }
  struct stat status;
  if (fstat(at.get(), &status) != 0)
    return refuse("can't be opened: " + llvm::sys::StrError(errno));
  if (!S_ISREG(status.st_mode))
    return refuse("is not a file");
  // Files with several hard links are rejected: an archive from an untrusted source may contain a
  // hard link to a private file of the user.
  if (status.st_nlink > 1)
    return refuse("has several hard links: use a copy of it");
  llvm::SmallString<256> path(folder);
  llvm::sys::path::append(path, location);
  std::unique_ptr<llvm::MemoryBuffer> buffer = bufferOf(at.get(), path, status, reason);
  if (!buffer)
    reason = "can't be opened: " + reason;
  return buffer;
}

timespec fileTime() {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return now;
}

bool changedSince(const std::string &path, timespec time) {
  struct stat status;
  return stat(path.c_str(), &status) != 0 ||
         std::tie(status.st_ctim.tv_sec, status.st_ctim.tv_nsec) >= std::tie(time.tv_sec, time.tv_nsec);
}

} // namespace hewn
