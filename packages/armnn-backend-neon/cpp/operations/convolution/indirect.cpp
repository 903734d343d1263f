/* SPDX-License-Identifier: MIT */
#include "operations/convolution/convolution.h"

#include <algorithm>
#include <cstring>

#include "costs/costs.h"
#include "operations/convolution/indirection.h"
#include "operations/gemm/panels.h"
#include "operations/storage/bfloat16.h"

namespace cpuacc {
namespace {

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
    tiling_ = gemm_tiling(windows_.batch * windows_.output_height * windows_.output_width, layout_, groups_, setup);
    copies_rows_ = !gains_by_bfloat16(setup, layout_) && layout_.taps == 1 &&
                   layout_.columns > setup.kernels.columns &&
                   windows_.channels * windows_.stride_x % costs::kCrowdedFloats == 0;
    int64_t most_rows = tiling_.rows + setup.kernels.rows;
    if (copies_rows_) {
      const int64_t tiles = costs::kCopiedRowFloats / layout_.depth / setup.kernels.rows;
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
    frame.pool.run(groups_ * tasks, gemm_task_ns(tiling_, layout_), [&](int64_t begin, int64_t end, int32_t thread) {
      auto *table = reinterpret_cast<const Number **>(frame.scratch() + bytes * static_cast<size_t>(thread));
      for (int64_t i = begin; i < end; ++i) run_one(frame, windows, image, table, i / tasks, i % tasks);
    });
  }

  size_t thread_bytes() const {
    const int64_t copies = copies_rows_ ? tiling_.rows_per_task * (layout_.depth + costs::kRowFiller) : 0;
    return pointer_bytes(tiling_, layout_) + float32_panel_bytes_ + static_cast<size_t>(copies) * sizeof(float);
  }

  template <typename Number>
  void run_one(const Frame &frame, const Windows &windows, const Number *image, const Number **table, int64_t group,
               int64_t task) const {
    const int64_t channels = groups_ * layout_.columns;
    const int64_t first = group * layout_.columns;
    const float *bias = inputs[2] == kNone ? nullptr : frame.in<float>(inputs[2]) + first;
    const float *residual = has_residual_ ? frame.in<float>(inputs.back()) + first : nullptr;
    const auto *packed = static_cast<const std::byte *>(packed_.get()) + static_cast<size_t>(group) * group_bytes_;
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
    Indirection<Number> found(windows, image + group * layout_.depth, static_cast<const Number *>(zeros_.get()));
    if constexpr (std::is_same_v<Number, float>) {
      if (copies_rows_) {
        auto *copies = reinterpret_cast<float *>(behind + float32_panel_bytes_);
        return run_gemm_task(gemm, tiling_, task, frame.kernels, table, CopiedRows(found, copies, layout_.depth));
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

}  // namespace

OperationPtr indirect_convolution(TensorId input, TensorId weights, TensorId bias, TensorId out,
                                  const Windows &windows, const WeightLayout &layout, int64_t groups,
                                  int64_t group_stride) {
  return std::make_unique<IndirectConvolution>(input, weights, bias, out, windows, layout, groups, group_stride);
}

}  // namespace cpuacc
