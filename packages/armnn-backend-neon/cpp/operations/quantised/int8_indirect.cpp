/* SPDX-License-Identifier: MIT */
#include "operations/quantised/quantised.h"

#include <algorithm>
#include <cstring>

#include "operations/convolution/indirection.h"

namespace cpuacc {
namespace {

std::shared_ptr<const void> filled(size_t count, int32_t byte) {
  const std::shared_ptr<void> memory = aligned_memory(count);
  std::memset(memory.get(), byte, count);
  return memory;
}

/* [N, H, W, C] * weights -> [N, H', W', groups * O]. */
class Int8IndirectConvolution final : public WithInt8Epilogue {
 public:
  /* Args: layout: of one group; group_stride: from one group's weights to the next one's. */
  Int8IndirectConvolution(TensorId input, TensorId weights, TensorId out, Windows windows, WeightLayout layout,
                          int64_t groups, int64_t group_stride, Int8Params params)
      : WithInt8Epilogue({input, weights}, out, std::move(params)),
        windows_(windows),
        layout_(layout),
        groups_(groups),
        group_stride_(group_stride) {}

  size_t prepare(const Setup &setup) override {
    const Tensor &weights = setup[inputs[1]];
    const Int8Kernels &kernels = setup.kernels.int8;
    tiling_ = int8_gemm_tiling(windows_.batch * windows_.output_height * windows_.output_width, layout_,
                               groups_, setup);
    group_bytes_ = int8_packed_bytes(layout_, kernels);
    const auto *source = static_cast<const uint8_t *>(weights.constant);
    const auto fill = [&](void *memory) {
      for (int64_t g = 0; g < groups_; ++g) {
        pack_int8(source + g * group_stride_, params_.right_is_signed, layout_, kernels,
                  static_cast<std::byte *>(memory) + static_cast<size_t>(g) * group_bytes_);
      }
    };
    packed_ = setup.packed.get(
        weights.constant,
        "int8 " + layout_.recipe() + " " + std::to_string(groups_) + " " + setup.kernels.name,
        group_bytes_ * static_cast<size_t>(groups_), fill);
    inputs[1] = kNone;
    fold(kernels);
    zeros_ = filled(static_cast<size_t>(layout_.depth), params_.left_zero_point);
    return pointer_bytes(tiling_, layout_) * static_cast<size_t>(setup.threads);
  }

  void run(const Frame &frame) const override {
    const size_t pointers = pointer_bytes(tiling_, layout_);
    const int64_t tasks = tiling_.tasks();
    frame.pool.run(
        groups_ * tasks, int8_gemm_task_ns(tiling_, layout_), [&](int64_t begin, int64_t end, int32_t thread) {
          auto *table =
              reinterpret_cast<const uint8_t **>(frame.scratch() + pointers * static_cast<size_t>(thread));
          for (int64_t i = begin; i < end; ++i) run_one(frame, table, i / tasks, i % tasks);
        });
  }

 private:
  void fold(const Int8Kernels &kernels) {
    padded_columns_ = (layout_.columns + kernels.columns - 1) / kernels.columns * kernels.columns;
    for (int64_t g = 0; g < groups_; ++g) {
      const int64_t first = g * layout_.columns;
      const std::vector<float> scales = filled_multipliers(first, layout_.columns, kernels.columns);
      scales_.insert(scales_.end(), scales.begin(), scales.end());
      folded_.resize(folded_.size() + static_cast<size_t>(padded_columns_));
      fold_int8(params_, params_.bias.empty() ? nullptr : params_.bias.data() + first, layout_, kernels,
                static_cast<const std::byte *>(packed_.get()) + static_cast<size_t>(g) * group_bytes_,
                folded_.data() + g * padded_columns_);
    }
  }

  void run_one(const Frame &frame, const uint8_t **table, int64_t group, int64_t task) const {
    const uint8_t *input = frame.in<uint8_t>(inputs[0]) + group * layout_.depth;
    const auto *packed =
        static_cast<const std::byte *>(packed_.get()) + static_cast<size_t>(group) * group_bytes_;
    const Int8GemmTask gemm{layout_,
                            params_,
                            packed,
                            folded_.data() + group * padded_columns_,
                            scales_.data() + group * padded_columns_,
                            frame.out<std::byte>(outputs[0]) + group * layout_.columns,
                            groups_ * layout_.columns,
                            epilogue_of(frame)};
    point(input, task, frame.kernels.int8.rows, table);
    run_int8_gemm_tiles(gemm, tiling_, task, frame.kernels.int8, table);
  }

  /* Where the taps of a task's windows begin; outside of the image stand zero points. */
  void point(const uint8_t *input, int64_t task, int64_t height, const uint8_t **tile) const {
    const int64_t first = task % tiling_.row_tasks() * tiling_.rows_per_task;
    const int64_t last = std::min(first + tiling_.rows_per_task, tiling_.rows);
    Indirection<uint8_t> found(windows_, input, static_cast<const uint8_t *>(zeros_.get()));
    for (int64_t row = first; row < last; row += height, tile += layout_.taps * height) {
      const int64_t count = std::min(height, last - row);
      for (int64_t r = 0; r < count; ++r) found(row + r, tile + r, height);
    }
  }

  Windows windows_;
  WeightLayout layout_;
  int64_t groups_;
  int64_t group_stride_;
  Tiling tiling_{};
  size_t group_bytes_ = 0;
  int64_t padded_columns_ = 0;
  std::shared_ptr<const void> packed_;
  std::vector<int32_t> folded_;
  std::vector<float> scales_;
  std::shared_ptr<const void> zeros_;
};

}  // namespace

OperationPtr int8_indirect_convolution(TensorId input, TensorId weights, TensorId out, const Windows &windows,
                                       const WeightLayout &layout, int64_t groups, int64_t group_stride,
                                       Int8Params params) {
  return std::make_unique<Int8IndirectConvolution>(input, weights, out, windows, layout, groups, group_stride,
                                                   std::move(params));
}

}  // namespace cpuacc
