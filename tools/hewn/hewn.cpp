// SPDX-License-Identifier: Apache-2.0
#include "hewn/compiler.h"

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

int usage() {
  std::fputs(
      "usage: hewn compile MODEL [-o OUTPUT] [--emit=STAGE] [--target=NAME] [--dim NAME=VALUE]... [--name=NAME]\n"
      "                    [--embed-weights] [--cache=FOLDER] [--jobs=N] [-O0] [--verbose]\n",
      stderr);
  return 2;
}

/// The value of "--flag=value" or of "--flag value"; null where the argument is another one.
const char *valueOf(const char *flag, int argc, char **argv, int &i) {
  size_t length = std::strlen(flag);
  if (std::strncmp(argv[i], flag, length) != 0)
    return nullptr;
  if (argv[i][length] == '=')
    return argv[i] + length + 1;
  return argv[i][length] == '\0' && i + 1 < argc ? argv[++i] : nullptr;
}

int compile(int argc, char **argv) {
  hewn_compile_options options = {};
  options.size = sizeof(options);
  std::vector<const char *> dims;
  for (int i = 2; i < argc; ++i) {
    std::string argument = argv[i];
    if (const char *value = valueOf("-o", argc, argv, i))
      options.output = value;
    else if (const char *value = valueOf("--emit", argc, argv, i))
      options.emit = value;
    else if (const char *value = valueOf("--target", argc, argv, i))
      options.target = value;
    else if (const char *value = valueOf("--name", argc, argv, i))
      options.name = value;
    else if (const char *value = valueOf("--dim", argc, argv, i))
      dims.push_back(value);
    else if (const char *value = valueOf("--cache", argc, argv, i))
      options.cache_dir = value;
    else if (const char *value = valueOf("--jobs", argc, argv, i))
      options.jobs = std::atoi(value);
    else if (argument == "--embed-weights")
      options.embed_weights = 1;
    else if (argument == "-O0")
      options.no_optimize = 1;
    else if (argument == "--verbose")
      options.progress = [](void *, const char *stage) { std::fprintf(stderr, "hewn: %s\n", stage); };
    else if (!argument.starts_with("-") && !options.model_path)
      options.model_path = argv[i];
    else
      return usage();
  }
  if (!options.model_path)
    return usage();
  options.dims = dims.data();
  options.num_dims = dims.size();
  hewn_compilation *compilation = hewn_compile(&options);
  for (size_t i = 0; i < hewn_compilation_num_messages(compilation); ++i)
    std::fprintf(stderr, "%s\n", hewn_compilation_message(compilation, i)->text);
  size_t bytes;
  const char *text = hewn_compilation_text(compilation, &bytes);
  std::fwrite(text, 1, bytes, stdout);
  int code = hewn_compilation_ok(compilation) ? 0 : 1;
  hewn_compilation_destroy(compilation);
  return code;
}

} // namespace

int main(int argc, char **argv) {
  if (argc >= 2 && std::strcmp(argv[1], "compile") == 0)
    return compile(argc, argv);
  if (argc >= 2 && std::strcmp(argv[1], "--version") == 0)
    return std::printf("hewn %s\n", hewn_compiler_version()) < 0;
  return usage();
}
