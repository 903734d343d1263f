/* SPDX-License-Identifier: MIT */
/* Convolutions: as products whose rows are windows, and depthwise ones on their own. */
#include <algorithm>
#include <cstring>

#include "layers/registry.h"
#include "operations/convolution/direct.h"
#include "operations/convolution/indirection.h"
#include "operations/convolution/output_blocking.h"
#include "operations/copy/copy.h"
#include "operations/gemm/gemm.h"
#include "operations/gemm/panels.h"
#include "operations/storage/bfloat16.h"
#include "operations/windows.h"
#include "operations/winograd/winograd_1d.h"
#include "operations/winograd/winograd_2d.h"

namespace cpuacc {
namespace {

constexpr double kStoredNs = 0.15; /* an output beside its sum of products */

/* [N, H, W, C] * weights -> [N, H', W', groups * O]. */
class IndirectConvolution final : public WithEpilogue {
 public:
  /* Args: layout: of one group; group_stride: from one group's weights to the next one's. */
  IndirectConvolution(TensorId input, TensorId weights, TensorId bias, TensorId out, Windows windows,
                      WeightLayout layout, int64_t groups, int64_t group_stride)
      : WithEpilogue({input, weights, bias}, {out}),
        windows_(windows),
        layout_(layout),
        groups_(groups),
        group_stride_(group_stride) {}

  int64_t bias_count() const override { return groups_ * layout_.columns; }

  size_t prepare(const Setup &setup) override {
    const Tensor &weights = setup[inputs[1]];
    tiling_ =
        gemm_tiling(windows_.batch * windows_.output_height * windows_.output_width, layout_, groups_, setup);
    copies_rows_ = !gains_by_bfloat16(setup, layout_) && layout_.taps == 1 &&
                   layout_.columns > setup.kernels.columns &&
                   windows_.channels * windows_.stride_x % kCrowding == 0;
    int64_t most_rows = tiling_.rows + setup.kernels.rows;
    if (copies_rows_) {
      const int64_t tiles = kCopiedFloats / layout_.depth / setup.kernels.rows;
      most_rows = std::max<int64_t>(1, tiles) * setup.kernels.rows;
      tiling_.rows_per_task = std::min(tiling_.rows_per_task, most_rows);
    }
    const std::string recipe = layout_.recipe() + " " + std::to_string(groups_) + " " + setup.kernels.name;
    panels_ = panel_storage(setup, weights, layout_, recipe, most_rows, tiling_);
    if (panels_ == PanelStorage::bfloat16) {
      image_ = RoundedRows(windows_.batch * windows_.height * windows_.width, windows_.channels);
    }
    group_bytes_ = packed_bytes(panels_, layout_, setup.kernels);
    float32_panel_bytes_ = float32_panel_bytes(panels_, layout_, setup.kernels);
    const auto fill = [&](void *memory) {
      pack(static_cast<const float *>(weights.constant), setup.kernels, static_cast<std::byte *>(memory));
    };
    packed_ = setup.packed.get(weights.constant, recipe + recipe_of(panels_),
                               group_bytes_ * static_cast<size_t>(groups_), fill);
    inputs[1] = kNone;
    const size_t zero_bytes = static_cast<size_t>(layout_.depth) * sizeof(float);
    const std::shared_ptr<void> zeros = aligned_memory(zero_bytes);
    std::memset(zeros.get(), 0, zero_bytes);
    zeros_ = zeros;
    return thread_bytes() * static_cast<size_t>(setup.threads) + image_.bytes();
  }

  void run(const Frame &frame) const override {
    const float *image = frame.in<float>(inputs[0]);
    if (panels_ != PanelStorage::bfloat16) return run_all(frame, windows_, image);
    std::byte *memory = frame.scratch() + thread_bytes() * static_cast<size_t>(frame.pool.threads());
    auto *to = reinterpret_cast<Bfloat16 *>(memory);
    image_.round(frame, image, to);
    Windows windows = windows_;
    windows.channels = image_.stride;
    run_all(frame, windows, to);
  }

 private:
  void pack(const float *weights, const Kernels &kernels, std::byte *memory) const {
    for (int64_t g = 0; g < groups_; ++g, weights += group_stride_, memory += group_bytes_) {
      pack_weights(panels_, weights, layout_, kernels, memory);
    }
  }

  template <typename Number>
  void run_all(const Frame &frame, const Windows &windows, const Number *image) const {
    const size_t bytes = thread_bytes();
    const int64_t tasks = tiling_.tasks();
    frame.pool.run(
        groups_ * tasks, gemm_task_ns(tiling_, layout_), [&](int64_t begin, int64_t end, int32_t thread) {
          auto *table =
              reinterpret_cast<const Number **>(frame.scratch() + bytes * static_cast<size_t>(thread));
          for (int64_t i = begin; i < end; ++i) run_one(frame, windows, image, table, i / tasks, i % tasks);
        });
  }

  /* Channels whose rows lie so that each begins in the same set of the nearest cache, or in one of two. */
  static constexpr int64_t kCrowding = 512;
  static constexpr int64_t kCopiedFloats = 64 * 1024; /* of one task */

  size_t thread_bytes() const {
    const int64_t copies = copies_rows_ ? tiling_.rows_per_task * (layout_.depth + CopiedRows::kFiller) : 0;
    return pointer_bytes(tiling_, layout_) + float32_panel_bytes_ + static_cast<size_t>(copies) * sizeof(float);
  }

  template <typename Number>
  void run_one(const Frame &frame, const Windows &windows, const Number *image, const Number **table,
               int64_t group, int64_t task) const {
    const int64_t channels = groups_ * layout_.columns;
    const int64_t first = group * layout_.columns;
    const float *bias = inputs[2] == kNone ? nullptr : frame.in<float>(inputs[2]) + first;
    const float *residual = has_residual_ ? frame.in<float>(inputs.back()) + first : nullptr;
    const auto *packed = static_cast<const std::byte *>(packed_.get()) +
                         static_cast<size_t>(group) * group_bytes_;
    GemmTask<Number> gemm{layout_,
                          reinterpret_cast<const Number *>(packed),
                          frame.out<float>(outputs[0]) + first,
                          channels,
                          {bias, residual, function_}};
    std::byte *behind = reinterpret_cast<std::byte *>(table) + pointer_bytes(tiling_, layout_);
    if (panels_ == PanelStorage::float16) {
      gemm.float16_panels = reinterpret_cast<const uint16_t *>(packed);
      gemm.float32_panel = reinterpret_cast<float *>(behind);
    }
    Indirection<Number> found(windows, image + group * layout_.depth,
                              static_cast<const Number *>(zeros_.get()));
    if constexpr (std::is_same_v<Number, float>) {
      if (copies_rows_) {
        auto *copies = reinterpret_cast<float *>(behind + float32_panel_bytes_);
        return run_gemm_task(gemm, tiling_, task, frame.kernels, table,
                             CopiedRows(found, copies, layout_.depth));
      }
    }
    run_gemm_task(gemm, tiling_, task, frame.kernels, table, found);
  }

  Windows windows_;
  WeightLayout layout_;
  int64_t groups_;
  int64_t group_stride_;
  Tiling tiling_{};
  PanelStorage panels_ = PanelStorage::float32;
  RoundedRows image_; /* in bfloat16, a line for each pixel */
  bool copies_rows_ = false;
  size_t group_bytes_ = 0;
  size_t float32_panel_bytes_ = 0; /* of a thread */
  std::shared_ptr<const void> packed_;
  std::shared_ptr<const void> zeros_;
};

/* One output channel per input channel; weights [window_height, window_width, C]. */
class Depthwise final : public WithEpilogue {
 public:
  Depthwise(TensorId input, TensorId weights, TensorId bias, TensorId out, const Windows &windows)
      : WithEpilogue({input, weights, bias}, {out}), windows_(column_as_row(windows)) {}

  size_t prepare(const Setup &setup) override {
    const int64_t rows = windows_.batch * windows_.output_height;
    const int32_t threads = setup.threads_for(outputs_ns(rows * windows_.output_width));
    const int64_t wanted = threads == 1 ? 1 : 4 * threads;
    band_ = std::clamp<int64_t>(rows / wanted / 2 * 2, 2, kHighestBand);
    piece_ = windows_.output_width;
    if (windows_.output_height == 1) {
      piece_ = std::max<int64_t>(kShortestPiece, (piece_ * windows_.batch + wanted - 1) / wanted);
    }
    return 0;
  }

  void run(const Frame &frame) const override {
    const Windows &w = windows_;
    DepthwiseRows shared{};
    shared.weights = frame.in<float>(inputs[1]);
    shared.bias = inputs[2] == kNone ? nullptr : frame.in<float>(inputs[2]);
    static_cast<DepthwiseShape &>(shared) = depthwise_shape(w);
    shared.function = function_;
    const float *input = frame.in<float>(inputs[0]);
    float *output = frame.out<float>(outputs[0]);
    const int64_t bands = (w.output_height + band_ - 1) / band_;
    const int64_t pieces = (w.output_width + piece_ - 1) / piece_;
    const double part_ns = outputs_ns(std::min(band_, w.output_height) * piece_);
    frame.pool.run(w.batch * bands * pieces, part_ns, [&](int64_t begin, int64_t end, int32_t) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / pieces / bands;
        const int64_t first = i / pieces % bands * band_;
        const int64_t x = i % pieces * piece_;
        DepthwiseRows rows = shared;
        rows.count = std::min(band_, w.output_height - first);
        rows.output_width = std::min(piece_, w.output_width - x);
        rows.input = input + image * w.height * w.width * w.channels;
        rows.output = output + ((image * w.output_height + first) * w.output_width + x) * w.channels;
        rows.top = first * w.stride_y - w.pad_top;
        rows.left = x * w.stride_x - w.pad_left;
        frame.kernels.depthwise_rows(rows);
      }
    });
  }

 private:
  double outputs_ns(int64_t count) const {
    const auto taps = static_cast<double>(windows_.window_height * windows_.window_width);
    return static_cast<double>(count * windows_.channels) * (taps * kMultiplyAddNs + kStoredNs);
  }

  static constexpr int64_t kHighestBand = 8; /* rows whose inputs stay in the nearest cache */
  static constexpr int64_t kShortestPiece = 64;
  Windows windows_;
  int64_t band_ = 1; /* output rows at a time */
  int64_t piece_ = 1; /* outputs of a row at a time: all unless there is one row */
};

/* [KH, KW, C] from weights whose output channels are as many as the input's. */
TensorId depthwise_weights(Lowering &l, const Shape &strides, const Windows &w) {
  const float *weights = l.constant(1, "the weights");
  std::vector<float> ordered;
  ordered.reserve(static_cast<size_t>(w.window_height * w.window_width * w.channels));
  for (int64_t i = 0; i < w.window_height; ++i) {
    for (int64_t j = 0; j < w.window_width; ++j) {
      for (int64_t c = 0; c < w.channels; ++c) {
        ordered.push_back(weights[c * strides[0] + i * strides[1] + j * strides[2]]);
      }
    }
  }
  return l.constant_tensor({w.window_height, w.window_width, w.channels}, ordered);
}

/* [O, taps, I] from [O, I, taps]. */
std::vector<float> channels_last_weights(const Lowering &l, int64_t columns, int64_t depth, int64_t taps) {
  const float *weights = l.constant(1, "the weights");
  std::vector<float> result;
  result.reserve(static_cast<size_t>(columns * taps * depth));
  for (int64_t o = 0; o < columns; ++o) {
    for (int64_t t = 0; t < taps; ++t) {
      for (int64_t c = 0; c < depth; ++c) result.push_back(weights[(o * depth + c) * taps + t]);
    }
  }
  return result;
}

void lower_depthwise(Lowering &l) {
  require_floats(l);
  require(l.input(0).shape.size() == 4 && l.input(1).shape.size() == 4, "the rank must be 4");
  const Order order = image_order(l);
  const Shape &weights = l.input(1).shape;
  Windows windows = windows_of(l, order);
  windows.window_height = weights[1];
  windows.window_width = weights[2];
  l.require_constant(1, "the weights");
  const int64_t channels = weights[3];
  const TensorId input = l.in(0, order);
  const TensorId bias = bias_of(l);
  if (channels == windows.channels) {
    const Shape strides = {1, weights[2] * channels, channels};
    const TensorId ordered = depthwise_weights(l, strides, windows);
    l.add<Depthwise>(input, ordered, bias, l.out(0, order), windows);
    return;
  }
  require(windows.channels > 0 && channels % windows.channels == 0,
          "the weights' channels must be a multiple of the input's", 1);
  const int64_t multiplier = channels / windows.channels;
  const TensorId right = l.in(1);
  if (windows.channels == 1 && suits_direct(windows)) {
    const WeightLayout layout = single_channel_layout(windows, channels);
    add_direct(l, input, right, bias, l.out(0, order), windows, layout);
    return;
  }
  const WeightLayout layout{weights[1] * weights[2], channels, 1, 1, multiplier, 1};
  l.add<IndirectConvolution>(input, right, bias, l.out(0, order), windows, layout, windows.channels,
                             multiplier);
}

/* The image with zeros around it, channels last; order is that of the tensor before. */
TensorId padded(Lowering &l, const Order &order, Windows &windows) {
  Windows &w = windows;
  const int64_t height = w.height + w.pad_top + w.pad_bottom;
  const int64_t width = w.width + w.pad_left + w.pad_right;
  if (height == w.height && width == w.width) return l.in(0, order);
  /* Straight from the order in which the image lies: one walk over memory instead of two. */
  const Order from = l.order(0);
  const Shape shape{w.batch, w.height, w.width, w.channels};
  const Shape to{w.batch, height, width, w.channels};
  const Shape steps = strides_of(to);
  const Shape own = strides_of(in_memory(l.input(0).shape, from));
  CopyBox box{shape, {}, steps, 0, w.pad_top * steps[1] + w.pad_left * steps[2]};
  for (const int32_t axis : order) box.from.push_back(own[place_of(from, axis)]);
  const TensorId image = l.in(0, from);
  const TensorId result = l.temporary(ARMNN_FLOAT32, to);
  l.add<CopyBoxes>(std::vector<TensorId>{image}, result, std::vector<CopyBox>{box},
                   std::vector<std::byte>(sizeof(float)));
  w.height = height;
  w.width = width;
  w.pad_top = w.pad_left = w.pad_bottom = w.pad_right = 0;
  return result;
}

/* Weights [columns, KH, KW, I]. */
void add_ungrouped(Lowering &l, const Order &order, TensorId weights, TensorId bias, TensorId out,
                   Windows windows, int64_t columns) {
  const int64_t width = windows.window_width * windows.channels;
  if (suits_direct(windows) && l.fast_math().has_bfloat16 && columns >= kGemmLanes) {
    /* The numbers of a tap lie side by side once the padding is there. */
    const WeightLayout layout{windows.window_height, width, width, 1, columns, windows.window_height * width};
    const TensorId image = padded(l, order, windows);
    windows.window_width = 1;
    l.add<IndirectConvolution>(image, weights, bias, out, windows, layout, 1, 0);
    return;
  }
  if (suits_direct(windows)) {
    /* An image that has to be reordered gets its padding on the way. */
    const TensorId image = l.order(0) == order ? l.in(0, order) : padded(l, order, windows);
    add_direct(l, image, weights, bias, out, windows, direct_layout(windows, columns));
    return;
  }
  const int64_t depth = windows.channels;
  const int64_t taps = windows.window_height * windows.window_width;
  const WeightLayout layout{taps, depth, depth, 1, columns, taps * depth};
  l.add<IndirectConvolution>(l.in(0, order), weights, bias, out, windows, layout, 1, 0);
}

void lower_direct(Lowering &l, const Order &order, const Windows &windows, bool is_last) {
  const int64_t columns = l.input(1).shape[0];
  const int64_t taps = windows.window_height * windows.window_width;
  const TensorId bias = bias_of(l);
  TensorId weights = l.in(1);
  if (!is_last) {
    const std::vector<float> data = channels_last_weights(l, columns, windows.channels, taps);
    weights = l.constant_tensor({columns, taps, windows.channels}, data);
  }
  add_ungrouped(l, order, weights, bias, l.out(0, order), windows, columns);
}

/* Several outputs side by side at once; what reaches beyond the image is cut off. */
void lower_blocked(Lowering &l, const Order &order, const Windows &windows, bool is_last, int64_t together) {
  const int64_t columns = l.input(1).shape[0];
  const TensorId weights = blocked_weights(l, windows, windows.channels, is_last, together);
  const TensorId bias = repeated_bias(l, columns, together);
  const Windows wide = blocked_windows(windows, together);
  const int64_t width = wide.output_width * together;
  if (width == windows.output_width) {
    add_ungrouped(l, order, weights, bias, l.out(0, order), wide, together * columns);
    return;
  }
  const Shape shape{windows.batch, windows.output_height, width, columns};
  const TensorId made = l.temporary(ARMNN_FLOAT32, shape);
  add_ungrouped(l, order, weights, bias, made, wide, together * columns);
  const Shape kept{windows.batch, windows.output_height, windows.output_width, columns};
  l.add<CopyBoxes>(std::vector<TensorId>{made}, l.out(0, order),
                   std::vector<CopyBox>{{kept, strides_of(shape), strides_of(kept), 0, 0}});
}

void lower_convolution(Lowering &l) {
  require_floats(l);
  require(l.input(0).shape.size() == 4 && l.input(1).shape.size() == 4, "the rank must be 4");
  const Order order = image_order(l);
  const bool is_last = is_plain(order);
  const Shape &weights = l.input(1).shape;
  Windows windows = windows_of(l, order);
  windows.window_height = weights[is_last ? 1 : 2];
  windows.window_width = weights[is_last ? 2 : 3];
  l.require_constant(1, "the weights");
  const int64_t depth = weights[is_last ? 3 : 1];
  const int64_t taps = windows.window_height * windows.window_width;
  require(depth > 0 && windows.channels % depth == 0, "the weights do not fit to the channels", 1);
  const int64_t groups = windows.channels / depth;
  require(groups > 0 && weights[0] % groups == 0, "the weights do not fit to the groups", 1);
  const int64_t columns = weights[0] / groups;
  const int64_t lanes = suits_direct(windows) ? kDirectLanes : kGemmLanes;
  const int64_t together = groups == 1 ? outputs_per_block(windows, columns, lanes) : 1;
  if (together > 1) return lower_blocked(l, order, windows, is_last, together);
  const WeightLayout layout = is_last
                                  ? WeightLayout{taps, depth, depth, 1, columns, taps * depth}
                                  : WeightLayout{taps, 1, depth, taps, columns, taps * depth};
  const int64_t side = groups == 1 ? winograd_2d_side(windows, layout, l.fast_math()) : 0;
  /* A filter along one axis saves about what bfloat16 does, which needs no transformation. */
  const bool may_filter = groups == 1 && side == 0 && !l.fast_math().has_bfloat16;
  const Winograd1dFilter filter = may_filter ? winograd_1d_filter(windows, layout) : Winograd1dFilter{};
  if (groups == 1 && filter.outputs == 0 && suits_direct(windows)) {
    return lower_direct(l, order, windows, is_last);
  }
  const TensorId input = l.in(0, order);
  const TensorId bias = bias_of(l);
  if (groups > 1 && depth == 1 && columns == 1) {
    const Shape strides = {taps, windows.window_width, 1}; /* the same in both layouts */
    const TensorId ordered = depthwise_weights(l, strides, windows);
    l.add<Depthwise>(input, ordered, bias, l.out(0, order), windows);
    return;
  }
  const TensorId right = l.in(1);
  if (side > 0) {
    add_winograd_2d(l, input, right, bias, l.out(0, order), windows, layout, side);
    return;
  }
  if (filter.outputs > 0) {
    add_winograd_1d(l, input, right, bias, l.out(0, order), windows, layout, filter);
    return;
  }
  l.add<IndirectConvolution>(input, right, bias, l.out(0, order), windows, layout, groups,
                             columns * taps * depth);
}

}  // namespace

std::vector<LayerType> convolution_layers() {
  return {
      {ARMNN_LAYER_CONVOLUTION2D, lower_convolution},
      {ARMNN_LAYER_DEPTHWISE_CONVOLUTION2D, lower_depthwise},
  };
}

}  // namespace cpuacc
