// SPDX-License-Identifier: Apache-2.0
//
// Removes the scratch folders before a signal ends the program.
#ifndef HEWN_TOOLS_HEWN_INTERRUPT_H
#define HEWN_TOOLS_HEWN_INTERRUPT_H

namespace hewn::tool {

/// Exit status of a command that Ctrl-C stopped early (shell convention: 128 + SIGINT).
inline constexpr int kInterrupted = 130;

/// Starts a thread that receives SIGINT, SIGTERM and SIGHUP, removes the scratch folders, and then
/// raises the signal again. Blocks these signals in the calling thread and in all threads that it
/// starts later.
void cleanUpWhenInterrupted();

/// During its lifetime, the first Ctrl-C only sets `happened`, so that the measurement stops and
/// reports its results so far. A second Ctrl-C ends the program.
class InterruptStopsMeasuring {
public:
  InterruptStopsMeasuring();
  InterruptStopsMeasuring(const InterruptStopsMeasuring &) = delete;
  ~InterruptStopsMeasuring();
  bool happened() const;
};

} // namespace hewn::tool

#endif
