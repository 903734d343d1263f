/* SPDX-License-Identifier: MIT */
#include "operations/quantised/quantised.h"

#include <string>

#include "operations/convolution/indirection.h"
#include "operations/quantised/widened_rows.h"

namespace cpuacc {
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
