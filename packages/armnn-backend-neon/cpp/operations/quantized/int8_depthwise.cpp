/* SPDX-License-Identifier: MIT */
/* Depthwise convolutions of bytes, by interleaved lines and by gathered neighbors. */
#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "costs/costs.h"
#include "graph/packed.h"
#include "operations/depthwise/depthwise.h"
#include "operations/quantized/quantized.h"

namespace cpuacc {

/* The weights of a depthwise convolution, as numbers without their zero point. */
struct Int8DepthwiseWeights {
  const uint8_t *stored;
  const WindowSteps &steps;
  const Int8Params &params;

  int32_t at(int64_t c, int64_t row, int64_t column) const {
    const uint8_t byte = stored[c * steps.channel + row * steps.row + column * steps.column];
    const int32_t number = params.right_is_signed ? static_cast<int8_t>(byte) : byte;
    return number - params.right_zero_point;
  }
};

/* The base of both ways to compute it: windows, and rows of the output as tasks. */
class Int8Depthwise : public WithInt8Epilogue {
 public:
  Int8Depthwise(const WeightedTensors &tensors, const Windows &windows, WindowSteps steps, Int8Params params)
      : WithInt8Epilogue({tensors.input, tensors.weights}, tensors.out, std::move(params)),
        windows_(column_as_row(windows)),
        steps_(steps) {
    if (windows_.window_width != windows.window_width) std::swap(steps_.row, steps_.column);
  }

 protected:
  /* The weights in the order of a kernel, which needs no others. Args: recipe: all that packing depends on but windows,
   * steps and zero point; pack(weights, memory): writes so many bytes.
   */
  template <typename Pack>
  std::shared_ptr<const void> packed(const Setup &setup, const std::string &recipe, size_t bytes, const Pack &pack) {
    const void *source = setup[std::exchange(inputs[1], kNone)].constant;
    const std::string zero_point = (params_.right_is_signed ? "int8 " : "uint8 ") + std::to_string(params_.right_zero_point);
    return setup.packed.get(source, recipe + " " + steps_.recipe(windows_) + zero_point, bytes, [&](void *memory) {
      pack(Int8DepthwiseWeights{static_cast<const uint8_t *>(source), steps_, params_}, memory);
    });
  }

  /* Into as few calls as keep the threads busy: each reads the rows at its edges on its own. Args: name: of the
   * kernel; multiply_add: what one of its products takes of those in float32; channels: that it computes; products: of a number of the output; most: outputs of a row
   * that a call computes.
   */
  void choose_pieces(const Setup &setup, const char *name, double multiply_add, int64_t channels, double products,
                     int64_t most) {
    const Windows &w = windows_;
    const int64_t outputs = w.batch * w.output_height * w.output_width;
    const auto numbers = static_cast<double>(outputs * channels);
    kernel = name;
    work = costs::Work()
               .add(costs::multiply_add, multiply_add * numbers * products)
               .add(costs::element, costs::kStoredByteElements * numbers / setup.kernels.lanes);
    const double ns = setup.machine().ns_of(work);
    const int32_t threads = setup.threads_for(ns);
    const int64_t wanted = threads == 1 ? 1 : 2 * threads;
    const int64_t pieces = std::max<int64_t>(1, ratio_up(w.output_width, most));
    piece_ = std::max<int64_t>(1, ratio_up(w.output_width, pieces));
    const int64_t others = std::max<int64_t>(1, w.batch * pieces);
    const int64_t bands = std::clamp<int64_t>(ratio_up(wanted, others), 1, std::max<int64_t>(1, w.output_height));
    band_ = std::max<int64_t>(1, ratio_up(w.output_height, bands));
    part_ns_ = ns / static_cast<double>(std::max<int64_t>(1, outputs)) * static_cast<double>(band_ * piece_);
  }

  /* Calls compute(rows, thread) for all rows, then the epilogue. Args: rows: what is the same for all of them, without
   * what is set here.
   */
  template <typename Rows, typename Compute>
  void run_bands(const Frame &frame, Rows rows, const float *scales, const Compute &compute) const {
    rows.output_step = windows_.output_width * windows_.channels;
    rows.is_signed = params_.left_is_signed;
    rows.zero_point = params_.left_zero_point;
    rows.requantization = params_.requantization(scales);
    const Int8Epilogue epilogue = epilogue_of(frame);
    for_each_band(frame, windows_, band_, piece_, part_ns_, frame.in<uint8_t>(inputs[0]), frame.out<uint8_t>(outputs[0]),
                  rows, [&](Rows &some, int32_t thread) {
                    compute(some, thread);
                    for (int64_t r = 0; r < some.count; ++r) {
                      uint8_t *row = some.output + r * some.output_step;
                      epilogue(frame.kernels.int8, row, some.output_width * windows_.channels);
                    }
                  });
  }

  Windows windows_;
  WindowSteps steps_;
  int64_t band_ = 1; /* output rows at a time */
  int64_t piece_ = 1; /* outputs of a row at a time */
  double part_ns_ = 0.0; /* a piece of a band */
};

OperationPtr int8_depthwise_of_neighbors(const WeightedTensors &tensors, const Windows &windows,
                                          const WindowSteps &steps, Int8Params params);

/* Where the level has depthwise_lines. */
OperationPtr int8_depthwise_of_lines(const WeightedTensors &tensors, const Windows &windows,
                                     const WindowSteps &steps, Int8Params params);

namespace {

constexpr int64_t kJoined = 4; /* rows or columns of a window that are multiplied at once */

class Int8DepthwiseOfLines final : public Int8Depthwise {
 public:
  using Int8Depthwise::Int8Depthwise;

  size_t prepare(const Setup &setup) override {
    const Windows &w = windows_;
    const int64_t groups_down = ratio_up(w.window_height, kJoined);
    const int64_t groups_across = ratio_up(w.window_width, kJoined);
    /* Interleaving takes less than the products, and a window of rows is interleaved less often. */
    joins_rows_ = groups_down * w.window_width <= w.window_height * groups_across;
    lines_ = joins_rows_ ? groups_down : w.window_height;
    taps_ = joins_rows_ ? w.window_width : groups_across;
    tap_step_ = w.dilation_x * (joins_rows_ ? 1 : kJoined);
    pack_all(setup);
    /* How many interleaved columns stay in the first cache. */
    const int64_t room = setup.machine().caches.first / column_bytes(setup.kernels.int8) / w.stride_x;
    const auto products = static_cast<double>(lines_ * taps_ * kJoined);
    const int64_t channel_block = setup.kernels.int8.line_channels;
    const int64_t channels = ratio_up(w.channels, channel_block) * channel_block;
    choose_pieces(setup, "bytes by lines", costs::kByteLineMultiplyAdd, channels, products,
                  std::max(room, costs::kLeastInterleavedColumns));
    thread_bytes_ = aligned_bytes(static_cast<size_t>(column_bytes(setup.kernels.int8) * columns_of(piece_)));
    return thread_bytes_ * static_cast<size_t>(setup.threads);
  }

  void run(const Frame &frame) const override {
    Int8DepthwiseLines shared{};
    shared.weights = packed_.get();
    shared.bias = bias_.get();
    shared.joins_rows = joins_rows_;
    shared.lines = lines_;
    shared.taps = taps_;
    shared.tap_step = tap_step_;
    const auto compute = [&](Int8DepthwiseLines &rows, int32_t thread) {
      rows.interleaved = frame.scratch_of<std::byte>(thread, thread_bytes_);
      rows.columns = columns_of(rows.output_width);
      frame.kernels.int8.depthwise_lines(rows);
    };
    run_bands(frame, shared, static_cast<const float *>(scales_.get()), compute);
  }

 private:
  int64_t column_bytes(const Int8Kernels &kernels) const { return lines_ * kJoined * kernels.line_channels; }

  /* The columns of the image that so many outputs of a row see. */
  int64_t columns_of(int64_t width) const { return (width - 1) * windows_.stride_x + (taps_ - 1) * tap_step_ + 1; }

  /* Weights, bias and scales in the order of Int8DepthwiseLines. */
  void pack_all(const Setup &setup) {
    const Int8Kernels &kernels = setup.kernels.int8;
    const int64_t channel_block = kernels.line_channels;
    const int64_t padded = ratio_up(windows_.channels, channel_block) * channel_block;
    const int64_t weight_bytes = lines_ * taps_ * kJoined * padded;
    const std::string recipe = std::string(joins_rows_ ? "rows" : "columns") + " by lines " + std::to_string(channel_block);
    packed_ = packed(setup, recipe, static_cast<size_t>(weight_bytes) + static_cast<size_t>(padded) * sizeof(int32_t),
                     [&](const Int8DepthwiseWeights &weights, void *memory) {
                       auto *bytes = static_cast<int8_t *>(memory);
                       pack(weights, channel_block, bytes, reinterpret_cast<int32_t *>(bytes + weight_bytes));
                     });
    const auto *sums = reinterpret_cast<const int32_t *>(static_cast<const int8_t *>(packed_.get()) + weight_bytes);
    const int32_t zero_point = params_.left_zero_point + kernels.read_offset[params_.left_is_signed ? 1 : 0];
    const std::shared_ptr<void> bias = zeros(static_cast<size_t>(padded) * sizeof(int32_t));
    const std::shared_ptr<void> scales = zeros(static_cast<size_t>(padded) * sizeof(float));
    for_each_place(channel_block, [&](size_t at, int64_t c) {
      static_cast<int32_t *>(bias.get())[at] = bias_of(c) - zero_point * sums[at];
      static_cast<float *>(scales.get())[at] = params_.multipliers[static_cast<size_t>(c)];
    });
    bias_ = bias;
    scales_ = scales;
  }

  /* Sums are those of a channel's weights. */
  void pack(const Int8DepthwiseWeights &weights, int64_t channel_block, int8_t *packed, int32_t *sums) const {
    const int64_t part_bytes = lines_ * taps_ * channel_block * kJoined;
    std::memset(packed, 0, static_cast<size_t>(reinterpret_cast<int8_t *>(sums) - packed));
    std::memset(sums, 0, static_cast<size_t>(ratio_up(windows_.channels, channel_block) * channel_block) * sizeof *sums);
    for_each_place(channel_block, [&](size_t at, int64_t c) {
      const auto place = static_cast<int64_t>(at);
      sums[at] = pack_channel(weights, c, channel_block, packed + place / channel_block * part_bytes + place % channel_block * kJoined);
    });
  }

  /* Calls visit(place, channel). Channels are padded to so many together, or the last ones are there twice. */
  template <typename Visit>
  void for_each_place(int64_t channel_block, const Visit &visit) const {
    const int64_t channels = windows_.channels;
    for (int64_t part = 0; part * channel_block < channels; ++part) {
      const bool is_cut = channels >= channel_block && (part + 1) * channel_block > channels;
      const int64_t begin = is_cut ? channels - channel_block : part * channel_block;
      for (int64_t i = 0; i < channel_block; ++i) {
        const int64_t c = begin + channel_of(i, channel_block);
        if (c < channels) visit(static_cast<size_t>(part * channel_block + i), c);
      }
    }
  }

  static std::shared_ptr<void> zeros(size_t bytes) {
    std::shared_ptr<void> memory = aligned_memory(bytes);
    std::memset(memory.get(), 0, bytes);
    return memory;
  }

  /* The channel at a place of a block of interleaved channels. */
  static int64_t channel_of(int64_t place, int64_t channel_block) {
    const int64_t of_register = channel_block / kJoined;
    const int64_t within = place % of_register;
    return within / 4 * 16 + place / of_register * 4 + within % 4;
  }

  /* Returns the sum of its weights. */
  int32_t pack_channel(const Int8DepthwiseWeights &weights, int64_t c, int64_t channel_block, int8_t *to) const {
    const Windows &w = windows_;
    int32_t sum = 0;
    for (int64_t i = 0; i < w.window_height; ++i) {
      for (int64_t j = 0; j < w.window_width; ++j) {
        const int64_t line = joins_rows_ ? i / kJoined : i;
        const int64_t tap = joins_rows_ ? j : j / kJoined;
        const int64_t place = joins_rows_ ? i % kJoined : j % kJoined;
        const int32_t number = weights.at(c, i, j);
        to[(line * taps_ + tap) * channel_block * kJoined + place] = static_cast<int8_t>(number);
        sum += number;
      }
    }
    return sum;
  }

  int32_t bias_of(int64_t c) const { return params_.bias.empty() ? 0 : params_.bias[static_cast<size_t>(c)]; }

  bool joins_rows_ = true; /* as in Int8DepthwiseLines, as those below */
  int64_t lines_ = 1;
  int64_t taps_ = 1;
  int64_t tap_step_ = 1;
  size_t thread_bytes_ = 0;
  std::shared_ptr<const void> packed_, bias_, scales_;
};

}  // namespace

OperationPtr int8_depthwise_convolution(const WeightedTensors &tensors, const Windows &windows,
                                        const WindowSteps &steps, Int8Params params, const Kernels &kernels) {
  const bool has_lines = kernels.int8.depthwise_lines != nullptr &&
                         windows.channels >= kernels.int8.least_line_channels;
  const auto make = has_lines ? int8_depthwise_of_lines : int8_depthwise_of_neighbors;
  return make(tensors, windows, steps, std::move(params));
}

OperationPtr int8_depthwise_of_lines(const WeightedTensors &tensors, const Windows &windows,
                                     const WindowSteps &steps, Int8Params params) {
  return std::make_unique<Int8DepthwiseOfLines>(tensors, windows, steps, std::move(params));
}

namespace {

class Int8DepthwiseOfNeighbors final : public Int8Depthwise {
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
    choose_pieces(setup, "bytes by neighbors", costs::kByteNeighborMultiplyAdd, padded_channels_, products,
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
    const std::string recipe = "neighbors " + std::to_string(group) + " " + std::to_string(padded_channels_);
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
  size_t gathered_bytes_ = 0; /* of a thread, as the next ones */
  size_t thread_bytes_ = 0;
  std::shared_ptr<const void> packed_;
  std::vector<int32_t> folded_;
  std::vector<float> scales_;
};

}  // namespace

OperationPtr int8_depthwise_of_neighbors(const WeightedTensors &tensors, const Windows &windows,
                                          const WindowSteps &steps, Int8Params params) {
  return std::make_unique<Int8DepthwiseOfNeighbors>(tensors, windows, steps, std::move(params));
}

}  // namespace cpuacc
