// SPDX-License-Identifier: Apache-2.0
//
// Generates random inputs for a model whose input types are known. Repeats this with other sizes
// and values until a run succeeds.
#ifndef HEWN_TOOLS_HEWN_CHECK_CHECKINPUTS_H
#define HEWN_TOOLS_HEWN_CHECK_CHECKINPUTS_H

#include "tools/hewn/Check/CheckParts.h"

namespace hewn::tool {

/// Returns the program to run on the given inputs, or null to give up.
using ChooseProgram = llvm::function_ref<Loaded *(const Values &inputs)>;

/// Adds the missing inputs of `model` to `inputs`. Tries sizes of symbolic dims and ranges of
/// elements until a run succeeds, and stores its results in `results`. If all inputs are given,
/// runs once. Returns false with the error of the first failed run in `problem`.
bool drawInputs(const Parts &parts, const hewn_model &model, ChooseProgram choose, uint64_t seed, Values &inputs,
                Values &results, std::string &problem);

/// Returns the size in bytes of each output, by name, for inputs of these shapes. Dims that depend
/// on data count as 0.
std::map<std::string, int64_t> outputBytes(const Loaded &loaded, const Values &inputs);

} // namespace hewn::tool

#endif
