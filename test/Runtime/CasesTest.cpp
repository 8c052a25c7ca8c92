// SPDX-License-Identifier: Apache-2.0
// Tests models in which symbols determine more than sizes: the rank of an output, and whether a run
// is possible.
#include "FakeModel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using testing::ElementsAre;

namespace {

const int64_t rowDims[] = {3}, matrixDims[] = {HEWN_DIM_SYMBOL(0), 3};

/// A model of y = 2 * x for x of shape [n, 3]. If n is 1, y has shape [3]. If n is 7, the run
/// fails.
class CasesModel {
public:
  CasesModel() {
    model.abi_version = HEWN_ABI_VERSION;
    model.struct_bytes = sizeof(hewn_model);
    model.name = "cases";
    model.runtime = &hewn_rt_table;
    model.services = &allServices;
    model.num_inputs = model.num_outputs = model.num_symbols = model.num_variants = 1;
    model.inputs = &input;
    model.outputs = &matrix;
    model.symbols = &symbol;
    model.variants = &variant;
    model.cases = cases;
    model.num_cases = 3;
    model.case_of = [](const int64_t *n) -> int32_t { return *n == 1 ? 0 : *n == 7 ? 1 : 2; };
    model.output_dims = [](const int64_t *n, int64_t *const *dims) {
      dims[0][0] = *n == 1 ? 3 : *n;
      if (*n != 1)
        dims[0][1] = 3;
    };
    variant.arena_bytes = [](const int64_t *n) -> int64_t { return *n == 7 ? -1 : *n * 64; };
    variant.run = [](hewn_context *, const hewn_frame *frame) -> int32_t {
      for (int64_t i = 0; i < 3 * frame->symbols[0]; ++i)
        static_cast<float *>(frame->outputs[0])[i] = 2 * static_cast<const float *>(frame->inputs[0])[i];
      return HEWN_OK;
    };
  }
  CasesModel(const CasesModel &) = delete;

  hewn_model model{};

private:
  hewn_tensor_info input{"x", float32, 2, matrixDims, nullptr}, row{"y", float32, 1, rowDims, nullptr},
      matrix{"y", float32, 2, matrixDims, nullptr};
  hewn_symbol symbol{"n", 0, INT64_MAX};
  hewn_variant variant{};
  hewn_case cases[3] = {
      {"n = 1", nullptr, &row}, {"n = 7", "no run of 7", nullptr}, {"n != 1, n != 7", nullptr, &matrix}};
};

class Cases : public testing::Test {
protected:
  void SetUp() override { ASSERT_EQ(hewn_context_create(&fake.model, nullptr, &context).code, HEWN_OK); }
  void TearDown() override { hewn_context_destroy(context); }

  hewn_status run(int64_t n, DLTensor *out) {
    Tensor<float> x{{n, 3}, std::vector<float>(size_t(3 * n), 2)};
    DLTensor in = x.view(float32);
    return hewn_run(&fake.model, context, &in, out);
  }

  CasesModel fake;
  hewn_context *context = nullptr;
};

TEST_F(Cases, TheRankIsTheCases) {
  for (int64_t n : {2, 1, 3}) {
    int64_t shape[2] = {-1, -1};
    DLTensor out{};
    out.shape = shape;
    ASSERT_STREQ(run(n, &out).message, "");
    EXPECT_EQ(out.ndim, n == 1 ? 1 : 2);
    EXPECT_THAT(shape, ElementsAre(n == 1 ? 3 : n, n == 1 ? -1 : 3));
    EXPECT_EQ(static_cast<float *>(out.data)[2], 4);
    hewn_output_release(context, out.data);
  }
}

TEST_F(Cases, TheCallersMemoryHasThatRank) {
  Tensor<float> row{{3}, {0, 0, 0}}, matrix{{1, 3}, {0, 0, 0}};
  DLTensor out = matrix.view(float32);
  EXPECT_STREQ(run(1, &out).message, "output 'y': shape [3] (rank 1) expected, got [1, 3] (rank 2)");
  out = row.view(float32);
  EXPECT_STREQ(run(1, &out).message, "");
  EXPECT_THAT(row.data, ElementsAre(4, 4, 4));
  EXPECT_STREQ(run(2, &out).message, "output 'y': shape [n, 3] (rank 2) expected, got [3] (rank 1)");
}

TEST_F(Cases, ARefusalComesBeforeTheRun) {
  int64_t shape[2] = {-1, -1};
  DLTensor out{};
  out.shape = shape;
  hewn_status status = run(7, &out);
  EXPECT_EQ(status.code, HEWN_INVALID_ARGUMENT);
  EXPECT_STREQ(status.message, "no run of 7");
  EXPECT_EQ(out.data, nullptr);
  int64_t n = 7;
  EXPECT_STREQ(hewn_context_reserve(context, &n).message, "no run of 7");
  EXPECT_EQ(hewn_arena_bytes(&fake.model, &n), -1);
  n = 2;
  EXPECT_EQ(hewn_arena_bytes(&fake.model, &n), 128);
  EXPECT_STREQ(hewn_context_reserve(context, &n).message, "");
}

TEST_F(Cases, Pointers) {
  float x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {};
  const void *in = x;
  for (int64_t n : {1, 2}) {
    void *out = y;
    int64_t dims[2] = {-1, -1}, *allDims = dims;
    ASSERT_STREQ(hewn_run_pointers(&fake.model, context, &in, &out, &allDims, &n).message, "");
    EXPECT_THAT(dims, ElementsAre(n == 1 ? 3 : 2, n == 1 ? -1 : 3));
    EXPECT_EQ(y[3 * n - 1], 2 * x[3 * n - 1]);
  }
}

} // namespace
