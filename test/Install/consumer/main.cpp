// SPDX-License-Identifier: Apache-2.0
#include "custom.h"
#include "line.h"
#include <hewn/compiler.hpp>
#include <hewn/runtime.hpp>
#include <hewn/version.h>

#if HEWN_VERSION_NUMBER < 200 || HEWN_VERSION_NUMBER >= 1000000
#error "the version's number is not 10000 * major + 100 * minor + patch"
#endif

#include <cstdio>
#include <string>
#include <vector>

int main() {
  const std::vector<float> x(3 * 128, 1);
  std::vector<float> y(x.size());
  hewn_context *context = nullptr;
  hewn_status status = hewn_context_create(&line, nullptr, &context);
  if (status.code == HEWN_OK)
    status = line_run(context, x.data(), y.data(), 3);
  if (status.code != HEWN_OK) {
    std::printf("%s\n", status.message);
    hewn_context_destroy(context);
    return 1;
  }
  std::printf("%g %g, arena %lld bytes\n", y[0], y[383], static_cast<long long>(line_arena_bytes(3)));
  status = line_run(context, x.data(), y.data(), 5);
  std::printf("%s\n", status.message);
  hewn_context_destroy(context);
  if (status.code != HEWN_INVALID_ARGUMENT)
    return 1;

  try {
    hewn::Context owned(custom);
    hewn::check(custom_run(owned, x.data(), y.data(), 3));
  } catch (const hewn::Error &error) {
    std::printf("%s\n", error.what());
    return 1;
  }
  std::printf("%g\n", y[2]);
}
