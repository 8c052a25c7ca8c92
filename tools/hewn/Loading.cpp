// SPDX-License-Identifier: Apache-2.0
//
// The flags of the commands that run a model.
#include "tools/hewn/Loading.h"
#include "tools/hewn/Subcommands.h"

#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

namespace cl = llvm::cl;

namespace hewn::tool {

static cl::opt<std::string> variantFlag("variant", cl::value_desc("target"),
                                        cl::desc("Variant of the library to run (default: the best for this machine)"),
                                        cl::sub(runCommand()), cl::sub(benchCommand()), cl::sub(profileCommand()));

static cl::opt<int> deviceFlag("device", cl::init(0), cl::value_desc("number"),
                               cl::desc("Number of the GPU to run on (default: 0)"), cl::sub(runCommand()),
                               cl::sub(benchCommand()), cl::sub(profileCommand()));
static cl::opt<bool> verifyFlag("verify", cl::desc("Verify the checksum of the weights first"), cl::sub(runCommand()),
                                cl::sub(benchCommand()), cl::sub(profileCommand()));
static cl::opt<bool> copyFlag("copy-weights", cl::desc("Read the weights into memory instead of mapping their file"),
                              cl::sub(runCommand()), cl::sub(benchCommand()), cl::sub(profileCommand()));
static cl::opt<std::string> deviceCacheFlag("device-cache", cl::value_desc("folder"),
                                            cl::desc("Cache the machine code that the GPU driver generates"),
                                            cl::sub(runCommand()), cl::sub(benchCommand()), cl::sub(profileCommand()));

static cl::opt<std::string> transportFlag(
    "transport", cl::init("host"), cl::value_desc("host|nccl"),
    cl::desc("Transport between the ranks of a model that is split over GPUs: through host memory (default), or from "
             "device to device by NCCL. With NCCL, each rank uses the GPU --device + its rank on its machine"),
    cl::sub(runCommand()), cl::sub(benchCommand()), cl::sub(profileCommand()));

std::unique_ptr<Loaded> openModel(const std::string &path, Loaded::Opening opening) {
  // The flags are copied, because the linker, the last step of a compilation, resets all flags.
  const CompileFlags flags = compileFlags();
  const RunFlags run = {variantFlag, deviceCacheFlag, transportFlag, deviceFlag, verifyFlag, copyFlag};
  if (const char *engine = std::getenv("HEWN_WASMTIME"); engine && *engine)
    LoadedLibrary::setWasmEngine(engine);
  opening.givenFlags = givenCompileFlags(/*dims=*/!opening.sizes);
  return Loaded::open(path, flags, run, opening, llvm::errs());
}

} // namespace hewn::tool
