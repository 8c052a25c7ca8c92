// SPDX-License-Identifier: Apache-2.0
#include "test/Emulator/Driver/Run.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <sys/mman.h>
#include <utility>

// Saves the callee-saved registers on the stack, stores the stack pointer in *from, and resumes the
// fiber whose stack pointer is `to`.
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

constexpr size_t kStack = 64 << 10;

/// Saved state of one of the interleaved blocks, while another block runs.
struct Block {
  std::vector<Fiber> fibers;
  std::vector<GroupWarp> groups;
  std::unique_ptr<Mbarriers> mbarriers;
  std::unique_ptr<BlockRaces> order;
  std::vector<std::vector<char>> shared;
  bool begun = false, paused = false, ended = false;
  /// Values of `run.changes` when the block last ran, and when it last updated a counter.
  uint64_t seen = 0, counted = 0;
};

/// Largest number of blocks of a launch that the emulator interleaves.
constexpr int64_t kMostTogether = 8;

/// Returns the stacks of the fibers of the current block's threads. They are allocated once, for
/// the largest block.
char *stacks() {
  static thread_local char *memory =
      static_cast<char *>(mmap(nullptr, kStack * 1024 * kMostTogether, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  return memory + run.slot * int64_t(kStack * 1024);
}

void begin() {
  run.kernel->call(run.arguments);
  if (!run.fibers[run.current].copies.empty())
    run.problem = "a thread ends before its asynchronous copies complete";
  leave(State::Done);
}

void prepare(int64_t thread) {
  // The frame that emulatorSwitch leaves: six registers and the return address, aligned as after a
  // call.
  char *top = stacks() + kStack * (thread + 1) - 64;
  auto *frame = reinterpret_cast<void **>(top - 8) - 7;
  std::memset(frame, 0, 7 * sizeof(void *));
  frame[6] = reinterpret_cast<void *>(&begin);
  run.fibers[thread] = Fiber();
  run.fibers[thread].stack = frame;
  run.fibers[thread].state = State::Ready;
}

std::string where() { return " in block " + std::to_string(run.block); }

/// Runs each ready thread of a warp until the thread waits. Returns true if any thread was ready.
bool runReady(int64_t warp) {
  bool any = false;
  int64_t first = run.schedule == Schedule::Random ? int64_t(nextRandom() % kWarp) : 0;
  for (int64_t i = 0; i < kWarp; ++i) {
    int64_t thread = warp + (run.schedule == Schedule::Backward ? kWarp - 1 - i : (i + first) % kWarp);
    Fiber &fiber = run.fibers[thread];
    if (fiber.state == State::AtMbarrier && passesMbarrier(fiber))
      fiber.state = State::Ready;
    if (fiber.state != State::Ready)
      continue;
    run.current = thread;
    emulatorSwitch(&run.scheduler, fiber.stack);
    any = true;
    if (run.paused)
      break;
  }
  return any;
}

int64_t count(int64_t warp, State state) {
  int64_t found = 0;
  for (int64_t t = warp; t < warp + kWarp; ++t)
    found += run.fibers[t].state == state;
  return found;
}

/// Checks that the warp's newest MMA agrees with those of the other warps of the warpgroup, and
/// that the writes of the MMA's operands are visible to the async proxy.
void checkGroup(int64_t warp) {
  size_t last = run.groups[warp].history.size() - 1;
  for (int64_t other = warp / 4 * 4; other < warp / 4 * 4 + 4; ++other)
    if (other >= int64_t(run.groups.size()))
      run.problem = "a warpgroup has fewer than four warps";
    else if (run.groups[other].history.size() > last &&
             run.groups[other].history[last] != run.groups[warp].history[last])
      run.problem = "warps of a warpgroup issue different MMAs";
  const GroupMatrices &matrices = run.groups[warp].history[last];
  if ((matrices.leftInRegisters || run.mbarriers->isFetched(uint64_t(matrices.left))) &&
      run.mbarriers->isFetched(uint64_t(matrices.right)))
    return;
  bool told = true;
  for (int64_t t = warp * kWarp; t < (warp + 1) * kWarp; ++t)
    told &= run.fibers[size_t(t)].told;
  if (told)
    return;
  for (const Fiber &fiber : run.fibers)
    if (!fiber.visible)
      run.problem = "a warpgroup MMA reads shared memory that was written without a proxy fence";
}

/// Updates the race detector after a warp-synchronous instruction.
void orderWarp(int64_t warp, const Meeting &meeting, const GroupWarp &group, bool multiplies) {
  if (meeting.kind == Meeting::Kind::None) {
    std::vector<int64_t> lanes(kWarp);
    std::iota(lanes.begin(), lanes.end(), warp);
    return run.order->order.meet(lanes);
  }
  if (multiplies)
    note(run.races->product(*run.order, warp / kWarp, group.linesOfLast(), group.closed()));
  if (meeting.kind == Meeting::Kind::Group && meeting.group.kind == GroupStep::Kind::Wait)
    run.races->multiplied(*run.order, warp / kWarp, group.closed() - meeting.group.open);
  run.order->order.step(warp, kWarp);
}

/// Executes the instruction at which all threads of a warp wait. Returns true if the warp
/// continues.
bool warpBarrier(int64_t warp) {
  int64_t waiting = count(warp, State::AtMeeting);
  if (waiting == 0)
    return false;
  if (waiting != kWarp && count(warp, State::AtMbarrier) > 0)
    return false;
  if (waiting != kWarp) {
    run.problem = "only " + std::to_string(waiting) + " threads of a warp reach a warp-synchronous instruction";
    return false;
  }
  Meeting *lanes[kWarp];
  for (int64_t i = 0; i < kWarp; ++i) {
    if (run.fibers[warp + i].place != run.fibers[warp].place)
      note("threads of a warp wait at different instructions");
    lanes[i] = &run.fibers[warp + i].meeting;
    run.fibers[warp + i].state = State::Ready;
  }
  if (run.races && (lanes[0]->kind == Meeting::Kind::Lines || lanes[0]->kind == Meeting::Kind::LinesTurned))
    for (int64_t i = 0; i < kWarp; ++i)
      note(run.races->access(*run.order, warp + i, reinterpret_cast<uint64_t>(lanes[i]->line), 16, false));
  if (lanes[0]->kind == Meeting::Kind::None) {
    bool all = true;
    for (int64_t t = warp; t < warp + kWarp; ++t)
      all &= run.fibers[size_t(t)].published;
    for (int64_t t = warp; t < warp + kWarp; ++t) {
      run.fibers[size_t(t)].speaks = all;
      run.fibers[size_t(t)].published = false;
    }
  }
  GroupWarp &group = run.groups[warp / kWarp];
  size_t before = group.history.size();
  if (std::string problem = meet(lanes, group); !problem.empty())
    run.problem = problem;
  if (group.history.size() > before)
    checkGroup(warp / kWarp);
  if (run.races && run.problem.empty())
    orderWarp(warp, *lanes[0], group, group.history.size() > before);
  return true;
}

/// Runs warps until none can continue. Returns true if any has run. Under Random, a random warp
/// runs until its next wait. Otherwise each warp runs as far as possible before the next one
/// starts, which exposes missing synchronization between warps.
bool runWarps() {
  bool any = false;
  if (run.schedule == Schedule::Random) {
    std::vector<int64_t> left;
    for (int64_t warp = 0; warp < run.threads; warp += kWarp)
      left.push_back(warp);
    while (!left.empty() && run.problem.empty()) {
      size_t i = size_t(nextRandom() % left.size());
      bool ran = runReady(left[i]);
      any |= ran;
      if (run.paused)
        return any;
      if (!warpBarrier(left[i]))
        left.erase(left.begin() + int64_t(i));
    }
    return any;
  }
  for (int64_t i = 0; i < run.threads && run.problem.empty(); i += kWarp) {
    int64_t warp = run.schedule == Schedule::Backward ? run.threads - kWarp - i : i;
    do
      any |= runReady(warp);
    while (!run.paused && warpBarrier(warp) && run.problem.empty());
    if (run.paused)
      return any;
  }
  return any;
}

/// Checks that the registers that warpgroups request (setmaxnreg) do not exceed those of the block.
std::string checkRegisters() {
  // At the start of a block, each thread has an equal share of the SM's registers: a multiple of 8.
  constexpr int64_t ofProcessor = 65536, most = 256, step = 8, group = 4 * kWarp;
  int64_t all = run.threads * std::min(most, ofProcessor / run.threads / step * step);
  int64_t sum = 0, saying = 0;
  for (int64_t t = 0; t < run.threads; ++t) {
    const Fiber &fiber = run.fibers[size_t(t)];
    sum += fiber.registers;
    saying += fiber.registers > 0;
    if (fiber.registers != run.fibers[size_t(t / group * group)].registers)
      return "threads of a warpgroup request different register counts";
  }
  return sum > all || (saying > 0 && saying < run.threads) ? "warpgroups request more registers than the block has"
                                                           : "";
}

std::string endGroups() {
  if (std::string problem = checkRegisters(); !problem.empty())
    return problem + where();
  if (std::string problem = run.mbarriers->end(); !problem.empty())
    return problem + where();
  for (const GroupWarp &group : run.groups) {
    if (std::string problem = group.end(); !problem.empty())
      return problem + where();
    if (group.history.size() != run.groups[size_t(&group - run.groups.data()) / 4 * 4].history.size())
      return "warps of a warpgroup issue different MMAs" + where();
  }
  return "";
}

void beginOrder() { run.order = run.races ? std::make_unique<BlockRaces>(run.block, run.threads) : nullptr; }

void beginBlock() {
  for (int64_t t = 0; t < run.threads; ++t)
    prepare(t);
  run.groups.clear();
  run.mbarriers = std::make_unique<Mbarriers>(run.kernel->shared);
  beginOrder();
  if (run.races)
    run.mbarriers->turned = [](uint64_t mbarrier) { run.races->turn(*run.order, mbarrier); };
  for (int64_t warp = 0; warp < run.threads / kWarp; ++warp)
    run.groups.emplace_back(warp, run.kernel->shared, isEarly);
}

/// Releases the threads that wait at barriers that all expected threads have reached. Returns true
/// if there are any.
bool openBarriers() {
  struct Waiting {
    int64_t comers = 0, came = 0;
  };
  std::map<int32_t, Waiting> waiting; // by barrier number: a device counts arrivals per barrier
  for (const Fiber &fiber : run.fibers)
    if (fiber.state == State::AtBarrier) {
      Waiting &here = waiting[fiber.barrier];
      if (here.came++ > 0 && here.comers != fiber.comers)
        note("threads wait at one barrier with different thread counts");
      here.comers = fiber.comers;
    }
  for (int64_t t = 0; t < run.threads; ++t) // barrier instructions apply to full warps
    if (const Fiber &fiber = run.fibers[size_t(t)], &first = run.fibers[size_t(t / kWarp * kWarp)];
        fiber.state == State::AtBarrier && first.state == State::AtBarrier && fiber.place != first.place)
      note("threads of a warp wait at different barriers");
  bool opened = false;
  for (auto [number, here] : waiting) {
    if (here.came != here.comers)
      continue;
    opened = true;
    run.mbarriers->meet();
    std::vector<int64_t> comers;
    for (Fiber &fiber : run.fibers)
      if (fiber.state == State::AtBarrier && fiber.barrier == number) {
        comers.push_back(&fiber - run.fibers.data());
        fiber.state = State::Ready;
        fiber.visible = fiber.published;
        fiber.published = false;
      }
    if (run.races && here.comers == run.threads)
      run.order->order.meet();
    else if (run.races)
      run.order->order.meet(comers);
  }
  return opened;
}

/// Runs the block until it has ended, updated a counter, or waits for another block's counter
/// update.
std::string runBlock(bool &ended, bool &paused) {
  for (;;) {
    while (!run.paused && runWarps() && run.problem.empty())
      ;
    paused = std::exchange(run.paused, false);
    if (paused && run.problem.empty()) {
      ended = false;
      return "";
    }
    std::string problem;
    bool landed = run.mbarriers->landOne(problem);
    note(problem);
    if (!run.problem.empty())
      return run.problem + where();
    if (landed)
      continue;
    int64_t waiting = 0, done = 0, atMbarriers = 0, counting = 0;
    for (int64_t warp = 0; warp < run.threads; warp += kWarp) {
      waiting += count(warp, State::AtBarrier);
      done += count(warp, State::Done);
      atMbarriers += count(warp, State::AtMbarrier);
      counting += count(warp, State::AtCounter);
    }
    ended = done == run.threads;
    if (ended)
      return endGroups();
    if (atMbarriers > 0)
      return std::to_string(atMbarriers) + " threads deadlock at mbarriers" + where();
    if (openBarriers() && run.problem.empty())
      continue;
    if (!run.problem.empty())
      return run.problem + where();
    if (counting == 0)
      return std::to_string(waiting) + " threads wait at a barrier and " + std::to_string(done) + " have ended" +
             where();
    return "";
  }
}

void poisonShared() {
  for (const SharedMemory &memory : run.kernel->shared)
    std::memset(memory.address, 0xff, memory.bytes);
}

std::vector<std::pair<const SharedMemory *, std::vector<char> *>> zipShared(Block &block) {
  std::vector<std::pair<const SharedMemory *, std::vector<char> *>> list;
  for (size_t i = 0; i < block.shared.size(); ++i)
    list.push_back({&run.kernel->shared[i], &block.shared[i]});
  return list;
}

/// Chooses the next of the interleaved blocks: the first or the last one that can continue, or a
/// random one. This exposes blocks that do not wait for others. Except under Random, a block that
/// has just updated a counter comes after the others. Of several such blocks, the most recent one
/// comes first, because it may be the block that completes the work.
Block *nextBlock(std::vector<Block> &blocks) {
  std::vector<Block *> able;
  for (Block &block : blocks)
    if (!block.ended && (!block.begun || block.seen != run.changes))
      able.push_back(&block);
  if (able.empty())
    return nullptr;
  if (run.schedule != Schedule::Random) {
    auto counted = [](const Block *block) { return block->paused; };
    if (std::all_of(able.begin(), able.end(), counted))
      return *std::max_element(able.begin(), able.end(),
                               [](const Block *a, const Block *b) { return a->counted < b->counted; });
    able.erase(std::remove_if(able.begin(), able.end(), counted), able.end());
  }
  size_t i = run.schedule == Schedule::Forward    ? 0
             : run.schedule == Schedule::Backward ? able.size() - 1
                                                  : size_t(nextRandom() % able.size());
  return able[i];
}

/// Runs the blocks `first` to `first + count - 1` interleaved.
std::string runTogether(int64_t first, int64_t count) {
  std::vector<Block> blocks{size_t(count)};
  int64_t ended = 0;
  while (Block *next = nextBlock(blocks)) {
    run.slot = next - blocks.data();
    run.block = first + run.slot;
    if (next->begun) {
      std::swap(run.fibers, next->fibers);
      std::swap(run.groups, next->groups);
      std::swap(run.mbarriers, next->mbarriers);
      std::swap(run.order, next->order);
      for (auto [memory, kept] : zipShared(*next))
        std::memcpy(memory->address, kept->data(), memory->bytes);
      for (Fiber &fiber : run.fibers)
        if (fiber.state == State::AtCounter)
          fiber.state = State::Ready;
    } else {
      run.fibers.assign(size_t(run.threads), Fiber());
      next->shared.resize(run.kernel->shared.size());
      for (size_t i = 0; i < next->shared.size(); ++i)
        next->shared[i].resize(run.kernel->shared[i].bytes);
      poisonShared();
      beginBlock();
      next->begun = true;
    }
    // The block that runs may itself wait for the counter value that its own update has produced,
    // so this update does not count as seen by the block.
    next->seen = run.changes - (std::exchange(next->paused, false) ? 1 : 0);
    if (std::string problem = runBlock(next->ended, next->paused); !problem.empty())
      return problem;
    next->counted = run.changes;
    ended += next->ended;
    for (auto [memory, kept] : zipShared(*next))
      std::memcpy(kept->data(), memory->address, memory->bytes);
    std::swap(run.fibers, next->fibers);
    std::swap(run.groups, next->groups);
    std::swap(run.mbarriers, next->mbarriers);
    std::swap(run.order, next->order);
  }
  return ended == count ? ""
                        : std::to_string(count - ended) + " blocks wait for others, of which " + std::to_string(ended) +
                              " have ended";
}

} // namespace

thread_local Run run;

void leave(State state) {
  Fiber &fiber = run.fibers[run.current];
  fiber.state = state;
  emulatorSwitch(&fiber.stack, run.scheduler);
}

uint64_t nextRandom() {
  run.random ^= run.random << 13;
  run.random ^= run.random >> 7;
  return run.random ^= run.random << 17;
}

bool isEarly() { return run.schedule == Schedule::Backward || (run.schedule == Schedule::Random && nextRandom() % 2); }

void note(const std::string &problem) {
  if (run.problem.empty())
    run.problem = problem;
}

bool passesMbarrier(Fiber &fiber) {
  bool does = false;
  note(run.mbarriers->passes(uint64_t(fiber.mbarrier), fiber.parity, does, fiber.told));
  return does;
}

bool looksForRaces() {
  const char *wanted = std::getenv("HEWN_EMULATOR_RACES");
  return wanted && *wanted;
}

std::string runGrid(const Kernel &kernel, int64_t blocks, int64_t threads, const uint64_t *arguments, Schedule schedule,
                    bool together) {
  if (together && blocks > kMostTogether)
    return std::to_string(blocks) + " blocks at once";
  if (threads <= 0 || threads > 1024 || threads % kWarp != 0)
    return "a block of " + std::to_string(threads) + " threads";
  run.kernel = &kernel;
  run.arguments = arguments;
  run.blocks = blocks;
  run.threads = threads;
  run.fibers.assign(size_t(threads), Fiber());
  run.schedule = schedule;
  run.problem.clear();
  run.together = together;
  run.races = looksForRaces() ? std::make_unique<Races>(kernel.shared, together || kernel.counts) : nullptr;
  run.slot = 0;
  run.paused = false;
  if (together)
    return runTogether(0, blocks);
  if (kernel.counts) {
    for (int64_t i = 0; i < blocks; i += kMostTogether) {
      int64_t count = std::min(kMostTogether, blocks - i);
      if (std::string problem = runTogether(schedule == Schedule::Backward ? blocks - i - count : i, count);
          !problem.empty())
        return problem;
    }
    return "";
  }
  for (int64_t i = 0; i < blocks; ++i) {
    run.block = schedule == Schedule::Backward ? blocks - 1 - i : i;
    poisonShared();
    if (kernel.synchronizes) {
      bool ended, paused;
      beginBlock();
      if (std::string problem = runBlock(ended, paused); !problem.empty())
        return problem;
      continue;
    }
    beginOrder();
    for (int64_t t = 0; t < threads && run.problem.empty(); ++t) {
      run.current = t;
      kernel.call(arguments);
    }
    if (!run.problem.empty())
      return run.problem + where();
  }
  return "";
}

} // namespace emulator
