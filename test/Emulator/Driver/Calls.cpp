// SPDX-License-Identifier: Apache-2.0
//
// Functions of the emulator that compiled kernels call.
#include "test/Emulator/Driver/Run.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace emulator {

namespace {

void land(const Copy &copy) {
  if (copy.present) // a copy of 0 bytes, whose source address may be invalid, has no data
    std::memcpy(copy.to, copy.from, size_t(copy.present));
  std::memset(copy.to + copy.present, 0, size_t(copy.bytes - copy.present));
}

/// Returns the structure that holds this thread's operands of its next warp-synchronous
/// instruction.
Meeting &meetAt(Meeting::Kind kind) {
  Meeting &meeting = run.fibers[run.current].meeting;
  meeting.kind = kind;
  // The return address of this call is not known here. Some callers set it afterwards.
  run.fibers[run.current].place = nullptr;
  return meeting;
}

} // namespace

void gpuMisaligned(int32_t alignment) {
  note("misaligned memory access: the address is not a multiple of " + std::to_string(alignment) + " bytes");
}

void gpuAccess(int64_t at, int64_t bytes, int32_t writes) {
  if (run.races)
    note(run.races->access(*run.order, run.current, uint64_t(at), uint64_t(bytes), writes != 0));
}

void gpuStore(int64_t at, int64_t bytes, uint64_t value) {
  if (run.races)
    note(run.races->access(*run.order, run.current, uint64_t(at), uint64_t(bytes), true, &value));
}

int32_t gpuThread() { return int32_t(run.current); }
int32_t gpuBlock() { return int32_t(run.block); }
int32_t gpuBlocks() { return int32_t(run.blocks); }
static void waitAtBarrier(int32_t number, int32_t threads, const void *place) {
  run.fibers[run.current].place = place;
  run.fibers[run.current].barrier = number;
  run.fibers[run.current].comers = threads;
  leave(State::AtBarrier);
}
void gridBarrierSome(int32_t number, int32_t threads) { waitAtBarrier(number, threads, __builtin_return_address(0)); }
void gridBarrier(int32_t number) { waitAtBarrier(number, int32_t(run.threads), __builtin_return_address(0)); }

int32_t gpuCounterRelease(int64_t at, int32_t more) {
  if (run.races)
    run.races->release(*run.order, run.current, uint64_t(at));
  auto *counter = reinterpret_cast<uint32_t *>(at);
  uint32_t before = *counter;
  *counter += uint32_t(more);
  ++run.changes;
  run.paused = true; // suspends the block here, so that other blocks run before the rest of it
  leave(State::Ready);
  return int32_t(before);
}

int32_t gpuCounterAdd(int64_t at, int32_t more) {
  if (run.races)
    run.races->acquire(*run.order, run.current, uint64_t(at));
  return gpuCounterRelease(at, more);
}

int32_t gpuCounterRead(int64_t at) {
  if (!run.together)
    run.problem = "a block waits for other blocks in a launch that is not cooperative";
  leave(State::AtCounter);
  if (run.races)
    run.races->acquire(*run.order, run.current, uint64_t(at));
  return *reinterpret_cast<const int32_t *>(at);
}

/// The relaxed read of a counter does not synchronize the thread with other blocks.
int32_t gpuCounterPeek(int64_t at) {
  leave(State::Ready);
  return *reinterpret_cast<const int32_t *>(at);
}

float gpuExp2(float x) {
  float power = std::exp2(x), least = std::numeric_limits<float>::min();
  return power < least ? 0 : power;
}

int32_t gpuShuffle(int32_t, int32_t value, int32_t laneXor, int32_t) {
  Meeting &meeting = meetAt(Meeting::Kind::Shuffle);
  run.fibers[run.current].place = __builtin_return_address(0);
  meeting.value = value;
  meeting.laneXor = laneXor;
  leave(State::AtMeeting);
  return meeting.value;
}

void gpuProduct(int32_t bits, const int32_t *factors, void *sums) {
  using Kind = Meeting::Kind;
  Kind kind = bits == 32 ? Kind::Product : bits == 16 ? Kind::ProductF16 : Kind::ProductBF16;
  Meeting &meeting = meetAt(bits >= kProductOfBytes ? Kind::ProductBytes : kind);
  meeting.isSigned = bits - kProductOfBytes;
  meeting.factors = factors;
  meeting.sums = sums;
  leave(State::AtMeeting);
}

void gpuLdmatrix(int64_t from, int32_t turned, int32_t *words) {
  Meeting &meeting = meetAt(turned ? Meeting::Kind::LinesTurned : Meeting::Kind::Lines);
  meeting.line = reinterpret_cast<const char *>(from);
  meeting.words = words;
  leave(State::AtMeeting);
}

void gpuCopy(int64_t to, int64_t from, int32_t present, int32_t bytes) {
  if (to % bytes != 0 || (present && from % bytes != 0) || present < 0 || present > bytes)
    run.problem = "a copy of " + std::to_string(bytes) + " bytes is misaligned";
  Fiber &fiber = run.fibers[run.current];
  Copy copy{reinterpret_cast<char *>(to), reinterpret_cast<const char *>(from), bytes, present, fiber.groups};
  if (run.races)
    note(run.races->copy(*run.order, run.current, uint64_t(to), uint64_t(from), uint64_t(bytes), uint64_t(present),
                         fiber.groups));
  if (isEarly())
    land(copy); // the copy completes here, but the kernel still has to wait for it
  else
    fiber.copies.push_back(copy);
}

/// Reads the prefetched address. A device ignores a prefetch of unmapped memory. Here such a
/// prefetch ends the process, because it is useless.
void gpuPrefetch(int64_t at) { (void)*reinterpret_cast<const volatile char *>(at); }

void gpuCopiesClose() { ++run.fibers[run.current].groups; }

void gpuGroupPublish() {
  run.fibers[run.current].published = true;
  if (run.races)
    run.order->order.show(run.current);
}

static GroupStep &groupStep(GroupStep::Kind kind) {
  GroupStep &step = meetAt(Meeting::Kind::Group).group;
  step = GroupStep();
  step.kind = kind;
  return step;
}

void gpuWarpBarrier(int32_t) {
  meetAt(Meeting::Kind::None);
  run.fibers[run.current].place = __builtin_return_address(0);
  leave(State::AtMeeting);
}

void gpuGroupBegin() {
  groupStep(GroupStep::Kind::Begin);
  leave(State::AtMeeting);
}

void gpuGroupClose() {
  groupStep(GroupStep::Kind::Close);
  leave(State::AtMeeting);
}

void gpuGroupProduct(int64_t left, int64_t right, int64_t leftForm, int64_t rightForm, int32_t form, int32_t columns,
                     float *sums) {
  GroupStep &step = groupStep(GroupStep::Kind::Product);
  int32_t bits = form & 16 ? 8 : form & 8 ? 32 : form & 1 ? -16 : 16;
  step.matrices = {bits, (form & 2) != 0, (form & 4) != 0, false, left, right, leftForm, rightForm};
  step.matrices.leftSigned = (form & 32) != 0;
  step.matrices.rightSigned = (form & 64) != 0;
  step.columns = columns;
  step.sums = sums;
  leave(State::AtMeeting);
}

void gpuGroupProductWords(int32_t word0, int32_t word1, int32_t word2, int32_t word3, int64_t right, int64_t rightForm,
                          int32_t form, int32_t columns, float *sums) {
  GroupStep &step = groupStep(GroupStep::Kind::Product);
  step.matrices = {form & 8 ? 32 : form & 1 ? -16 : 16, false, (form & 4) != 0, true, 0, right, 0, rightForm};
  int32_t words[] = {word0, word1, word2, word3};
  std::memcpy(step.words, words, sizeof(words));
  step.columns = columns;
  step.sums = sums;
  leave(State::AtMeeting);
}

void gpuGroupWait(int32_t open, int32_t columns, float *sums) {
  GroupStep &step = groupStep(GroupStep::Kind::Wait);
  step.open = open;
  step.columns = columns;
  step.sums = sums;
  leave(State::AtMeeting);
}

void gpuCopiesWait(int32_t open) {
  Fiber &fiber = run.fibers[run.current];
  std::vector<Copy> rest;
  for (const Copy &copy : fiber.copies)
    if (copy.group < fiber.groups - open) {
      land(copy);
      fiber.published = false;
    } else {
      rest.push_back(copy);
    }
  fiber.copies = std::move(rest);
  if (run.races)
    note(run.races->copied(*run.order, run.current, fiber.groups - open));
}

void gpuMbarrierInit(int64_t mbarrier, int32_t arrivals) { note(run.mbarriers->make(uint64_t(mbarrier), arrivals)); }
void gpuMbarrierInitFence() { run.mbarriers->ready(); }
void gpuMbarrierArrive(int64_t mbarrier) {
  Fiber &fiber = run.fibers[run.current];
  bool published = fiber.speaks;
  fiber.speaks = false;
  if (run.races)
    run.races->arrive(*run.order, run.current, uint64_t(mbarrier));
  note(run.mbarriers->arrive(uint64_t(mbarrier), published));
}
void gpuMbarrierExpect(int64_t mbarrier, int32_t bytes) {
  if (run.races)
    run.races->arrive(*run.order, run.current, uint64_t(mbarrier));
  note(run.mbarriers->expect(uint64_t(mbarrier), bytes));
}

void gpuMbarrierWait(int64_t mbarrier, int32_t parity) {
  Fiber &fiber = run.fibers[run.current];
  fiber.mbarrier = mbarrier;
  fiber.parity = parity;
  if (!passesMbarrier(fiber))
    leave(State::AtMbarrier);
  if (run.races)
    run.races->pass(*run.order, run.current, uint64_t(mbarrier));
}

static void fetch(int64_t to, const void *memory, const int32_t *at, int64_t mbarrier) {
  Tensor tensor;
  std::memcpy(&tensor, memory, sizeof(tensor));
  if (run.races && tensor.magic == Tensor::kMagic)
    note(run.races->fetch(*run.order, run.current, uint64_t(to), boxBytes(tensor), uint64_t(mbarrier)));
  note(run.mbarriers->fetch(uint64_t(to), tensor, at, uint64_t(mbarrier), isEarly()));
}

void gpuFetch2(int64_t to, const void *tensor, int32_t x, int32_t y, int64_t mbarrier) {
  int32_t at[] = {x, y};
  fetch(to, tensor, at, mbarrier);
}

void gpuFetch3(int64_t to, const void *tensor, int32_t x, int32_t y, int32_t z, int64_t mbarrier) {
  int32_t at[] = {x, y, z};
  fetch(to, tensor, at, mbarrier);
}

void gpuRegisters(int32_t count) {
  constexpr int32_t least = 24, most = 256, step = 8;
  if (count < least || count > most || count % step != 0)
    note("a warpgroup requests an invalid register count");
  run.fibers[run.current].registers = count;
}

} // namespace emulator
