// SPDX-License-Identifier: Apache-2.0
#include "test/Triton/MockServer.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <new>

std::string MockServer::failing;
int MockServer::failingAfter = 0;
uint32_t MockServer::apiMinor = 13;
std::vector<std::string> MockServer::warnings;
thread_local int MockServer::allocationsLeft = -1;

#if HEWN_TEST_HAS_OWN_NEW // replaces operator new of the whole program, including the backend
void *operator new(size_t bytes) {
  if (MockServer::allocationsLeft >= 0 && MockServer::allocationsLeft-- == 0)
    throw std::bad_alloc();
  if (void *memory = std::malloc(bytes ? bytes : 1))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
#endif

namespace {

std::mutex lock; // instances report and log from their own threads

/// An object of this class suspends simulated allocation failures while the mock server itself
/// allocates.
struct Own {
  Own() { MockServer::allocationsLeft = -1; }
  Own(const Own &) = delete;
  ~Own() { MockServer::allocationsLeft = before; }
  int before = MockServer::allocationsLeft;
};

void must(bool holds, const char *what) {
  if (holds)
    return;
  std::fprintf(stderr, "the backend breaks the API: %s\n", what);
  std::abort();
}

TRITONSERVER_Error *failHere(const char *function) {
  std::lock_guard<std::mutex> guard(lock);
  if (MockServer::failing != function || MockServer::failingAfter-- > 0)
    return nullptr;
  MockServer::failing.clear();
  return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, "the server can't");
}

std::string text(TRITONSERVER_Error *error) {
  if (!error)
    return "";
  std::string told = std::to_string(error->code) + ": " + error->message;
  TRITONSERVER_ErrorDelete(error);
  return told;
}

template <typename Out>
TRITONSERVER_Error *giveRoom(Out &output, void **buffer, uint64_t bytes, size_t shift, TRITONSERVER_MemoryType memoryIs,
                             TRITONSERVER_MemoryType *memory, int64_t *id) {
  *memory = memoryIs;
  *id = 0;
  *buffer = output.place;
  if (output.place)
    return nullptr;
  must(!output.bytes, "an output has two buffers");
  output.bytes = std::make_unique<Bytes>(bytes, shift);
  std::memset(output.bytes->start, 0xA5, bytes);
  *buffer = bytes ? output.bytes->start : nullptr;
  return nullptr;
}

/// The request that each output belongs to. Outputs are stored in maps inside of requests.
std::map<TRITONBACKEND_Output *, TRITONBACKEND_Request *> ownerOfOutput;

} // namespace

void TRITONBACKEND_Request::rawInput(const std::string &name, TRITONSERVER_DataType type, std::vector<int64_t> shape,
                                     const void *from, size_t bytes, size_t shift) {
  TRITONBACKEND_Input made{type, std::move(shape), {}};
  if (bytes) {
    made.parts.emplace_back(bytes, shift);
    std::memcpy(made.parts.back().start, from, bytes);
  }
  inputs.erase(name);
  inputs.emplace(name, std::move(made));
}

MockServer::MockServer(const std::string &path) : library(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (!library)
    std::fprintf(stderr, "%s\n", dlerror());
  must(library, "it is no library");
}

template <typename F> F *MockServer::find(const char *name) {
  auto *found = reinterpret_cast<F *>(dlsym(library, name));
  must(found, name);
  return found;
}

std::string MockServer::initialize() {
  return text(find<decltype(TRITONBACKEND_Initialize)>("TRITONBACKEND_Initialize")(&backend));
}
std::string MockServer::load(TRITONBACKEND_Model &model) {
  model.backend = &backend;
  return text(find<decltype(TRITONBACKEND_ModelInitialize)>("TRITONBACKEND_ModelInitialize")(&model));
}
void MockServer::unload(TRITONBACKEND_Model &model) {
  must(text(find<decltype(TRITONBACKEND_ModelFinalize)>("TRITONBACKEND_ModelFinalize")(&model)).empty(), "unload");
}
std::string MockServer::start(TRITONBACKEND_ModelInstance &instance, TRITONBACKEND_Model &model) {
  instance.model = &model;
  return text(
      find<decltype(TRITONBACKEND_ModelInstanceInitialize)>("TRITONBACKEND_ModelInstanceInitialize")(&instance));
}
void MockServer::stop(TRITONBACKEND_ModelInstance &instance) {
  auto *finalize = find<decltype(TRITONBACKEND_ModelInstanceFinalize)>("TRITONBACKEND_ModelInstanceFinalize");
  must(text(finalize(&instance)).empty(), "stop");
}
std::string MockServer::execute(TRITONBACKEND_ModelInstance &instance, std::vector<TRITONBACKEND_Request *> requests,
                                int allocations, bool *isEnough) {
  auto *run = find<decltype(TRITONBACKEND_ModelInstanceExecute)>("TRITONBACKEND_ModelInstanceExecute");
  allocationsLeft = allocations;
  TRITONSERVER_Error *error = run(&instance, requests.data(), uint32_t(requests.size()));
  if (isEnough)
    *isEnough = allocationsLeft >= 0;
  allocationsLeft = -1;
  std::string told = text(error);
  for (TRITONBACKEND_Request *request : requests) {
    must(request->released == (told.empty() ? 1 : 0), "a request is released once, or is the server's again");
    must(request->sent == (told.empty() ? 1 : 0) && request->responses == 0,
         "a request has one response, which is sent");
  }
  return told;
}

extern "C" {

TRITONSERVER_Error *TRITONSERVER_ErrorNew(TRITONSERVER_Error_Code code, const char *message) {
  Own own;
  return new TRITONSERVER_Error{code, message};
}
void TRITONSERVER_ErrorDelete(TRITONSERVER_Error *error) { delete error; }
const char *TRITONSERVER_ErrorMessage(TRITONSERVER_Error *error) { return error->message.c_str(); }
TRITONSERVER_Error *TRITONSERVER_LogMessage(TRITONSERVER_LogLevel, const char *, int, const char *message) {
  Own own;
  std::lock_guard<std::mutex> guard(lock);
  MockServer::warnings.emplace_back(message);
  return nullptr;
}
TRITONSERVER_Error *TRITONSERVER_MessageSerializeToJson(TRITONSERVER_Message *message, const char **base,
                                                        size_t *bytes) {
  *base = message->json.data();
  *bytes = message->json.size();
  return nullptr;
}
TRITONSERVER_Error *TRITONSERVER_MessageDelete(TRITONSERVER_Message *message) {
  delete message;
  return nullptr;
}
const char *TRITONSERVER_DataTypeString(TRITONSERVER_DataType type) {
  static const char *const names[] = {"<invalid>", "BOOL",  "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16",
                                      "INT32",     "INT64", "FP16",  "FP32",   "FP64",   "BYTES",  "BF16"};
  return names[type];
}

TRITONSERVER_Error *TRITONBACKEND_ApiVersion(uint32_t *major, uint32_t *minor) {
  *major = 1;
  *minor = MockServer::apiMinor;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_BackendConfig(TRITONBACKEND_Backend *backend, TRITONSERVER_Message **config) {
  *config = &backend->config;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ModelBackend(TRITONBACKEND_Model *model, TRITONBACKEND_Backend **backend) {
  *backend = model->backend;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ModelName(TRITONBACKEND_Model *model, const char **name) {
  *name = model->name.c_str();
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ModelVersion(TRITONBACKEND_Model *, uint64_t *version) {
  *version = 1;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ModelRepository(TRITONBACKEND_Model *model, TRITONBACKEND_ArtifactType *type,
                                                  const char **location) {
  *type = TRITONBACKEND_ARTIFACT_FILESYSTEM;
  *location = model->location.c_str();
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ModelConfig(TRITONBACKEND_Model *model, uint32_t version,
                                              TRITONSERVER_Message **config) {
  must(version == 1, "there is one version of configs");
  *config = new TRITONSERVER_Message{model->config};
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ModelState(TRITONBACKEND_Model *model, void **state) {
  *state = model->state;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ModelSetState(TRITONBACKEND_Model *model, void *state) {
  if (TRITONSERVER_Error *error = failHere("ModelSetState"))
    return error;
  model->state = state;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceKind(TRITONBACKEND_ModelInstance *,
                                                    TRITONSERVER_InstanceGroupKind *kind) {
  *kind = TRITONSERVER_INSTANCEGROUPKIND_CPU;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceDeviceId(TRITONBACKEND_ModelInstance *, int32_t *device) {
  *device = 0;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceModel(TRITONBACKEND_ModelInstance *instance,
                                                     TRITONBACKEND_Model **model) {
  *model = instance->model;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceState(TRITONBACKEND_ModelInstance *instance, void **state) {
  *state = instance->state;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceSetState(TRITONBACKEND_ModelInstance *instance, void *state) {
  if (TRITONSERVER_Error *error = failHere("ModelInstanceSetState"))
    return error;
  instance->state = state;
  return nullptr;
}

TRITONSERVER_Error *TRITONBACKEND_RequestInput(TRITONBACKEND_Request *request, const char *name,
                                               TRITONBACKEND_Input **input) {
  Own own;
  auto found = request->inputs.find(name);
  if (found == request->inputs.end())
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG,
                                 ("unknown request input name " + std::string(name)).c_str());
  *input = &found->second;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_RequestOutputCount(TRITONBACKEND_Request *request, uint32_t *count) {
  *count = uint32_t(request->wanted.size());
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_RequestOutputName(TRITONBACKEND_Request *request, uint32_t index, const char **name) {
  *name = request->wanted[index].c_str();
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_RequestRelease(TRITONBACKEND_Request *request, uint32_t flags) {
  must(flags == TRITONSERVER_REQUEST_RELEASE_ALL && request->sent == 1, "a request is released before it is answered");
  ++request->released;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_InputProperties(TRITONBACKEND_Input *input, const char **,
                                                  TRITONSERVER_DataType *type, const int64_t **shape, uint32_t *rank,
                                                  uint64_t *bytes, uint32_t *buffers) {
  *type = input->type;
  *shape = input->shape.data();
  *rank = uint32_t(input->shape.size());
  *bytes = 0;
  for (const Bytes &part : input->parts)
    *bytes += part.size;
  *buffers = uint32_t(input->parts.size());
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_InputBuffer(TRITONBACKEND_Input *input, uint32_t index, const void **buffer,
                                              uint64_t *bytes, TRITONSERVER_MemoryType *memory, int64_t *id) {
  Own own;
  if (TRITONSERVER_Error *error = failHere("InputBuffer"))
    return error;
  *buffer = input->parts[index].start;
  *bytes = input->parts[index].size;
  *memory = input->memory;
  *id = 0;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ResponseNew(TRITONBACKEND_Response **response, TRITONBACKEND_Request *request) {
  Own own;
  if (TRITONSERVER_Error *error = failHere("ResponseNew"))
    return error;
  ++request->responses;
  *response = new TRITONBACKEND_Response{request};
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ResponseDelete(TRITONBACKEND_Response *response) {
  --response->request->responses;
  delete response;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ResponseOutput(TRITONBACKEND_Response *response, TRITONBACKEND_Output **output,
                                                 const char *name, TRITONSERVER_DataType type, const int64_t *shape,
                                                 uint32_t rank) {
  Own own;
  auto [made, isNew] = response->request->outputs.try_emplace(name);
  must(isNew, "a response has an output twice");
  made->second.type = type;
  made->second.shape.assign(shape, shape + rank);
  if (auto place = response->request->places.find(name); place != response->request->places.end())
    made->second.place = place->second;
  std::lock_guard<std::mutex> guard(lock);
  ownerOfOutput[&made->second] = response->request;
  *output = &made->second;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_OutputBuffer(TRITONBACKEND_Output *output, void **buffer, uint64_t bytes,
                                               TRITONSERVER_MemoryType *memory, int64_t *id) {
  Own own;
  if (TRITONSERVER_Error *error = failHere("OutputBuffer"))
    return error;
  TRITONBACKEND_Request *owner;
  {
    std::lock_guard<std::mutex> guard(lock);
    owner = ownerOfOutput.at(output);
  }
  return giveRoom(*output, buffer, bytes, owner->outputShift, owner->outputMemory, memory, id);
}
TRITONSERVER_Error *TRITONBACKEND_ResponseSend(TRITONBACKEND_Response *response, uint32_t flags,
                                               TRITONSERVER_Error *error) {
  Own own;
  must(flags == TRITONSERVER_RESPONSE_COMPLETE_FINAL, "a response is final");
  TRITONBACKEND_Request *request = response->request;
  ++request->sent;
  if (error) {
    request->hasError = true;
    request->code = error->code;
    request->message = error->message;
  }
  return TRITONBACKEND_ResponseDelete(response);
}
TRITONSERVER_Error *TRITONBACKEND_StateNew(TRITONBACKEND_State **state, TRITONBACKEND_Request *request,
                                           const char *name, TRITONSERVER_DataType type, const int64_t *shape,
                                           uint32_t rank) {
  Own own;
  auto [made, isNew] = request->states.try_emplace(name);
  must(isNew, "a request has a state twice");
  made->second.type = type;
  made->second.shape.assign(shape, shape + rank);
  *state = &made->second;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_StateBuffer(TRITONBACKEND_State *state, void **buffer, uint64_t bytes,
                                              TRITONSERVER_MemoryType *memory, int64_t *id) {
  Own own;
  return giveRoom(*state, buffer, bytes, 0, TRITONSERVER_MEMORY_CPU, memory, id);
}
TRITONSERVER_Error *TRITONBACKEND_StateUpdate(TRITONBACKEND_State *state) {
  state->isKept = true;
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceReportStatistics(TRITONBACKEND_ModelInstance *,
                                                                TRITONBACKEND_Request *request, bool success,
                                                                uint64_t begin, uint64_t computeBegin,
                                                                uint64_t computeEnd, uint64_t end) {
  Own own;
  must(begin <= computeBegin && computeBegin <= computeEnd && computeEnd <= end, "times go back");
  request->reported.push_back(success);
  return nullptr;
}
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceReportBatchStatistics(TRITONBACKEND_ModelInstance *instance,
                                                                     uint64_t batch, uint64_t, uint64_t, uint64_t,
                                                                     uint64_t) {
  Own own;
  instance->runs.push_back(batch);
  return nullptr;
}
}
