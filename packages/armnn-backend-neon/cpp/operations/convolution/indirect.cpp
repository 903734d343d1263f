/* SPDX-License-Identifier: MIT */
#include "operations/convolution/convolution.h"

#include <algorithm>

#include "costs/costs.h"
#include "operations/convolution/indirection.h"
#include "operations/gemm/panels.h"
#include "operations/storage/formats.h"

namespace cpuacc {
namespace {

/* [N, H, W, C] * weights -> [N, H', W', groups * O]. */
class IndirectConvolution final : public WithEpilogue {
 public:
  /* Args: layout: of one group; group_stride: from one group's weights to the next one's. */
  IndirectConvolution(const WeightedTensors &tensors, const Windows &windows, const WeightLayout &layout,
                      bool is_rounded, int64_t groups, int64_t group_stride)
      : WithEpilogue(tensors),
        windows_(windows),
        layout_(layout),
        is_rounded_(is_rounded),
        groups_(groups),
        group_stride_(group_stride) {}

  int64_t bias_count() const override { return groups_ * layout_.columns; }

  bool can_read_bfloat16(const Kernels &, size_t input) const override {
    return is_rounded_ && (input == 0 || is_residual(input));
  }
  bool can_store_bfloat16(const Kernels &) const override { return is_rounded_; }

  size_t prepare(const Setup &setup) override {
    note_storage(setup);
    is_image_rounded_ = setup.is_bfloat16(inputs[0]);
    if (!is_rounded_) layout_ = with_paired_tail(layout_, setup.kernels);
    tiling_ = gemm_tiling(windows_.batch * windows_.output_height * windows_.output_width, layout_, groups_, setup);
    copies_rows_ = !is_rounded_ && layout_.taps == 1 && layout_.columns > setup.kernels.columns &&
                   windows_.channels * windows_.stride_x % costs::kCrowdedFloats == 0;
    int64_t most_rows = tiling_.rows + setup.kernels.rows;
    if (copies_rows_) {
      const int64_t tiles = costs::kCopiedRowFloats / layout_.depth / setup.kernels.rows;
      most_rows = std::max<int64_t>(1, tiles) * setup.kernels.rows;
      tiling_.rows_per_task = std::min(tiling_.rows_per_task, most_rows);
    }
    const std::string recipe = layout_.recipe() + " " + std::to_string(groups_) + " " + setup.kernels.name;
    panels_ = is_rounded_ ? rounded_panels(setup, tiling_)
                          : panel_storage(setup, setup[inputs[1]], {layout_, groups_, group_stride_}, recipe, most_rows,
                                          tiling_);
    if (is_rounded_ && !is_image_rounded_) {
      work.add(costs::element, static_cast<double>(windows_.batch * windows_.height * windows_.width * windows_.channels));
      image_ = RoundedRows(windows_.batch * windows_.height * windows_.width, windows_.channels);
    }
    float32_panel_bytes_ = float32_panel_bytes(panels_, layout_, setup.kernels);
    const size_t packed = packed_.prepare(setup, inputs[1], panels_, layout_, groups_, group_stride_, recipe);
    zeros_ = filled_memory(static_cast<size_t>(layout_.depth) * sizeof(float), 0);
    return thread_bytes() * static_cast<size_t>(setup.threads) + aligned_bytes(image_.bytes()) + packed;
  }

  void run(const Frame &frame) const override {
    auto *memory = frame.scratch_of<std::byte>(frame.pool.threads(), thread_bytes());
    const std::byte *packed = packed_.packed(frame, inputs[1], memory + aligned_bytes(image_.bytes()));
    if (is_image_rounded_) return run_all(frame, windows_, frame.in<Bfloat16>(inputs[0]), packed);
    const float *image = frame.in<float>(inputs[0]);
    if (!is_rounded_) return run_all(frame, windows_, image, packed);
    auto *to = reinterpret_cast<Bfloat16 *>(memory);
    image_.round(frame, image, to);
    Windows windows = windows_;
    windows.channels = image_.stride;
    run_all(frame, windows, to, packed);
  }

 private:
  template <typename Number>
  void run_all(const Frame &frame, const Windows &windows, const Number *image, const std::byte *packed) const {
    const size_t bytes = thread_bytes();
    const int64_t tasks = tiling_.tasks();
    frame.for_each(groups_ * tasks, tiling_.task_ns(), [&](int64_t i, int32_t thread) {
      auto *table = frame.scratch_of<const Number *>(thread, bytes);
      const std::byte *of_group = packed + static_cast<size_t>(i / tasks) * packed_.bytes();
      run_one(frame, windows, image, of_group, table, i / tasks, i % tasks);
    });
  }

  size_t thread_bytes() const {
    const int64_t copies = copies_rows_ ? tiling_.rows_per_task * (layout_.depth + costs::kRowFiller) : 0;
    return pointer_bytes(tiling_, layout_) + float32_panel_bytes_ + static_cast<size_t>(copies) * sizeof(float);
  }

  template <typename Number>
  void run_one(const Frame &frame, const Windows &windows, const Number *image, const std::byte *packed,
               const Number **table, int64_t group, int64_t task) const {
    const int64_t first = group * layout_.columns;
    std::byte *behind = reinterpret_cast<std::byte *>(table) + pointer_bytes(tiling_, layout_);
    const auto gemm = panel_task<Number>(panels_, layout_, packed, behind, stored(frame) + first,
                                         groups_ * layout_.columns, epilogue(frame, first, first));
    image += group * layout_.depth;
    if (are_pixels(windows) && !copies_rows_) {
      return run_gemm_task(gemm, tiling_, task, frame.kernels, table, EvenRows<Number>{image, windows.channels});
    }
    Indirection<Number> found(windows, image, static_cast<const Number *>(zeros_.get()));
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
  bool is_rounded_;
  bool is_image_rounded_ = false; /* it is stored so */
  int64_t groups_;
  int64_t group_stride_;
  Tiling tiling_{};
  PanelStorage panels_ = PanelStorage::float32;
  RoundedRows image_; /* in bfloat16, a line for each pixel */
  bool copies_rows_ = false;
  size_t float32_panel_bytes_ = 0; /* of a thread */
  PackedMatrices packed_;
  std::shared_ptr<const void> zeros_;
};

}  // namespace

OperationPtr indirect_convolution(const WeightedTensors &tensors, const Windows &windows, const WeightLayout &layout,
                                  bool is_rounded, int64_t groups, int64_t group_stride) {
  return std::make_unique<IndirectConvolution>(tensors, windows, layout, is_rounded, groups, group_stride);
}

}  // namespace cpuacc
