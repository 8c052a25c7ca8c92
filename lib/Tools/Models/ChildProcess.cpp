// SPDX-License-Identifier: Apache-2.0
#include "lib/Tools/Models/ChildProcess.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hewn::tool {

/// Number of bytes of the child's error output that are kept: its first lines contain the cause of
/// an error.
static constexpr size_t kErrorBytes = 1 << 14;
/// Time in milliseconds between two calls of `stop`.
static constexpr int kPoll = 50;

static void becomeChild(pid_t parent, const std::string &folder, const std::string &errors) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) // the parent ended before PR_SET_PDEATHSIG took effect
    _exit(1);
  sigset_t all;
  sigfillset(&all);
  // Keep SIGXFSZ blocked: a write beyond the file size limit then fails instead of ending the
  // process.
  sigdelset(&all, SIGXFSZ);
  for (int number : {SIGINT, SIGTERM, SIGHUP})
    signal(number, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &all, nullptr);
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  setenv("TMPDIR", folder.c_str(), 1);
  int input = open("/dev/null", O_RDWR | O_CLOEXEC);
  int output = open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  dup2(input, STDIN_FILENO);
  dup2(input, STDOUT_FILENO);
  dup2(output < 0 ? input : output, STDERR_FILENO);
}

static void writeAll(int to, llvm::StringRef text) {
  while (!text.empty()) {
    ssize_t done = ::write(to, text.data(), text.size());
    if (done < 0 && errno != EINTR)
      _exit(1);
    text = text.drop_front(size_t(std::max<ssize_t>(done, 0)));
  }
}

static std::string beginOf(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  return file ? (*file)->getBuffer().take_front(kErrorBytes).str() : "";
}

ChildEnd runInChild(double seconds, const std::string &folder, llvm::function_ref<void(const Tell &)> work,
                    llvm::function_ref<bool()> stop) {
  ChildEnd end;
  std::string errors = folder + "/stderr";
  int ends[2];
  if (llvm::sys::fs::create_directories(folder) || pipe2(ends, O_CLOEXEC) != 0) {
    end.number = errno;
    return end;
  }
  // Flush before the fork, otherwise parent and child would both write the buffered text.
  llvm::outs().flush();
  llvm::errs().flush();
  pid_t parent = getpid(), child = fork();
  if (child < 0) {
    end.number = errno;
    close(ends[0]);
    close(ends[1]);
    return end;
  }
  if (child == 0) {
    becomeChild(parent, folder, errors);
    work([&](llvm::StringRef text) { writeAll(ends[1], text); });
    _exit(0); // no exit handlers or destructors of the parent
  }
  close(ends[1]);
  setpgid(child, child);
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  bool hears = true;
  int status = 0;
  for (;;) {
    pollfd one = {hears ? ends[0] : -1, POLLIN, 0};
    poll(&one, 1, hears ? kPoll : 1);
    char buffer[4096];
    if (hears && (one.revents & (POLLIN | POLLHUP))) {
      ssize_t got = read(ends[0], buffer, sizeof(buffer));
      hears = got > 0 || (got < 0 && errno == EINTR);
      end.told.append(buffer, size_t(std::max<ssize_t>(got, 0)));
      if (hears)
        continue; // read everything before checking the child's status
    }
    if (waitpid(child, &status, WNOHANG) == child)
      break;
    bool late = std::chrono::duration<double>(Clock::now() - begin).count() > seconds;
    if (late || stop()) {
      end.how = late ? ChildEnd::How::Timeout : ChildEnd::How::Stopped;
      kill(-child, SIGKILL);
      waitpid(child, &status, 0);
      break;
    }
  }
  close(ends[0]);
  kill(-child, SIGKILL); // also kills the processes that the child started
  end.errors = beginOf(errors);
  (void)llvm::sys::fs::remove_directories(folder);
  if (end.how != ChildEnd::How::NotStarted)
    return end;
  end.how = WIFSIGNALED(status) ? ChildEnd::How::Signal : ChildEnd::How::Exited;
  end.number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  return end;
}

} // namespace hewn::tool
