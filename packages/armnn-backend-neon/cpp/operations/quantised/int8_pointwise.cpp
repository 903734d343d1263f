/* SPDX-License-Identifier: MIT */
/* Functions of 8-bit integers by table, sums and products of pairs of them, softmax. */
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

#include "layers/registry.h"
#include "operations/pointwise/binary.h"
#include "operations/pointwise/broadcast.h"
#include "operations/pointwise/elementwise.h"
#include "operations/quantised/conversion.h"
#include "operations/quantised/int8_gemm.h"

namespace cpuacc {
namespace {

constexpr double kLookUpNs = 0.4;

/* Computes a function of 256 real values in their place. */
using RealFunction = std::function<void(const Kernels &, float *)>;

/* All values of a function of bytes, from those of real numbers. */
ByteTable tabulated(const Lowering &l, const Value &from, const Value &to, const RealFunction &function) {
  const Kernels &kernels = l.kernels();
  ByteTable bytes;
  std::iota(bytes.begin(), bytes.end(), uint8_t{0});
  std::array<float, 256> real;
  kernels.dequantize[static_cast<int>(integer_of(from.type))](
      bytes.data(), real.data(), 256, from.quantization.scales[0], from.quantization.zero_points[0]);
  function(kernels, real.data());
  kernels.quantize[static_cast<int>(integer_of(to.type))](real.data(), bytes.data(), 256, to.quantization.scales[0],
                                                          to.quantization.zero_points[0]);
  return bytes;
}

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
  double element_ns() const override { return kLookUpNs; }

 private:
  std::optional<ByteFunction> function_; /* is there */
};

/* To what a function clamps stored numbers, if that is all it does and their scale stays. */
std::optional<Bounds> clamp_of(const Lowering &l, const Elementwise &function) {
  const Quantization &in = l.input(0).quantization;
  const Quantization &out = l.output().quantization;
  const bool is_alike = l.input(0).type == l.output().type && in.scales == out.scales &&
                        in.zero_points == out.zero_points;
  if (!is_alike || function.function != Function::clamp) return std::nullopt;
  const Bounds bounds = bounds_of(l.output().type);
  const auto stored = [&](float real) {
    return static_cast<int32_t>(
        std::clamp(std::round(real / out.scales[0]) + static_cast<float>(out.zero_points[0]),
                   static_cast<float>(bounds.lowest), static_cast<float>(bounds.highest)));
  };
  return Bounds{stored(function.b), stored(function.a)};
}

/* Of the input with that number, which has the output's shape. */
void lower_table(Lowering &l, size_t i, const RealFunction &function, std::optional<Bounds> bounds = std::nullopt) {
  require(is_int8(l.input(i)) && is_int8(l.output()), "input and output must have 8 bits");
  const Order order = l.order(i);
  const TensorId from = l.in(i, order);
  l.add<LookUp>(from, l.out(0, order), ByteFunction{tabulated(l, l.input(i), l.output(), function), bounds});
}

void lower_function(Lowering &l, Elementwise function) {
  require(is_int8(l.input(0)) && is_int8(l.output()), "input and output must have 8 bits");
  lower_table(
      l, 0, [=](const Kernels &kernels, float *real) { kernels.elementwise(function, real, real, 256); },
      clamp_of(l, function));
}

float real_number(const Value &value) {
  const uint8_t byte = *static_cast<const uint8_t *>(value.read());
  const int32_t stored = is_signed_int8(value.type) ? static_cast<int8_t>(byte) : byte;
  return static_cast<float>(stored - value.quantization.zero_points[0]) * value.quantization.scales[0];
}

/* Whether an operand is one number and the other one has the output's shape: then that is lowered. */
bool lower_with_number(Lowering &l, Arithmetic operation) {
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const Value &one = l.input(i);
    const Value &other = l.input(1 - i);
    if (!one.is_constant() || elements(one.shape) != 1 || !is_int8(one)) continue;
    if (other.is_constant() || other.shape != l.output().shape) continue;
    const float number = real_number(one);
    const bool is_left = i == 0;
    const auto function = [=](const Kernels &kernels, float *real) {
      is_left ? kernels.arithmetic(operation, &number, 0, real, 1, real, 256)
              : kernels.arithmetic(operation, real, 1, &number, 0, real, 256);
    };
    lower_table(l, 1 - i, function);
    return true;
  }
  return false;
}

void lower_activation(Lowering &l) {
  const Layer &layer = l.layer();
  const Elementwise function = activation_of(layer.integer(ARMNN_PARAMETER(ARMNN_ACTIVATION_FUNCTION)),
                                             static_cast<float>(layer.real(ARMNN_PARAMETER(ARMNN_ACTIVATION_A))),
                                             static_cast<float>(layer.real(ARMNN_PARAMETER(ARMNN_ACTIVATION_B))));
  require(function.function != Function::identity, "this function is not computed here");
  lower_function(l, function);
}

/* A requantisation. */
void lower_requantize(Lowering &l) { lower_function(l, {Function::identity, 0.0f, 0.0f}); }

/* Pairs of bytes of one type. */
class Int8Binary : public Binary {
 public:
  Int8Binary(const Operands &operands, TensorId to, Int8Params params)
      : Binary(operands.tensors[0], operands.tensors[1], to, operands.broadcast, 1),
        params_(std::move(params)) {}

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
  Int8Add(const Operands &operands, TensorId to, Int8Params params, Int8Addition addition)
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
  Int8Multiply(const Operands &operands, TensorId to, Int8Params params, Int8Multiplication multiplication)
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

/* Refuses operands of another type than the output's. */
Int8Params binary_params_of(const Lowering &l) {
  Int8Params params = int8_io_params_of(l);
  const Value &other = l.input(1);
  require(is_int8(other) && other.type == l.output().type && l.input(0).type == l.output().type,
          "operands and output must have one type of 8 bits");
  return params;
}

/* The larger of the factors has 21 bits: sums of two such products fit into 32. */
void lower_addition(Lowering &l, int32_t sign) {
  Int8Params params = binary_params_of(l);
  const Quantization &x = l.input(0).quantization;
  const Quantization &y = l.input(1).quantization;
  const float x_scale = x.scales[0] / l.output().quantization.scales[0];
  const float y_scale = y.scales[0] / l.output().quantization.scales[0];
  const float larger = std::max(x_scale, y_scale);
  require(larger >= 1.0f / 1024.0f && larger < 256.0f, "the scales are too far apart");
  Int8Addition addition{};
  addition.shift = 20 - std::ilogb(larger);
  addition.x_factor = static_cast<int32_t>(std::lrint(std::ldexp(x_scale, addition.shift)));
  addition.y_factor = sign * static_cast<int32_t>(std::lrint(std::ldexp(y_scale, addition.shift)));
  addition.bias =
      (1 << (addition.shift - 1)) - addition.x_factor * x.zero_points[0] - addition.y_factor * y.zero_points[0];
  addition.is_signed = params.left_is_signed;
  const Operands operands = operands_of(l);
  l.add<Int8Add>(operands, l.out(0, operands.order), std::move(params), addition);
}

void lower_binary_multiplication(Lowering &l) {
  Int8Params params = binary_params_of(l);
  const Quantization &x = l.input(0).quantization;
  const Quantization &y = l.input(1).quantization;
  const Int8Multiplication multiplication{x.zero_points[0],
                                          y.zero_points[0],
                                          x.scales[0] * y.scales[0] / l.output().quantization.scales[0],
                                          params.left_is_signed,
                                          {}};
  const Operands operands = operands_of(l);
  l.add<Int8Multiply>(operands, l.out(0, operands.order), std::move(params), multiplication);
}

void lower_sum(Lowering &l, int32_t sign) {
  if (!lower_with_number(l, sign > 0 ? Arithmetic::add : Arithmetic::subtract)) lower_addition(l, sign);
}

void lower_multiplication(Lowering &l) {
  if (!lower_with_number(l, Arithmetic::multiply)) lower_binary_multiplication(l);
}

/* What has kernels for one number beside bytes only. */
void lower_number(Lowering &l, Arithmetic operation) {
  require(lower_with_number(l, operation), "this operation of two tensors is not computed in integers");
}

struct Larger {
  template <typename T>
  static T of(T x, T y) { return x < y ? y : x; }
};

struct Smaller {
  template <typename T>
  static T of(T x, T y) { return y < x ? y : x; }
};

/* Of operands in steps of the output: rounding keeps the order of numbers. */
template <typename Selection>
void lower_min_max(Lowering &l, Arithmetic operation) {
  if (lower_with_number(l, operation)) return;
  require(is_int8(l.output()), "the output must have 8 bits");
  const SpanFunction function = is_signed_int8(l.output().type) ? binary_span<int8_t, int8_t, Selection>
                                                                : binary_span<uint8_t, uint8_t, Selection>;
  lower_span_function(l, function, kElementNs, SpanKind::in_output_steps);
}

/* By the numbers of ElementwiseBinary. */
void lower_binary(Lowering &l) {
  switch (l.layer().integer(ARMNN_PARAMETER(ARMNN_ELEMENTWISE_BINARY_OPERATION))) {
    case ARMNN_BINARY_OPERATION_ADD: return lower_sum(l, 1);
    case ARMNN_BINARY_OPERATION_DIV: return lower_number(l, Arithmetic::divide);
    case ARMNN_BINARY_OPERATION_MAXIMUM: return lower_min_max<Larger>(l, Arithmetic::maximum);
    case ARMNN_BINARY_OPERATION_MINIMUM: return lower_min_max<Smaller>(l, Arithmetic::minimum);
    case ARMNN_BINARY_OPERATION_MUL: return lower_multiplication(l);
    case ARMNN_BINARY_OPERATION_SUB: return lower_sum(l, -1);
    case ARMNN_BINARY_OPERATION_SQ_DIFF: return lower_number(l, Arithmetic::squared_difference);
    default: throw Refusal{"this operation is not computed in integers"};
  }
}

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
    const double row_ns = static_cast<double>(length_) * kFunctionNs;
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

CPUACC_SHARED(AXIS, SOFTMAX, LOG_SOFTMAX);
CPUACC_SHARED(BETA, SOFTMAX, LOG_SOFTMAX);

void lower_softmax(Lowering &l, bool takes_logarithm) {
  require(is_int8(l.input(0)) && is_int8(l.output()), "input and output must have 8 bits");
  require(!l.input(0).shape.empty(), "a scalar has no axis", 0);
  const int64_t axis = whole_axis(l.layer().integer(ARMNN_PARAMETER(ARMNN_SOFTMAX_AXIS)), l.input(0).shape.size());
  const Order order = with_last(l.order(0), axis);
  const TensorId from = l.in(0, order);
  l.add<Int8Softmax>(from, l.out(0, order),
                     static_cast<float>(l.layer().real(ARMNN_PARAMETER(ARMNN_SOFTMAX_BETA))), takes_logarithm);
}

}  // namespace

TensorId requantized(Lowering &l, size_t i, const Order &order) {
  const Value &in = l.input(i);
  const Value &out = l.output();
  const TensorId from = l.in(i, order);
  if (in.type == out.type && in.quantization.scales == out.quantization.scales &&
      in.quantization.zero_points == out.quantization.zero_points && in.quantization.axis < 0) {
    return from;
  }
  require(is_int8(in) && is_int8(out), "all must have the output's data type and quantisation, or 8 bits",
          static_cast<int32_t>(i));
  const TensorId to = l.temporary(out.type, l.graph()[from].shape);
  l.graph()[to].quantization = out.quantization;
  l.add<LookUp>(from, to, ByteFunction{tabulated(l, in, out, [](const Kernels &, float *) {})});
  return to;
}

std::vector<LayerType> int8_elementwise_layers() {
  return {
      {ARMNN_LAYER_ACTIVATION, lower_activation},
      {ARMNN_LAYER_ADDITION, [](Lowering &l) { lower_sum(l, 1); }},
      {ARMNN_LAYER_DIVISION, [](Lowering &l) { lower_number(l, Arithmetic::divide); }},
      {ARMNN_LAYER_ELEMENTWISE_BINARY, lower_binary},
      {ARMNN_LAYER_LOG_SOFTMAX, [](Lowering &l) { lower_softmax(l, true); }},
      {ARMNN_LAYER_MAXIMUM, [](Lowering &l) { lower_min_max<Larger>(l, Arithmetic::maximum); }},
      {ARMNN_LAYER_MINIMUM, [](Lowering &l) { lower_min_max<Smaller>(l, Arithmetic::minimum); }},
      {ARMNN_LAYER_MULTIPLICATION, lower_multiplication},
      {ARMNN_LAYER_QUANTIZE, lower_requantize},
      {ARMNN_LAYER_SOFTMAX, [](Lowering &l) { lower_softmax(l, false); }},
      {ARMNN_LAYER_SUBTRACTION, [](Lowering &l) { lower_sum(l, -1); }},
  };
}

}  // namespace cpuacc
