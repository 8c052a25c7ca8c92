// SPDX-License-Identifier: Apache-2.0
//
// Helpers for the fuzz targets.
#ifndef HEWN_TEST_FUZZ_MODELTARGET_H
#define HEWN_TEST_FUZZ_MODELTARGET_H

#include "lib/Support/Diagnostics.h"

namespace hewn::fuzz {

/// Aborts the process if a diagnostic reports an internal error: no input file may cause one.
/// Crashes of the code generator are reported as internal errors too.
void expectNoDefect(const Diagnostics &diagnostics);

} // namespace hewn::fuzz

#endif
