// SPDX-License-Identifier: Apache-2.0
#include "test/Emulator/Driver/Warp.h"
#include "test/Emulator/Driver/Sums.h"

#include <cstring>

namespace emulator {

namespace {

float asFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/// Returns the TF32 value of a float32 operand: its eleven leading significant bits.
double leading(int32_t word) { return double(asFloat(uint32_t(word) & 0xffffe000)); }

double halfOf(int32_t word, int64_t which) {
  uint16_t bits = uint16_t(uint32_t(word) >> (16 * which));
  _Float16 value;
  std::memcpy(&value, &bits, sizeof(value));
  return double(value);
}

double bfloatOf(int32_t word, int64_t which) { return double(asFloat((uint32_t(word) >> (16 * which)) << 16)); }

double byteOf(int32_t word, int64_t which, bool isSigned) {
  auto byte = uint8_t(uint32_t(word) >> (8 * which));
  return isSigned ? double(int8_t(byte)) : double(byte);
}

/// Computes a 16x8 tile of accumulators from 16x8 and 8x8 registers of `count` elements each.
/// `left` and `right` extract an element from a register. `add` multiplies `8 * count` pairs and
/// adds them to an accumulator.
template <typename Sum, typename Left, typename Right, typename Add>
void multiply(Meeting *const *lanes, int64_t count, Left leftElement, Right rightElement, Add add) {
  double left[16][32], right[8][32];
  for (int64_t lane = 0; lane < kWarp; ++lane) {
    int64_t g = lane / 4, t = lane % 4;
    const int32_t *factors = lanes[lane]->factors;
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t part = 0; part < 4; ++part)
        left[g + part % 2 * 8][(t + part / 2 * 4) * count + i] = leftElement(factors[part], i);
      for (int64_t part = 0; part < 2; ++part)
        right[g][(t + part * 4) * count + i] = rightElement(factors[4 + part], i);
    }
  }
  for (int64_t lane = 0; lane < kWarp; ++lane)
    for (int64_t r = 0; r < 4; ++r) {
      Sum *to = static_cast<Sum *>(lanes[lane]->sums) + r;
      *to = add(*to, left[lane / 4 + r / 2 * 8], right[lane % 4 * 2 + r % 2]);
    }
}

/// Computes a warp-level MMA of floats. Adds products in the order in which an A100 adds them.
template <typename Element> void multiplyFloats(Meeting *const *lanes, int64_t count, Element element) {
  multiply<float>(lanes, count, element, element, [=](float sum, const double *left, const double *right) {
    constexpr int64_t atOnce = 4, moreBits = 1;
    return addProducts(sum, left, right, 8 * count, atOnce * count, moreBits);
  });
}

std::string shuffle(Meeting *const *lanes) {
  int32_t values[kWarp];
  for (int64_t i = 0; i < kWarp; ++i) {
    if (lanes[i]->laneXor != lanes[0]->laneXor)
      return "threads of a warp execute different shuffles";
    values[i] = lanes[(i ^ lanes[i]->laneXor) % kWarp]->value;
  }
  for (int64_t i = 0; i < kWarp; ++i)
    lanes[i]->value = values[i];
  return "";
}

std::string readLines(Meeting *const *lanes, bool turned) {
  for (int64_t i = 0; i < kWarp; ++i)
    if (reinterpret_cast<uintptr_t>(lanes[i]->line) % 16 != 0)
      return "a row of ldmatrix is not 16-byte aligned";
  for (int64_t lane = 0; lane < kWarp; ++lane)
    for (int64_t matrix = 0; matrix < 4; ++matrix) {
      int64_t g = lane / 4, t = lane % 4;
      uint16_t parts[2];
      for (int64_t i = 0; i < 2; ++i) {
        int64_t line = turned ? 2 * t + i : g, element = turned ? g : 2 * t + i;
        std::memcpy(&parts[i], lanes[matrix * 8 + line]->line + 2 * element, 2);
      }
      std::memcpy(&lanes[lane]->words[matrix], parts, 4);
    }
  return "";
}

} // namespace

std::string meet(Meeting *const *lanes, GroupWarp &group) {
  for (int64_t i = 0; i < kWarp; ++i)
    if (lanes[i]->kind != lanes[0]->kind)
      return "threads of a warp execute different warp-synchronous instructions";
  switch (lanes[0]->kind) {
  case Meeting::Kind::None:
    return "";
  case Meeting::Kind::Shuffle:
    return shuffle(lanes);
  case Meeting::Kind::Product:
    multiplyFloats(lanes, 1, [](int32_t word, int64_t) { return leading(word); });
    return "";
  case Meeting::Kind::ProductF16:
    multiplyFloats(lanes, 2, halfOf);
    return "";
  case Meeting::Kind::ProductBF16:
    multiplyFloats(lanes, 2, bfloatOf);
    return "";
  case Meeting::Kind::ProductBytes: {
    int32_t isSigned = lanes[0]->isSigned;
    multiply<int32_t>(
        lanes, 4, [=](int32_t word, int64_t i) { return byteOf(word, i, isSigned & 1); },
        [=](int32_t word, int64_t i) { return byteOf(word, i, isSigned & 2); },
        [](int32_t sum, const double *left, const double *right) {
          int64_t wide = sum;
          for (int64_t i = 0; i < 32; ++i)
            wide += int64_t(left[i]) * int64_t(right[i]);
          return int32_t(uint32_t(wide));
        });
    return "";
  }
  case Meeting::Kind::Lines:
  case Meeting::Kind::LinesTurned:
    return readLines(lanes, lanes[0]->kind == Meeting::Kind::LinesTurned);
  case Meeting::Kind::Group: {
    GroupStep *steps[kWarp];
    for (int64_t i = 0; i < kWarp; ++i)
      steps[i] = &lanes[i]->group;
    return group.step(steps);
  }
  }
  return "";
}

} // namespace emulator
