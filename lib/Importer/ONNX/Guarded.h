// SPDX-License-Identifier: Apache-2.0
// Wrapper for calls into protobuf and the ONNX library, which may throw exceptions. All other code
// is free of exceptions.
#ifndef HEWN_LIB_IMPORTER_ONNX_GUARDED_H
#define HEWN_LIB_IMPORTER_ONNX_GUARDED_H

#include <exception>
#include <string>

namespace hewn::importer {

/// Calls `f`, which may call protobuf or the ONNX library. If it throws, returns false and sets
/// `reason` to the exception's text.
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
