// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/Base/Platforms.h"

namespace hewn::target {

const codegen::Platform kLinux = {"linux", "linux-gnu"};

} // namespace hewn::target
