// SPDX-License-Identifier: Apache-2.0
#include "test/Emulator/Machine.h"

#include <cstring>
#include <sys/mman.h>

// Saves the callee's registers on the stack, stores the stack in *from, and goes on where `to` was left.
extern "C" void emulatorSwitch(void **from, void *to);
asm(R"(
.text
.globl emulatorSwitch
.hidden emulatorSwitch
.type emulatorSwitch, @function
emulatorSwitch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size emulatorSwitch, .-emulatorSwitch
)");

namespace emulator {

namespace {

constexpr int64_t kWarp = 32;
constexpr size_t kStack = 64 << 10;

enum class State { Ready, AtBarrier, AtShuffle, Done };

struct Fiber {
  void *stack = nullptr; // where it was left
  State state = State::Done;
  int32_t value = 0, laneXor = 0;
  /// Of a product; null at a shuffle.
  const int32_t *factors = nullptr;
  float *sums = nullptr;
};

struct Run {
  const Kernel *kernel = nullptr;
  const uint64_t *arguments = nullptr;
  int64_t block = 0, blocks = 0, threads = 0, current = 0;
  std::vector<Fiber> fibers;
  void *scheduler = nullptr;
  uint64_t random = 88172645463325252u;
};

thread_local Run run;

/// Stacks of all threads that a block can have, kept.
char *stacks() {
  static thread_local char *memory = static_cast<char *>(
      mmap(nullptr, kStack * 1024, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  return memory;
}

void leave(State state) {
  Fiber &fiber = run.fibers[run.current];
  fiber.state = state;
  emulatorSwitch(&fiber.stack, run.scheduler);
}

void begin() {
  run.kernel->call(run.arguments);
  leave(State::Done);
}

void prepare(int64_t thread) {
  // As emulatorSwitch leaves a stack: six registers, then where to return to; aligned as after a call.
  char *top = stacks() + kStack * (thread + 1) - 64;
  auto *frame = reinterpret_cast<void **>(top - 8) - 7;
  std::memset(frame, 0, 7 * sizeof(void *));
  frame[6] = reinterpret_cast<void *>(&begin);
  run.fibers[thread].stack = frame;
  run.fibers[thread].state = State::Ready;
}

uint64_t nextRandom() {
  run.random ^= run.random << 13;
  run.random ^= run.random >> 7;
  return run.random ^= run.random << 17;
}

std::string where() { return " in block " + std::to_string(run.block); }

/// Lets every ready thread run until it waits.
void runReady(Schedule schedule) {
  int64_t first = schedule == Schedule::Random ? int64_t(nextRandom() % uint64_t(run.threads)) : 0;
  for (int64_t i = 0; i < run.threads; ++i) {
    int64_t thread = schedule == Schedule::Backward ? run.threads - 1 - i : (i + first) % run.threads;
    if (run.fibers[thread].state != State::Ready)
      continue;
    run.current = thread;
    emulatorSwitch(&run.scheduler, run.fibers[thread].stack);
  }
}

/// A factor as the instruction reads it: the leading eleven significant bits.
double factor(int32_t bits) {
  bits &= int32_t(0xffffe000);
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return double(value);
}

/// 16x8 sums += 16x8 times 8x8, spread over lanes as Grid.h says.
void multiply(Fiber *warp) {
  double left[16][8], right[8][8];
  for (int64_t lane = 0; lane < kWarp; ++lane) {
    int64_t g = lane / 4, t = lane % 4;
    const int32_t *factors = warp[lane].factors;
    left[g][t] = factor(factors[0]);
    left[g + 8][t] = factor(factors[1]);
    left[g][t + 4] = factor(factors[2]);
    left[g + 8][t + 4] = factor(factors[3]);
    right[t][g] = factor(factors[4]);
    right[t + 4][g] = factor(factors[5]);
  }
  for (int64_t lane = 0; lane < kWarp; ++lane)
    for (int64_t r = 0; r < 4; ++r) {
      double sum = double(warp[lane].sums[r]);
      for (int64_t i = 0; i < 8; ++i)
        sum += left[lane / 4 + r / 2 * 8][i] * right[i][lane % 4 * 2 + r % 2];
      warp[lane].sums[r] = float(sum);
    }
}

/// Warps whose threads are all at a shuffle go on; whether there was one.
bool shuffleWarps(std::string &problem) {
  bool any = false;
  for (int64_t warp = 0; warp < run.threads; warp += kWarp) {
    int64_t waiting = 0;
    for (int64_t t = warp; t < warp + kWarp; ++t)
      waiting += run.fibers[t].state == State::AtShuffle;
    if (waiting == 0)
      continue;
    if (waiting != kWarp) {
      problem = "only " + std::to_string(waiting) + " threads of a warp come to a shuffle" + where();
      return false;
    }
    int64_t atProduct = 0;
    for (int64_t t = warp; t < warp + kWarp; ++t)
      atProduct += run.fibers[t].factors != nullptr;
    if (atProduct == kWarp) {
      multiply(&run.fibers[warp]);
      for (int64_t t = warp; t < warp + kWarp; ++t)
        run.fibers[t].state = State::Ready;
      any = true;
      continue;
    }
    if (atProduct != 0) {
      problem = "threads of a warp come to a product and to a shuffle" + where();
      return false;
    }
    int32_t values[kWarp];
    for (int64_t i = 0; i < kWarp; ++i) {
      Fiber &fiber = run.fibers[warp + i];
      if (fiber.laneXor != run.fibers[warp].laneXor)
        problem = "threads of a warp come to different shuffles" + where();
      values[i] = run.fibers[warp + (i ^ fiber.laneXor) % kWarp].value;
    }
    for (int64_t i = 0; i < kWarp; ++i) {
      run.fibers[warp + i].value = values[i];
      run.fibers[warp + i].state = State::Ready;
    }
    any = true;
  }
  return any;
}

std::string runBlock(Schedule schedule) {
  for (int64_t t = 0; t < run.threads; ++t)
    prepare(t);
  for (;;) {
    runReady(schedule);
    std::string problem;
    bool shuffled = shuffleWarps(problem);
    if (!problem.empty())
      return problem;
    if (shuffled)
      continue;
    int64_t waiting = 0, done = 0;
    for (const Fiber &fiber : run.fibers) {
      waiting += fiber.state == State::AtBarrier;
      done += fiber.state == State::Done;
    }
    if (done == run.threads)
      return "";
    if (waiting != run.threads)
      return std::to_string(waiting) + " threads wait at a barrier and " + std::to_string(done) + " have ended" +
             where();
    for (Fiber &fiber : run.fibers)
      fiber.state = State::Ready;
  }
}

} // namespace

std::string runGrid(const Kernel &kernel, int64_t blocks, int64_t threads, const uint64_t *arguments,
                    Schedule schedule) {
  if (threads <= 0 || threads > 1024 || threads % kWarp != 0)
    return "a block of " + std::to_string(threads) + " threads";
  run.kernel = &kernel;
  run.arguments = arguments;
  run.blocks = blocks;
  run.threads = threads;
  run.fibers.assign(size_t(threads), Fiber());
  for (int64_t i = 0; i < blocks; ++i) {
    run.block = schedule == Schedule::Backward ? blocks - 1 - i : i;
    for (const SharedMemory &memory : kernel.shared)
      std::memset(memory.address, 0xff, memory.bytes);
    if (kernel.synchronizes) {
      if (std::string problem = runBlock(schedule); !problem.empty())
        return problem;
      continue;
    }
    for (int64_t t = 0; t < threads; ++t) {
      run.current = t;
      kernel.call(arguments);
    }
  }
  return "";
}

int32_t gridThread() { return int32_t(run.current); }
int32_t gridBlock() { return int32_t(run.block); }
int32_t gridBlocks() { return int32_t(run.blocks); }
void gridBarrier(int32_t) { leave(State::AtBarrier); }

int32_t gridShuffle(int32_t, int32_t value, int32_t laneXor, int32_t) {
  int64_t self = run.current;
  run.fibers[self].value = value;
  run.fibers[self].laneXor = laneXor;
  run.fibers[self].factors = nullptr;
  leave(State::AtShuffle);
  return run.fibers[self].value;
}

void gridProduct(const int32_t *factors, float *sums) {
  Fiber &fiber = run.fibers[run.current];
  fiber.factors = factors;
  fiber.sums = sums;
  leave(State::AtShuffle);
}

} // namespace emulator
