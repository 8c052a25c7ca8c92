// SPDX-License-Identifier: Apache-2.0
#include "tools/hewn/Interrupt.h"
#include "lib/Support/Files/ScratchFolders.h"

#include <atomic>
#include <csignal>
#include <thread>

namespace hewn::tool {

namespace {
enum class Measuring { No, Yes, Stopped };
std::atomic<Measuring> measuring = Measuring::No;
} // namespace

InterruptStopsMeasuring::InterruptStopsMeasuring() { measuring = Measuring::Yes; }
InterruptStopsMeasuring::~InterruptStopsMeasuring() { measuring = Measuring::No; }
bool InterruptStopsMeasuring::happened() const { return measuring == Measuring::Stopped; }

void cleanUpWhenInterrupted() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int number : {SIGINT, SIGTERM, SIGHUP})
    if (struct sigaction now;
        // An ignored signal, such as SIGHUP under nohup, stays ignored.
        sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_DFL)
      sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([signals] {
    int number = 0;
    auto stopsMeasuring = [&] {
      Measuring expected = Measuring::Yes;
      return number == SIGINT && measuring.compare_exchange_strong(expected, Measuring::Stopped);
    };
    do
      sigwait(&signals, &number);
    while (stopsMeasuring());
    removeScratchFolders();
    signal(number, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    raise(number);
  }).detach();
}

} // namespace hewn::tool
