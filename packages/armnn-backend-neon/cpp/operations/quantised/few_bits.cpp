/* SPDX-License-Identifier: MIT */
#include "operations/quantised/few_bits.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "costs/costs.h"
#include "graph/packed.h"

namespace cpuacc {
namespace {

class DequantizeFewBits final : public Operation {
 public:
  DequantizeFewBits(std::vector<TensorId> inputs, TensorId to, const FewBits &form, int64_t rows)
      : Operation(std::move(inputs), {to}), form_(form), rows_(rows) {}

  size_t prepare(const Setup &setup) override {
    has_packed_points_ = inputs[2] != kNone && setup[inputs[2]].type == ARMNN_UNSIGNED8;
    return 0;
  }

  void run(const Frame &frame) const override {
    const int64_t blocks = form_.blocks();
    frame.for_each(rows_, static_cast<double>(form_.size) * frame.element_ns(), [&](int64_t i, int32_t) {
      const uint8_t *row = frame.in<uint8_t>(inputs[0]) + i * form_.row_bytes;
      const float *scales = frame.in<float>(inputs[1]) + i * blocks;
      float *to = frame.out<float>(outputs[0]) + i * form_.size;
      for (int64_t b = 0; b < blocks; ++b) {
        const float zero = zero_point(frame, i, b);
        const int64_t end = std::min((b + 1) * form_.block_size, form_.size);
        for (int64_t k = b * form_.block_size; k < end; ++k) {
          to[k] = (static_cast<float>(form_.number(row, k)) - zero) * scales[b];
        }
      }
    });
  }

 private:
  float zero_point(const Frame &frame, int64_t row, int64_t block) const {
    if (inputs[2] == kNone) return static_cast<float>(1 << (form_.bits - 1));
    if (!has_packed_points_) return frame.in<float>(inputs[2])[row * form_.blocks() + block];
    const uint8_t *points = frame.in<uint8_t>(inputs[2]) + row * form_.packed_bytes(form_.blocks());
    return static_cast<float>(form_.number(points, block));
  }

  FewBits form_;
  int64_t rows_;
  bool has_packed_points_ = false;
};

/* Panels of columns; weights are read once for all rows that go together, and those are rounded before. */
class FewBitsGemm final : public Operation {
 public:
  FewBitsGemm(std::vector<TensorId> inputs, TensorId to, const FewBits &form, int64_t columns, bool is_rounded)
      : Operation(std::move(inputs), {to}), form_(form), columns_(columns), is_rounded_(is_rounded) {}

  size_t prepare(const Setup &setup) override {
    const Int8Kernels &kernels = setup.kernels.int8;
    blocks_ = form_.blocks();
    width_ = kernels.few_bits_columns;
    panels_ = ratio_up(columns_, width_);
    block_words_ = form_.block_size * form_.bits / 32;
    is_turned_ = kernels.few_bits_turned && form_.bits == 8;
    rows_ = form_.size == 0 ? 0 : setup[inputs[0]].count() / form_.size;
    pack(setup);
    steps_ = kernels.few_bits_steps(form_.bits, is_rounded_);
    /* Sums of a block of shorts have to fit into 32 bits. */
    const auto most_sum = static_cast<float>(form_.block_size * ((1 << form_.bits) - 1));
    most_steps_ = steps_.in_word == 2 ? std::min(32767.0f, std::floor(2147483392.0f / most_sum - 1.0f)) : 127.0f;
    factor_bytes_ = aligned_bytes(static_cast<size_t>(blocks_ * kFewBitsFactors) * sizeof(float));
    step_bytes_ = aligned_bytes(static_cast<size_t>(blocks_ * form_.block_size / steps_.in_word) * 4);
    row_bytes_ = factor_bytes_ + step_bytes_ * static_cast<size_t>(steps_.terms);
    rows_bytes_ = aligned_bytes(static_cast<size_t>(rows_) * sizeof(FewBitsRow));
    left_bytes_ = steps_.terms == 2 ? aligned_bytes(static_cast<size_t>(form_.block_size) * sizeof(float)) : 0;
    return rows_bytes_ + row_bytes_ * static_cast<size_t>(rows_) + left_bytes_ * static_cast<size_t>(setup.threads);
  }

  void run(const Frame &frame) const override {
    auto *rows = reinterpret_cast<FewBitsRow *>(frame.scratch());
    std::byte *memory = frame.scratch() + rows_bytes_;
    std::byte *left = memory + row_bytes_ * static_cast<size_t>(rows_);
    constexpr double kRoundingElements = 4.0;
    const double row_ns = static_cast<double>(form_.size) * kRoundingElements * frame.element_ns();
    frame.for_each(rows_, row_ns, [&](int64_t i, int32_t thread) {
      std::byte *own = memory + row_bytes_ * static_cast<size_t>(i);
      const auto words = [&](size_t place) { return reinterpret_cast<const int32_t *>(own + factor_bytes_ + place); };
      rows[i] = {reinterpret_cast<const float *>(own), words(0), steps_.terms == 2 ? words(step_bytes_) : nullptr};
      frame.kernels.int8.round_few_bits({frame.in<float>(inputs[0]) + i * form_.size, form_.size, form_.block_size,
                                         form_.bits, steps_, most_steps_,
                                         reinterpret_cast<float *>(left + left_bytes_ * static_cast<size_t>(thread)),
                                         rows[i]});
    });
    const int64_t parts = ratio_up(rows_, kRowsTogether);
    const double numbers = static_cast<double>(form_.size * width_ * std::min(rows_, kRowsTogether));
    const double panel_ns = numbers * frame.ns_of(costs::multiply_add) / kProductsOfOne;
    frame.for_each(panels_ * parts, panel_ns, [&](int64_t i, int32_t) { multiply(frame, rows, i / parts, i % parts); });
  }

 private:
  static constexpr int64_t kRowsTogether = 64; /* which the second cache holds beside a panel */
  static constexpr double kProductsOfOne = 2.0; /* of bytes, in the time of a float's */

  void multiply(const Frame &frame, const FewBitsRow *rows, int64_t panel, int64_t part) const {
    const int64_t first = part * kRowsTogether;
    const int64_t column = panel * width_;
    const int64_t place = panel * blocks_ * width_;
    const float *bias = frame.in<float>(inputs[4]);
    FewBitsPanel task{};
    task.weights = static_cast<const int32_t *>(weights_.get()) + place * block_words_;
    task.scales = static_cast<const float *>(scales_.get()) + place;
    if (has_real_points_) task.real_points = static_cast<const float *>(points_.get()) + place;
    if (points_ != nullptr && !has_real_points_) task.points = static_cast<const uint8_t *>(points_.get()) + place;
    task.zero = (points_ == nullptr ? static_cast<float>(1 << (form_.bits - 1)) : 0.0f) - (is_turned_ ? 128.0f : 0.0f);
    task.bits = form_.bits;
    task.steps = steps_;
    task.blocks = blocks_;
    task.block_words = block_words_;
    task.rows = rows + first;
    task.count = std::min(kRowsTogether, rows_ - first);
    task.bias = bias == nullptr ? nullptr : bias + column;
    task.y = frame.out<float>(outputs[0]) + first * columns_ + column;
    task.y_step = columns_;
    task.columns = std::min(width_, columns_ - column);
    frame.kernels.int8.few_bits_panel(task);
  }

  void pack(const Setup &setup) {
    const auto places = static_cast<size_t>(panels_ * blocks_ * width_);
    const std::string recipe = "few bits " + std::to_string(form_.bits) + " " + std::to_string(form_.block_size) + " " +
                               std::to_string(form_.size) + " " + std::to_string(form_.row_bytes) + " " +
                               std::to_string(columns_) + " " + std::to_string(width_) + (is_turned_ ? " turned" : "");
    const auto packed = [&](TensorId &id, const char *what, size_t bytes, const auto &fill) {
      const Tensor &tensor = setup[id];
      auto memory = setup.packed.get(tensor.source(), tensor.recipe(recipe + what), bytes,
                                     [&](void *to) { fill(tensor, to); });
      id = kNone;
      return memory;
    };
    weights_ = packed(inputs[1], " weights", places * static_cast<size_t>(block_words_) * 4,
                      [&](const Tensor &from, void *to) { pack_words(from.read<uint8_t>(), static_cast<uint8_t *>(to)); });
    scales_ = packed(inputs[2], " scales", places * sizeof(float), [&](const Tensor &from, void *to) {
      const auto *scales = from.read<float>();
      each_block(static_cast<float *>(to), [&](int64_t row, int64_t b) { return scales[row * blocks_ + b]; });
    });
    if (inputs[3] == kNone) return;
    has_real_points_ = setup[inputs[3]].type == ARMNN_FLOAT32;
    const size_t bytes = places * (has_real_points_ ? sizeof(float) : 1);
    points_ = packed(inputs[3], " zero points", bytes, [&](const Tensor &from, void *to) {
      if (has_real_points_) {
        const auto *points = from.read<float>();
        return each_block(static_cast<float *>(to), [&](int64_t row, int64_t b) { return points[row * blocks_ + b]; });
      }
      const auto *points = from.read<uint8_t>();
      const int64_t step = form_.packed_bytes(blocks_);
      each_block(static_cast<uint8_t *>(to), [&](int64_t row, int64_t b) {
        return static_cast<uint8_t>(form_.number(points + row * step, b));
      });
    });
  }

  /* Of each panel and block those of all columns; 0 where there is no column. */
  template <typename Number, typename Get>
  void each_block(Number *to, const Get &get) const {
    for (int64_t p = 0; p < panels_; ++p) {
      for (int64_t b = 0; b < blocks_; ++b) {
        for (int64_t c = 0; c < width_; ++c) {
          const int64_t row = p * width_ + c;
          *to++ = row < columns_ ? get(row, b) : Number{};
        }
      }
    }
  }

  void pack_words(const uint8_t *weights, uint8_t *to) const {
    const int64_t words = blocks_ * block_words_;
    const uint32_t turned = is_turned_ ? 0x80808080u : 0;
    for (int64_t p = 0; p < panels_; ++p) {
      for (int64_t w = 0; w < words; ++w) {
        for (int64_t c = 0; c < width_; ++c, to += 4) {
          const int64_t row = p * width_ + c;
          const int64_t there = row < columns_ ? std::clamp<int64_t>(form_.row_bytes - 4 * w, 0, 4) : 0;
          uint32_t word = 0;
          if (there > 0) std::memcpy(&word, weights + row * form_.row_bytes + 4 * w, static_cast<size_t>(there));
          word ^= turned;
          std::memcpy(to, &word, sizeof word);
        }
      }
    }
  }

  FewBits form_;
  int64_t columns_;
  bool is_rounded_;
  int64_t rows_ = 0;
  int64_t blocks_ = 0;
  int64_t block_words_ = 0;
  int64_t width_ = 0; /* columns of a panel */
  int64_t panels_ = 0;
  bool is_turned_ = false; /* weights are signed bytes */
  bool has_real_points_ = false;
  FewBitsSteps steps_{};
  float most_steps_ = 0.0f;
  size_t factor_bytes_ = 0;
  size_t step_bytes_ = 0;
  size_t row_bytes_ = 0;
  size_t rows_bytes_ = 0;
  size_t left_bytes_ = 0;
  std::shared_ptr<const void> weights_, scales_, points_;
};

}  // namespace

OperationPtr dequantize_few_bits(std::vector<TensorId> inputs, TensorId to, const FewBits &form, int64_t rows) {
  return std::make_unique<DequantizeFewBits>(std::move(inputs), to, form, rows);
}

OperationPtr few_bits_gemm(std::vector<TensorId> inputs, TensorId to, const FewBits &form, int64_t columns,
                           bool is_rounded) {
  return std::make_unique<FewBitsGemm>(std::move(inputs), to, form, columns, is_rounded);
}

}  // namespace cpuacc
