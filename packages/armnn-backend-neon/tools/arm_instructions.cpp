/* SPDX-License-Identifier: MIT */
/* Calls one kernel of one level some times and prints the multiply-adds of a call.
 *
 * arm_instructions LEVEL KERNEL CALLS; instruction counts for 2 calls and for 1 differ by one call.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernels/kernels.h"

namespace {

using cpuacc::Kernels;

constexpr int64_t kDepth = 256;
constexpr int64_t kWidth = 64;
constexpr int64_t kChannels = 32;

/* Large enough for all that any kernel here reads or writes. */
std::vector<float> memory() { return std::vector<float>(1 << 16, 1.0f); }

const std::vector<float> kNumbers = memory();
std::vector<float> outputs = memory();

const uint8_t *bytes() { return reinterpret_cast<const uint8_t *>(kNumbers.data()); }

const int32_t *integers() { return reinterpret_cast<const int32_t *>(kNumbers.data()); }

int64_t gemm(const Kernels &kernels, int calls) {
  const std::vector<const float *> rows(static_cast<size_t>(kernels.rows), kNumbers.data());
  cpuacc::GemmTile tile{};
  tile.rows = rows.data();
  tile.taps = 1;
  tile.depth = kDepth;
  tile.b = kNumbers.data();
  tile.c = outputs.data();
  tile.c_stride = tile.column_count = kernels.columns;
  tile.row_count = kernels.rows;
  for (int i = 0; i < calls; ++i) kernels.gemm_tile(tile);
  return kDepth * kernels.rows * kernels.columns;
}

int64_t depthwise(const Kernels &kernels, int calls, int64_t window) {
  cpuacc::DepthwiseRows rows{};
  rows.input = rows.weights = kNumbers.data();
  rows.output = outputs.data();
  rows.height = rows.window_height = rows.window_width = window;
  rows.width = kWidth + window - 1;
  rows.channels = kChannels;
  rows.count = rows.stride_y = rows.stride_x = rows.dilation_y = rows.dilation_x = 1;
  rows.output_width = kWidth;
  for (int i = 0; i < calls; ++i) kernels.depthwise_rows(rows);
  return kWidth * kChannels * window * window;
}

int64_t int8_gemm(const Kernels &kernels, int calls) {
  const std::vector<const uint8_t *> rows(static_cast<size_t>(kernels.int8.rows), bytes());
  cpuacc::Int8GemmTile tile{};
  tile.rows = rows.data();
  tile.taps = 1;
  tile.depth = kDepth;
  tile.is_signed = true;
  tile.b = reinterpret_cast<const int8_t *>(bytes());
  tile.bias = integers();
  tile.c = outputs.data();
  tile.c_stride = tile.column_count = kernels.int8.columns;
  tile.row_count = kernels.int8.rows;
  tile.requantization = {kNumbers.data(), 0, -128, 127};
  for (int i = 0; i < calls; ++i) kernels.int8.gemm_tile(tile);
  return kDepth * kernels.int8.rows * kernels.int8.columns;
}

int64_t int8_depthwise(const Kernels &kernels, int calls, int64_t window) {
  const std::vector<const uint8_t *> lines(8, bytes());
  cpuacc::Int8DepthwiseRow row{};
  row.lines = lines.data();
  row.outside = bytes();
  row.weights = bytes();
  row.bias = integers();
  row.output = reinterpret_cast<uint8_t *>(outputs.data());
  row.width = kWidth + window - 1;
  row.channels = kChannels;
  row.output_width = kWidth;
  row.window_height = row.window_width = window;
  row.stride_x = row.dilation_x = 1;
  row.is_signed = true;
  row.requantization = {kNumbers.data(), 0, -128, 127};
  for (int i = 0; i < calls; ++i) kernels.int8.depthwise_row(row);
  return kWidth * kChannels * window * window;
}

int64_t call(const Kernels &kernels, const char *name, int calls) {
  if (std::strcmp(name, "gemm") == 0) return gemm(kernels, calls);
  if (std::strcmp(name, "depthwise3") == 0) return depthwise(kernels, calls, 3);
  if (std::strcmp(name, "depthwise5") == 0) return depthwise(kernels, calls, 5);
  if (std::strcmp(name, "int8_gemm") == 0) return int8_gemm(kernels, calls);
  if (std::strcmp(name, "int8_depthwise3") == 0) return int8_depthwise(kernels, calls, 3);
  return -1;
}

}  // namespace

int main(int count, char **words) {
  if (count != 4) return 2;
  const Kernels *kernels = cpuacc::kernels_of(words[1]);
  if (kernels == nullptr) return 3;
  std::printf("%lld\n", static_cast<long long>(call(*kernels, words[2], std::atoi(words[3]))));
  return 0;
}
