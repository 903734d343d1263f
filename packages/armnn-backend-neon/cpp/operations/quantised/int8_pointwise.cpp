/* SPDX-License-Identifier: MIT */
#include "operations/quantised/quantised.h"

#include "costs/costs.h"
#include "operations/storage/formats.h"

namespace cpuacc {
namespace {

class LookUp final : public Unary {
 public:
  LookUp(TensorId from, TensorId to, const ByteFunction &function) : Unary(from, to), function_(function) {}

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
  double element_ns() const override { return costs::kLookUpNs; }

 private:
  std::optional<ByteFunction> function_; /* is there */
};

/* Pairs of bytes of one type. */
class Int8Binary : public Binary {
 public:
  Int8Binary(const BinaryOperands &operands, TensorId to, Int8Params params)
      : Binary(operands.tensors[0], operands.tensors[1], to, operands.broadcast, 1), params_(std::move(params)) {}

  EpilogueSlots epilogue_slots() override {
    EpilogueSlots slots;
    slots.lowest = &params_.bounds.lowest;
    slots.highest = &params_.bounds.highest;
    return slots;
  }

 protected:
  Requantization requantization() const {
    return {nullptr, params_.zero_point, params_.bounds.lowest, params_.bounds.highest};
  }

  Int8Params params_;
};

class Int8Add final : public Int8Binary {
 public:
  Int8Add(const BinaryOperands &operands, TensorId to, Int8Params params, Int8Addition addition)
      : Int8Binary(operands, to, std::move(params)), addition_(addition) {}

  Description describe() const override { return Int8Arithmetic{bounded_addition(), broadcast_.is_plain()}; }

 private:
  Int8Addition bounded_addition() const {
    Int8Addition addition = addition_;
    addition.requantization = requantization();
    return addition;
  }

  void compute(const Kernels &kernels, const void *x, int64_t x_step, const void *y, int64_t y_step,
               void *z, int64_t n) const override {
    kernels.int8.add(bounded_addition(), static_cast<const uint8_t *>(x), x_step,
                     static_cast<const uint8_t *>(y), y_step, static_cast<uint8_t *>(z), n);
  }

  Int8Addition addition_;
};

class Int8Multiply final : public Int8Binary {
 public:
  Int8Multiply(const BinaryOperands &operands, TensorId to, Int8Params params, Int8Multiplication multiplication)
      : Int8Binary(operands, to, std::move(params)), multiplication_(multiplication) {}

  Description describe() const override {
    return Int8Arithmetic{bounded_multiplication(), broadcast_.is_plain()};
  }

 private:
  Int8Multiplication bounded_multiplication() const {
    Int8Multiplication multiplication = multiplication_;
    multiplication.requantization = requantization();
    return multiplication;
  }

  void compute(const Kernels &kernels, const void *x, int64_t x_step, const void *y, int64_t y_step,
               void *z, int64_t n) const override {
    kernels.int8.multiply(bounded_multiplication(), static_cast<const uint8_t *>(x), x_step,
                          static_cast<const uint8_t *>(y), y_step, static_cast<uint8_t *>(z), n);
  }

  Int8Multiplication multiplication_;
};

/* Lines of floats in scratch memory, one line at a time. */
class Int8Softmax final : public Operation {
 public:
  Int8Softmax(TensorId from, TensorId to, float beta, bool takes_logarithm)
      : Operation({from}, {to}), beta_(beta), takes_logarithm_(takes_logarithm) {}

  size_t prepare(const Setup &setup) override {
    from_ = setup[inputs[0]].quantization;
    to_ = setup[outputs[0]].quantization;
    from_type_ = static_cast<int>(integer_of(setup[inputs[0]].type));
    to_type_ = static_cast<int>(integer_of(setup[outputs[0]].type));
    length_ = setup[outputs[0]].shape.back();
    rows_ = length_ == 0 ? 0 : setup[outputs[0]].count() / length_;
    row_bytes_ = (static_cast<size_t>(length_) * sizeof(float) + 63) / 64 * 64;
    return row_bytes_ * static_cast<size_t>(setup.threads);
  }

  void run(const Frame &frame) const override {
    const Kernels &kernels = frame.kernels;
    const auto *x = frame.in<uint8_t>(inputs[0]);
    auto *y = frame.out<uint8_t>(outputs[0]);
    const double row_ns = static_cast<double>(length_) * costs::kFunctionNs;
    frame.pool.run(rows_, row_ns, [&](int64_t begin, int64_t end, int32_t thread) {
      auto *row = reinterpret_cast<float *>(frame.scratch() + row_bytes_ * static_cast<size_t>(thread));
      for (int64_t i = begin; i < end; ++i) {
        kernels.dequantize[from_type_](x + i * length_, row, length_, from_.scales[0], from_.zero_points[0]);
        kernels.softmax(row, row, length_, beta_, takes_logarithm_);
        kernels.quantize[to_type_](row, y + i * length_, length_, to_.scales[0], to_.zero_points[0]);
      }
    });
  }

  bool may_overwrite(size_t) const override { return true; }

 private:
  float beta_;
  bool takes_logarithm_;
  Quantization from_;
  Quantization to_;
  int from_type_ = 0;
  int to_type_ = 0;
  int64_t length_ = 0;
  int64_t rows_ = 0;
  size_t row_bytes_ = 0;
};

}  // namespace

OperationPtr int8_lookup(TensorId from, TensorId to, const ByteFunction &function) {
  return std::make_unique<LookUp>(from, to, function);
}

OperationPtr int8_add(const BinaryOperands &operands, TensorId to, Int8Params params, const Int8Addition &addition) {
  return std::make_unique<Int8Add>(operands, to, std::move(params), addition);
}

OperationPtr int8_multiply(const BinaryOperands &operands, TensorId to, Int8Params params,
                           const Int8Multiplication &multiplication) {
  return std::make_unique<Int8Multiply>(operands, to, std::move(params), multiplication);
}

OperationPtr int8_softmax(TensorId from, TensorId to, float beta, bool takes_logarithm) {
  return std::make_unique<Int8Softmax>(from, to, beta, takes_logarithm);
}

}  // namespace cpuacc
