// SPDX-License-Identifier: Apache-2.0
//
// Inputs for a model of which nothing is known but their types: drawn until a run takes them.
#ifndef HEWN_TOOLS_HEWN_CHECK_CHECKINPUTS_H
#define HEWN_TOOLS_HEWN_CHECK_CHECKINPUTS_H

#include "tools/hewn/Check/CheckParts.h"

namespace hewn::tool {

/// Which program is run on inputs; null to give up.
using ChooseProgram = llvm::function_ref<Loaded *(const Values &inputs)>;

/// Completes `inputs` for what `model` wants: sizes of symbols, then elements by type, one way after another until a run is
/// accepted, whose results are put in `results`. Where all are there already that is one run. False, and why the last one was
/// refused in `problem`.
bool drawInputs(const Parts &parts, const hewn_model &model, ChooseProgram choose, uint64_t seed, Values &inputs,
                Values &results, std::string &problem);

/// The bytes of all outputs for inputs of these shapes, by name; what data decides is left out.
std::map<std::string, int64_t> outputBytes(const Loaded &loaded, const Values &inputs);

} // namespace hewn::tool

#endif
