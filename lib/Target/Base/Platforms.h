// SPDX-License-Identifier: Apache-2.0
//
// The platforms that artifacts run on: PLATFORM of --target=CPU@PLATFORM.
#ifndef HEWN_LIB_TARGET_BASE_PLATFORMS_H
#define HEWN_LIB_TARGET_BASE_PLATFORMS_H

#include "lib/Codegen/Emit/Machine.h"

namespace hewn::target {

extern const codegen::Platform kLinux;

} // namespace hewn::target

#endif
