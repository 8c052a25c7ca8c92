// SPDX-License-Identifier: Apache-2.0
//
// The one place that writes files. A file is there whole or not at all: it has no name until all of it is written, and every
// write is checked.
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

/// A file that is being written. What was not published when it goes leaves nothing behind, not even where the process is
/// killed (on file systems with O_TMPFILE).
///
/// At `path` may be nothing, a file or a link, which are replaced, as by `cc -o`: who has the old file open or mapped keeps it.
/// A device, a FIFO and what lies in /proc (as /dev/stdout does) are written to when the file is published. A folder is an error.
class OutputFile {
public:
  /// `executable`: as shared libraries are.
  static llvm::Expected<OutputFile> create(llvm::StringRef path, bool executable = false);
  OutputFile(OutputFile &&);
  OutputFile &operator=(OutputFile &&) = delete;
  ~OutputFile();

  const std::string &path() const { return target; }
  /// Never fails by itself: `finish` says whether a write did.
  llvm::raw_pwrite_stream &stream() { return *os; }
  /// Appends all of another file, which `see` is shown on the way.
  llvm::Error append(llvm::StringRef from, llvm::function_ref<void(llvm::StringRef)> see = nullptr);
  /// Everything is written. `durable`: it is on the disk when this returns, so that a machine that stops leaves the old file or
  /// this one.
  llvm::Error finish(bool durable = false);
  /// Gives the file its name. After `finish`.
  llvm::Error publish();
  /// The content, chunk by chunk, also when the name has gone to somebody else's file since.
  llvm::Error read(llvm::function_ref<void(llvm::StringRef)> take) const;

private:
  OutputFile(llvm::StringRef path, bool toStream) : target(path.str()), toStream(toStream) {}
  llvm::Error fail(int error) const;
  llvm::Error copyToStream() const;

  std::string target;
  /// What is at `target` takes bytes and can't be replaced.
  bool toStream;
  int file = -1;
  /// The name until it is published; empty where it has none.
  std::string named;
  std::unique_ptr<llvm::raw_fd_ostream> os;
};

/// While it lives, a file that may grow no further (RLIMIT_FSIZE) is an error of the write in this thread, and in threads that it
/// starts: SIGXFSZ is blocked. Ignoring the signal would not do: LLVM's code for temporary files brings a handler of its own, which
/// removes the linker's output and goes on.
class FileSizeSignalBlocked {
public:
  FileSizeSignalBlocked();
  FileSizeSignalBlocked(const FileSizeSignalBlocked &) = delete;
  ~FileSizeSignalBlocked();

private:
  bool wasBlocked;
};

/// Finishes all, then publishes one after the other: where one can't be written, the files of before stay.
llvm::Error publishAll(llvm::MutableArrayRef<OutputFile> files, bool durable);

/// All of a small file.
llvm::Error writeFile(llvm::StringRef path, llvm::StringRef content);

/// Why a file can't be made at `path`, as far as can be told without making it; empty where it can.
std::string whyNotWritable(llvm::StringRef path);

} // namespace hewn

#endif
