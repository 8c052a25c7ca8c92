// SPDX-License-Identifier: Apache-2.0
#include "lib/Tools/Models/Ranks.h"
#include "lib/Tools/Models/Messages.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hewn::tool {

/// Timeout for waiting on another rank, in milliseconds. It is long, because rank 0 may generate
/// inputs or wait for its user between two runs.
static constexpr int64_t kMilliseconds = 600000;
/// Commands that rank 0 sends to the other ranks. The bit `KeepRun` may be added to any command: it
/// refers to the run before the command.
enum Order : int64_t { Stop = 0, RunAgain = 1, RunOnOthers = 2, Report = 3, KeepRun = 4 };

/// Returns the adapter library for the MPI that started this process, detected by the launcher's
/// environment variables, or null if the process was not started by MPI.
static const char *mpiLibrary() {
  if (std::getenv("OMPI_COMM_WORLD_SIZE"))
    return "libhewn_openmpi.so";
  // Slurm and other launchers set PMI_SIZE for a single process as well.
  const char *size = std::getenv("PMI_SIZE");
  return size && std::atoi(size) > 1 ? "libhewn_mpich.so" : nullptr;
}

/// Returns the path of a library in the program's folder, ../lib or ../integrations/mpi, or an
/// empty string.
static std::string besideProgram(const char *name) {
  std::string self = llvm::sys::fs::getMainExecutable(nullptr, nullptr);
  for (const char *folder : {"", "../lib", "../integrations/mpi"}) {
    llvm::SmallString<128> path(llvm::sys::path::parent_path(self));
    llvm::sys::path::append(path, folder, name);
    if (llvm::sys::fs::exists(path))
      return path.str().str();
  }
  return "";
}

bool Ranks::joinMpi(const char *library, const hewn_model &model, std::string &problem) {
  std::string path = besideProgram(library);
  if (path.empty()) {
    problem = std::string("the processes were started by MPI, but ") + library +
              " is neither next to hewn nor in ../lib: hewn was built without this MPI";
    return false;
  }
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  using Create = hewn_status (*)(int64_t, hewn_communicator **);
  auto create = handle ? reinterpret_cast<Create>(dlsym(handle, "hewn_mpi_world_create")) : nullptr;
  if (!create) {
    problem = std::string("can't load ") + path + ": " + dlerror();
    return false;
  }
  hewn_status status = create(kMilliseconds, &group);
  if (status.code != HEWN_OK) {
    problem = status.message;
    return false;
  }
  if (group->num_ranks == model.num_ranks)
    return true;
  problem = std::string(model.name) + " is split over " + std::to_string(model.num_ranks) + " ranks, but MPI started " +
            std::to_string(group->num_ranks) + " processes: use mpirun -n " + std::to_string(model.num_ranks);
  return false;
}

bool Ranks::start(const hewn_model &model, std::string &problem) {
  static int groups = 0;
  std::string name = "run-" + std::to_string(getpid()) + "-" + std::to_string(groups++);
  llvm::outs().flush();
  pid_t leader = getpid();
  int32_t rank = 0;
  for (int32_t r = 1; r < model.num_ranks && rank == 0; ++r) {
    pid_t child = fork();
    if (child < 0) {
      problem = std::string("can't fork a process for rank ") + std::to_string(r) + ": " + std::strerror(errno);
      for (pid_t made : children)
        kill(made, SIGKILL);
      return false;
    }
    if (child > 0) {
      children.push_back(child);
      continue;
    }
    rank = r;
    isForked = true;
    children.clear();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != leader)
      _exit(1);
    std::signal(SIGINT, SIG_IGN); // Ctrl-C reaches all ranks, but only rank 0 reacts to it
  }
  hewn_status status = hewn_local_communicator_create(name.c_str(), rank, model.num_ranks, kMilliseconds, &group);
  problem = status.message;
  return status.code == HEWN_OK;
}

/// Returns the index of this process among the processes on its machine, from the environment
/// variables of MPI's launchers. Without these variables, all ranks run on this machine, and the
/// index is the rank.
static int32_t numberOnMachine(int32_t rank) {
  for (const char *name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"})
    if (const char *number = std::getenv(name))
      return std::atoi(number);
  return rank;
}

bool Ranks::joinDevices(std::string &problem) {
  hewn_status status = hewn_nccl_communicator_create(group, kMilliseconds, &onDevices);
  problem = status.message;
  return status.code == HEWN_OK;
}

std::unique_ptr<Ranks> Ranks::join(const hewn_model &model, Transport transport, hewn_context_options &options,
                                   std::string &problem) {
  std::unique_ptr<Ranks> ranks(new Ranks);
  const char *mpi = mpiLibrary();
  if (transport == Transport::Nccl && !model.device) {
    problem = "--transport=nccl requires a model that is compiled for a GPU";
    return nullptr;
  }
  bool isJoined = mpi ? ranks->joinMpi(mpi, model, problem) : ranks->start(model, problem);
  if (isJoined && transport == Transport::Nccl) {
    isJoined = ranks->joinDevices(problem);
    options.device += numberOnMachine(ranks->group->rank);
  }
  options.communicator = ranks->communicator();
  if (isJoined)
    return ranks;
  ranks->isOver = true;
  ranks->endIfForked(1);
  return nullptr;
}

void Ranks::endIfForked(int code) {
  if (!isForked)
    return;
  leave();
  _exit(code);
}

void Ranks::stop() {
  int64_t order = Stop;
  for (int32_t r = 1; isLeader() && !isOver && r < group->num_ranks; ++r)
    isOver = group->send(group->user, r, &order, sizeof(order)) != HEWN_OK;
  isOver = true;
}

void Ranks::leave() {
  hewn_communicator_destroy(onDevices);
  hewn_communicator_destroy(group); // ranks that still wait for this rank then get an error
  onDevices = group = nullptr;
}

Ranks::~Ranks() {
  leave();
  for (pid_t child : children)
    waitpid(child, nullptr, 0);
}

hewn_status Ranks::statusOf(int32_t code) {
  isOver |= code != HEWN_OK;
  return {code, code == HEWN_OK ? "" : group->message(group->user)};
}

static bool areEqual(const std::vector<Array> &a, const std::vector<Array> &b) {
  if (a.size() != b.size())
    return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].shape != b[i].shape || a[i].bytes != b[i].bytes || std::memcmp(&a[i].type, &b[i].type, sizeof(DLDataType)))
      return false;
  return true;
}

hewn_status Ranks::announce(const std::vector<Array> &inputs) {
  const bool areOthers = !hasAnnounced || !areEqual(inputs, announced);
  int64_t order = (areOthers ? RunOnOthers : RunAgain) | (keeps ? KeepRun : 0);
  for (int32_t r = 1; r < group->num_ranks; ++r) {
    hewn_status status = statusOf(group->send(group->user, r, &order, sizeof(order)));
    if (status.code == HEWN_OK && areOthers)
      status = sendInputs(r, inputs);
    if (status.code != HEWN_OK)
      return status;
  }
  keeps = false;
  if (areOthers)
    announced = inputs;
  hasAnnounced = true;
  return {HEWN_OK, ""};
}

hewn_status Ranks::sendInputs(int32_t to, const std::vector<Array> &inputs) {
  int32_t code = HEWN_OK;
  for (const Array &input : inputs) {
    int64_t head[3] = {int64_t(input.shape.size()), int64_t(input.bytes.size()),
                       int64_t(input.type.code) << 32 | int64_t(input.type.bits) << 16 | input.type.lanes};
    auto send = [&](const void *data, size_t bytes) {
      if (code == HEWN_OK && bytes > 0)
        code = group->send(group->user, to, data, bytes);
    };
    send(head, sizeof(head));
    send(input.shape.data(), input.shape.size() * sizeof(int64_t));
    send(input.bytes.data(), input.bytes.size());
  }
  return statusOf(code);
}

hewn_status Ranks::receiveInputs(const hewn_model &model, std::vector<Array> &inputs) {
  int32_t code = HEWN_OK;
  auto receive = [&](void *data, size_t bytes) {
    if (code == HEWN_OK && bytes > 0)
      code = group->receive(group->user, 0, data, bytes);
  };
  inputs.assign(size_t(model.num_inputs), {});
  for (Array &input : inputs) {
    int64_t head[3] = {};
    receive(head, sizeof(head));
    input.shape.resize(size_t(head[0]));
    receive(input.shape.data(), input.shape.size() * sizeof(int64_t));
    input.bytes.resize(size_t(head[1]));
    receive(input.bytes.data(), input.bytes.size());
    input.type = {uint8_t(head[2] >> 32), uint8_t(head[2] >> 16), uint16_t(head[2])};
  }
  return statusOf(code);
}

hewn_status Ranks::ask(std::vector<std::string> &told) {
  told.assign(size_t(group->num_ranks - 1), "");
  int64_t order = Report | (keeps ? KeepRun : 0);
  keeps = false;
  for (int32_t r = 1; r < group->num_ranks; ++r) {
    std::string &text = told[size_t(r - 1)];
    int64_t bytes = 0;
    hewn_status status = statusOf(group->send(group->user, r, &order, sizeof(order)));
    if (status.code == HEWN_OK)
      status = statusOf(group->receive(group->user, r, &bytes, sizeof(bytes)));
    if (status.code == HEWN_OK && bytes > 0) {
      text.resize(size_t(bytes));
      status = statusOf(group->receive(group->user, r, text.data(), text.size()));
    }
    if (status.code != HEWN_OK)
      return status;
  }
  return {HEWN_OK, ""};
}

hewn_status Ranks::tell(const std::string &text) {
  int64_t bytes = int64_t(text.size());
  hewn_status status = statusOf(group->send(group->user, 0, &bytes, sizeof(bytes)));
  return status.code == HEWN_OK && bytes > 0 ? statusOf(group->send(group->user, 0, text.data(), text.size())) : status;
}

void Ranks::follow(std::unique_ptr<LoadedLibrary> library, RunWitness *witness, llvm::raw_ostream &messages) {
  std::vector<Array> inputs, outputs;
  int ended = 0;
  for (;;) {
    int64_t order = Stop;
    // This rank reports no error if rank 0 has ended, because rank 0 has already printed it.
    if (group->receive(group->user, 0, &order, sizeof(order)) != HEWN_OK || order == Stop)
      break;
    if (witness && order & KeepRun)
      witness->keep();
    order &= ~int64_t(KeepRun);
    hewn_status status = {HEWN_OK, ""};
    if (order == Report) {
      status = tell(witness ? witness->tell() : "");
    } else {
      if (order == RunOnOthers)
        status = receiveInputs(library->model(), inputs);
      if (witness)
        witness->begin();
      if (status.code == HEWN_OK)
        status = library->run(inputs, outputs);
      if (witness)
        witness->end();
    }
    // A run with invalid inputs fails on all ranks, and rank 0 reports it. A rank whose peer failed
    // reports nothing, because the peer reports its own error.
    if (status.code != HEWN_OK && status.code != HEWN_INVALID_ARGUMENT) {
      if (status.code != HEWN_PEER_FAILED)
        printMessage(messages, std::string("error: ") + status.message);
      ended = 1;
      break;
    }
  }
  library.reset();
  endIfForked(ended);
  leave();
  std::exit(ended);
}

} // namespace hewn::tool
