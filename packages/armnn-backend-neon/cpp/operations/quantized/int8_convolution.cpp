/* SPDX-License-Identifier: MIT */
/* Convolutions of bytes, direct and indirect. */
#include <string>

#include "costs/costs.h"
#include "operations/convolution/image_rows.h"
#include "operations/convolution/indirection.h"
#include "operations/quantized/quantized.h"
#include "operations/quantized/widened_rows.h"

namespace cpuacc {
namespace {

int64_t filled_depth(const WeightLayout &layout) { return ratio_up(layout.depth, 4) * 4; }

/* Widens the bytes that are copied of an image to the numbers that the kernels read. */
struct Widened {
  const Int8Kernels &kernels;
  bool is_signed;
  void operator()(const uint8_t *from, int64_t n, int16_t *to) const { kernels.widen(from, to, n, is_signed); }
};

/* Windows over bytes that are surrounded by the zero point, with packed weights. */
class Int8Direct : public WithInt8Epilogue {
 public:
  Int8Direct(const WeightedTensors &tensors, const Windows &windows, const WeightLayout &layout, Int8Params params)
      : WithInt8Epilogue({tensors.input, tensors.weights}, tensors.out, std::move(params)),
        windows_(windows),
        layout_(layout),
        overreads_(filled_depth(layout) - layout.depth) {}

 protected:
  void prepare_weights(const Setup &setup) {
    weights_.prepare(setup, inputs[1], layout_, 1, 0, params_, "1 ", false);
    element_bytes_ = setup.kernels.int8.widen == nullptr ? sizeof(uint8_t) : sizeof(int16_t);
    kernel = "direct bytes";
    work = byte_gemm_work(output_count(), layout_, setup.kernels.int8);
    output_ns_ = setup.machine().ns_of(work) / static_cast<double>(std::max<int64_t>(1, output_count()));
  }

  uint8_t outside() const { return static_cast<uint8_t>(params_.left_zero_point); }

  /* Computes all columns of the outputs that a row describes, by image, count, step, taps, tap_step, c and c_stride. */
  void run_outputs(const Int8Kernels &kernels, Int8DirectRow direct) const {
    const int64_t columns = layout_.columns;
    const size_t panel_bytes = int8_panel_bytes(layout_, kernels, false);
    direct.depth = filled_depth(layout_);
    direct.is_signed = params_.left_is_signed;
    direct.requantization = params_.requantization();
    uint8_t *c = direct.c;
    const std::byte *packed = weights_.matrix(0);
    for (int64_t column = 0; column < columns; column += kernels.columns, packed += panel_bytes) {
      direct.b = reinterpret_cast<const int8_t *>(packed);
      direct.bias = weights_.folded.data() + column;
      direct.requantization.scales = weights_.scales.data() + column;
      direct.column_count = static_cast<int32_t>(std::min<int64_t>(kernels.columns, columns - column));
      direct.c = c + column;
      kernels.direct_row(direct);
    }
  }

  int64_t output_count() const { return windows_.batch * windows_.output_height * windows_.output_width; }
  double outputs_ns(int64_t count) const { return static_cast<double>(count) * output_ns_; }

  const void *element(const std::byte *padded, int64_t place) const {
    return padded + place * static_cast<int64_t>(element_bytes_);
  }

  bool widens() const { return element_bytes_ == sizeof(int16_t); }

  /* The height and width of an image that all windows see, and its elements. */
  static int64_t seen_height(const Windows &w) {
    return (w.output_height - 1) * w.stride_y + (w.window_height - 1) * w.dilation_y + 1;
  }
  static int64_t seen_width(const Windows &w) { return (w.output_width - 1) * w.stride_x + w.window_width; }
  static int64_t padded_count(const Windows &w) { return seen_height(w) * seen_width(w) * w.channels; }

  size_t padded_image_bytes() const {
    return aligned_bytes(static_cast<size_t>(padded_count(windows_) + overreads_) * element_bytes_);
  }

  static bool sees_outside(const Windows &w) {
    return seen_height(w) > w.height || seen_width(w) > w.width || w.pad_top > 0 || w.pad_left > 0;
  }

  /* Copies all that is seen of an image, as the kernels read it. */
  void pad(const Int8Kernels &kernels, const uint8_t *image, void *padded) const {
    widens() ? pad(image, static_cast<int16_t *>(padded), params_.left_zero_point, widening(kernels))
             : pad(image, static_cast<uint8_t *>(padded), outside(), Copied{});
  }

  Widened widening(const Int8Kernels &kernels) const { return {kernels, params_.left_is_signed}; }

  Windows windows_;
  WeightLayout layout_;
  int64_t overreads_; /* elements behind a window that are read and do not count */
  size_t element_bytes_ = 1; /* of an image that was copied */
  double output_ns_ = 0.0; /* all columns of one */

 private:
  template <typename Number, typename Move>
  void pad(const uint8_t *image, Number *padded, int32_t outside, const Move &move) const {
    const Windows &w = windows_;
    const int64_t width = seen_width(w) * w.channels;
    const int64_t left = w.pad_left * w.channels;
    const int64_t there = std::max<int64_t>(0, std::min(w.width * w.channels, width - left));
    const int64_t rows = std::min(w.height, seen_height(w) - w.pad_top);
    std::fill_n(padded, seen_height(w) * width + overreads_, static_cast<Number>(outside));
    for (int64_t y = 0; y < rows; ++y) {
      move(image + y * w.width * w.channels, there, padded + (w.pad_top + y) * width + left);
    }
  }

  Int8Weights weights_;
};

/* Outputs of a row side by side. One thread copies a narrow image once, with its surroundings; several, for each row
 * of outputs, what it sees: none waits for what another has copied.
 */
class Int8DirectConvolution final : public Int8Direct {
 public:
  Int8DirectConvolution(const WeightedTensors &tensors, const Windows &windows, const WeightLayout &layout,
                        Int8Params params)
      : Int8Direct(tensors, windows, layout, std::move(params)),
        rows_(windows, outside(), false, overreads_),
        widened_rows_(windows, static_cast<int16_t>(params_.left_zero_point), false, overreads_) {}

  size_t prepare(const Setup &setup) override {
    prepare_weights(setup);
    const Windows &w = windows_;
    const double ns = outputs_ns(output_count());
    pads_image_ = setup.threads_for(ns) == 1 && w.output_height > 0 && w.output_width > 0 &&
                  w.output_width <= costs::kNarrowImage && w.window_height > 1 && sees_outside(w) &&
                  padded_count(w) * static_cast<int64_t>(element_bytes_) <= setup.machine().caches.first;
    strip_bytes_ = widens() ? widened_rows_.strip_bytes() : rows_.strip_bytes();
    return pads_image_ ? padded_image_bytes() : strip_bytes_ * static_cast<size_t>(setup.threads);
  }

  void run(const Frame &frame) const override {
    const Windows &w = windows_;
    const Int8Epilogue epilogue = epilogue_of(frame);
    const int64_t count = w.output_width * layout_.columns;
    if (pads_image_) return run_padded(frame, epilogue);
    frame.for_each(w.batch * w.output_height, outputs_ns(w.output_width), [&](int64_t i, int32_t thread) {
      uint8_t *row = frame.out<uint8_t>(outputs[0]) + i * count;
      const auto *image = frame.in<uint8_t>(inputs[0]);
      auto *strip = frame.scratch_of<std::byte>(thread, strip_bytes_);
      const auto see = [&](const auto &seen) { run_seen(frame.kernels.int8, row, seen); };
      if (widens()) {
        widened_rows_.row(image, i, reinterpret_cast<int16_t *>(strip), see, widening(frame.kernels.int8));
      } else {
        rows_.row(image, i, reinterpret_cast<uint8_t *>(strip), see);
      }
      epilogue(frame.kernels.int8, row, count);
    });
  }

 private:
  void run_padded(const Frame &frame, const Int8Epilogue &epilogue) const {
    const Windows &w = windows_;
    auto *padded = frame.scratch_of<std::byte>(0, padded_image_bytes());
    const int64_t width = seen_width(w) * w.channels;
    const int64_t count = w.output_width * layout_.columns;
    for (int64_t i = 0; i < w.batch; ++i) {
      pad(frame.kernels.int8, frame.in<uint8_t>(inputs[0]) + i * w.height * w.width * w.channels, padded);
      for (int64_t y = 0; y < w.output_height; ++y) {
        uint8_t *row = frame.out<uint8_t>(outputs[0]) + (i * w.output_height + y) * count;
        const void *image = element(padded, y * w.stride_y * width);
        run_seen(frame.kernels.int8, row,
                 SeenOutputs<void>{0, w.output_width, image, 0, w.window_height, w.dilation_y * width});
        epilogue(frame.kernels.int8, row, count);
      }
    }
  }

  template <typename Seen>
  void run_seen(const Int8Kernels &kernels, uint8_t *row, const SeenOutputs<Seen> &seen) const {
    Int8DirectRow direct{};
    direct.image = seen.image;
    direct.count = seen.last - seen.first;
    direct.step = windows_.stride_x * windows_.channels;
    direct.taps = seen.taps;
    direct.tap_step = seen.tap_step;
    direct.c = row + seen.first * layout_.columns;
    direct.c_stride = layout_.columns;
    run_outputs(kernels, direct);
  }

  ImageRows<uint8_t> rows_;
  ImageRows<uint8_t, int16_t> widened_rows_;
  size_t strip_bytes_ = 0; /* of a thread */
  bool pads_image_ = false;
};

/* Outputs of a column one below the other, of a small image that is higher than wide: its rows would be short tiles,
 * most of whose time is spent on its surroundings. It is copied once, with them.
 */
class Int8ColumnConvolution final : public Int8Direct {
 public:
  using Int8Direct::Int8Direct;

  size_t prepare(const Setup &setup) override {
    prepare_weights(setup);
    return padded_image_bytes() * static_cast<size_t>(windows_.batch == 1 ? 1 : setup.threads);
  }

  void run(const Frame &frame) const override {
    const Windows &w = windows_;
    const Int8Kernels &kernels = frame.kernels.int8;
    const Int8Epilogue epilogue = epilogue_of(frame);
    const uint8_t *images = frame.in<uint8_t>(inputs[0]);
    uint8_t *output = frame.out<uint8_t>(outputs[0]);
    const int64_t count = w.output_height * w.output_width * layout_.columns;
    const double column_ns = outputs_ns(w.output_height);
    if (w.batch == 1) {
      auto *padded = frame.scratch_of<std::byte>(0, padded_image_bytes());
      pad(kernels, images, padded);
      frame.for_each(w.output_width, column_ns, [&](int64_t x, int32_t) { run_column(kernels, padded, output, x); });
      return epilogue(kernels, output, count);
    }
    const double image_ns = column_ns * static_cast<double>(w.output_width);
    frame.for_each(w.batch, image_ns, [&](int64_t i, int32_t thread) {
      auto *padded = frame.scratch_of<std::byte>(thread, padded_image_bytes());
      pad(kernels, images + i * w.height * w.width * w.channels, padded);
      for (int64_t x = 0; x < w.output_width; ++x) run_column(kernels, padded, output + i * count, x);
      epilogue(kernels, output + i * count, count);
    });
  }

  /* Whether the rows of an image are worth being left. */
  static bool suits(const Windows &w, const costs::Machine &machine) {
    return sees_outside(w) && w.output_width < w.output_height && w.output_width <= costs::kNarrowImage &&
           padded_count(w) <= machine.first_cache_bytes();
  }

 private:
  void run_column(const Int8Kernels &kernels, const std::byte *padded, uint8_t *output, int64_t x) const {
    const Windows &w = windows_;
    const int64_t width = seen_width(w) * w.channels;
    Int8DirectRow direct{};
    direct.image = element(padded, x * w.stride_x * w.channels);
    direct.count = w.output_height;
    direct.step = w.stride_y * width;
    direct.taps = w.window_height;
    direct.tap_step = w.dilation_y * width;
    direct.c = output + x * layout_.columns;
    direct.c_stride = w.output_width * layout_.columns;
    run_outputs(kernels, direct);
  }
};

}  // namespace

bool suits_int8_direct(const Windows &w, const Int8Params &params) {
  return w.channels <= costs::kMostInt8DirectChannels && w.dilation_x == 1 && w.window_width > 1 && w.stride_x > 0 &&
         params.right_zero_point == (params.right_is_signed ? 0 : 128);
}

OperationPtr int8_direct_convolution(const WeightedTensors &tensors, const Windows &windows,
                                     const WeightLayout &layout, Int8Params params, const Kernels &kernels) {
  if (Int8ColumnConvolution::suits(windows, costs::machine(kernels.lanes))) {
    return std::make_unique<Int8ColumnConvolution>(tensors, windows, layout, std::move(params));
  }
  return std::make_unique<Int8DirectConvolution>(tensors, windows, layout, std::move(params));
}

namespace {

/* [N, H, W, C] * weights -> [N, H', W', groups * O]. */
class Int8IndirectConvolution final : public WithInt8Epilogue {
 public:
  /* Args: layout: of one group; group_stride: from one group's weights to the next one's. */
  Int8IndirectConvolution(const WeightedTensors &tensors, const Windows &windows, const WeightLayout &layout,
                          int64_t groups, int64_t group_stride, Int8Params params)
      : WithInt8Epilogue({tensors.input, tensors.weights}, tensors.out, std::move(params)),
        windows_(windows),
        layout_(layout),
        groups_(groups),
        group_stride_(group_stride) {}

  size_t prepare(const Setup &setup) override {
    const int64_t rows = windows_.batch * windows_.output_height * windows_.output_width;
    tiling_ = int8_gemm_tiling(rows, layout_, groups_, setup);
    in_tile_registers_ = suits_tile_registers(rows, layout_, setup.kernels);
    kernel = int8_gemm_kernel(in_tile_registers_);
    work = scaled(int8_gemm_work(rows, layout_, setup.kernels, in_tile_registers_), static_cast<double>(groups_));
    weights_.prepare(setup, inputs[1], layout_, groups_, group_stride_, params_, std::to_string(groups_) + " ", true);
    zeros_ = filled_memory(static_cast<size_t>(layout_.depth), params_.left_zero_point);
    image_.prepare(layout_, setup.kernels.int8, setup[inputs[0]].count());
    task_bytes_ = int8_task_bytes(tiling_, layout_, setup.kernels);
    return task_bytes_ * static_cast<size_t>(setup.threads) + image_.bytes();
  }

  void run(const Frame &frame) const override {
    auto *widened = frame.scratch_of<std::byte>(frame.pool.threads(), task_bytes_);
    if (image_.is_there()) {
      image_.widen(frame, frame.in<uint8_t>(inputs[0]), params_.left_is_signed, params_.left_zero_point, widened);
    }
    const int64_t tasks = tiling_.tasks();
    const int64_t columns = weights_.columns;
    frame.for_each(groups_ * tasks, tiling_.task_ns(), [&](int64_t i, int32_t thread) {
      const int64_t group = i / tasks;
      const Int8GemmTask gemm{layout_,
                              params_,
                              weights_.matrix(group),
                              weights_.folded.data() + group * columns,
                              weights_.scales.data() + group * columns,
                              weights_.seeks_small,
                              frame.out<std::byte>(outputs[0]) + group * layout_.columns,
                              groups_ * layout_.columns,
                              epilogue_of(frame)};
      const Int8Kernels &kernels = int8_gemm_kernels(frame.kernels, in_tile_registers_);
      auto *table = frame.scratch_of<const uint8_t *>(thread, task_bytes_);
      const uint8_t *image = frame.in<uint8_t>(inputs[0]) + group * layout_.depth;
      if (are_pixels(windows_)) {
        return run_int8_gemm_task(gemm, tiling_, i % tasks, kernels, table, EvenRows<uint8_t>{image, windows_.channels});
      }
      /* Outside of the image stand zero points. */
      const Indirection<uint8_t> bytes(windows_, image, static_cast<const uint8_t *>(zeros_.get()));
      if (image_.is_there()) {
        const int16_t *numbers = WidenedImage::image(widened) + group * layout_.depth;
        run_int8_gemm_task(gemm, tiling_, i % tasks, kernels, table, Indirection<uint8_t>(bytes),
                           Indirection<int16_t>(windows_, numbers, image_.outside(widened)));
      } else {
        run_int8_gemm_task(gemm, tiling_, i % tasks, kernels, table, Indirection<uint8_t>(bytes));
      }
    });
  }

 private:
  Windows windows_;
  WeightLayout layout_;
  int64_t groups_;
  int64_t group_stride_;
  Tiling tiling_{};
  bool in_tile_registers_ = false;
  Int8Weights weights_;
  std::shared_ptr<const void> zeros_;
  size_t task_bytes_ = 0;
  WidenedImage image_;
};

}  // namespace

OperationPtr int8_indirect_convolution(const WeightedTensors &tensors, const Windows &windows,
                                       const WeightLayout &layout, int64_t groups, int64_t group_stride,
                                       Int8Params params) {
  return std::make_unique<Int8IndirectConvolution>(tensors, windows, layout, groups, group_stride, std::move(params));
}

}  // namespace cpuacc
