/* SPDX-License-Identifier: MIT */
/* Conversions between data types. */
#include "layers/lowering/int8.h"
#include "layers/lowering/lowering.h"
#include "operations/pointwise/format_conversion.h"
#include "operations/pointwise/functions.h"
#include "operations/quantized/quantized.h"
#include "operations/storage/formats.h"

namespace cpuacc {
namespace {

/* Real numbers to real numbers: the fallback to floats converts them on either side. */
bool lower_within_fallback(Lowering &l, bool converts) {
  if (!converts || l.input(0).type != ARMNN_FLOAT32 || l.output().type != ARMNN_FLOAT32) return false;
  const Order order = l.order(0);
  l.alias(0, l.in(0, order), order);
  return true;
}

void lower_dequantize(Lowering &l) {
  if (lower_within_fallback(l, l.input(0).stored_type != ARMNN_FLOAT32)) return;
  const Value &in = l.input(0);
  require(is_quantized(in.type) && in.quantization.scales.size() == 1,
          "only 8 and 16 bits with one scale are dequantized here", 0);
  require(l.output().type == ARMNN_FLOAT32, "the output must be Float32");
  l.add<FormatConversion>(l.io(l.order(0)), in.type, true);
}

void lower_quantize(Lowering &l) {
  if (lower_within_fallback(l, is_quantized(l.output().stored_type))) return;
  const Value &out = l.output();
  require(l.input(0).type == ARMNN_FLOAT32, "the input must be Float32", 0);
  require(is_quantized(out.type) && out.quantization.scales.size() == 1,
          "only 8 and 16 bits with one scale are quantized here");
  l.add<FormatConversion>(l.io(l.order(0)), out.type, false);
}

/* A requantization. */
void lower_int8_quantize(Lowering &l) { lower_int8_function(l, {Function::identity, 0.0f, 0.0f}); }

/* Whether one side is a half and the other one of more bits. */
bool lower_to_or_from_half(Lowering &l) {
  const armnn_data_type from_type = l.input(0).type;
  const armnn_data_type to_type = l.output().type;
  const Order order = l.order(0);
  if (is_half(from_type) && to_type == ARMNN_FLOAT32) {
    l.add<FormatConversion>(l.io(order), from_type, true);
    return true;
  }
  const Convert to_odd = converter_to_odd(from_type);
  if (!is_half(to_type) || (from_type != ARMNN_FLOAT32 && to_odd == nullptr)) return false;
  TensorId from = l.in(0, order);
  if (to_odd != nullptr) {
    const TensorId rounded = l.temporary(ARMNN_FLOAT32, in_memory(l.input(0).shape, order));
    l.add(cast({from, rounded}, to_odd));
    from = rounded;
  }
  l.add<FormatConversion>(Io{from, l.out(0, order)}, to_type, false);
  return true;
}

void lower_cast(Lowering &l) {
  require(l.input(0).shape == l.output().shape, "input and output must have the same shape");
  if (lower_to_or_from_half(l)) return;
  const Convert convert = converter(l.input(0).type, l.output().type);
  require(convert != nullptr,
          std::string(type_name(l.input(0).type)) + " is not cast to " + type_name(l.output().type) + " here");
  l.add(cast(l.io(l.order(0)), convert));
}

/* A cast between these types alone. */
template <armnn_data_type kFrom, armnn_data_type kTo>
void lower_conversion(Lowering &l) {
  require(l.input(0).type == kFrom, "the input must be " + std::string(type_name(kFrom)), 0);
  require(l.output().type == kTo, "the output must be " + std::string(type_name(kTo)));
  lower_cast(l);
}

void lower_dynamic_quantize(Lowering &l) {
  require(l.input(0).type == ARMNN_FLOAT32, "the input must be Float32", 0);
  require(l.layer().outputs.size() == 3 && l.output(0).type == ARMNN_UNSIGNED8 && l.output(1).type == ARMNN_FLOAT32 &&
              l.output(2).type == ARMNN_UNSIGNED8,
          "the outputs must be Unsigned8, Float32 and Unsigned8");
  require(
      l.output(0).shape == l.input(0).shape && elements(l.output(1).shape) == 1 && elements(l.output(2).shape) == 1,
      "the outputs' shapes do not fit");
  const Order order = l.order(0);
  const TensorId from = l.in(0, order);
  const TensorId steps = l.out(0, order);
  const TensorId scale = l.out(1);
  l.add(dynamic_quantize(from, steps, scale, l.out(2)));
}

void lower_dequantize_blocks(Lowering &l) {
  const Shape &shape = l.input(0).shape;
  require(l.input(0).type == ARMNN_UNSIGNED8 && !shape.empty(), "the input must be rows of Unsigned8", 0);
  require(l.output().type == ARMNN_FLOAT32, "the output must be Float32");
  FewBits form{static_cast<int32_t>(l.integer(ARMNN_PARAMETER(ARMNN_DEQUANTIZE_BLOCKS_BITS))),
               l.integer(ARMNN_PARAMETER(ARMNN_DEQUANTIZE_BLOCKS_BLOCK_SIZE)),
               l.integer(ARMNN_PARAMETER(ARMNN_DEQUANTIZE_BLOCKS_SIZE))};
  const Shape rows(shape.begin(), shape.end() - 1);
  require_few_bits(l, form, 0, rows);
  Shape expected = rows;
  expected.push_back(form.size);
  require(l.output().shape == expected, "the output's shape does not fit");
  std::vector<TensorId> inputs{l.in(0), l.in(1), l.has_input(2) ? l.in(2) : kNone};
  l.add(dequantize_few_bits(std::move(inputs), l.out(), form, elements(rows)));
}

}  // namespace

std::vector<LayerType> quantizing_layers() {
  return {
      {ARMNN_LAYER_CAST, lower_cast},
      {ARMNN_LAYER_CONVERT_FP16_TO_FP32, lower_conversion<ARMNN_FLOAT16, ARMNN_FLOAT32>},
      {ARMNN_LAYER_CONVERT_FP32_TO_FP16, lower_conversion<ARMNN_FLOAT32, ARMNN_FLOAT16>},
      {ARMNN_LAYER_DEQUANTIZE, lower_dequantize},
      {ARMNN_LAYER_DEQUANTIZE_BLOCKS, lower_dequantize_blocks},
      {ARMNN_LAYER_DYNAMIC_QUANTIZE, lower_dynamic_quantize},
      {ARMNN_LAYER_QUANTIZE, lower_quantize, lower_int8_quantize},
  };
}

}  // namespace cpuacc
