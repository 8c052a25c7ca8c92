// SPDX-License-Identifier: Apache-2.0
//
// A model that is split over ranks, run from the command line: by processes that mpirun has started, or, where it was not, by processes
// that this one makes. Rank 0 does what the command says; the others do what rank 0 does, on its inputs.
#ifndef HEWN_TOOLS_HEWN_RANKS_H
#define HEWN_TOOLS_HEWN_RANKS_H

#include "hewn/communicator.h"
#include "lib/Compiler/LoadedLibrary.h"
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace hewn::tool {

/// What devices have for each other goes by the host, or by NCCL.
enum class Transport { Host, Nccl };

/// What a rank other than the first writes down of its runs, for rank 0 to ask for.
struct RunWitness {
  virtual ~RunWitness() = default;
  /// Around each run.
  virtual void begin() = 0;
  virtual void end() = 0;
  /// The last run is the one that will be asked for.
  virtual void keep() = 0;
  virtual std::string tell() = 0;
};

class Ranks {
public:
  /// Makes the group for a model of so many ranks; where nobody has started the others, forks, and returns in each of the processes.
  /// `options` get the communicator, and by NCCL the rank's device. Null, and why in `problem`.
  static std::unique_ptr<Ranks> join(const hewn_model &model, Transport transport, hewn_context_options &options,
                                     std::string &problem);
  Ranks(const Ranks &) = delete;
  /// Waits for the processes that it made.
  ~Ranks();
  /// Rank 0: tells the others that it is over. Before the library goes: its end is all ranks' together.
  void stop();

  /// The context's.
  hewn_communicator *communicator() const { return onDevices ? onDevices : group; }
  bool isLeader() const { return group->rank == 0; }
  /// Rank 0, before each run: what the others run, too.
  hewn_status announce(const std::vector<Array> &inputs);
  /// Rank 0: the others' witnesses keep the last run.
  void keepRun() { keeps = true; }
  /// Rank 0: what the others' witnesses tell, by rank from 1 on.
  hewn_status ask(std::vector<std::string> &told);
  /// The other ranks: run what rank 0 runs until it is over, and end the process. `witness` may be null, on all ranks alike.
  [[noreturn]] void follow(std::unique_ptr<LoadedLibrary> library, RunWitness *witness);
  /// A process that was forked ends here, whatever happened, without what the one it was forked from does at its end; another one goes on.
  void endIfForked(int code);

private:
  Ranks() = default;
  bool start(const hewn_model &model, std::string &problem);
  bool joinMpi(const char *library, const hewn_model &model, std::string &problem);
  bool joinDevices(std::string &problem);
  /// Before processes end.
  void leave();
  hewn_status sendInputs(int32_t to, const std::vector<Array> &inputs);
  hewn_status receiveInputs(const hewn_model &model, std::vector<Array> &inputs);
  hewn_status statusOf(int32_t code);
  hewn_status tell(const std::string &text);

  hewn_communicator *group = nullptr;
  /// By NCCL, over `group`; null: what devices have goes by the host.
  hewn_communicator *onDevices = nullptr;
  std::vector<pid_t> children;
  bool isForked = false, isOver = false;
  /// What the others have.
  std::vector<Array> announced;
  bool hasAnnounced = false, keeps = false;
};

} // namespace hewn::tool

#endif
