/* SPDX-License-Identifier: MIT */
#include "operations/quantised/quantised.h"

#include "costs/costs.h"
#include "operations/convolution/image_rows.h"

namespace cpuacc {
namespace {

int64_t filled_depth(const WeightLayout &layout) { return (layout.depth + 3) / 4 * 4; }

class Int8DirectConvolution final : public WithInt8Epilogue {
 public:
  Int8DirectConvolution(TensorId input, TensorId weights, TensorId out, const Windows &windows,
                        const WeightLayout &layout, Int8Params params)
      : WithInt8Epilogue({input, weights}, out, std::move(params)),
        windows_(windows),
        layout_(layout),
        rows_(windows, static_cast<uint8_t>(params_.left_zero_point), false,
              filled_depth(layout) - layout.depth) {}

  size_t prepare(const Setup &setup) override {
    const Int8Kernels &kernels = setup.kernels.int8;
    const auto *weights = static_cast<const uint8_t *>(setup[inputs[1]].constant);
    const auto fill = [&](void *memory) {
      pack_int8(weights, params_.right_is_signed, layout_, kernels, static_cast<std::byte *>(memory));
    };
    packed_ = setup.packed.get(weights, "int8 " + layout_.recipe() + " 1 " + setup.kernels.name,
                               int8_packed_bytes(layout_, kernels), fill);
    inputs[1] = kNone;
    scales_ = filled_multipliers(0, layout_.columns, kernels.columns);
    folded_.resize(scales_.size());
    fold_int8(params_, params_.bias.empty() ? nullptr : params_.bias.data(), layout_, kernels,
              static_cast<const std::byte *>(packed_.get()), folded_.data());
    return rows_.strip_bytes() * static_cast<size_t>(setup.threads);
  }

  void run(const Frame &frame) const override {
    const Windows &w = windows_;
    const Int8Epilogue epilogue = epilogue_of(frame);
    const uint8_t *input = frame.in<uint8_t>(inputs[0]);
    const double row_ns = int8_gemm_ns(w.output_width, layout_.columns, layout_.taps * layout_.depth);
    frame.pool.run(w.batch * w.output_height, row_ns, [&](int64_t begin, int64_t end, int32_t thread) {
      auto *strip = reinterpret_cast<uint8_t *>(frame.scratch() + rows_.strip_bytes() * static_cast<size_t>(thread));
      for (int64_t i = begin; i < end; ++i) {
        rows_.row(input, i, strip, [&](const SeenOutputs<uint8_t> &seen) { run_outputs(frame, i, seen); });
        const int64_t count = w.output_width * layout_.columns;
        epilogue(frame.kernels.int8, frame.out<uint8_t>(outputs[0]) + i * count, count);
      }
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
    direct.requantization = {nullptr, params_.zero_point, params_.bounds.lowest, params_.bounds.highest};
    uint8_t *c = frame.out<uint8_t>(outputs[0]) + (row * windows_.output_width + seen.first) * columns;
    const auto *packed = static_cast<const std::byte *>(packed_.get());
    for (int64_t column = 0; column < columns; column += kernels.columns, packed += panel_bytes) {
      direct.b = reinterpret_cast<const int8_t *>(packed);
      direct.bias = folded_.data() + column;
      direct.requantization.scales = scales_.data() + column;
      direct.column_count = static_cast<int32_t>(std::min<int64_t>(kernels.columns, columns - column));
      direct.c = c + column;
      kernels.direct_row(direct);
    }
  }

  Windows windows_;
  WeightLayout layout_;
  ImageRows<uint8_t> rows_;
  std::shared_ptr<const void> packed_;
  std::vector<int32_t> folded_;
  std::vector<float> scales_;
};

}  // namespace

bool suits_int8_direct(const Windows &w, const Int8Params &params) {
  return w.channels <= costs::kMostInt8DirectChannels && w.dilation_x == 1 && w.window_width > 1 && w.stride_x > 0 &&
         params.right_zero_point == (params.right_is_signed ? 0 : 128);
}

OperationPtr int8_direct_convolution(TensorId input, TensorId weights, TensorId out, const Windows &windows,
                                     const WeightLayout &layout, Int8Params params) {
  return std::make_unique<Int8DirectConvolution>(input, weights, out, windows, layout, std::move(params));
}

}  // namespace cpuacc
