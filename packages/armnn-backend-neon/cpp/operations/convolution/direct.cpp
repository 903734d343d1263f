/* SPDX-License-Identifier: MIT */
#include "operations/convolution/convolution.h"

#include "costs/costs.h"
#include "operations/convolution/image_rows.h"
#include "operations/gemm/panels.h"

namespace cpuacc {
namespace {

class DirectConvolution final : public WithEpilogue {
 public:
  DirectConvolution(const WeightedTensors &tensors, const Windows &windows, const WeightLayout &layout,
                    const WeightLayout &given)
      : WithEpilogue(tensors), windows_(windows), rows_(windows, 0.0f, true, 0), layout_(layout), given_(given) {}

  int64_t bias_count() const override { return layout_.columns; }

  bool can_read_bfloat16(const Kernels &, size_t input) const override { return is_residual(input); }
  bool can_store_bfloat16(const Kernels &) const override { return true; }

  size_t prepare(const Setup &setup) override {
    note_storage(setup);
    const std::string recipe = given_.recipe() + " " + setup.kernels.name;
    const size_t bytes = packed_.prepare(setup, inputs[1], PanelStorage::float32, given_, 1, 0, recipe);
    return bytes + rows_.strip_bytes() * static_cast<size_t>(setup.threads);
  }

  void run(const Frame &frame) const override {
    const Windows &w = windows_;
    const float *input = frame.in<float>(inputs[0]);
    const int64_t sums = w.output_width * layout_.columns * layout_.taps * layout_.depth;
    const double row_ns = static_cast<double>(sums) * frame.ns_of(costs::multiply_add);
    auto *memory = frame.scratch_of<std::byte>(frame.pool.threads(), rows_.strip_bytes());
    const auto *packed = reinterpret_cast<const float *>(packed_.packed(frame, inputs[1], memory));
    frame.for_each(w.batch * w.output_height, row_ns, [&](int64_t i, int32_t thread) {
      rows_.row(input, i, frame.scratch_of<float>(thread, rows_.strip_bytes()),
                [&](const SeenOutputs<float> &seen) { run_outputs(frame, packed, i, seen); });
    });
  }

 private:
  void run_outputs(const Frame &frame, const float *packed, int64_t row, const SeenOutputs<float> &seen) const {
    const int64_t columns = layout_.columns;
    const int64_t width = frame.kernels.columns;
    const int64_t place = (row * windows_.output_width + seen.first) * columns;
    GemmRows direct{};
    direct.a = seen.image;
    direct.count = seen.last - seen.first;
    direct.step = windows_.stride_x * windows_.channels;
    direct.taps = seen.taps;
    direct.tap_step = seen.tap_step;
    direct.depth = layout_.depth;
    direct.c_stride = columns;
    direct.residual_stride = columns;
    for (int64_t column = 0; column < columns; column += width) {
      const int64_t numbers = panel_row(layout_, column, frame.kernels, packed);
      direct.b = packed + (column * layout_.taps + seen.first_tap * numbers) * layout_.depth;
      direct.column_count = static_cast<int32_t>(std::min(width, columns - column));
      static_cast<Epilogue &>(direct) = epilogue(frame, column, place + column);
      const Stored to = stored(frame) + (place + column);
      direct.c = to.exact;
      direct.rounded_c = to.rounded;
      frame.kernels.gemm_rows(direct);
    }
  }

  Windows windows_;
  ImageRows<float> rows_;
  WeightLayout layout_;
  WeightLayout given_; /* packs to the same numbers */
  PackedMatrices packed_;
};

}  // namespace

bool suits_direct(const Windows &w) {
  return w.channels <= costs::kMostDirectChannels && w.dilation_x == 1 && w.window_width > 1 && w.stride_x > 0;
}

WeightLayout direct_layout(const Windows &w, int64_t columns) {
  const int64_t depth = w.window_width * w.channels;
  return {w.window_height, depth, depth, 1, columns, w.window_height * depth};
}

WeightLayout single_channel_layout(const Windows &w, int64_t columns) {
  return {w.window_height, w.window_width * columns, w.window_width, columns, columns, 1};
}

OperationPtr direct_convolution(const WeightedTensors &tensors, const Windows &windows, const WeightLayout &layout,
                                const WeightLayout &given) {
  return std::make_unique<DirectConvolution>(tensors, windows, layout, given);
}

}  // namespace cpuacc
