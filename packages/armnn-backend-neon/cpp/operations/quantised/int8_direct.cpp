/* SPDX-License-Identifier: MIT */
#include "operations/quantised/int8_direct.h"

#include "operations/convolution/image_rows.h"

namespace cpuacc {
namespace {

constexpr int64_t kMostChannels = 64;
int64_t filled_depth(const WeightLayout &layout) { return (layout.depth + 3) / 4 * 4; }

class Int8Sliding final : public WithBounds {
 public:
  Int8Sliding(TensorId input, TensorId weights, TensorId out, const Windows &windows, const WeightLayout &layout,
              Int8Sums sums)
      : WithBounds({input, weights}, out, std::move(sums)),
        windows_(windows),
        layout_(layout),
        rows_(windows, static_cast<uint8_t>(sums_.left_zero_point), false,
              filled_depth(layout) - layout.depth) {}

  size_t prepare(const Setup &setup) override {
    const Int8Kernels &kernels = setup.kernels.int8;
    const auto *weights = static_cast<const uint8_t *>(setup[inputs[1]].constant);
    const auto fill = [&](void *memory) {
      pack_int8(weights, sums_.right_is_signed, layout_, kernels, static_cast<std::byte *>(memory));
    };
    packed_ = setup.packed.get(weights, "int8 " + layout_.recipe() + " 1 " + setup.kernels.name,
                               int8_packed_bytes(layout_, kernels), fill);
    inputs[1] = kNone;
    scales_ = filled_multipliers(0, layout_.columns, kernels.columns);
    folded_.resize(scales_.size());
    fold_int8(sums_, sums_.bias.empty() ? nullptr : sums_.bias.data(), layout_, kernels,
              static_cast<const std::byte *>(packed_.get()), folded_.data());
    return rows_.strip_bytes() * static_cast<size_t>(setup.threads);
  }

  void run(const Frame &frame) const override {
    const Windows &w = windows_;
    const Int8Finish finish = finish_of(frame);
    const uint8_t *input = frame.in<uint8_t>(inputs[0]);
    const double row_ns = int8_product_ns(w.output_width, layout_.columns, layout_.taps * layout_.depth);
    frame.pool.run(w.batch * w.output_height, row_ns, [&](int64_t begin, int64_t end, int32_t thread) {
      auto *strip = reinterpret_cast<uint8_t *>(frame.scratch() + rows_.strip_bytes() * static_cast<size_t>(thread));
      for (int64_t i = begin; i < end; ++i) {
        rows_.row(input, i, strip, [&](const SeenOutputs<uint8_t> &seen) { run_outputs(frame, i, seen); });
        const int64_t count = w.output_width * layout_.columns;
        finish(frame.kernels.int8, frame.out<uint8_t>(outputs[0]) + i * count, count);
      }
    });
  }

 private:
  void run_outputs(const Frame &frame, int64_t row, const SeenOutputs<uint8_t> &seen) const {
    const Int8Kernels &kernels = frame.kernels.int8;
    const int64_t columns = layout_.columns;
    const size_t panel_bytes = int8_panel_bytes(layout_, kernels);
    Int8SlidingLine line{};
    line.image = seen.image;
    line.count = seen.last - seen.first;
    line.step = windows_.stride_x * windows_.channels;
    line.taps = seen.taps;
    line.tap_step = seen.tap_step;
    line.depth = filled_depth(layout_);
    line.is_signed = sums_.left_is_signed;
    line.c_stride = columns;
    line.requantization = {nullptr, sums_.zero_point, sums_.bounds.lowest, sums_.bounds.highest};
    uint8_t *c = frame.out<uint8_t>(outputs[0]) + (row * windows_.output_width + seen.first) * columns;
    const auto *packed = static_cast<const std::byte *>(packed_.get());
    for (int64_t column = 0; column < columns; column += kernels.columns, packed += panel_bytes) {
      line.b = reinterpret_cast<const int8_t *>(packed);
      line.bias = folded_.data() + column;
      line.requantization.scales = scales_.data() + column;
      line.column_count = static_cast<int32_t>(std::min<int64_t>(kernels.columns, columns - column));
      line.c = c + column;
      kernels.sliding_line(line);
    }
  }

  Windows windows_;
  WeightLayout layout_;
  SlidingRows<uint8_t> rows_;
  std::shared_ptr<const void> packed_;
  std::vector<int32_t> folded_;
  std::vector<float> scales_;
};

}  // namespace

bool slides_int8(const Windows &w, const Int8Sums &sums) {
  return w.channels <= kMostChannels && w.dilation_x == 1 && w.window_width > 1 && w.stride_x > 0 &&
         sums.right_zero_point == (sums.right_is_signed ? 0 : 128);
}

void add_int8_sliding(Lowering &lowering, TensorId input, TensorId weights, TensorId out,
                      const Windows &windows, const WeightLayout &layout, Int8Sums sums) {
  lowering.add<Int8Sliding>(input, weights, out, windows, layout, std::move(sums));
}

}  // namespace cpuacc
