// SPDX-License-Identifier: Apache-2.0
//
// The functions that the server calls. They throw no exceptions and use no global state.
#include "integrations/triton/Instance.h"

#include <malloc.h>

using namespace hewn::triton;

namespace {

template <typename Body> TRITONSERVER_Error *guarded(Body body) { return orThrown(body).release(); }

template <typename State, typename Handle>
Error stateOf(TRITONSERVER_Error *(*ask)(Handle *, void **), Handle *handle, State *&state) {
  void *found = nullptr;
  if (Error error{ask(handle, &found)})
    return error;
  state = static_cast<State *>(found);
  return nullptr;
}

/// Creates a Request with a response for each handle. If a response cannot be created, deletes the
/// others and returns an error; the server then keeps ownership of all requests.
Error makeResponses(std::span<TRITONBACKEND_Request *const> handles, std::vector<Request> &requests) {
  requests.reserve(handles.size()); // emplace_back must not throw after a response was created
  for (TRITONBACKEND_Request *handle : handles) {
    TRITONBACKEND_Response *response = nullptr;
    if (Error error{TRITONBACKEND_ResponseNew(&response, handle)}) {
      for (Request &made : requests)
        made.leave();
      return error;
    }
    requests.emplace_back(handle, response);
  }
  return nullptr;
}

} // namespace

extern "C" {

TRITONSERVER_Error *TRITONBACKEND_Initialize(TRITONBACKEND_Backend *) {
  return guarded([]() -> Error {
    uint32_t major = 0, minor = 0;
    if (Error error{TRITONBACKEND_ApiVersion(&major, &minor)})
      return error;
    if (major != kTritonApiMajor || minor < kTritonApiMinor)
      return makeError(TRITONSERVER_ERROR_UNSUPPORTED,
                       "the backend API of the server is " + std::to_string(major) + "." + std::to_string(minor) +
                           ", but the hewn backend requires " + std::to_string(kTritonApiMajor) + "." +
                           std::to_string(kTritonApiMinor) + " or a later minor version");
    return nullptr;
  });
}

TRITONSERVER_Error *TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model *model) {
  return guarded([&]() -> Error {
    std::unique_ptr<Model> loaded;
    if (Error error = Model::load(model, loaded))
      return error;
    Error error(TRITONBACKEND_ModelSetState(model, loaded.get()));
    if (!error)
      loaded.release(); // Triton holds the model from here on, and ModelFinalize deletes it
    return error;
  });
}

TRITONSERVER_Error *TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model *model) {
  return guarded([&]() -> Error {
    Model *loaded = nullptr;
    if (Error error = stateOf(TRITONBACKEND_ModelState, model, loaded))
      return error;
    delete loaded;
#ifdef __GLIBC__
    malloc_trim(0); // returns freed memory to the operating system
#endif
    return nullptr;
  });
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance *instance) {
  return guarded([&]() -> Error {
    TRITONBACKEND_Model *model = nullptr;
    Model *loaded = nullptr;
    if (Error error{TRITONBACKEND_ModelInstanceModel(instance, &model)})
      return error;
    if (Error error = stateOf(TRITONBACKEND_ModelState, model, loaded))
      return error;
    std::unique_ptr<Instance> created;
    if (Error error = Instance::create(instance, *loaded, created))
      return error;
    Error error(TRITONBACKEND_ModelInstanceSetState(instance, created.get()));
    if (!error)
      // Triton holds the instance from here on, and ModelInstanceFinalize deletes it.
      created.release();
    return error;
  });
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance *instance) {
  return guarded([&]() -> Error {
    Instance *created = nullptr;
    Error error = stateOf(TRITONBACKEND_ModelInstanceState, instance, created);
    if (!error)
      delete created;
    return error;
  });
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance *instance,
                                                       TRITONBACKEND_Request **requests, uint32_t count) {
  Instance *created = nullptr;
  std::vector<Request> all;
  Error error = orThrown([&]() -> Error {
    Error none = stateOf(TRITONBACKEND_ModelInstanceState, instance, created);
    return none ? std::move(none) : makeResponses({requests, count}, all);
  });
  if (error)
    return error.release();
  // Errors are only logged: `execute` releases the requests, and Triton would use them again if
  // this function returned an error.
  logIfError(guarded([&]() -> Error {
    created->execute(all);
    return nullptr;
  }));
  return nullptr;
}
}
