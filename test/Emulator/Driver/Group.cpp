// SPDX-License-Identifier: Apache-2.0
#include "test/Emulator/Driver/Group.h"
#include "test/Emulator/Driver/Sums.h"

#include <cstring>
#include <set>

namespace emulator {

namespace {

/// Until an MMA completes, its accumulator registers hold a signalling NaN, which no arithmetic
/// produces. The low 16 bits of the NaN identify the result.
constexpr uint32_t kUnderWay = 0x7fa50000;

uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

/// Sets `count` accumulators to `bits`. Uses memcpy, because a float assignment could quiet the
/// NaN.
void name(float *sums, int32_t count, uint32_t bits) {
  for (int32_t i = 0; i < count; ++i)
    std::memcpy(&sums[i], &bits, sizeof(bits));
}

/// A matrix in shared memory, decoded from its descriptor. For the right operand, "row" means a
/// column of the matrix.
struct Form {
  uint64_t address, line, blocks, panels, bytes;
  bool alongSum;

  Form(int64_t address, int64_t form, bool alongSum, int32_t elementBits)
      : address(uint64_t(address)), bytes(elementBits == 32  ? 4
                                          : elementBits == 8 ? 1
                                                             : 2),
        alongSum(alongSum) {
    auto bits = uint64_t(form);
    line = uint64_t(256) >> (bits >> 62);
    blocks = (bits >> 32 & 0x3fff) * 16;
    panels = (bits >> 16 & 0x3fff) * 16;
  }
  bool exists(int64_t form) const { return uint64_t(form) >> 62 != 0 && address % 16 == 0; }

  uint64_t at(uint64_t row, uint64_t inSum) const {
    uint64_t to = address;
    if (alongSum)
      to += row / 8 * blocks + row % 8 * line + inSum * bytes;
    else
      to += row * bytes / line * panels + row * bytes % line + inSum / 8 * blocks + inSum % 8 * line;
    // The swizzle of a matrix permutes its 16-byte chunks depending on bits of the shared-memory
    // address.
    return to ^ ((to >> 7 & (line / 16 - 1)) << 4);
  }
};

double elementAt(uint64_t address, int32_t bits, bool isSigned = false) {
  if (bits == 8) {
    uint8_t byte = *reinterpret_cast<const uint8_t *>(address);
    return isSigned ? double(int8_t(byte)) : double(byte);
  }
  if (bits == 32) { // truncates the float32 operand to the eleven leading significant bits of TF32
    uint32_t word;
    std::memcpy(&word, reinterpret_cast<const char *>(address), sizeof(word));
    word &= 0xffffe000;
    float value;
    std::memcpy(&value, &word, sizeof(value));
    return double(value);
  }
  uint16_t word;
  std::memcpy(&word, reinterpret_cast<const char *>(address), sizeof(word));
  if (bits > 0) {
    _Float16 value;
    std::memcpy(&value, &word, sizeof(value));
    return double(value);
  }
  uint32_t wide = uint32_t(word) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return double(value);
}

} // namespace

std::string GroupWarp::make(const Product &product) {
  const GroupMatrices &matrices = product.matrices;
  Form left(matrices.left, matrices.leftForm, matrices.leftAlongSum, matrices.bits),
      right(matrices.right, matrices.rightForm, matrices.rightAlongSum, matrices.bits);
  uint64_t depth = 32 / left.bytes;
  bool inRegisters = matrices.leftInRegisters;
  if ((matrices.bits == 32 || matrices.bits == 8) && ((!left.alongSum && !inRegisters) || !right.alongSum))
    return "a float32 or integer matrix of a warpgroup MMA is not K-major";
  if ((!inRegisters && !left.exists(matrices.leftForm)) || !right.exists(matrices.rightForm))
    return "a warpgroup MMA has an invalid matrix descriptor";
  std::string problem;
  auto read = [&](const Form &form, bool isSigned, uint64_t row, uint64_t inSum) {
    uint64_t at = form.at(row, inSum);
    for (const SharedMemory &memory : *shared) {
      auto start = reinterpret_cast<uint64_t>(memory.address);
      if (at >= start && at + form.bytes <= start + memory.bytes)
        return elementAt(at, matrices.bits, isSigned);
    }
    problem = "a matrix of a warpgroup MMA is outside of shared memory";
    return 0.0;
  };
  Sums &to = sums.at(product.sums);
  std::vector<double> lefts = product.left, rights(uint64_t(to.columns) * depth);
  lefts.resize(16 * depth);
  for (uint64_t i = 0; i < 16 && !inRegisters; ++i)
    for (uint64_t s = 0; s < depth; ++s)
      lefts[i * depth + s] = read(left, matrices.leftSigned, uint64_t(warp % 4) * 16 + i, s);
  for (uint64_t j = 0; j < uint64_t(to.columns); ++j)
    for (uint64_t s = 0; s < depth; ++s)
      rights[j * depth + s] = read(right, matrices.rightSigned, j, s);
  for (uint64_t lane = 0; lane < kWarp; ++lane)
    for (uint64_t i = 0; i < uint64_t(to.columns) / 2; ++i) {
      uint64_t row = lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
      float &value = to.values[lane][i];
      if (matrices.bits != 8) { // float MMAs add products in the order of an H100
        constexpr int64_t moreBits = 2;
        int64_t atOnce = matrices.bits == 32 ? 8 : 16;
        value = addProducts(value, &lefts[row * depth], &rights[column * depth], int64_t(depth), atOnce, moreBits);
        continue;
      }
      double sum = 0;
      for (uint64_t s = 0; s < depth; ++s)
        sum += lefts[row * depth + s] * rights[column * depth + s];
      uint32_t word = bitsOf(value) + uint32_t(int32_t(sum));
      name(&value, 1, word);
    }
  --to.left;
  return problem;
}

std::vector<uint64_t> GroupWarp::linesOfLast() const {
  const GroupMatrices &matrices = history.back();
  Form left(matrices.left, matrices.leftForm, matrices.leftAlongSum, matrices.bits),
      right(matrices.right, matrices.rightForm, matrices.rightAlongSum, matrices.bits);
  std::set<uint64_t> lines;
  auto add = [&](const Form &form, uint64_t first, uint64_t count) {
    for (uint64_t row = first; row < first + count; ++row)
      for (uint64_t s = 0; s < 32 / form.bytes; ++s)
        lines.insert(form.at(row, s) & ~uint64_t(15));
  };
  if (!matrices.leftInRegisters)
    add(left, uint64_t(warp % 4) * 16, 16);
  add(right, 0, uint64_t(sums.at(open.back().sums).columns));
  return {lines.begin(), lines.end()};
}

/// Returns the warp's 16 rows of a left operand that the lanes hold in registers.
static std::vector<double> rowsOf(GroupStep *const *lanes) {
  int32_t bits = lanes[0]->matrices.bits;
  int64_t count = bits == 32 ? 1 : 2, depth = 8 * count, bytes = 4 / count;
  std::vector<double> rows(size_t(16 * depth));
  for (int64_t lane = 0; lane < kWarp; ++lane)
    for (int64_t part = 0; part < 4; ++part)
      for (int64_t i = 0; i < count; ++i) {
        int64_t row = lane / 4 + part % 2 * 8, inSum = (lane % 4 + part / 2 * 4) * count + i;
        rows[size_t(row * depth + inSum)] =
            elementAt(reinterpret_cast<uint64_t>(&lanes[lane]->words[part]) + uint64_t(i * bytes), bits);
      }
  return rows;
}

std::string GroupWarp::product(GroupStep *const *lanes) {
  int32_t count = lanes[0]->columns / 2;
  uint32_t word = bitsOf(lanes[0]->sums[0]), which = word & 0xffff;
  bool underWay = (word & 0xffff0000) == kUnderWay && sums.count(which);
  for (int64_t lane = 0; lane < kWarp; ++lane) {
    if (lanes[lane]->matrices != lanes[0]->matrices)
      return "threads of a warp have different matrix descriptors";
    for (int32_t i = 0; underWay && i < count; ++i)
      if (bitsOf(lanes[lane]->sums[i]) != word)
        return "accumulators of a pending warpgroup MMA are modified";
  }
  if (!underWay) {
    if (!begun)
      return "a warpgroup MMA uses accumulators without a fence";
    which = names++ & 0xffff;
    Sums fresh{lanes[0]->columns, {}, 0};
    for (int64_t lane = 0; lane < kWarp; ++lane)
      fresh.values[lane].assign(lanes[lane]->sums, lanes[lane]->sums + count);
    sums[which] = std::move(fresh);
  }
  if (sums.at(which).columns != lanes[0]->columns)
    return "a warpgroup MMA uses accumulators with another number of columns";
  for (int64_t lane = 0; lane < kWarp; ++lane)
    name(lanes[lane]->sums, count, kUnderWay | which);
  ++sums.at(which).left;
  history.push_back(lanes[0]->matrices);
  open.push_back(
      {lanes[0]->matrices, which, sets, lanes[0]->matrices.leftInRegisters ? rowsOf(lanes) : std::vector<double>()});
  if (!early())
    return "";
  // Computes all pending MMAs of the warp, in order. For the kernel, they are complete only after
  // its wait.
  for (Product &earlier : open)
    if (earlier.matrices.bits) {
      if (std::string problem = make(earlier); !problem.empty())
        return problem;
      earlier.matrices.bits = 0;
      ++sums.at(earlier.sums).left;
    }
  return "";
}

std::string GroupWarp::wait(GroupStep *const *lanes) {
  std::vector<Product> rest;
  for (const Product &product : open) {
    if (product.set >= sets - lanes[0]->open) {
      rest.push_back(product);
    } else if (!product.matrices.bits) {
      --sums.at(product.sums).left;
    } else if (std::string problem = make(product); !problem.empty()) {
      return problem;
    }
  }
  open = std::move(rest);
  begun = false; // after a wait, the kernel may change the accumulator registers
  uint32_t word = bitsOf(lanes[0]->sums[0]), which = word & 0xffff;
  if ((word & 0xffff0000) != kUnderWay || !sums.count(which) || sums.at(which).left > 0)
    return "";
  for (int64_t lane = 0; lane < kWarp; ++lane) {
    const std::vector<float> &values = sums.at(which).values[lane];
    std::memcpy(lanes[lane]->sums, values.data(), values.size() * sizeof(float));
  }
  sums.erase(which);
  return "";
}

std::string GroupWarp::step(GroupStep *const *lanes) {
  for (int64_t lane = 1; lane < kWarp; ++lane)
    if (lanes[lane]->kind != lanes[0]->kind || lanes[lane]->columns != lanes[0]->columns ||
        lanes[lane]->open != lanes[0]->open)
      return "threads of a warp execute different warpgroup instructions";
  switch (lanes[0]->kind) {
  case GroupStep::Kind::Begin:
    begun = true;
    return "";
  case GroupStep::Kind::Product:
    return product(lanes);
  case GroupStep::Kind::Close:
    ++sets;
    return "";
  case GroupStep::Kind::Wait:
    return wait(lanes);
  }
  return "";
}

std::string GroupWarp::end() const { return open.empty() ? "" : "a warp ends before its warpgroup MMAs complete"; }

} // namespace emulator
