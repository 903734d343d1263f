/* SPDX-License-Identifier: MIT */
/* Scales, zero points, tables and bounds of layers on bytes. */
#include "layers/lowering/int8.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "operations/quantized/quantized.h"
#include "operations/storage/formats.h"

namespace cpuacc {
namespace {

bool has_quantized_bytes(const Value &value) { return is_quantized(value.type) && element_bytes(value.type) == 1; }

/* The bounds to which a function clamps stored numbers, if that is all it does and their scale stays. */
std::optional<Bounds> clamp_of(const Lowering &l, const Elementwise &function) {
  const Quantization &out = l.output().quantization;
  if (!is_alike(l.input(0), l.output()) || function.function != Function::clamp) return std::nullopt;
  const Bounds bounds = bounds_of(l.output().type);
  const auto stored = [&](float real) {
    return static_cast<int32_t>(
        std::clamp(std::round(real / out.scales[0]) + static_cast<float>(out.zero_points[0]),
                   static_cast<float>(bounds.lowest), static_cast<float>(bounds.highest)));
  };
  return Bounds{stored(function.b), stored(function.a)};
}

}  // namespace

bool is_int8(const Value &value) {
  if (!has_quantized_bytes(value) || value.quantization.scales.size() != 1) return false;
  const Bounds bounds = bounds_of(value.type);
  const int32_t zero_point = value.quantization.zero_points[0];
  return zero_point >= bounds.lowest && zero_point <= bounds.highest;
}

Int8Params int8_io_params_of(const Lowering &l) {
  const Value &data = l.input(0);
  const Value &out = l.output();
  require(is_int8(data) && is_int8(out), "input and output must have 8 bits");
  Int8Params params;
  params.left_zero_point = data.quantization.zero_points[0];
  params.left_is_signed = is_signed_int8(data.type);
  params.zero_point = out.quantization.zero_points[0];
  params.bounds = bounds_of(out.type);
  return params;
}

Int8Params int8_pair_params_of(const Lowering &l) {
  Int8Params params = int8_io_params_of(l);
  const Value &other = l.input(1);
  require(is_int8(other) && other.type == l.output().type && l.input(0).type == l.output().type,
          "operands and output must have one type of 8 bits");
  return params;
}

Int8Params int8_params_of(const Lowering &l, size_t column_axis, int64_t columns, bool has_bias) {
  const Value &data = l.input(0);
  const Value &weights = l.input(1);
  const Value &out = l.output();
  const Quantization &scale = weights.quantization;
  require(elements(weights.shape) > 0, "sums of nothing are not computed in 8 bits", 1);
  Int8Params params = int8_io_params_of(l);
  const size_t count = scale.scales.size();
  require(has_quantized_bytes(weights) && (count == 1 ||
                      (count == static_cast<size_t>(columns) && scale.axis == static_cast<int32_t>(column_axis))),
          "the weights must have 8 bits and a scale for each column", 1);
  require(scale.zero_points[0] >= -128 && scale.zero_points[0] <= 255, "the weights' zero point must have 8 bits", 1);
  const bool have_one = std::all_of(scale.zero_points.begin(), scale.zero_points.end(),
                                    [&](int32_t point) { return point == scale.zero_points[0]; });
  require(have_one, "the weights must have one zero point", 1);
  params.right_zero_point = scale.zero_points[0];
  params.right_is_signed = is_signed_int8(weights.type);
  for (int64_t i = 0; i < columns; ++i) {
    const float step = data.quantization.scales[0] * scale.scales[count == 1 ? 0 : static_cast<size_t>(i)];
    params.multipliers.push_back(step / out.quantization.scales[0]);
  }
  if (!has_bias) return params;
  const Value &bias = l.input(2);
  require(bias.type == ARMNN_SIGNED32 && bias.is_constant() && elements(bias.shape) == columns,
          "the bias must be constant and Signed32", 2);
  const auto *steps = static_cast<const int32_t *>(bias.read());
  params.bias.assign(steps, steps + columns);
  return params;
}

void require_few_bits(const Lowering &l, FewBits &form, size_t first, const Shape &rows) {
  require(form.bits == 2 || form.bits == 4 || form.bits == 8, "numbers must have 2, 4 or 8 bits");
  require(form.block_size >= 1 && form.size >= 0, "the sizes of blocks and rows are out of range");
  const auto fits = [&](size_t i, int64_t length) {
    const Shape &shape = l.input(i).shape;
    return shape.size() == rows.size() + 1 && std::equal(rows.begin(), rows.end(), shape.begin()) &&
           shape.back() == length;
  };
  const auto place = static_cast<int32_t>(first);
  form.row_bytes = l.input(first).shape.back();
  require(form.row_bytes >= form.packed_bytes(form.size), "rows have too few bytes", place);
  require(l.input(first + 1).type == ARMNN_FLOAT32 && fits(first + 1, form.blocks()),
          "the scales must be Float32, one of each block", place + 1);
  if (!l.has_input(first + 2)) return;
  const bool is_packed = l.input(first + 2).type == ARMNN_UNSIGNED8;
  require(is_packed || l.input(first + 2).type == ARMNN_FLOAT32, "zero points must be Unsigned8 or Float32", place + 2);
  require(fits(first + 2, is_packed ? form.packed_bytes(form.blocks()) : form.blocks()),
          "there must be a zero point of each block", place + 2);
}

ByteTable tabulated(const Lowering &l, const Value &from, const Value &to, const RealFunction &function) {
  const Kernels &kernels = l.kernels();
  ByteTable bytes;
  std::iota(bytes.begin(), bytes.end(), uint8_t{0});
  std::array<float, 256> real;
  dequantize(kernels, from.type, from.quantization, bytes.data(), real.data(), 256);
  function(kernels, real.data());
  quantize(kernels, to.type, to.quantization, real.data(), bytes.data(), 256);
  return bytes;
}

ByteTable complemented_bytes() {
  ByteTable bytes;
  std::iota(bytes.rbegin(), bytes.rend(), uint8_t{0});
  return bytes;
}

void lower_table(Lowering &l, size_t i, const RealFunction &function, std::optional<Bounds> bounds) {
  require(is_int8(l.input(i)) && is_int8(l.output()), "input and output must have 8 bits");
  const Order order = l.order(i);
  l.add(int8_lookup(Io{l.in(i, order), l.out(0, order)}, {tabulated(l, l.input(i), l.output(), function), bounds}));
}

void lower_int8_function(Lowering &l, Elementwise function) {
  require(is_int8(l.input(0)) && is_int8(l.output()), "input and output must have 8 bits");
  lower_table(
      l, 0, [=](const Kernels &kernels, float *real) { kernels.elementwise(function, real, real, 256); },
      clamp_of(l, function));
}

TensorId requantized(Lowering &l, size_t i, const Order &order) {
  const Value &in = l.input(i);
  const Value &out = l.output();
  const TensorId from = l.in(i, order);
  if (is_alike(in, out) && in.quantization.axis < 0) return from;
  require(is_int8(in) && is_int8(out), "all must have the output's data type and quantization, or 8 bits",
          static_cast<int32_t>(i));
  const TensorId to = l.temporary(out.type, l.graph()[from].shape);
  l.graph()[to].quantization = out.quantization;
  l.add(int8_lookup({from, to}, {tabulated(l, in, out, [](const Kernels &, float *) {})}));
  return to;
}

void require_exact_sums(int64_t count) { require(count < (int64_t{1} << 16), "the window is too large"); }

float scale_between(const Lowering &l) {
  return l.input(0).quantization.scales[0] / l.output().quantization.scales[0];
}

namespace {

bool is_byte(const Value &value) { return value.type == ARMNN_SIGNED8 || value.type == ARMNN_UNSIGNED8; }

/* The zero point of an operand; several are taken if they are constant and alike. */
TensorId zero_point_of(Lowering &l, size_t i, const Value &operand) {
  if (!l.has_input(i)) return kNone;
  const auto number = static_cast<int32_t>(i);
  const Value &zero = l.input(i);
  require(zero.type == operand.type, "a zero point must have the data type of its operand", number);
  const int64_t count = elements(zero.shape);
  const auto *bytes = static_cast<const uint8_t *>(zero.read());
  const bool have_one = bytes != nullptr && count > 0 &&
                        std::all_of(bytes, bytes + count, [&](uint8_t byte) { return byte == bytes[0]; });
  require(count == 1 || have_one, "different zero points are not computed here", number);
  return l.in(i);
}

}  // namespace

void require_integer_operands(const Lowering &l) {
  require(is_byte(l.input(0)), "the data must be Signed8 or Unsigned8", 0);
  require(is_byte(l.input(1)), "the weights must be Signed8 or Unsigned8", 1);
  require(l.output().type == ARMNN_SIGNED32, "the output must be Signed32");
}

void lower_integer_gemm(Lowering &l, const Order &order, const Order &output_order, const Windows &windows,
                        const WeightLayout &layout) {
  const TensorId data = l.in(0, order);
  const TensorId weights = l.in(1);
  std::vector<TensorId> inputs{data, weights, zero_point_of(l, 2, l.input(0)), zero_point_of(l, 3, l.input(1))};
  l.add(integer_gemm(std::move(inputs), l.out(0, output_order), windows, layout));
}

}  // namespace cpuacc
