// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_LIB_SUPPORT_FILES_OWNBINARY_H
#define HEWN_LIB_SUPPORT_FILES_OWNBINARY_H

#include <string>

namespace hewn {

/// Returns the real path of the binary that contains this code: a program, or the Python extension.
/// Returns an empty string if the system does not know it.
std::string ownBinary();

} // namespace hewn

#endif
