// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes numpy's files: .npy (format 1.0 to 3.0, little-endian, C order) and .npz (a zip
// file of .npy files, stored or deflated).
#ifndef HEWN_LIB_TOOLS_MODELS_NPY_H
#define HEWN_LIB_TOOLS_MODELS_NPY_H

#include "lib/Compiler/Load/LoadedLibrary.h"

#include <string>
#include <utility>
#include <vector>

namespace hewn::tool {

/// Read and write array files. After an error, the functions return false with a message in
/// `problem` that names the file.
bool readNpy(const std::string &path, Array &array, std::string &problem);
bool writeNpy(const std::string &path, const Array &array, std::string &problem);
bool readNpz(const std::string &path, std::vector<std::pair<std::string, Array>> &arrays, std::string &problem);
bool writeNpz(const std::string &path, const std::vector<std::pair<std::string, Array>> &arrays, std::string &problem);

} // namespace hewn::tool

#endif
