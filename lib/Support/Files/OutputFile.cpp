// SPDX-License-Identifier: Apache-2.0
#include "lib/Support/Files/OutputFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

using llvm::Error;
using llvm::StringRef;

namespace hewn {

namespace {

/// What exists at the path of an output file. `Free`: no file, or a regular file, which is
/// replaced.
enum class Place { Free, Stream, Folder, Socket };

std::string folderOf(StringRef path) {
  StringRef parent = llvm::sys::path::parent_path(path);
  return parent.empty() ? "." : parent.str();
}

/// Returns true if `path` is a file in /proc or a link to one, which refers to an open file (such
/// as /dev/stdout). Output must be written through it: replacing the link would not write to the
/// open file.
bool leadsIntoProc(const std::string &path) {
  struct statfs system;
  if (statfs(folderOf(path).c_str(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC)
    return true;
  char link[16];
  ssize_t length = readlink(path.c_str(), link, sizeof(link));
  return length > 0 && StringRef(link, size_t(length)).starts_with("/proc/");
}

Place placeOf(const std::string &path) {
  struct stat status;
  if (leadsIntoProc(path))
    return Place::Stream;
  if (stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode))
    return Place::Free;
  if (S_ISDIR(status.st_mode))
    return Place::Folder;
  return S_ISSOCK(status.st_mode) ? Place::Socket : Place::Stream;
}

/// Returns a random file name in `folder`, for a temporary output file.
std::string randomName(StringRef folder) {
  char name[32];
  snprintf(name, sizeof(name), ".hewn-%08x%08x", llvm::sys::Process::GetRandomNumber(),
           llvm::sys::Process::GetRandomNumber());
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

std::string procName(int file) { return "/proc/self/fd/" + std::to_string(file); }

/// Opens a new output file in `folder`: without a name if the file system supports that, otherwise
/// with a random name, which is stored in `named`. Returns -1 and sets errno on failure.
int openNew(const std::string &folder, mode_t mode, std::string &named) {
  int file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
  // An unnamed file is published by linking its path in /proc, so it is only used if /proc exists.
  if (file >= 0 && access(procName(file).c_str(), F_OK) == 0)
    return file;
  if (file >= 0)
    close(file);
  for (int tries = 0; tries < 100; ++tries) {
    named = randomName(folder);
    file = open(named.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, mode);
    if (file >= 0 || errno != EEXIST)
      break;
  }
  if (file < 0)
    named.clear();
  return file;
}

/// Calls `take` with the content of the open file `file`, in chunks. Returns 0 or an error number.
int readAll(int file, llvm::function_ref<int(StringRef)> take) {
  std::vector<char> buffer(size_t(1) << 20);
  for (off_t at = 0;;) {
    ssize_t got = pread(file, buffer.data(), buffer.size(), at);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return got < 0 ? errno : 0;
    if (int error = take(StringRef(buffer.data(), size_t(got))))
      return error;
    at += got;
  }
}

int writeAll(int file, StringRef bytes) {
  while (!bytes.empty()) {
    ssize_t put = write(file, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return put < 0 ? errno : EIO;
    bytes = bytes.drop_front(size_t(put));
  }
  return 0;
}

Error failure(StringRef path, StringRef why) { return llvm::createStringError("can't write " + path + ": " + why); }

StringRef whyRefused(Place place) {
  return place == Place::Folder ? "it is a folder" : place == Place::Socket ? "it is a socket" : "";
}

} // namespace

Error OutputFile::fail(int error) const { return failure(target, llvm::sys::StrError(error)); }

llvm::Expected<OutputFile> OutputFile::create(StringRef path, bool executable) {
  Place place = placeOf(path.str());
  if (StringRef why = whyRefused(place); !why.empty())
    return failure(path, why);
  OutputFile made(path, place == Place::Stream);
  llvm::SmallString<128> folder(folderOf(path));
  if (made.toStream)
    llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, folder);
  made.file = openNew(folder.str().str(), executable ? 0777 : 0666, made.named);
  if (made.file < 0)
    return made.fail(errno);
  made.os = std::make_unique<llvm::raw_fd_ostream>(made.file, /*shouldClose=*/false);
  return made;
}

OutputFile::OutputFile(OutputFile &&other)
    : target(std::move(other.target)), toStream(other.toStream), file(other.file), named(std::move(other.named)),
      os(std::move(other.os)) {
  other.file = -1;
  other.named.clear();
}

OutputFile::~OutputFile() {
  if (os) {
    os->flush();
    os->clear_error(); // a stream with an uncleared error would terminate the process
    os.reset();
  }
  if (file >= 0)
    close(file);
  if (!named.empty())
    unlink(named.c_str());
}

Error OutputFile::append(StringRef from, llvm::function_ref<void(StringRef)> see) {
  int source = open(from.str().c_str(), O_RDONLY | O_CLOEXEC);
  int error = source < 0 ? errno
                         : readAll(
                               source,
                               [&](StringRef bytes) {
                                 *os << bytes;
                                 if (see)
                                   see(bytes);
                                 return 0;
                               });
  if (source >= 0)
    close(source);
  return error ? llvm::createStringError("can't read " + from + ": " + llvm::sys::StrError(error)) : Error::success();
}

Error OutputFile::finish(bool durable) {
  os->flush();
  std::error_code error = os->error();
  os->clear_error();
  if (error)
    return failure(target, error.message());
  if (durable && !toStream && fdatasync(file) != 0)
    return fail(errno);
  return Error::success();
}

Error OutputFile::copyToStream() const {
  int to = open(target.c_str(), O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC);
  if (to < 0)
    return fail(errno);
  int error = readAll(file, [&](StringRef bytes) { return writeAll(to, bytes); });
  if (close(to) != 0 && !error)
    error = errno;
  return error ? fail(error) : Error::success();
}

Error OutputFile::publish() {
  if (toStream)
    return copyToStream();
  if (named.empty()) {
    std::string self = procName(file);
    if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, target.c_str(), AT_SYMLINK_FOLLOW) == 0)
      return Error::success();
    if (errno != EEXIST)
      return fail(errno);
    // linkat would fail if a file exists at the output path. The unnamed file therefore gets a
    // random name first, and rename then replaces the existing file.
    std::string name = randomName(folderOf(target));
    if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0)
      return fail(errno);
    named = name;
  }
  if (rename(named.c_str(), target.c_str()) != 0)
    return fail(errno);
  named.clear();
  return Error::success();
}

Error OutputFile::read(llvm::function_ref<void(StringRef)> take) const {
  int error = readAll(file, [&](StringRef bytes) {
    take(bytes);
    return 0;
  });
  return error ? llvm::createStringError("can't read " + target + ": " + llvm::sys::StrError(error)) : Error::success();
}

static sigset_t fileSizeSignal() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGXFSZ);
  return signals;
}

FileSizeSignalBlocked::FileSizeSignalBlocked() {
  sigset_t signals = fileSizeSignal(), before;
  wasBlocked = pthread_sigmask(SIG_BLOCK, &signals, &before) != 0 || sigismember(&before, SIGXFSZ);
}

FileSizeSignalBlocked::~FileSizeSignalBlocked() {
  if (wasBlocked)
    return;
  // Discards a pending SIGXFSZ (file size limit exceeded): the write that caused the signal has
  // already returned an error.
  sigset_t signals = fileSizeSignal();
  timespec now = {0, 0};
  while (sigtimedwait(&signals, nullptr, &now) > 0) {
  }
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

Error publishAll(llvm::MutableArrayRef<OutputFile> files, bool durable) {
  for (OutputFile &file : files)
    if (Error error = file.finish(durable))
      return error;
  for (OutputFile &file : files)
    if (Error error = file.publish())
      return error;
  return Error::success();
}

Error writeFile(StringRef path, StringRef content) {
  llvm::Expected<OutputFile> file = OutputFile::create(path);
  if (!file)
    return file.takeError();
  file->stream() << content;
  if (Error error = file->finish())
    return error;
  return file->publish();
}

std::string whyNotWritable(StringRef path) {
  Place place = placeOf(path.str());
  if (StringRef why = whyRefused(place); !why.empty())
    return why.str();
  struct stat status;
  std::string written = place == Place::Stream ? path.str() : folderOf(path);
  if (place == Place::Free && stat(written.c_str(), &status) != 0)
    return errno == ENOENT ? "the folder '" + written + "' does not exist" : llvm::sys::StrError(errno);
  if (place == Place::Free && !S_ISDIR(status.st_mode))
    return llvm::sys::StrError(ENOTDIR);
  return access(written.c_str(), W_OK) == 0 ? "" : llvm::sys::StrError(errno);
}

} // namespace hewn
