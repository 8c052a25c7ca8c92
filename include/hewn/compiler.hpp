// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_COMPILER_HPP
#define HEWN_COMPILER_HPP

/// \file
/// C++17 wrapper of compiler.h.

#include "hewn/compiler.h"

#include <memory>
#include <string>

namespace hewn {

/// Owns a hewn_compilation.
class Compilation {
public:
  explicit Compilation(const hewn_compile_options &options)
      : handle(hewn_compile(&options), hewn_compilation_destroy) {}

  bool ok() const { return hewn_compilation_ok(handle.get()) != 0; }
  size_t numMessages() const { return hewn_compilation_num_messages(handle.get()); }
  const hewn_compile_message &message(size_t index) const { return *hewn_compilation_message(handle.get(), index); }
  std::string text() const {
    size_t bytes = 0;
    const char *data = hewn_compilation_text(handle.get(), &bytes);
    return std::string(data, bytes);
  }
  size_t numFiles() const { return hewn_compilation_num_files(handle.get()); }
  std::string file(size_t index) const { return hewn_compilation_file(handle.get(), index); }
  size_t numInputs() const { return hewn_compilation_num_inputs(handle.get()); }
  std::string input(size_t index) const { return hewn_compilation_input(handle.get(), index); }

private:
  std::unique_ptr<hewn_compilation, void (*)(hewn_compilation *)> handle;
};

} // namespace hewn

#endif // HEWN_COMPILER_HPP
