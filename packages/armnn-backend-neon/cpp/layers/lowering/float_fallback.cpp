/* SPDX-License-Identifier: MIT */
/* Layers on quantized data and on floats of 16 bits in float32: decoded before, encoded behind, as the
 * layer is defined.
 */
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "graph/digest.h"
#include "graph/packed.h"
#include "layers/lowering/lowering.h"
#include "layers/lowering/pointwise.h"
#include "operations/pointwise/format_conversion.h"
#include "operations/pointwise/functions.h"
#include "operations/storage/formats.h"

namespace cpuacc {
namespace {

constexpr size_t kMostDecodedAtOnce = 1 << 16; /* bytes of floats that are not worth waiting for their reader */

/* The real values of integers of each type: their steps times the scale of their row; `inner` numbers share one, and rows
 * follow each other round and round. Products are rounded once, from float64.
 */
template <typename T>
void decode(const Value &from, const std::vector<double> &scales, int64_t inner, float *real) {
  const auto *steps = static_cast<const T *>(from.read());
  const std::vector<int32_t> &zero_points = from.quantization.zero_points;
  const int64_t count = elements(from.shape);
  size_t row = 0;
  for (int64_t first = 0; first < count; first += inner, row = row + 1 == scales.size() ? 0 : row + 1) {
    const double zero_point = zero_points.size() > row ? zero_points[row] : 0;
    const double scale = scales[row];
    for (int64_t i = first; i < first + inner; ++i) {
      real[i] = static_cast<float>((static_cast<double>(steps[i]) - zero_point) * scale);
    }
  }
}

void decode_integers(const Value &from, const std::vector<double> &scales, int64_t inner, float *real) {
  switch (from.type) {
    case ARMNN_QASYMM_U8: return decode<uint8_t>(from, scales, inner, real);
    case ARMNN_QSYMM_S8:
    case ARMNN_QASYMM_S8: return decode<int8_t>(from, scales, inner, real);
    case ARMNN_QSYMM_S16: return decode<int16_t>(from, scales, inner, real);
    default: return decode<int32_t>(from, scales, inner, real);
  }
}

void decode_halves(const Value &from, float *real) {
  const HalfFormat format = half_format_of(from.type);
  const auto *bits = static_cast<const uint16_t *>(from.read());
  for (int64_t i = 0; i < elements(from.shape); ++i) real[i] = float32_of(bits[i], format);
}

void decode_all(const Value &from, const std::vector<double> &scales, int64_t inner, float *real) {
  is_half(from.type) ? decode_halves(from, real) : decode_integers(from, scales, inner, real);
}

/* All that the floats depend on but the bytes. */
std::string decoding_recipe(const Value &from, const std::vector<double> &scales, int64_t inner) {
  std::string recipe = " decoded " + std::to_string(from.type) + " " + std::to_string(inner);
  const auto add = [&](const void *numbers, size_t bytes) {
    for (const uint64_t sum : Digest::of(numbers, bytes)) recipe += " " + std::to_string(sum);
  };
  add(scales.data(), scales.size() * sizeof(double));
  const std::vector<int32_t> &zero_points = from.quantization.zero_points;
  add(zero_points.data(), zero_points.size() * sizeof(int32_t));
  return recipe;
}

/* A value as the layer reads or makes it in floats. */
Value as_float32(const Value &value) {
  Value real = value;
  real.stored_type = value.type;
  real.type = ARMNN_FLOAT32;
  real.steps = value.quantization;
  real.quantization = {};
  return real;
}

bool needs_float_fallback(armnn_data_type type) { return is_quantized(type) || is_half(type); }

/* Whether float32 cannot hold all numbers of a type: a conversion to 16 bits by way of it would round twice. */
bool rounds_in_floats(armnn_data_type type) { return element_bytes(type) > 2 && type != ARMNN_FLOAT32; }

}  // namespace

std::vector<double> steps_times(const Value &value, double factor) {
  std::vector<double> steps;
  for (const float scale : value.quantization.scales) steps.push_back(factor * scale);
  if (steps.empty()) steps.push_back(factor);
  return steps;
}

std::vector<double> weighted_bias_steps(const Lowering &l, size_t i) {
  const Value &data = l.input(0);
  const Value &weights = l.input(1);
  if (i != 2 || !(is_quantized(data.type) || is_quantized(weights.type))) return {};
  return steps_times(weights, steps_times(data, 1.0)[0]);
}

/* In integers if there are kernels for it, as the layer stands if it only copies elements, else in
 * floats.
 */
void Lowering::lower(const Layer &layer) {
  const auto is_stored = [&](int32_t number) {
    return number >= 0 && needs_float_fallback(value(number).type);
  };
  const bool has_stored = std::any_of(layer.inputs.begin(), layer.inputs.end(), is_stored) ||
                          std::any_of(layer.outputs.begin(), layer.outputs.end(), is_stored);
  if (!has_stored) return lower_as_it_is(layer, layer.row->lower);
  const Lower in_integers = layer.row->int8_lower;
  if (in_integers != nullptr && lower_if_taken(layer, in_integers)) return;
  layer_ = &layer;
  if (layer.type == ARMNN_LAYER_CAST && rounds_in_floats(input(0).type) && is_half(output().type)) {
    return lower_as_it_is(layer, layer.row->lower);
  }
  if (!lower_if_taken(layer, layer.row->lower)) lower_as_floats(layer);
}

bool Lowering::lower_if_taken(const Layer &layer, Lower lower) {
  const size_t tensors = graph_.tensors.size();
  const size_t operations = graph_.operations.size();
  std::vector<std::pair<int32_t, std::vector<Form>>> forms; /* of the layer's inputs and outputs */
  std::vector<int32_t> unread;
  for (const auto *numbers : {&layer.inputs, &layer.outputs}) {
    for (const int32_t number : *numbers) {
      if (number < 0) continue;
      forms.emplace_back(number, forms_of(number));
      if (!value(number).is_read) unread.push_back(number);
    }
  }
  try {
    lower_as_it_is(layer, lower);
    return true;
  } catch (const Refusal &) {
    graph_.tensors.resize(tensors);
    graph_.operations.resize(operations);
    for (const auto &[number, before] : forms) forms_of(number) = before;
    for (const int32_t number : unread) value(number).is_read = false;
    return false;
  }
}

void Lowering::lower_as_floats(const Layer &layer) {
  layer_ = &layer;
  Layer as_float = layer;
  for (size_t i = 0; i < layer.inputs.size(); ++i) {
    if (has_input(i)) as_float.inputs[i] = float_input(layer, i);
  }
  std::vector<size_t> stored_outputs;
  for (size_t i = 0; i < layer.outputs.size(); ++i) {
    const Value &to = output(i);
    if (!needs_float_fallback(to.type)) continue;
    require(is_half(to.type) || to.quantization.scales.size() == 1, "the output must have one scale");
    as_float.outputs[i] = add_float_value(as_float32(to));
    stored_outputs.push_back(i);
  }
  lower_as_it_is(as_float, as_float.row->lower);
  layer_ = &layer;
  for (const size_t i : stored_outputs) {
    const Form made = forms_of(as_float.outputs[i]).front();
    add<FormatConversion>(Io{made.tensor, out(i, made.order)}, output(i).type, false);
  }
}

int32_t Lowering::float_input(const Layer &layer, size_t i) {
  const int32_t number = layer.inputs[i];
  const Value &from = value(number);
  const BiasSteps bias_steps = layer.row->bias_steps;
  std::vector<double> steps;
  if (from.type == ARMNN_SIGNED32 && bias_steps != nullptr) steps = bias_steps(*this, i);
  const bool is_bias = !steps.empty();
  if (!is_bias && !needs_float_fallback(from.type)) return number;
  if (from.is_constant()) {
    return float_constant(from, is_bias ? steps : steps_times(from, 1.0));
  }
  const auto known = float_values_of_.find(number);
  if (!is_bias && known != float_values_of_.end()) return known->second;
  require(is_bias || is_half(from.type) || !from.quantization.scales.empty(),
          std::string(type_name(from.type)) + " without a scale is not computed here", static_cast<int32_t>(i));
  const Form source = forms_of(number).front();
  const int32_t as_float = add_float_value(as_float32(from));
  const TensorId made = is_bias ? decoded_bias(source, steps) : decoded(from, source);
  forms_of(as_float) = {{source.order, made}};
  if (!is_bias) float_values_of_[number] = as_float;
  return as_float;
}

/* Refuses zero points per axis, which no type of weights has. */
TensorId Lowering::decoded(const Value &from, const Form &source) {
  const Quantization &own = from.quantization;
  const TensorId made = temporary(ARMNN_FLOAT32, graph_[source.tensor].shape);
  if (is_half(from.type) || own.scales.size() == 1) {
    add<FormatConversion>(Io{source.tensor, made}, from.type, true);
    return made;
  }
  require(std::all_of(own.zero_points.begin(), own.zero_points.end(), [](int32_t zero) { return zero == 0; }),
          "computed values must have one zero point");
  Tensor steps = graph_[source.tensor];
  steps.alias = source.tensor;
  steps.quantization = {{1.0f}, {0}};
  add<FormatConversion>(Io{graph_.add(std::move(steps)), made}, from.type, true);
  Shape shape(from.shape.size(), 1);
  shape[place_of(source.order, own.axis)] = static_cast<int64_t>(own.scales.size());
  return times(made, shape, own.scales);
}

TensorId Lowering::decoded_bias(const Form &source, const std::vector<double> &steps) {
  const TensorId made = temporary(ARMNN_FLOAT32, graph_[source.tensor].shape);
  add(cast({source.tensor, made}, converter(ARMNN_SIGNED32, ARMNN_FLOAT32)));
  return times(made, {static_cast<int64_t>(steps.size())}, std::vector<float>(steps.begin(), steps.end()));
}

/* A tensor times factors of that shape. */
TensorId Lowering::times(TensorId x, const Shape &shape, const std::vector<float> &factors) {
  const Shape to_shape = graph_[x].shape;
  const TensorId y = constant_tensor(shape, factors);
  const TensorId to = temporary(ARMNN_FLOAT32, to_shape);
  add(combine({x, y, to, broadcast_of(to_shape, shape, to_shape)}, Arithmetic::multiply));
  return to;
}

int32_t Lowering::float_constant(const Value &from, const std::vector<double> &scales) {
  const int64_t count = elements(from.shape);
  const auto axis = static_cast<size_t>(std::max(from.quantization.axis, 0));
  const int64_t inner = scales.size() <= 1 || from.shape.empty()
                            ? std::max<int64_t>(count, 1)
                            : elements(from.shape, axis + 1, from.shape.size());
  const size_t bytes = static_cast<size_t>(count) * sizeof(float);
  Value as_float = as_float32(from);
  if (bytes <= kMostDecodedAtOnce) {
    const std::shared_ptr<void> memory = aligned_memory(bytes);
    decode_all(from, scales, inner, static_cast<float *>(memory.get()));
    as_float.memory = memory;
    as_float.address = memory.get();
  } else {
    as_float.decoded = std::make_shared<DecodedConstant>(
        from.address, from.memory, decoding_recipe(from, scales, inner), bytes,
        [from, scales, inner](float *real) { decode_all(from, scales, inner, real); });
    as_float.memory = as_float.decoded;
    as_float.address = as_float.decoded->address();
    as_float.source = &from;
  }
  return add_float_value(std::move(as_float));
}

int32_t Lowering::add_float_value(Value value) {
  float_values_.push_back(std::move(value));
  forms_.emplace_back();
  return static_cast<int32_t>(values_.size() + float_values_.size() - 1);
}

}  // namespace cpuacc
