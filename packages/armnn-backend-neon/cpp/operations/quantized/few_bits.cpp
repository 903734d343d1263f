/* SPDX-License-Identifier: MIT */
/* MatMulNBits and its kin: packed weights of 2, 4 or 8 bits, dequantized or multiplied as they are. */
#include "operations/quantized/few_bits.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>

#include "costs/costs.h"
#include "graph/packed.h"
#include "operations/copy/indices.h"

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

  Description describe() const override { return FewBitsAsFloats{form_}; }

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

/* Weights in panels of columns: block after block, and of each block those of all columns of the panel. */
struct FewBitsPanels {
  FewBitsPanels(const FewBits &weights_form, int64_t count, const Kernels &kernels)
      : form(weights_form),
        columns(count),
        width(kernels.int8.few_bits_columns),
        panels(ratio_up(count, width)),
        blocks(form.blocks()),
        block_words(form.block_size * form.bits / 32),
        is_turned(kernels.int8.few_bits_turned && form.bits == 8) {}

  /* Args: ids: of numbers, scales, and zero points or kNone; all become kNone. */
  void pack(const Setup &setup, TensorId *ids) {
    const auto places = static_cast<size_t>(panels * blocks * width);
    const std::string recipe = "few bits " + std::to_string(form.bits) + " " + std::to_string(form.block_size) + " " +
                               std::to_string(form.size) + " " + std::to_string(form.row_bytes) + " " +
                               std::to_string(columns) + " " + std::to_string(width) + (is_turned ? " turned" : "");
    const auto packed = [&](TensorId &id, const char *what, size_t bytes, const auto &fill) {
      const Tensor &tensor = setup[id];
      auto memory = setup.packed.get(tensor.source(), tensor.recipe(recipe + what), bytes,
                                     [&](void *to) { fill(tensor, to); });
      id = kNone;
      return memory;
    };
    weights = packed(ids[0], " weights", places * static_cast<size_t>(block_words) * 4,
                      [&](const Tensor &from, void *to) { pack_words(from.read<uint8_t>(), static_cast<uint8_t *>(to)); });
    scales = packed(ids[1], " scales", places * sizeof(float), [&](const Tensor &from, void *to) {
      const auto *given = from.read<float>();
      each_block(static_cast<float *>(to), [&](int64_t row, int64_t b) { return given[row * blocks + b]; });
    });
    if (ids[2] == kNone) return;
    has_real_points = setup[ids[2]].type == ARMNN_FLOAT32;
    const size_t bytes = places * (has_real_points ? sizeof(float) : 1);
    points = packed(ids[2], " zero points", bytes, [&](const Tensor &from, void *to) {
      if (has_real_points) {
        const auto *given = from.read<float>();
        return each_block(static_cast<float *>(to), [&](int64_t row, int64_t b) { return given[row * blocks + b]; });
      }
      const auto *given = from.read<uint8_t>();
      const int64_t step = form.packed_bytes(blocks);
      each_block(static_cast<uint8_t *>(to), [&](int64_t row, int64_t b) {
        return static_cast<uint8_t>(form.number(given + row * step, b));
      });
    });
  }

  /* Writes a number for each panel, block and column, in this order; 0 where there is no column. */
  template <typename Number, typename Get>
  void each_block(Number *to, const Get &get) const {
    for (int64_t p = 0; p < panels; ++p) {
      for (int64_t b = 0; b < blocks; ++b) {
        for (int64_t c = 0; c < width; ++c) {
          const int64_t row = p * width + c;
          *to++ = row < columns ? get(row, b) : Number{};
        }
      }
    }
  }

  void pack_words(const uint8_t *rows, uint8_t *to) const {
    const int64_t words = blocks * block_words;
    const uint32_t turned = is_turned ? 0x80808080u : 0;
    for (int64_t p = 0; p < panels; ++p) {
      for (int64_t w = 0; w < words; ++w) {
        for (int64_t c = 0; c < width; ++c, to += 4) {
          const int64_t row = p * width + c;
          const int64_t there = row < columns ? std::clamp<int64_t>(form.row_bytes - 4 * w, 0, 4) : 0;
          uint32_t word = 0;
          if (there > 0) std::memcpy(&word, rows + row * form.row_bytes + 4 * w, static_cast<size_t>(there));
          word ^= turned;
          std::memcpy(to, &word, sizeof word);
        }
      }
    }
  }

  float zero_point(int64_t place) const {
    if (points == nullptr) return static_cast<float>(1 << (form.bits - 1));
    return has_real_points ? static_cast<const float *>(points.get())[place]
                           : static_cast<float>(static_cast<const uint8_t *>(points.get())[place]);
  }

  /* Writes a row as floats. */
  void read(int64_t row, float *to) const {
    const int64_t column = row % width;
    const int64_t first = row / width * blocks * width + column;
    const auto *words = static_cast<const uint8_t *>(weights.get()) + (first - column) * block_words * 4 + column * 4;
    const uint8_t turned = is_turned ? 0x80 : 0;
    for (int64_t b = 0; b < blocks; ++b) {
      const float scale = static_cast<const float *>(scales.get())[first + b * width];
      const float zero = zero_point(first + b * width);
      const int64_t end = std::min((b + 1) * form.block_size, form.size);
      for (int64_t k = b * form.block_size; k < end; ++k) {
        const int64_t byte = k * form.bits / 8;
        const uint8_t there = words[byte / 4 * width * 4 + byte % 4] ^ turned;
        to[k] = (static_cast<float>(there >> (k * form.bits % 8) & ((1 << form.bits) - 1)) - zero) * scale;
      }
    }
  }

  FewBits form;
  int64_t columns;
  int64_t width; /* columns of a panel */
  int64_t panels;
  int64_t blocks;
  int64_t block_words;
  bool is_turned; /* weights of 8 bits are stored as signed bytes */
  bool has_real_points = false;
  std::shared_ptr<const void> weights, scales, points;
};

class FewBitsRows final : public Operation {
 public:
  FewBitsRows(std::vector<TensorId> inputs, TensorId to, const FewBits &form, int64_t columns)
      : Operation(std::move(inputs), {to}), form_(form), columns_(columns) {}

  size_t prepare(const Setup &setup) override {
    is_wide_ = setup[inputs[0]].type == ARMNN_SIGNED64;
    count_ = setup[inputs[0]].count();
    panels_.emplace(form_, columns_, setup.kernels);
    panels_->pack(setup, &inputs[1]);
    return 0;
  }

  void run(const Frame &frame) const override {
    const Indices indices(frame, inputs[0], is_wide_);
    for (int64_t i = 0; i < count_; ++i) indices.place(i, columns_); /* throws here, not in a thread */
    frame.for_each(count_, static_cast<double>(form_.size) * frame.element_ns(), [&](int64_t i, int32_t) {
      panels_->read(indices.place(i, columns_), frame.out<float>(outputs[0]) + i * form_.size);
    });
  }

 private:
  FewBits form_;
  int64_t columns_;
  int64_t count_ = 0;
  bool is_wide_ = false;
  std::optional<FewBitsPanels> panels_;
};

/* Rounds all rows, then multiplies them by panels of columns, which are read once for kRowsTogether rows. */
class FewBitsGemm final : public Operation {
 public:
  FewBitsGemm(std::vector<TensorId> inputs, TensorId to, const FewBits &form, int64_t columns, bool quantizes_rows)
      : Operation(std::move(inputs), {to}), form_(form), columns_(columns), quantizes_rows_(quantizes_rows) {}

  size_t prepare(const Setup &setup) override {
    weights_.emplace(form_, columns_, setup.kernels);
    weights_->pack(setup, &inputs[1]);
    rows_ = form_.size == 0 ? 0 : setup[inputs[0]].count() / form_.size;
    steps_ = setup.kernels.int8.few_bits_steps(form_.bits, form_.block_size, quantizes_rows_);
    const int64_t numbers = weights_->blocks * form_.block_size;
    step_bytes_ = aligned_bytes(static_cast<size_t>(numbers / steps_.group) * sizeof(float));
    sum_bytes_ = aligned_bytes(static_cast<size_t>(weights_->blocks) * sizeof(float));
    term_bytes_ = aligned_bytes(static_cast<size_t>(numbers / steps_.in_word) * 4);
    row_bytes_ = step_bytes_ + sum_bytes_ + term_bytes_ * static_cast<size_t>(steps_.terms);
    rows_bytes_ = aligned_bytes(static_cast<size_t>(rows_) * sizeof(FewBitsRow));
    return rows_bytes_ + row_bytes_ * static_cast<size_t>(rows_);
  }

  Description describe() const override { return FewBitsProduct{form_, columns_}; }

  void run(const Frame &frame) const override {
    auto *rows = reinterpret_cast<FewBitsRow *>(frame.scratch());
    std::byte *memory = frame.scratch() + rows_bytes_;
    constexpr double kRoundingElements = 4.0;
    const double row_ns = static_cast<double>(form_.size) * kRoundingElements * frame.element_ns();
    frame.for_each(rows_, row_ns, [&](int64_t i, int32_t) {
      const std::byte *steps = memory + row_bytes_ * static_cast<size_t>(i);
      const std::byte *sums = steps + step_bytes_;
      const std::byte *terms = sums + sum_bytes_;
      rows[i] = {reinterpret_cast<const float *>(steps), reinterpret_cast<const float *>(sums),
                 reinterpret_cast<const int32_t *>(terms),
                 steps_.terms == 2 ? reinterpret_cast<const int32_t *>(terms + term_bytes_) : nullptr};
      frame.kernels.int8.round_few_bits({frame.in<float>(inputs[0]) + i * form_.size, form_.size, form_.block_size,
                                         form_.bits, steps_, rows[i]});
    });
    const int64_t parts = ratio_up(rows_, kRowsTogether);
    const double numbers = static_cast<double>(form_.size * weights_->width * std::min(rows_, kRowsTogether));
    const double panel_ns = numbers * frame.ns_of(costs::multiply_add) / kProductsOfOne;
    frame.for_each(weights_->panels * parts, panel_ns, [&](int64_t i, int32_t) { multiply(frame, rows, i / parts, i % parts); });
  }

 private:
  static constexpr int64_t kRowsTogether = 64; /* rows that the second cache holds beside a panel */
  static constexpr double kProductsOfOne = 2.0; /* products of bytes in the time of one of floats */

  void multiply(const Frame &frame, const FewBitsRow *rows, int64_t panel, int64_t part) const {
    const FewBitsPanels &from = *weights_;
    const int64_t first = part * kRowsTogether;
    const int64_t column = panel * from.width;
    const int64_t place = panel * from.blocks * from.width;
    const float *bias = frame.in<float>(inputs[4]);
    FewBitsPanel task{};
    task.weights = static_cast<const int32_t *>(from.weights.get()) + place * from.block_words;
    task.scales = static_cast<const float *>(from.scales.get()) + place;
    if (from.has_real_points) task.real_points = static_cast<const float *>(from.points.get()) + place;
    if (from.points != nullptr && !from.has_real_points) task.points = static_cast<const uint8_t *>(from.points.get()) + place;
    task.zero = (from.points == nullptr ? static_cast<float>(1 << (form_.bits - 1)) : 0.0f) - (from.is_turned ? 128.0f : 0.0f);
    task.bits = form_.bits;
    task.steps = steps_;
    task.blocks = from.blocks;
    task.block_words = from.block_words;
    task.rows = rows + first;
    task.count = std::min(kRowsTogether, rows_ - first);
    task.bias = bias == nullptr ? nullptr : bias + column;
    task.y = frame.out<float>(outputs[0]) + first * columns_ + column;
    task.y_step = columns_;
    task.columns = std::min(from.width, columns_ - column);
    frame.kernels.int8.few_bits_panel(task);
  }

  FewBits form_;
  int64_t columns_;
  bool quantizes_rows_;
  int64_t rows_ = 0;
  FewBitsSteps steps_{};
  size_t step_bytes_ = 0;
  size_t sum_bytes_ = 0;
  size_t term_bytes_ = 0;
  size_t row_bytes_ = 0;
  size_t rows_bytes_ = 0;
  std::optional<FewBitsPanels> weights_;
};

}  // namespace

OperationPtr dequantize_few_bits(std::vector<TensorId> inputs, TensorId to, const FewBits &form, int64_t rows) {
  return std::make_unique<DequantizeFewBits>(std::move(inputs), to, form, rows);
}

OperationPtr few_bits_rows(std::vector<TensorId> inputs, TensorId to, const FewBits &form, int64_t columns) {
  return std::make_unique<FewBitsRows>(std::move(inputs), to, form, columns);
}

OperationPtr few_bits_gemm(std::vector<TensorId> inputs, TensorId to, const FewBits &form, int64_t columns,
                           bool quantizes_rows) {
  return std::make_unique<FewBitsGemm>(std::move(inputs), to, form, columns, quantizes_rows);
}

}  // namespace cpuacc
