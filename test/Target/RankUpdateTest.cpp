// SPDX-License-Identifier: Apache-2.0
//
// Compares the symmetric rank-k update, for each vector length including that of the host, with a
// loop that adds up the rows in order. The results have to be bitwise equal.
#include "lib/Target/Targets.h"

#include "gtest/gtest.h"

#include <random>

namespace {

using hewn::RowPanel;

TEST(RankUpdate, AddsInTheOrderOfTheRows) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  hewn::RankUpdate *const updates[] = {hewn::updateByVectors<4>, hewn::updateByVectors<8>, hewn::updateByVectors<16>,
                                       hewn::target::rankUpdate()};
  for (size_t size : {1, 3, 4, 7, 16, 31, 32, 33, 70, 129}) {
    for (size_t count : {size_t(1), size_t(5), RowPanel::kRows}) {
      RowPanel panel(size);
      panel.count = count;
      for (size_t r = 0; r < count; ++r)
        std::generate_n(panel.row(r), size, [&] { return normal(random); });
      std::vector<float> before(size * size);
      std::generate(before.begin(), before.end(), [&] { return normal(random); });
      for (hewn::RankUpdate *update : updates) {
        std::vector<float> sums = before;
        update(panel, sums.data());
        for (size_t i = 0; i < size; ++i)
          for (size_t j = 0; j <= i; ++j) {
            // `volatile` prevents contraction to FMAs and vectorization: each rounding stays.
            volatile float sum = before[i * size + j];
            for (size_t r = 0; r < count; ++r) {
              volatile float product = panel.row(r)[i] * panel.row(r)[j];
              sum = sum + product;
            }
            ASSERT_EQ(sums[i * size + j], sum) << size << ": " << i << ", " << j;
          }
      }
    }
  }
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
