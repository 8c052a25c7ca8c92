// SPDX-License-Identifier: Apache-2.0
//
// Signals that would end the program: its scratch folders go first.
#ifndef HEWN_TOOLS_HEWN_INTERRUPT_H
#define HEWN_TOOLS_HEWN_INTERRUPT_H

namespace hewn::tool {

/// The status of a command that Ctrl-C made stop early, as shells have it.
inline constexpr int kInterrupted = 130;

/// Starts a thread that takes what would interrupt the program, and removes its scratch folders before it ends as it would have.
/// Threads that are made later leave these signals to it.
void cleanUpWhenInterrupted();

/// While it lives, the first Ctrl-C is for whoever measures, who stops and tells what there is; the second one ends the program.
class InterruptStopsMeasuring {
public:
  InterruptStopsMeasuring();
  InterruptStopsMeasuring(const InterruptStopsMeasuring &) = delete;
  ~InterruptStopsMeasuring();
  bool happened() const;
};

} // namespace hewn::tool

#endif
