// SPDX-License-Identifier: Apache-2.0
//
// Runs a model that is split over ranks: in the processes that mpirun started, else in processes
// that rank 0 forks. Rank 0 executes the command; the other ranks repeat its runs on the same
// inputs.
#ifndef HEWN_LIB_TOOLS_MODELS_RANKS_H
#define HEWN_LIB_TOOLS_MODELS_RANKS_H

#include "hewn/communicator.h"
#include "lib/Compiler/Load/LoadedLibrary.h"
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace hewn::tool {

/// How the ranks of a model transfer data between their devices: through host memory, or by NCCL.
enum class Transport { Host, Nccl };

/// Records the runs of a rank other than rank 0, which can request the record.
struct RunWitness {
  virtual ~RunWitness() = default;
  /// Called on a rank other than rank 0 before and after each of its runs.
  virtual void begin() = 0;
  virtual void end() = 0;
  /// Keeps the record of the last run, which `tell` returns later.
  virtual void keep() = 0;
  /// Returns the record that was kept.
  virtual std::string tell() = 0;
};

class Ranks {
public:
  /// Creates the communicator for a split model. If MPI did not start the processes, forks them,
  /// and returns in each process. Sets the communicator in `options` and, with NCCL, the device of
  /// the rank. Returns null with an error in `problem`.
  static std::unique_ptr<Ranks> join(const hewn_model &model, Transport transport, hewn_context_options &options,
                                     std::string &problem);
  Ranks(const Ranks &) = delete;
  /// Waits until the processes that rank 0 forked for the other ranks have ended.
  ~Ranks();
  /// Rank 0: sends the others the command to end. Must be called before the library is destroyed,
  /// because the ranks synchronize when they destroy their contexts.
  void stop();

  /// Returns the communicator that the context uses.
  hewn_communicator *communicator() const { return onDevices ? onDevices : group; }
  bool isLeader() const { return group->rank == 0; }
  /// Rank 0: makes the other ranks run the model on `inputs`. Must be called before each run of
  /// rank 0.
  hewn_status announce(const std::vector<Array> &inputs);
  /// Rank 0: makes the other ranks keep the record of the last run.
  void keepRun() { keeps = true; }
  /// Rank 0: returns the records of the other ranks, from rank 1 on.
  hewn_status ask(std::vector<std::string> &told);
  /// Other ranks: repeat the runs of rank 0 until it stops, then exit the process. Errors of their
  /// runs go to `messages`. `witness` is
  /// null on all ranks or on none.
  [[noreturn]] void follow(std::unique_ptr<LoadedLibrary> library, RunWitness *witness, llvm::raw_ostream &messages);
  /// Exits a forked process without running the exit handlers of its parent. Does nothing in other
  /// processes.
  void endIfForked(int code);

private:
  Ranks() = default;
  bool start(const hewn_model &model, std::string &problem);
  bool joinMpi(const char *library, const hewn_model &model, std::string &problem);
  bool joinDevices(std::string &problem);
  /// Destroys the communicators. Must be called before the process exits.
  void leave();
  hewn_status sendInputs(int32_t to, const std::vector<Array> &inputs);
  hewn_status receiveInputs(const hewn_model &model, std::vector<Array> &inputs);
  hewn_status statusOf(int32_t code);
  hewn_status tell(const std::string &text);

  hewn_communicator *group = nullptr;
  /// NCCL communicator on top of `group`, or null if data is transferred through host memory.
  hewn_communicator *onDevices = nullptr;
  std::vector<pid_t> children;
  bool isForked = false, isOver = false;
  /// The inputs that rank 0 sent to the other ranks last.
  std::vector<Array> announced;
  bool hasAnnounced = false, keeps = false;
};

} // namespace hewn::tool

#endif
