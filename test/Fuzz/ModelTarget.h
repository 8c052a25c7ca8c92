// SPDX-License-Identifier: Apache-2.0
//
// What fuzz targets share.
#ifndef HEWN_TEST_FUZZ_MODELTARGET_H
#define HEWN_TEST_FUZZ_MODELTARGET_H

#include "lib/Support/Diagnostics.h"

namespace hewn::fuzz {

/// Ends the process where an error tells of a defect of ours: what a file holds is never that. Crashes of the code generator are
/// such errors too.
void expectNoDefect(const Diagnostics &diagnostics);

} // namespace hewn::fuzz

#endif
