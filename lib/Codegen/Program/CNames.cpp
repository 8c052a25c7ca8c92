// SPDX-License-Identifier: Apache-2.0
//
// C names for models, inputs, outputs and dims, whose names in a model file are arbitrary.
#include "lib/Codegen/Program/ProgramInterface.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using llvm::StringRef;

namespace hewn::codegen {

/// Returns true if C, C++ or the compilers' default macros reserve the name.
static bool isReserved(StringRef name) {
  static const llvm::StringSet<> keywords = {"alignas",
                                             "alignof",
                                             "and",
                                             "and_eq",
                                             "asm",
                                             "auto",
                                             "bitand",
                                             "bitor",
                                             "bool",
                                             "break",
                                             "case",
                                             "catch",
                                             "char",
                                             "char16_t",
                                             "char32_t",
                                             "char8_t",
                                             "class",
                                             "co_await",
                                             "co_return",
                                             "co_yield",
                                             "compl",
                                             "concept",
                                             "const",
                                             "const_cast",
                                             "consteval",
                                             "constexpr",
                                             "constinit",
                                             "continue",
                                             "decltype",
                                             "default",
                                             "delete",
                                             "do",
                                             "double",
                                             "dynamic_cast",
                                             "else",
                                             "enum",
                                             "explicit",
                                             "export",
                                             "extern",
                                             "false",
                                             "float",
                                             "for",
                                             "friend",
                                             "goto",
                                             "if",
                                             "inline",
                                             "int",
                                             "long",
                                             "mutable",
                                             "namespace",
                                             "new",
                                             "noexcept",
                                             "not",
                                             "not_eq",
                                             "nullptr",
                                             "operator",
                                             "or",
                                             "or_eq",
                                             "private",
                                             "protected",
                                             "public",
                                             "register",
                                             "reinterpret_cast",
                                             "requires",
                                             "restrict",
                                             "return",
                                             "short",
                                             "signed",
                                             "sizeof",
                                             "static",
                                             "static_assert",
                                             "static_cast",
                                             "struct",
                                             "switch",
                                             "template",
                                             "this",
                                             "thread_local",
                                             "throw",
                                             "true",
                                             "try",
                                             "typedef",
                                             "typeid",
                                             "typename",
                                             "typeof",
                                             "typeof_unqual",
                                             "union",
                                             "unsigned",
                                             "using",
                                             "virtual",
                                             "void",
                                             "volatile",
                                             "wchar_t",
                                             "while",
                                             "xor",
                                             "xor_eq"};
  // Macros of standard headers and of compilers (`linux` is 1 in GNU C).
  static const llvm::StringSet<> macros = {
      "I",        "assert",   "complex",    "errno",        "h_addr",   "i386",     "imaginary",
      "linux",    "noreturn", "sa_handler", "sa_sigaction", "si_value", "st_atime", "st_ctime",
      "st_mtime", "stderr",   "stdin",      "stdout",       "unix"};
  // <stdint.h> and POSIX define types that end in _t.
  return keywords.contains(name) || macros.contains(name) || name == "NULL" || name.ends_with("_t");
}

std::string cName(StringRef text) {
  std::string name;
  for (char c : text)
    name += llvm::isAlnum(c) || c == '_' ? c : '_';
  // Names that begin with an underscore and a capital letter or another underscore are reserved.
  bool isForCompilers = name.size() > 1 && name[0] == '_' && (name[1] == '_' || llvm::isUpper(name[1]));
  if (name.empty() || llvm::isDigit(name[0]) || isForCompilers)
    name = "m" + name;
  return isReserved(name) ? name + "_" : name;
}

std::string parameterName(StringRef text) {
  std::string name = cName(text);
  // A name in capital letters may be a macro of a header, and one that begins with hewn_ a type of
  // runtime.h.
  bool mayBeMacro = name.size() > 1 && llvm::none_of(name, llvm::isLower) && name.back() != '_';
  return mayBeMacro || StringRef(name).starts_with("hewn_") ? name + "_" : name;
}

std::string modelName(StringRef text) {
  // The model is a global symbol. If it had the name of a libc function, it would replace that
  // function in programs that link the model. `std` is a namespace in C++.
  static const llvm::StringSet<> library = {
      "abort",    "abs",         "accept",   "access",  "acos",     "acosh",    "alarm",   "asin",      "asinh",
      "atan",     "atan2",       "atanh",    "atexit",  "atof",     "atoi",     "atol",    "bcmp",      "bind",
      "bsearch",  "bzero",       "calloc",   "cbrt",    "ceil",     "chdir",    "chmod",   "chown",     "clock",
      "clone",    "close",       "connect",  "copy",    "copysign", "cos",      "cosh",    "creat",     "daemon",
      "difftime", "div",         "drem",     "dup",     "encrypt",  "environ",  "erf",     "erfc",      "err",
      "error",    "exit",        "exp",      "exp10",   "exp2",     "expm1",    "fabs",    "fcntl",     "fdim",
      "ffs",      "finite",      "floor",    "fma",     "fmax",     "fmin",     "fmod",    "fork",      "fpclassify",
      "free",     "frexp",       "fstat",    "gamma",   "gets",     "glob",     "hypot",   "ilogb",     "index",
      "ioctl",    "isatty",      "j0",       "j1",      "jn",       "kill",     "labs",    "ldexp",     "lgamma",
      "link",     "listen",      "log",      "log10",   "log1p",    "log2",     "logb",    "lrint",     "lround",
      "lseek",    "main",        "malloc",   "memchr",  "memcmp",   "memcpy",   "memmove", "memset",    "mkdir",
      "mktime",   "mmap",        "modf",     "mount",   "mprotect", "munmap",   "nan",     "nearbyint", "nextafter",
      "nice",     "open",        "optarg",   "optind",  "pause",    "perror",   "pipe",    "poll",      "pow",
      "printf",   "putenv",      "puts",     "qsort",   "raise",    "rand",     "random",  "read",      "readlink",
      "realloc",  "recv",        "remove",   "remquo",  "rename",   "rewind",   "rindex",  "rint",      "rmdir",
      "round",    "scalb",       "scalbn",   "scanf",   "select",   "send",     "setenv",  "shutdown",  "sigaction",
      "signal",   "significand", "sin",      "sincos",  "sinh",     "sleep",    "socket",  "splice",    "sqrt",
      "srand",    "srandom",     "stat",     "std",     "step",     "stime",    "strcat",  "strchr",    "strcmp",
      "strcpy",   "strdup",      "strlen",   "strstr",  "strtod",   "strtol",   "swab",    "symlink",   "sync",
      "syscall",  "sysinfo",     "syslog",   "system",  "tan",      "tanh",     "tee",     "tgamma",    "time",
      "times",    "timezone",    "tolower",  "toupper", "trunc",    "truncate", "tsearch", "umask",     "uname",
      "ungetc",   "unlink",      "unsetenv", "usleep",  "utime",    "vfork",    "wait",    "waitpid",   "warn",
      "write",    "y0",          "y1",       "yn"};
  std::string name = cName(text);
  return library.contains(name) || StringRef(name).starts_with("hewn") ? name + "_model" : name;
}

} // namespace hewn::codegen
