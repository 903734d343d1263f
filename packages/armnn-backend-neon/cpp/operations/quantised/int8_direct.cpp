/* SPDX-License-Identifier: MIT */
#include "operations/quantised/quantised.h"

#include "costs/costs.h"
#include "operations/convolution/image_rows.h"

namespace cpuacc {
namespace {

int64_t filled_depth(const WeightLayout &layout) { return ratio_up(layout.depth, 4) * 4; }

class Int8DirectConvolution final : public WithInt8Epilogue {
 public:
  Int8DirectConvolution(const WeightedTensors &tensors, const Windows &windows, const WeightLayout &layout,
                        Int8Params params)
      : WithInt8Epilogue({tensors.input, tensors.weights}, tensors.out, std::move(params)),
        windows_(windows),
        layout_(layout),
        rows_(windows, static_cast<uint8_t>(params_.left_zero_point), false,
              filled_depth(layout) - layout.depth) {}

  size_t prepare(const Setup &setup) override {
    weights_.prepare(setup, inputs[1], layout_, 1, 0, params_, "1 ");
    return rows_.strip_bytes() * static_cast<size_t>(setup.threads);
  }

  void run(const Frame &frame) const override {
    const Windows &w = windows_;
    const Int8Epilogue epilogue = epilogue_of(frame);
    const double row_ns = int8_gemm_ns(w.output_width, layout_.columns, layout_.taps * layout_.depth);
    frame.for_each(w.batch * w.output_height, row_ns, [&](int64_t i, int32_t thread) {
      rows_.row(frame.in<uint8_t>(inputs[0]), i, frame.scratch_of<uint8_t>(thread, rows_.strip_bytes()),
                [&](const SeenOutputs<uint8_t> &seen) { run_outputs(frame, i, seen); });
      const int64_t count = w.output_width * layout_.columns;
      epilogue(frame.kernels.int8, frame.out<uint8_t>(outputs[0]) + i * count, count);
    });
  }

 private:
  void run_outputs(const Frame &frame, int64_t row, const SeenOutputs<uint8_t> &seen) const {
    const Int8Kernels &kernels = frame.kernels.int8;
    const int64_t columns = layout_.columns;
    const size_t panel_bytes = int8_panel_bytes(layout_, kernels);
    Int8DirectRow direct{};
    direct.image = seen.image;
    direct.count = seen.last - seen.first;
    direct.step = windows_.stride_x * windows_.channels;
    direct.taps = seen.taps;
    direct.tap_step = seen.tap_step;
    direct.depth = filled_depth(layout_);
    direct.is_signed = params_.left_is_signed;
    direct.c_stride = columns;
    direct.requantization = params_.requantization();
    uint8_t *c = frame.out<uint8_t>(outputs[0]) + (row * windows_.output_width + seen.first) * columns;
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

  Windows windows_;
  WeightLayout layout_;
  ImageRows<uint8_t> rows_;
  Int8Weights weights_;
};

}  // namespace

bool suits_int8_direct(const Windows &w, const Int8Params &params) {
  return w.channels <= costs::kMostInt8DirectChannels && w.dilation_x == 1 && w.window_width > 1 && w.stride_x > 0 &&
         params.right_zero_point == (params.right_is_signed ? 0 : 128);
}

OperationPtr int8_direct_convolution(const WeightedTensors &tensors, const Windows &windows,
                                     const WeightLayout &layout, Int8Params params) {
  return std::make_unique<Int8DirectConvolution>(tensors, windows, layout, std::move(params));
}

}  // namespace cpuacc
