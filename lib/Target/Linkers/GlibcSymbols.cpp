// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/Linkers/GlibcSymbols.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;

namespace hewn::target {

/// The functions of C99's math.h.
static constexpr GlibcVersion mathVersions[] = {
    {"GLIBC_2.2.5",
     "acos acosf acosh acoshf asin asinf asinh asinhf atan atanf atan2 atan2f atanh atanhf cbrt cbrtf ceil ceilf "
     "copysign copysignf cos cosf cosh coshf erf erff erfc erfcf exp expf exp2 exp2f expm1 expm1f fabs fabsf fdim "
     "fdimf "
     "floor floorf fma fmaf fmax fmaxf fmin fminf fmod fmodf frexp frexpf hypot hypotf ilogb ilogbf ldexp ldexpf "
     "lgamma lgammaf llrint llrintf llround llroundf log logf log10 log10f log1p log1pf log2 log2f logb logbf "
     "lrint lrintf lround lroundf modf modff nan nanf nearbyint nearbyintf nextafter nextafterf pow powf "
     "remainder remainderf remquo remquof rint rintf round roundf scalbln scalblnf scalbn scalbnf sin sinf sinh sinhf "
     "sqrt sqrtf tan tanf tanh tanhf tgamma tgammaf trunc truncf"},
};

/// The functions of libc that the runtime, its third-party libraries and generated code call, and
/// those that custom ops often call.
static constexpr GlibcVersion libcVersions[] = {
    {"GLIBC_2.2.5",
     "__assert_fail __errno_location _setjmp abort bcmp bsearch calloc close closedir exit fclose fcntl feof ferror "
     "fflush fgets fopen fprintf fputc fputs fread free fseek fseeko ftell ftello fwrite getenv geteuid getpid gmtime "
     "gmtime_r longjmp lseek madvise malloc memchr memcmp memmove memset mkdir mmap mprotect munmap nanosleep open "
     "opendir posix_fadvise posix_fallocate posix_madvise posix_memalign pread printf pthread_attr_destroy "
     "pthread_attr_init pthread_attr_setdetachstate pthread_self putchar puts pwrite qsort rand read readdir realloc "
     "remove rename sched_yield sigfillset snprintf sprintf srand sscanf strcasecmp strcat strchr strcmp strcpy "
     "strcspn "
     "strdup strerror strlen strncasecmp strncat strncmp strncpy strpbrk strrchr strspn strstr strtod strtof strtol "
     "strtoll strtoul strtoull syscall sysconf time tolower toupper unlink vfprintf vsnprintf write"},
    {"GLIBC_2.3", "__ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc freelocale newlocale realpath uselocale"},
    {"GLIBC_2.3.4", "__fprintf_chk __memcpy_chk __memmove_chk __memset_chk __printf_chk __snprintf_chk __sprintf_chk "
                    "__strcat_chk __strcpy_chk __strncpy_chk __vfprintf_chk __vsnprintf_chk sched_getaffinity "
                    "sched_setaffinity"},
    {"GLIBC_2.4", "__stack_chk_fail"},
    {"GLIBC_2.6", "__sched_cpucount futimens"},
    {"GLIBC_2.7", "__isoc99_sscanf"},
    {"GLIBC_2.11", "__longjmp_chk"},
    {"GLIBC_2.14", "memcpy"},
    {"GLIBC_2.16", "aligned_alloc getauxval"},
    {"GLIBC_2.17", "clock_gettime"},
};

static constexpr GlibcVersion threadVersions[] = {
    {"GLIBC_2.2.5",
     "pthread_attr_getstacksize pthread_attr_setstacksize pthread_create pthread_detach pthread_getspecific "
     "pthread_join "
     "pthread_key_create pthread_key_delete pthread_mutex_destroy pthread_mutex_init pthread_mutex_lock "
     "pthread_mutex_trylock pthread_mutex_unlock pthread_once pthread_setspecific pthread_sigmask sem_destroy sem_init "
     "sem_post sem_wait"},
    {"GLIBC_2.3.2", "pthread_cond_broadcast pthread_cond_destroy pthread_cond_init pthread_cond_signal "
                    "pthread_cond_timedwait pthread_cond_wait"},
    {"GLIBC_2.3.4", "pthread_setaffinity_np"},
};

static constexpr GlibcVersion loaderVersions[] = {
    {"GLIBC_2.2.5", "dladdr dlclose dlerror dlopen dlsym"},
};

static constexpr GlibcVersion realtimeVersions[] = {
    {"GLIBC_2.2.5", "shm_open shm_unlink"},
};

ArrayRef<GlibcLibrary> glibcLibraries() {
  static constexpr GlibcLibrary libraries[] = {
      {"libm.so.6", true, mathVersions},          {"libc.so.6", true, libcVersions},
      {"libpthread.so.0", false, threadVersions}, {"libdl.so.2", false, loaderVersions},
      {"librt.so.1", false, realtimeVersions},
  };
  return libraries;
}

bool isInGlibc(StringRef function) {
  static const StringSet<> all = [] {
    StringSet<> names;
    for (const GlibcLibrary &library : glibcLibraries())
      for (const GlibcVersion &version : library.versions)
        for (StringRef name : split(version.functions, ' '))
          names.insert(name);
    return names;
  }();
  return all.contains(function);
}

std::string glibcVersionScript(const GlibcLibrary &library, StringRef oldest) {
  std::string script;
  for (const GlibcVersion &version : library.versions) {
    std::string functions = join(split(version.functions, ' '), "; ");
    script += oldest.empty() ? version.version.str() + " { global: " + functions + "; };\n" : functions + "; ";
  }
  return oldest.empty() ? script : oldest.str() + " { global: " + script + "};\n";
}

} // namespace hewn::target
