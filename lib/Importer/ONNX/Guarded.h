// SPDX-License-Identifier: Apache-2.0
//
// protobuf and the ONNX library throw; nothing else here does. Every call into them that may throw goes through this.
#ifndef HEWN_LIB_IMPORTER_ONNX_GUARDED_H
#define HEWN_LIB_IMPORTER_ONNX_GUARDED_H

#include <exception>
#include <string>

namespace hewn::importer {

/// Calls `f`; an exception becomes false and its text `reason`.
template <typename F> bool guarded(std::string &reason, F &&f) noexcept {
  try {
    f();
    return true;
  } catch (const std::exception &e) {
    reason = e.what();
  } catch (...) {
    reason = "unknown exception";
  }
  return false;
}

} // namespace hewn::importer

#endif
