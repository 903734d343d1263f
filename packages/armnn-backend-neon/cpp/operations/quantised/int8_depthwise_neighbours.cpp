/* SPDX-License-Identifier: MIT */
#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "costs/costs.h"
#include "graph/packed.h"
#include "operations/quantised/int8_depthwise.h"

namespace cpuacc {
namespace {

class Int8DepthwiseOfNeighbours final : public Int8Depthwise {
 public:
  using Int8Depthwise::Int8Depthwise;

  size_t prepare(const Setup &setup) override {
    const Windows &w = windows_;
    const Int8Kernels &kernels = setup.kernels.int8;
    const int64_t lanes = kernels.lanes;
    padded_channels_ = ratio_up(w.channels, lanes) * lanes;
    groups_ = ratio_up(w.window_width, kernels.depthwise_group);
    pack_all(setup);
    scales_ = filled_multipliers(w.channels, lanes);
    const auto products = static_cast<double>(w.window_height * w.window_width);
    choose_pieces(setup, "bytes by neighbours", costs::kByteNeighbourMultiplyAdd, padded_channels_, products,
                  costs::kMostInt8DepthwisePiece);
    const int64_t group_step = groups_ > 1 ? kernels.depthwise_group * w.dilation_x : w.stride_x;
    /* One output alone takes every group from its first column on: nothing between is asked for. */
    gathered_step_ = std::max<int64_t>(1, piece_ == 1 ? group_step : std::gcd(w.stride_x, group_step));
    gathered_ = ((piece_ - 1) * w.stride_x + (groups_ - 1) * group_step) / gathered_step_ + 1;
    const int64_t rows = 2 + (w.window_height - 1) * w.dilation_y;
    gathered_bytes_ = aligned_bytes(static_cast<size_t>(rows * gathered_ * lanes * 4));
    thread_bytes_ = gathered_bytes_ + aligned_bytes(static_cast<size_t>(w.window_height) * sizeof(void *));
    return thread_bytes_ * static_cast<size_t>(setup.threads);
  }

  void run(const Frame &frame) const override {
    Int8DepthwiseRows shared{};
    shared.weights = packed_.get();
    shared.bias = folded_.data();
    shared.gathered = gathered_;
    shared.gathered_step = gathered_step_;
    const auto compute = [&](Int8DepthwiseRows &rows, int32_t thread) {
      auto *memory = frame.scratch_of<std::byte>(thread, thread_bytes_);
      rows.gathered_rows = memory;
      rows.window_rows = reinterpret_cast<void **>(memory + gathered_bytes_);
      frame.kernels.int8.depthwise_rows(rows);
    };
    run_bands(frame, shared, scales_.data(), compute);
  }

 private:
  void pack_all(const Setup &setup) {
    const Int8Kernels &kernels = setup.kernels.int8;
    const int32_t group = kernels.depthwise_group;
    const size_t weight_bytes = static_cast<size_t>(windows_.window_height * groups_ * padded_channels_) * 4;
    const std::string recipe = "neighbours " + std::to_string(group) + " " + std::to_string(padded_channels_);
    packed_ = packed(setup, recipe, weight_bytes + static_cast<size_t>(padded_channels_) * sizeof(int32_t),
                     [&](const Int8DepthwiseWeights &weights, void *memory) {
                       auto *bytes = static_cast<uint8_t *>(memory);
                       pack(weights, group, bytes, reinterpret_cast<int32_t *>(bytes + weight_bytes));
                     });
    const auto *sums = reinterpret_cast<const int32_t *>(static_cast<const uint8_t *>(packed_.get()) + weight_bytes);
    const int32_t zero_point = params_.left_zero_point + kernels.read_offset[params_.left_is_signed ? 1 : 0];
    folded_.resize(static_cast<size_t>(padded_channels_));
    for (size_t c = 0; c < folded_.size(); ++c) {
      folded_[c] = (c < params_.bias.size() ? params_.bias[c] : 0) - zero_point * sums[c];
    }
  }

  /* Sums are those of a channel's weights. */
  void pack(const Int8DepthwiseWeights &weights, int32_t group, uint8_t *packed, int32_t *sums) const {
    const Windows &w = windows_;
    std::memset(packed, 0, static_cast<size_t>(reinterpret_cast<uint8_t *>(sums) - packed));
    std::fill(sums, sums + padded_channels_, 0);
    for (int64_t i = 0; i < w.window_height; ++i) {
      for (int64_t j = 0; j < w.window_width; ++j) {
        for (int64_t c = 0; c < w.channels; ++c) {
          const int32_t number = weights.at(c, i, j);
          const int64_t place = (i * groups_ + j / group) * padded_channels_ + c;
          std::memcpy(packed + place * 4 + j % group * (4 / group), &number,
                      static_cast<size_t>(4 / group)); /* the lowest bytes come first */
          sums[c] += number;
        }
      }
    }
  }

  int64_t padded_channels_ = 0;
  int64_t groups_ = 0; /* of columns of a window */
  int64_t gathered_ = 0;
  int64_t gathered_step_ = 1;
  size_t gathered_bytes_ = 0; /* of a thread, as what follows */
  size_t thread_bytes_ = 0;
  std::shared_ptr<const void> packed_;
  std::vector<int32_t> folded_;
  std::vector<float> scales_;
};

}  // namespace

OperationPtr int8_depthwise_of_neighbours(const WeightedTensors &tensors, const Windows &windows,
                                          const WindowSteps &steps, Int8Params params) {
  return std::make_unique<Int8DepthwiseOfNeighbours>(tensors, windows, steps, std::move(params));
}

}  // namespace cpuacc
