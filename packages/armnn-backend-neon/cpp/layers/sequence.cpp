/* SPDX-License-Identifier: MIT */
/* Whole sequences as ONNX has them: Rnn, Gru, SequenceLstm and DynamicQuantizeLstm. */
#include <algorithm>
#include <string>

#include "layers/lowering/lowering.h"
#include "layers/lowering/pointwise.h"
#include "operations/gemm/gemm.h"
#include "operations/quantized/quantized.h"
#include "operations/recurrent/recurrence.h"

namespace cpuacc {
namespace {

/* The common facts of the layers that are sequences, which the lowering of each reads first. */
struct Sequence {
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  Reading reading;
  float clip;
  std::vector<Elementwise> functions;
};

#define SHARED_BY_SEQUENCES(parameter)      \
  CPUACC_SHARED(parameter, RNN, GRU);       \
  CPUACC_SHARED(parameter, RNN, SEQUENCE_LSTM); \
  CPUACC_SHARED(parameter, RNN, DYNAMIC_QUANTIZE_LSTM)
#define SHARED_NAME(parameter)                                                   \
  static_assert(are_alike({{ARMNN_RNN_##parameter, 0}, {ARMNN_GRU_##parameter, 0}, \
                           {ARMNN_SEQUENCE_LSTM_##parameter, 0}, {ARMNN_DYNAMIC_QUANTIZE_LSTM_##parameter, 0}}))

SHARED_BY_SEQUENCES(TIME_MAJOR);
SHARED_BY_SEQUENCES(DIRECTION);
SHARED_BY_SEQUENCES(CLIP);
SHARED_NAME(ACTIVATIONS);
SHARED_NAME(ACTIVATION_A);
SHARED_NAME(ACTIVATION_B);
CPUACC_SHARED(INPUT_FORGET, SEQUENCE_LSTM, DYNAMIC_QUANTIZE_LSTM);

/* The activations of one direction. */
struct Activations {
  std::vector<int64_t> numbers;
  std::vector<double> a, b;
};

std::vector<Elementwise> functions_of(const Layer &layer, const Activations &usual, size_t ways) {
  const size_t count = usual.numbers.size();
  const std::vector<int64_t> numbers = layer.integers(ARMNN_RNN_ACTIVATIONS, usual.numbers);
  const std::vector<double> a = layer.reals(ARMNN_RNN_ACTIVATION_A, usual.a);
  const std::vector<double> b = layer.reals(ARMNN_RNN_ACTIVATION_B, usual.b);
  require((numbers.size() == count || numbers.size() == count * ways) && a.size() == numbers.size() &&
              b.size() == numbers.size(),
          "the activations are not one of each for each direction");
  std::vector<Elementwise> functions;
  for (size_t i = 0; i < count * ways; ++i) {
    const size_t place = i % numbers.size();
    functions.push_back(activation_of(numbers[place], static_cast<float>(a[place]), static_cast<float>(b[place])));
    require(functions.back().function != Function::identity, "this activation is not computed here");
  }
  return functions;
}

/* The places of weights, biases and states among the inputs of recurrent layers. */
enum Input : size_t {
  kX,
  kWeights,
  kRecurrentWeights,
  kBias,
  kLengths,
  kScales = 8,
  kPoints,
  kRecurrentScales,
  kRecurrentPoints
};

/* Args: of_bytes: whether the weights are, with scales and zero points. */
void require_parameters(const Lowering &l, bool of_bytes) {
  for (size_t i = 0; i < l.input_count(); ++i) {
    if (!l.has_input(i)) continue;
    const armnn_data_type type = l.input(i).type;
    const auto number = static_cast<int32_t>(i);
    if (i == kLengths) {
      require(type == ARMNN_SIGNED32 || type == ARMNN_SIGNED64,
              std::string(type_name(type)) + " is not computed here, Signed32 and Signed64 are", number);
    } else if (of_bytes && (i == kWeights || i == kRecurrentWeights || i == kPoints || i == kRecurrentPoints)) {
      require(type == ARMNN_SIGNED8 || type == ARMNN_UNSIGNED8,
              std::string(type_name(type)) + " is not computed here, Signed8 and Unsigned8 are", number);
    } else {
      require(type == ARMNN_FLOAT32, std::string(type_name(type)) + " is not computed here, Float32 is", number);
    }
  }
  for (size_t i = 0; i < l.layer().outputs.size(); ++i) {
    require(l.output(i).type == ARMNN_FLOAT32, "the output must be Float32");
  }
  require(l.input(0).shape.size() == 3 && l.input(1).shape.size() == 3 && l.input(2).shape.size() == 3,
          "input and weights must have rank 3");
}

/* Args: i: the weights; scales: theirs, with the zero points behind them. */
ByteWeights byte_weights(const Lowering &l, size_t i, size_t scales) {
  for (const size_t each : {i, scales, scales + 1}) l.require_constant(each, "the weights");
  const Value &weights = l.input(i);
  const Value &points = l.input(scales + 1);
  const int64_t ways = weights.shape[0], columns = weights.shape[2];
  require(columns > 0, "a cell without units is not computed here", static_cast<int32_t>(i));
  ByteWeights result{matrix_layout(weights.shape[1], columns, false), ways, weights.type == ARMNN_SIGNED8, false, {}, {}};
  for (const size_t each : {scales, scales + 1}) {
    require(l.input(each).shape == Shape{ways} || l.input(each).shape == Shape{ways, columns},
            "its shape does not fit", static_cast<int32_t>(each));
  }
  require(points.type == weights.type, "zero points and weights have different types", static_cast<int32_t>(scales + 1));
  const auto *factors = static_cast<const float *>(l.input(scales).read());
  const auto *bytes = static_cast<const uint8_t *>(points.read());
  const int64_t factor_columns = elements(l.input(scales).shape) / ways;
  result.scales_differ = factor_columns > 1;
  const int64_t point_columns = elements(points.shape) / ways;
  for (int64_t way = 0; way < ways; ++way) {
    const uint8_t *first = bytes + way * point_columns;
    require(std::all_of(first, first + point_columns, [&](uint8_t byte) { return byte == *first; }),
            "zero points that differ by column are not computed here", static_cast<int32_t>(scales + 1));
    result.zero_points.push_back(result.are_signed ? static_cast<int8_t>(*first) : *first);
    for (int64_t j = 0; j < columns; ++j) {
      result.scales.push_back(factors[way * factor_columns + (factor_columns == 1 ? 0 : j)]);
    }
  }
  return result;
}

/* The sums of both biases of a way, as far as these are known. */
std::vector<float> known_biases(const Lowering &l, int64_t ways, int64_t columns) {
  std::vector<float> sums;
  if (!l.has_input(kBias) || !l.input(kBias).is_constant()) return sums;
  const auto *bias = static_cast<const float *>(l.input(kBias).read());
  for (int64_t way = 0; way < ways; ++way, bias += 2 * columns) {
    for (int64_t j = 0; j < columns; ++j) sums.push_back(bias[j] + bias[columns + j]);
  }
  return sums;
}

/* The product of the input, which is rounded to bytes, with weights of bytes. */
void lower_product_of_bytes(Lowering &l, TensorId out, int64_t rows, std::vector<float> bias) {
  const TensorId from = l.in(kX);
  const TensorId bytes = l.temporary(ARMNN_UNSIGNED8, l.input(kX).shape);
  const TensorId scale = l.temporary(ARMNN_FLOAT32, {});
  const TensorId zero_point = l.temporary(ARMNN_UNSIGNED8, {});
  l.add(dynamic_quantize(from, bytes, scale, zero_point));
  l.add(product_of_bytes({bytes, l.in(kWeights), scale, zero_point}, out, rows, byte_weights(l, kWeights, kScales),
                         std::move(bias)));
}

/* Lowers the product of all steps with their weights, and collects the operands of the recurrence.
 *
 * Args: of_bytes: whether the weights are; each column, not each row, belongs to a unit then.
 */
Sequence sequence_of(Lowering &l, int64_t gates, const Activations &usual, bool of_bytes = false) {
  require_parameters(l, of_bytes);
  const Layer &layer = l.layer();
  const Shape &shape = l.input(0).shape;
  const bool is_time_major = l.flag(ARMNN_PARAMETER(ARMNN_RNN_TIME_MAJOR));
  const int64_t direction = l.integer(ARMNN_PARAMETER(ARMNN_RNN_DIRECTION));
  const Shape &weights = l.input(1).shape;
  const int64_t units = l.input(2).shape[of_bytes ? 1 : 2];
  const int64_t columns = gates * units;
  Sequence result{{}, {}, {}, l.real32(ARMNN_PARAMETER(ARMNN_RNN_CLIP)), {}};
  result.reading = {shape[is_time_major ? 0 : 1], shape[is_time_major ? 1 : 0], units, units,
                    direction == ARMNN_SEQUENCE_DIRECTION_BIDIRECTIONAL ? 2 : 1,
                    direction == ARMNN_SEQUENCE_DIRECTION_REVERSE, is_time_major};
  const Reading &reading = result.reading;
  const auto matrices = [&](int64_t depth) {
    return of_bytes ? Shape{reading.ways, depth, columns} : Shape{reading.ways, columns, depth};
  };
  require(weights == matrices(shape[2]) && l.input(2).shape == matrices(units), "the shapes of the weights do not fit",
          1);
  result.functions = functions_of(layer, usual, static_cast<size_t>(reading.ways));
  const TensorId added =
      l.temporary(ARMNN_FLOAT32, {reading.ways, reading.steps * reading.batch, columns});
  result.inputs = {added, l.in(2)};
  const Shape state = is_time_major ? Shape{reading.ways, reading.batch, units}
                                    : Shape{reading.batch, reading.ways, units};
  const Shape expected[] = {{reading.ways, 2 * columns}, {reading.batch}, state, state,
                            {reading.ways, 3 * units}};
  for (size_t i = 0; i < 5; ++i) {
    require(!l.has_input(i + 3) || l.input(i + 3).shape == expected[i], "its shape does not fit",
            static_cast<int32_t>(i + 3));
    result.inputs.push_back(l.has_input(i + 3) ? l.in(i + 3) : kNone);
  }
  for (size_t i = 0; i < layer.outputs.size(); ++i) result.outputs.push_back(l.out(i));
  const int64_t rows = reading.steps * reading.batch;
  if (of_bytes) {
    std::vector<float> bias = known_biases(l, reading.ways, columns);
    if (!bias.empty()) result.inputs[2] = kNone;
    lower_product_of_bytes(l, added, rows, std::move(bias));
  } else {
    const TensorId from = l.in(0);
    l.add(gemm_of_matrices(from, l.in(1), added, matrix_layout(shape[2], columns, true), rows, reading.ways, true));
  }
  return result;
}

void lower_rnn(Lowering &l) {
  Sequence s = sequence_of(l, 1, {ARMNN_RNN_ACTIVATIONS_DEFAULT, ARMNN_RNN_ACTIVATION_A_DEFAULT,
                                 ARMNN_RNN_ACTIVATION_B_DEFAULT});
  l.add(rnn(std::move(s.inputs), std::move(s.outputs), s.reading, s.clip, std::move(s.functions)));
}

void lower_gru(Lowering &l) {
  const bool resets_behind = l.flag(ARMNN_PARAMETER(ARMNN_GRU_LINEAR_BEFORE_RESET));
  Sequence s = sequence_of(l, 3, {ARMNN_GRU_ACTIVATIONS_DEFAULT, ARMNN_GRU_ACTIVATION_A_DEFAULT,
                                 ARMNN_GRU_ACTIVATION_B_DEFAULT});
  l.add(gru(std::move(s.inputs), std::move(s.outputs), s.reading, s.clip, std::move(s.functions), resets_behind));
}

LstmSequence<float>::Options options_of(const Lowering &l, const Sequence &sequence) {
  LstmSequence<float>::Options options;
  options.clip = sequence.clip;
  options.couples_gates = l.flag(ARMNN_PARAMETER(ARMNN_SEQUENCE_LSTM_INPUT_FORGET));
  return options;
}

const Activations kActivationsOfLstm{ARMNN_SEQUENCE_LSTM_ACTIVATIONS_DEFAULT, ARMNN_SEQUENCE_LSTM_ACTIVATION_A_DEFAULT,
                                     ARMNN_SEQUENCE_LSTM_ACTIVATION_B_DEFAULT};

void lower_lstm(Lowering &l) {
  Sequence s = sequence_of(l, 4, kActivationsOfLstm);
  l.add<LstmSequence<float>>(std::move(s.inputs), std::move(s.outputs), s.reading, options_of(l, s),
                             std::move(s.functions));
}

void lower_dynamic_lstm(Lowering &l) {
  Sequence s = sequence_of(l, 4, kActivationsOfLstm, true);
  l.add(dynamic_lstm(std::move(s.inputs), std::move(s.outputs), s.reading, options_of(l, s), std::move(s.functions),
                     byte_weights(l, kRecurrentWeights, kRecurrentScales)));
}

}  // namespace

std::vector<LayerType> sequence_layers() {
  return {
      {ARMNN_LAYER_DYNAMIC_QUANTIZE_LSTM, lower_dynamic_lstm},
      {ARMNN_LAYER_GRU, lower_gru},
      {ARMNN_LAYER_RNN, lower_rnn},
      {ARMNN_LAYER_SEQUENCE_LSTM, lower_lstm},
  };
}

}  // namespace cpuacc
