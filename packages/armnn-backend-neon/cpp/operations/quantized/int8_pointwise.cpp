/* SPDX-License-Identifier: MIT */
/* Tables, arithmetic of two operands, softmax and dynamic quantization of bytes. */
#include <algorithm>
#include <cmath>

#include "costs/costs.h"
#include "operations/quantized/quantized.h"
#include "operations/storage/formats.h"

namespace cpuacc {
namespace {

class LookUp final : public Unary {
 public:
  LookUp(Io io, const ByteFunction &function) : Unary(io), function_(function) {}

  Description describe() const override { return *function_; }
  EpilogueSlots epilogue_slots() override {
    EpilogueSlots slots;
    slots.table = &function_;
    return slots;
  }
  void compute_span(const Kernels &kernels, const void *const *operands, const int64_t *, void *to,
                    int64_t n) const override {
    kernels.int8.look_up(function_->table.data(), static_cast<const uint8_t *>(operands[0]),
                         static_cast<uint8_t *>(to), n);
  }
  double in_elements() const override { return costs::kLookUpElements; }

 private:
  std::optional<ByteFunction> function_; /* is there */
};

/* Pairs of bytes of one type. */
class Int8Binary final : public Binary {
 public:
  Int8Binary(const BinaryOperands &operands, const Int8Operation &operation)
      : Binary(operands, 1), operation_(operation) {}

  Description describe() const override { return Int8Arithmetic{operation_, broadcast_.is_plain()}; }
  EpilogueSlots epilogue_slots() override {
    EpilogueSlots slots;
    std::visit([&](auto &operation) {
      slots.lowest = &operation.requantization.lowest;
      slots.highest = &operation.requantization.highest;
    }, operation_);
    return slots;
  }

 private:
  void compute(const Kernels &kernels, const void *x, int64_t x_step, const void *y, int64_t y_step,
               void *z, int64_t n) const override {
    compute_int8(kernels.int8, operation_, x, x_step, y, y_step, z, n);
  }

  Int8Operation operation_;
};

/* Lines of floats in scratch memory, one line at a time. */
class Int8Softmax final : public Operation {
 public:
  Int8Softmax(Io io, float beta, bool takes_logarithm)
      : Operation(io), beta_(beta), takes_logarithm_(takes_logarithm) {}

  size_t prepare(const Setup &setup) override {
    from_ = setup[inputs[0]];
    to_ = setup[outputs[0]];
    row_bytes_ = aligned_bytes(static_cast<size_t>(to_.shape.back()) * sizeof(float));
    return row_bytes_ * static_cast<size_t>(setup.threads);
  }

  void run(const Frame &frame) const override {
    const int64_t length = to_.shape.back();
    const double row_ns = static_cast<double>(length) * costs::kFunctionElements * frame.element_ns();
    frame.for_each(length == 0 ? 0 : to_.count() / length, row_ns, [&](int64_t i, int32_t thread) {
      auto *row = frame.scratch_of<float>(thread, row_bytes_);
      dequantize(frame.kernels, from_.type, from_.quantization, frame.in<uint8_t>(inputs[0]) + i * length, row, length);
      frame.kernels.softmax(row, row, 1, length, beta_, takes_logarithm_);
      quantize(frame.kernels, to_.type, to_.quantization, row, frame.out<uint8_t>(outputs[0]) + i * length, length);
    });
  }

  bool may_overwrite(size_t) const override { return true; }

 private:
  float beta_;
  bool takes_logarithm_;
  Tensor from_;
  Tensor to_;
  size_t row_bytes_ = 0;
};

}  // namespace

void compute_int8(const Int8Kernels &kernels, const Int8Operation &operation, const void *x, int64_t x_step,
                  const void *y, int64_t y_step, void *z, int64_t n) {
  const auto *left = static_cast<const uint8_t *>(x);
  const auto *right = static_cast<const uint8_t *>(y);
  auto *to = static_cast<uint8_t *>(z);
  if (const auto *addition = std::get_if<Int8Addition>(&operation)) {
    return kernels.add(*addition, left, x_step, right, y_step, to, n);
  }
  if (const auto *multiplication = std::get_if<Int8Multiplication>(&operation)) {
    return kernels.multiply(*multiplication, left, x_step, right, y_step, to, n);
  }
  kernels.prelu(std::get<Int8Prelu>(operation), left, x_step, right, y_step, to, n);
}

OperationPtr int8_lookup(Io io, const ByteFunction &function) { return std::make_unique<LookUp>(io, function); }

OperationPtr int8_binary(const BinaryOperands &operands, const Int8Operation &operation) {
  return std::make_unique<Int8Binary>(operands, operation);
}

OperationPtr int8_softmax(Io io, float beta, bool takes_logarithm) {
  return std::make_unique<Int8Softmax>(io, beta, takes_logarithm);
}

Extremes finite_extremes(const Kernels &kernels, const float *x, int64_t n) {
  Extremes found = kernels.extremes(x, n);
  if (found.are_finite) return found;
  found = {0.0f, 0.0f, false};
  for (int64_t i = 0; i < n; ++i) {
    if (!std::isfinite(x[i])) continue;
    found.least = std::min(found.least, x[i]);
    found.largest = std::max(found.largest, x[i]);
  }
  return found;
}

ByteSteps steps_of_bytes(float least, float largest) {
  const float lowest = std::min(least, 0.0f);
  const float highest = std::max(largest, 0.0f);
  const float difference = highest - lowest;
  const float range = std::isfinite(difference)
                          ? difference / 255.0f
                          : static_cast<float>((static_cast<double>(highest) - static_cast<double>(lowest)) / 255.0);
  const float scale = range > 0.0f ? range : 1.0f;
  const float zero = std::nearbyint(-lowest / scale);
  return {scale, zero > 0.0f ? static_cast<int32_t>(std::min(zero, 255.0f)) : 0};
}

namespace {

class DynamicQuantize final : public Operation {
 public:
  DynamicQuantize(TensorId from, TensorId steps, TensorId scale, TensorId zero_point)
      : Operation({from}, {steps, scale, zero_point}) {}

  size_t prepare(const Setup &setup) override {
    count_ = setup[inputs[0]].count();
    pieces_ = ratio_up(count_, costs::kChunkElements);
    return static_cast<size_t>(2 * pieces_) * sizeof(float);
  }

  void run(const Frame &frame) const override {
    const float *x = frame.in<float>(inputs[0]);
    auto *extremes = reinterpret_cast<float *>(frame.scratch()); /* of each piece */
    const auto length = [&](int64_t piece) {
      return std::min(costs::kChunkElements, count_ - piece * costs::kChunkElements);
    };
    const double piece_ns = costs::kChunkElements * frame.element_ns();
    frame.for_each(pieces_, piece_ns, [&](int64_t i, int32_t) {
      const float *part = x + i * costs::kChunkElements;
      float *pair = extremes + 2 * i;
      const Extremes found = finite_extremes(frame.kernels, part, length(i));
      pair[0] = found.least;
      pair[1] = found.largest;
    });
    float lowest = 0.0f;
    float highest = 0.0f;
    for (int64_t i = 0; i < pieces_; ++i) {
      lowest = std::min(lowest, extremes[2 * i]);
      highest = std::max(highest, extremes[2 * i + 1]);
    }
    const ByteSteps chosen = steps_of_bytes(lowest, highest);
    *frame.out<float>(outputs[1]) = chosen.scale;
    *frame.out<uint8_t>(outputs[2]) = static_cast<uint8_t>(chosen.zero_point);
    auto *steps = frame.out<uint8_t>(outputs[0]);
    frame.for_each(pieces_, piece_ns, [&](int64_t i, int32_t) {
      const int64_t first = i * costs::kChunkElements;
      frame.kernels.quantize_to_even(x + first, steps + first, length(i), chosen.scale, chosen.zero_point);
    });
  }

 private:
  int64_t count_ = 0;
  int64_t pieces_ = 0;
};

}  // namespace

OperationPtr dynamic_quantize(TensorId from, TensorId steps, TensorId scale, TensorId zero_point) {
  return std::make_unique<DynamicQuantize>(from, steps, scale, zero_point);
}

}  // namespace cpuacc
