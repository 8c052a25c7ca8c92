// SPDX-License-Identifier: Apache-2.0
// Loads the driver. Functions are looked up with cuGetProcAddress and one fixed version, which also
// selects among versions of a function.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "devices/cuda/driver.h"

#include <dlfcn.h>
#include <string.h>

#define ABI_VERSION 12000

typedef cuda_result get_proc_address(const char *name, void **function, int version, uint64_t flags, int *found);

static int32_t unavailable(hewn_context *context, const char *why, const char *more) {
  hewn_text text;
  if (!hewn_message_open(context, &text))
    return HEWN_UNSUPPORTED;
  hewn_text_put(&text, "model ");
  hewn_text_name(&text, context->model->name);
  hewn_text_put(&text, " was compiled for ");
  hewn_text_put(&text, context->model->target ? context->model->target : "a GPU");
  hewn_text_put(&text, ", and ");
  hewn_text_put(&text, why);
  hewn_text_put(&text, more);
  return hewn_text_close(context, HEWN_UNSUPPORTED, &text);
}

static int32_t load(hewn_context *context, hewn_cuda_driver *driver) {
  // RTLD_NODELETE: the driver has threads and destructors, so it is never unloaded.
  driver->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!driver->library) {
    const char *why = dlerror();
    return unavailable(context, "there is no NVIDIA driver: ", why ? why : "libcuda.so.1 can't be opened");
  }
  get_proc_address *get = NULL;
  void *symbol = dlsym(driver->library, "cuGetProcAddress_v2");
  if (!symbol)
    return unavailable(context, "the NVIDIA driver is too old: it must support CUDA 12.0", "");
  // C does not allow a cast from an object pointer to a function pointer.
  memcpy(&get, &symbol, sizeof(get));
  struct entry {
    const char *name;
    size_t offset;
  };
#define ENTRY(name, arguments) {#name, offsetof(hewn_cuda_driver, name)},
  const struct entry entries[] = {HEWN_CUDA_FUNCTIONS(ENTRY)};
#undef ENTRY
  for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); ++i) {
    void *function = NULL;
    int found = 0;
    cuda_result result = get(entries[i].name, &function, ABI_VERSION, 0, &found);
    if (result == CUDA_STUB_LIBRARY)
      return unavailable(context, "libcuda.so.1 is the toolkit's stub: no NVIDIA driver is installed", "");
    if (result != CUDA_SUCCESS || !function)
      return unavailable(context, "the NVIDIA driver lacks ", entries[i].name);
    memcpy((unsigned char *)driver + entries[i].offset, &function, sizeof(function));
  }
  return HEWN_OK;
}

int32_t hewn_cuda_open(hewn_context *context, hewn_cuda_driver *driver) {
  memset(driver, 0, sizeof(*driver));
  int32_t code = load(context, driver);
  if (code != HEWN_OK)
    return code;
  cuda_result result = driver->cuInit(0);
  int count = 0;
  if (result == CUDA_STUB_LIBRARY)
    return unavailable(context, "libcuda.so.1 is the toolkit's stub: no NVIDIA driver is installed", "");
  if (result == CUDA_NO_DEVICE ||
      (result == CUDA_SUCCESS && driver->cuDeviceGetCount(&count) == CUDA_SUCCESS && count == 0))
    return unavailable(context, "the NVIDIA driver finds no device", "");
  if ((code = hewn_cuda_check(context, driver, result, "initializing the driver")) != HEWN_OK)
    return code;
  return hewn_cuda_check(context, driver, driver->cuDriverGetVersion(&driver->version),
                         "querying the driver's version");
}

void hewn_cuda_close(hewn_cuda_driver *driver) {
  if (driver->library)
    dlclose(driver->library);
  driver->library = NULL;
}

int32_t hewn_cuda_check(hewn_context *context, const hewn_cuda_driver *driver, cuda_result result, const char *what) {
  hewn_text text;
  if (result == CUDA_SUCCESS)
    return HEWN_OK;
  int32_t code = result == CUDA_OUT_OF_MEMORY ? HEWN_OUT_OF_MEMORY : HEWN_UNSUPPORTED;
  if (!hewn_message_open(context, &text))
    return code;
  const char *said = NULL;
  if (!driver->cuGetErrorString || driver->cuGetErrorString(result, &said) != CUDA_SUCCESS || !said)
    said = "unknown error";
  hewn_text_put(&text, "the GPU failed at ");
  hewn_text_put(&text, what);
  hewn_text_put(&text, ": ");
  hewn_text_put(&text, said);
  hewn_text_put(&text, " (CUDA error ");
  hewn_text_int(&text, result);
  hewn_text_put(&text, ")");
  return hewn_text_close(context, code, &text);
}
