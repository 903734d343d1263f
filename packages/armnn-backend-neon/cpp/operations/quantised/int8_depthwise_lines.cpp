/* SPDX-License-Identifier: MIT */
#include <algorithm>
#include <cstring>
#include <string>

#include "costs/costs.h"
#include "graph/packed.h"
#include "operations/quantised/int8_depthwise.h"

namespace cpuacc {
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
    /* So many columns stay in the first cache interleaved. */
    const int64_t room = setup.machine().caches.first / column_bytes(setup.kernels.int8) / w.stride_x;
    const auto products = static_cast<double>(lines_ * taps_ * kJoined);
    const int64_t together = setup.kernels.int8.line_channels;
    const int64_t channels = ratio_up(w.channels, together) * together;
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

  /* That so many outputs of a row see. */
  int64_t columns_of(int64_t width) const { return (width - 1) * windows_.stride_x + (taps_ - 1) * tap_step_ + 1; }

  /* Weights, bias and scales in the order of Int8DepthwiseLines. */
  void pack_all(const Setup &setup) {
    const Int8Kernels &kernels = setup.kernels.int8;
    const int64_t together = kernels.line_channels;
    const int64_t padded = ratio_up(windows_.channels, together) * together;
    const int64_t weight_bytes = lines_ * taps_ * kJoined * padded;
    const std::string recipe = std::string(joins_rows_ ? "rows" : "columns") + " by lines " + std::to_string(together);
    packed_ = packed(setup, recipe, static_cast<size_t>(weight_bytes) + static_cast<size_t>(padded) * sizeof(int32_t),
                     [&](const Int8DepthwiseWeights &weights, void *memory) {
                       auto *bytes = static_cast<int8_t *>(memory);
                       pack(weights, together, bytes, reinterpret_cast<int32_t *>(bytes + weight_bytes));
                     });
    const auto *sums = reinterpret_cast<const int32_t *>(static_cast<const int8_t *>(packed_.get()) + weight_bytes);
    const int32_t zero_point = params_.left_zero_point + kernels.read_offset[params_.left_is_signed ? 1 : 0];
    const std::shared_ptr<void> bias = zeros(static_cast<size_t>(padded) * sizeof(int32_t));
    const std::shared_ptr<void> scales = zeros(static_cast<size_t>(padded) * sizeof(float));
    for_each_place(together, [&](size_t at, int64_t c) {
      static_cast<int32_t *>(bias.get())[at] = bias_of(c) - zero_point * sums[at];
      static_cast<float *>(scales.get())[at] = params_.multipliers[static_cast<size_t>(c)];
    });
    bias_ = bias;
    scales_ = scales;
  }

  /* Sums are those of a channel's weights. */
  void pack(const Int8DepthwiseWeights &weights, int64_t together, int8_t *packed, int32_t *sums) const {
    const int64_t part_bytes = lines_ * taps_ * together * kJoined;
    std::memset(packed, 0, static_cast<size_t>(reinterpret_cast<int8_t *>(sums) - packed));
    std::memset(sums, 0, static_cast<size_t>(ratio_up(windows_.channels, together) * together) * sizeof *sums);
    for_each_place(together, [&](size_t at, int64_t c) {
      const auto place = static_cast<int64_t>(at);
      sums[at] = pack_channel(weights, c, together, packed + place / together * part_bytes + place % together * kJoined);
    });
  }

  /* Calls visit(place, channel). Channels are padded to so many together, or the last ones are there twice. */
  template <typename Visit>
  void for_each_place(int64_t together, const Visit &visit) const {
    const int64_t channels = windows_.channels;
    for (int64_t part = 0; part * together < channels; ++part) {
      const bool is_cut = channels >= together && (part + 1) * together > channels;
      const int64_t begin = is_cut ? channels - together : part * together;
      for (int64_t i = 0; i < together; ++i) {
        const int64_t c = begin + channel_of(i, together);
        if (c < channels) visit(static_cast<size_t>(part * together + i), c);
      }
    }
  }

  static std::shared_ptr<void> zeros(size_t bytes) {
    std::shared_ptr<void> memory = aligned_memory(bytes);
    std::memset(memory.get(), 0, bytes);
    return memory;
  }

  /* Of so many channels, that which stands at a place of interleaved ones. */
  static int64_t channel_of(int64_t place, int64_t together) {
    const int64_t of_register = together / kJoined;
    const int64_t within = place % of_register;
    return within / 4 * 16 + place / of_register * 4 + within % 4;
  }

  /* Returns the sum of its weights. */
  int32_t pack_channel(const Int8DepthwiseWeights &weights, int64_t c, int64_t together, int8_t *to) const {
    const Windows &w = windows_;
    int32_t sum = 0;
    for (int64_t i = 0; i < w.window_height; ++i) {
      for (int64_t j = 0; j < w.window_width; ++j) {
        const int64_t line = joins_rows_ ? i / kJoined : i;
        const int64_t tap = joins_rows_ ? j : j / kJoined;
        const int64_t place = joins_rows_ ? i % kJoined : j % kJoined;
        const int32_t number = weights.at(c, i, j);
        to[(line * taps_ + tap) * together * kJoined + place] = static_cast<int8_t>(number);
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
  const auto make = has_lines ? int8_depthwise_of_lines : int8_depthwise_of_neighbours;
  return make(tensors, windows, steps, std::move(params));
}

OperationPtr int8_depthwise_of_lines(const WeightedTensors &tensors, const Windows &windows,
                                     const WindowSteps &steps, Int8Params params) {
  return std::make_unique<Int8DepthwiseOfLines>(tensors, windows, steps, std::move(params));
}

}  // namespace cpuacc
