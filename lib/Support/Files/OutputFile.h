// SPDX-License-Identifier: Apache-2.0
//
// Writes output files. All files that the compiler writes are written through this interface. A
// file is written completely or not at all: it gets its name after all writes have succeeded.
#ifndef HEWN_LIB_SUPPORT_FILES_OUTPUTFILE_H
#define HEWN_LIB_SUPPORT_FILES_OUTPUTFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <memory>
#include <string>

namespace hewn {

/// A file that is being written. If it is destroyed before it is published, no file remains. On
/// file systems with O_TMPFILE, no file remains even if the process is killed.
///
/// An existing file or link at `path` is replaced, as by `cc -o`: processes that have the old file
/// open or mapped keep it. If `path` is a device, a FIFO or a file in /proc (such as /dev/stdout),
/// the content is written to it when the file is published. If `path` is a folder, creating the
/// file fails.
class OutputFile {
public:
  /// Creates a file that will be published at `path`. `executable`: the file gets the mode of a
  /// shared library.
  static llvm::Expected<OutputFile> create(llvm::StringRef path, bool executable = false);
  OutputFile(OutputFile &&);
  OutputFile &operator=(OutputFile &&) = delete;
  ~OutputFile();

  const std::string &path() const { return target; }
  /// Returns the stream for writing the content. `finish` reports errors of these writes.
  llvm::raw_pwrite_stream &stream() { return *os; }
  /// Appends the content of the file `from`, in chunks. Calls `see` with each chunk, for example to
  /// hash it.
  llvm::Error append(llvm::StringRef from, llvm::function_ref<void(llvm::StringRef)> see = nullptr);
  /// Flushes all writes to the output file and returns their errors. `durable`: waits until the
  /// data are on disk, so that either the old or the complete new file exists after a crash of the
  /// system.
  llvm::Error finish(bool durable = false);
  /// Publishes the output file: gives it its final name. Must be called after `finish`.
  llvm::Error publish();
  /// Calls `take` with the content of this output file, in chunks. Reads from the open file, which
  /// is unchanged even if another file has replaced it at its path in the meantime.
  llvm::Error read(llvm::function_ref<void(llvm::StringRef)> take) const;

private:
  OutputFile(llvm::StringRef path, bool toStream) : target(path.str()), toStream(toStream) {}
  llvm::Error fail(int error) const;
  llvm::Error copyToStream() const;

  std::string target;
  /// True if the output path is an existing device, FIFO or similar, to which the content is
  /// written. False if a file is created or replaced.
  bool toStream;
  int file = -1;
  /// Temporary name of the output file until it is published, or "" for a file without a name
  /// (O_TMPFILE).
  std::string named;
  std::unique_ptr<llvm::raw_fd_ostream> os;
};

/// Blocks SIGXFSZ while an object of this class exists, in this thread and in threads that it
/// starts. If a write exceeds the file size limit (RLIMIT_FSIZE), it then fails with an error.
/// Ignoring the signal instead would not be enough: LLVM's code for temporary files installs a
/// handler for it, which removes the linker's output and continues.
class FileSizeSignalBlocked {
public:
  FileSizeSignalBlocked();
  FileSizeSignalBlocked(const FileSizeSignalBlocked &) = delete;
  ~FileSizeSignalBlocked();

private:
  bool wasBlocked;
};

/// Finishes all output files, then publishes them in order. If finishing one fails, none is
/// published.
llvm::Error publishAll(llvm::MutableArrayRef<OutputFile> files, bool durable);

/// Writes a small output file with the given content and publishes it.
llvm::Error writeFile(llvm::StringRef path, llvm::StringRef content);

/// Returns why an output file cannot be created at `path`, as far as can be checked without
/// creating it. Returns "" if the file can be created.
std::string whyNotWritable(llvm::StringRef path);

} // namespace hewn

#endif
