// SPDX-License-Identifier: Apache-2.0
//
// What kernels call.
#include "test/Emulator/Driver/Run.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace emulator {

namespace {

void land(const Copy &copy) {
  if (copy.present) // else nobody may look there
    std::memcpy(copy.to, copy.from, size_t(copy.present));
  std::memset(copy.to + copy.present, 0, size_t(copy.bytes - copy.present));
}

/// What this thread comes to its warp with.
Meeting &meetAt(Meeting::Kind kind) {
  Meeting &meeting = run.fibers[run.current].meeting;
  meeting.kind = kind;
  run.fibers[run.current].place = nullptr; // those that have one say so
  return meeting;
}

} // namespace

void gridMisaligned(int32_t alignment) {
  note("memory is read or written that is not at a multiple of " + std::to_string(alignment) + " bytes");
}

void gridAccess(int64_t at, int64_t bytes, int32_t writes) {
  if (run.races)
    note(run.races->access(*run.order, run.current, uint64_t(at), uint64_t(bytes), writes != 0));
}

void gridStore(int64_t at, int64_t bytes, uint64_t value) {
  if (run.races)
    note(run.races->access(*run.order, run.current, uint64_t(at), uint64_t(bytes), true, &value));
}

int32_t gridThread() { return int32_t(run.current); }
int32_t gridBlock() { return int32_t(run.block); }
int32_t gridBlocks() { return int32_t(run.blocks); }
static void waitAtBarrier(int32_t number, int32_t threads, const void *place) {
  run.fibers[run.current].place = place;
  run.fibers[run.current].barrier = number;
  run.fibers[run.current].comers = threads;
  leave(State::AtBarrier);
}
void gridBarrierSome(int32_t number, int32_t threads) { waitAtBarrier(number, threads, __builtin_return_address(0)); }
void gridBarrier(int32_t number) { waitAtBarrier(number, int32_t(run.threads), __builtin_return_address(0)); }

int32_t gridCounterRelease(int64_t at, int32_t more) {
  if (run.races)
    run.races->release(*run.order, run.current, uint64_t(at));
  auto *counter = reinterpret_cast<uint32_t *>(at);
  uint32_t before = *counter;
  *counter += uint32_t(more);
  ++run.changes;
  run.paused = true; // whatever this block has not done yet others may miss
  leave(State::Ready);
  return int32_t(before);
}

int32_t gridCounterAdd(int64_t at, int32_t more) {
  if (run.races)
    run.races->acquire(*run.order, run.current, uint64_t(at));
  return gridCounterRelease(at, more);
}

int32_t gridCounterRead(int64_t at) {
  if (!run.together)
    run.problem = "a block waits for others, which may not run at the same time";
  leave(State::AtCounter);
  if (run.races)
    run.races->acquire(*run.order, run.current, uint64_t(at));
  return *reinterpret_cast<const int32_t *>(at);
}

/// In any order beside what other blocks do.
int32_t gridCounterPeek(int64_t at) {
  leave(State::Ready);
  return *reinterpret_cast<const int32_t *>(at);
}

float gridExp2(float x) {
  float power = std::exp2(x), least = std::numeric_limits<float>::min();
  return power < least ? 0 : power;
}

int32_t gridShuffle(int32_t, int32_t value, int32_t laneXor, int32_t) {
  Meeting &meeting = meetAt(Meeting::Kind::Shuffle);
  run.fibers[run.current].place = __builtin_return_address(0);
  meeting.value = value;
  meeting.laneXor = laneXor;
  leave(State::AtMeeting);
  return meeting.value;
}

void gridProduct(int32_t bits, const int32_t *factors, void *sums) {
  using Kind = Meeting::Kind;
  Kind kind = bits == 32 ? Kind::Product : bits == 16 ? Kind::ProductF16 : Kind::ProductBF16;
  Meeting &meeting = meetAt(bits >= kProductOfBytes ? Kind::ProductBytes : kind);
  meeting.isSigned = bits - kProductOfBytes;
  meeting.factors = factors;
  meeting.sums = sums;
  leave(State::AtMeeting);
}

void gridLines(int64_t from, int32_t turned, int32_t *words) {
  Meeting &meeting = meetAt(turned ? Meeting::Kind::LinesTurned : Meeting::Kind::Lines);
  meeting.line = reinterpret_cast<const char *>(from);
  meeting.words = words;
  leave(State::AtMeeting);
}

void gridCopy(int64_t to, int64_t from, int32_t present, int32_t bytes) {
  if (to % bytes != 0 || (present && from % bytes != 0) || present < 0 || present > bytes)
    run.problem = "a copy of " + std::to_string(bytes) + " bytes is not at a multiple of them";
  Fiber &fiber = run.fibers[run.current];
  Copy copy{reinterpret_cast<char *>(to), reinterpret_cast<const char *>(from), bytes, present, fiber.groups};
  if (run.races)
    note(run.races->copy(*run.order, run.current, uint64_t(to), uint64_t(from), uint64_t(bytes), uint64_t(present),
                         fiber.groups));
  if (isEarly())
    land(copy); // as early as it may; it is waited for all the same
  else
    fiber.copies.push_back(copy);
}

/// A device does not mind what is not there, but nobody gains by it: here it would end the process.
void gridPrefetch(int64_t at) { (void)*reinterpret_cast<const volatile char *>(at); }

void gridCopiesClose() { ++run.fibers[run.current].groups; }

void gridGroupPublish() {
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

void gridWarpBarrier(int32_t) {
  meetAt(Meeting::Kind::None);
  run.fibers[run.current].place = __builtin_return_address(0);
  leave(State::AtMeeting);
}

void gridGroupBegin() {
  groupStep(GroupStep::Kind::Begin);
  leave(State::AtMeeting);
}

void gridGroupClose() {
  groupStep(GroupStep::Kind::Close);
  leave(State::AtMeeting);
}

void gridGroupProduct(int64_t left, int64_t right, int64_t leftForm, int64_t rightForm, int32_t form, int32_t columns,
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

void gridGroupProductWords(int32_t word0, int32_t word1, int32_t word2, int32_t word3, int64_t right, int64_t rightForm,
                           int32_t form, int32_t columns, float *sums) {
  GroupStep &step = groupStep(GroupStep::Kind::Product);
  step.matrices = {form & 8 ? 32 : form & 1 ? -16 : 16, false, (form & 4) != 0, true, 0, right, 0, rightForm};
  int32_t words[] = {word0, word1, word2, word3};
  std::memcpy(step.words, words, sizeof(words));
  step.columns = columns;
  step.sums = sums;
  leave(State::AtMeeting);
}

void gridGroupWait(int32_t open, int32_t columns, float *sums) {
  GroupStep &step = groupStep(GroupStep::Kind::Wait);
  step.open = open;
  step.columns = columns;
  step.sums = sums;
  leave(State::AtMeeting);
}

void gridCopiesWait(int32_t open) {
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

void gridMbarrierInit(int64_t mbarrier, int32_t arrivals) { note(run.mbarriers->make(uint64_t(mbarrier), arrivals)); }
void gridMbarriersReady() { run.mbarriers->ready(); }
void gridMbarrierArrive(int64_t mbarrier) {
  Fiber &fiber = run.fibers[run.current];
  bool published = fiber.speaks;
  fiber.speaks = false;
  if (run.races)
    run.races->arrive(*run.order, run.current, uint64_t(mbarrier));
  note(run.mbarriers->arrive(uint64_t(mbarrier), published));
}
void gridMbarrierExpect(int64_t mbarrier, int32_t bytes) {
  if (run.races)
    run.races->arrive(*run.order, run.current, uint64_t(mbarrier));
  note(run.mbarriers->expect(uint64_t(mbarrier), bytes));
}

void gridMbarrierWait(int64_t mbarrier, int32_t parity) {
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

void gridFetch2(int64_t to, const void *tensor, int32_t x, int32_t y, int64_t mbarrier) {
  int32_t at[] = {x, y};
  fetch(to, tensor, at, mbarrier);
}

void gridFetch3(int64_t to, const void *tensor, int32_t x, int32_t y, int32_t z, int64_t mbarrier) {
  int32_t at[] = {x, y, z};
  fetch(to, tensor, at, mbarrier);
}

void gridRegisters(int32_t count) {
  constexpr int32_t least = 24, most = 256, step = 8;
  if (count < least || count > most || count % step != 0)
    note("a group wants a number of registers that no thread can have");
  run.fibers[run.current].registers = count;
}

} // namespace emulator
