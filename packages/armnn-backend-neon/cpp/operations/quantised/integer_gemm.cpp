/* SPDX-License-Identifier: MIT */
#include "operations/quantised/quantised.h"

#include <algorithm>
#include <cstring>

#include "operations/convolution/indirection.h"
#include "operations/quantised/int8_gemm.h"
#include "operations/quantised/widened_rows.h"

namespace cpuacc {
namespace {

/* Wraps around. */
int32_t added(int32_t x, int32_t y) {
  return static_cast<int32_t>(static_cast<uint32_t>(x) + static_cast<uint32_t>(y));
}

/* Windows of [N, H, W, C] * weights -> [N, H', W', O]; a product of matrices has windows of one
 * element. Inputs: data, weights, and, each of them or kNone, their zero points, then what makes real
 * numbers of the sums: added to the sums, multiplied with, added then.
 */
class IntegerGemm final : public Operation {
 public:
  IntegerGemm(std::vector<TensorId> operands, TensorId out, Windows windows, WeightLayout layout)
      : Operation(std::move(operands), {out}), windows_(windows), layout_(layout) {
    inputs.resize(kInputs, kNone);
  }

  EpilogueSlots epilogue_slots() override {
    EpilogueSlots slots;
    if (is_real_) slots.function = &function_;
    if (function_.function != Function::identity) return slots;
    TensorId &bias = inputs[is_real_ ? kShift : kWhole];
    if (bias == kNone) slots.bias = &bias;
    slots.columns = layout_.columns;
    if (!is_real_) slots.dequantises = &is_real_;
    if (is_real_ && bias == kNone && inputs[kScale] == kNone) slots.scale = &inputs[kScale];
    return slots;
  }

  size_t prepare(const Setup &setup) override {
    const Tensor &weights = setup[inputs[1]];
    const Int8Kernels &kernels = setup.kernels.int8;
    const Windows &w = windows_;
    params_.left_is_signed = setup[inputs[0]].type == ARMNN_SIGNED8;
    params_.right_is_signed = weights.type == ARMNN_SIGNED8;
    const int64_t rows = w.batch * w.output_height * w.output_width;
    tiling_ = int8_gemm_tiling(rows, layout_, 1, setup);
    in_tile_registers_ = suits_tile_registers(rows, layout_, setup.kernels);
    kernel = int8_gemm_kernel(in_tile_registers_);
    work = int8_gemm_work(rows, layout_, setup.kernels, in_tile_registers_);
    if (weights.constant != nullptr) {
      seeks_small_ = seeks_small_weights(params_, layout_, kernels);
      const std::string recipe = "int8 " + layout_.recipe() + " " + (seeks_small_ ? "small " : "") + setup.kernels.name;
      packed_ = setup.packed.get(weights.constant, recipe,
                                 int8_packed_bytes(layout_, kernels, seeks_small_), [&](void *memory) {
                                   pack(static_cast<const uint8_t *>(weights.constant), kernels, memory);
                                 });
      inputs[1] = kNone;
    }
    task_bytes_ = int8_task_bytes(tiling_, layout_, setup.kernels);
    image_.prepare(layout_, kernels, setup[inputs[0]].count());
    folded_bytes_ = aligned_bytes(static_cast<size_t>(int8_columns(layout_, kernels)) * sizeof(int32_t));
    return task_bytes_ * static_cast<size_t>(setup.threads) + folded_bytes_ +
           aligned_bytes(static_cast<size_t>(layout_.depth)) + image_.bytes() +
           (packed_ ? 0 : int8_packed_bytes(layout_, kernels, false));
  }

  void run(const Frame &frame) const override {
    const Int8Kernels &kernels = int8_gemm_kernels(frame.kernels, in_tile_registers_);
    auto *memory = frame.scratch_of<std::byte>(frame.pool.threads(), task_bytes_);
    auto *folded = reinterpret_cast<int32_t *>(memory);
    auto *outside = reinterpret_cast<uint8_t *>(memory + folded_bytes_);
    std::byte *image = memory + folded_bytes_ + aligned_bytes(static_cast<size_t>(layout_.depth));
    std::byte *room = image + image_.bytes();
    if (!packed_) pack(frame.in<uint8_t>(inputs[1]), kernels, room);
    const auto *packed = packed_ ? static_cast<const std::byte *>(packed_.get()) : room;
    Int8Params params = params_;
    params.left_zero_point = zero_point(frame, inputs[2], params.left_is_signed);
    params.right_zero_point = zero_point(frame, inputs[3], params.right_is_signed);
    fold_int8(params, 0, layout_, kernels, seeks_small_, packed, folded);
    std::memset(outside, params.left_zero_point, static_cast<size_t>(layout_.depth));
    if (image_.is_there()) {
      image_.widen(frame, frame.in<uint8_t>(inputs[0]), params.left_is_signed, params.left_zero_point, image);
    }
    const float *scale = frame.in<float>(inputs[kScale]);
    const DequantisedAccumulators real{frame.in<int32_t>(inputs[kWhole]), scale == nullptr ? 1.0f : *scale,
                                       frame.in<float>(inputs[kShift])};
    const Int8GemmTask gemm{layout_, params, packed, folded, nullptr, seeks_small_, frame.out<std::byte>(outputs[0]),
                            layout_.columns, {}, is_real_ ? &real : nullptr};
    frame.for_each(tiling_.tasks(), tiling_.task_ns(), [&](int64_t i, int32_t thread) {
      auto *table = frame.scratch_of<const uint8_t *>(thread, task_bytes_);
      const Indirection<uint8_t> bytes(windows_, frame.in<uint8_t>(inputs[0]), outside);
      if (image_.is_there()) {
        run_int8_gemm_task(gemm, tiling_, i, kernels, table, Indirection<uint8_t>(bytes),
                           Indirection<int16_t>(windows_, WidenedImage::image(image), image_.outside(image)));
      } else {
        run_int8_gemm_task(gemm, tiling_, i, kernels, table, Indirection<uint8_t>(bytes));
      }
      finish(frame, tiling_.range(i));
    });
  }

 private:
  enum Input : size_t { kWhole = 4, kScale, kShift, kInputs };

  /* What a task has just made. */
  void finish(const Frame &frame, const Tiling::Range &range) const {
    const bool adds_whole = !is_real_ && inputs[kWhole] != kNone;
    if (!adds_whole && function_.function == Function::identity) return;
    const int64_t columns = range.columns();
    const int64_t place = range.first_row * layout_.columns + range.first_column;
    if (adds_whole) {
      const int32_t *whole = frame.in<int32_t>(inputs[kWhole]) + range.first_column;
      int32_t *sums = frame.out<int32_t>(outputs[0]) + place;
      for (int64_t i = 0; i < range.rows(); ++i, sums += layout_.columns) {
        for (int64_t j = 0; j < columns; ++j) sums[j] = added(sums[j], whole[j]);
      }
      return;
    }
    float *made = frame.out<float>(outputs[0]) + place;
    const bool is_dense = columns == layout_.columns;
    const int64_t count = is_dense ? range.rows() * columns : columns;
    for (int64_t i = 0; i < (is_dense ? 1 : range.rows()); ++i, made += layout_.columns) {
      frame.kernels.elementwise(function_, made, made, count);
    }
  }

  void pack(const uint8_t *weights, const Int8Kernels &kernels, void *memory) const {
    pack_int8(weights, params_.right_is_signed, layout_, kernels, seeks_small_, static_cast<std::byte *>(memory));
  }

  static int32_t zero_point(const Frame &frame, TensorId id, bool is_signed) {
    if (id == kNone) return 0;
    return is_signed ? int32_t{*frame.in<int8_t>(id)} : int32_t{*frame.in<uint8_t>(id)};
  }

  Windows windows_;
  WeightLayout layout_;
  Int8Params params_;
  bool is_real_ = false;
  Elementwise function_{Function::identity, 0.0f, 0.0f};
  Tiling tiling_{};
  bool in_tile_registers_ = false;
  bool seeks_small_ = false; /* panels that are packed ahead */
  size_t task_bytes_ = 0;
  size_t folded_bytes_ = 0;
  WidenedImage image_;
  std::shared_ptr<const void> packed_;
};

}  // namespace

OperationPtr integer_gemm(std::vector<TensorId> operands, TensorId out, const Windows &windows,
                          const WeightLayout &layout) {
  return std::make_unique<IntegerGemm>(std::move(operands), out, windows, layout);
}

}  // namespace cpuacc
