/* SPDX-License-Identifier: MIT */
/* Whole sequences as ONNX has them: Rnn, Gru and SequenceLstm. */
#include <string>

#include "layers/lowering/lowering.h"
#include "layers/lowering/pointwise.h"
#include "operations/gemm/gemm.h"
#include "operations/recurrent/recurrence.h"

namespace cpuacc {
namespace {

/* What the lowering of all three has in common: the inputs and outputs of the operation. */
struct Sequence {
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  Reading reading;
  float clip;
  std::vector<Elementwise> functions;
};

#define SHARED_BY_SEQUENCES(parameter)      \
  CPUACC_SHARED(parameter, RNN, GRU);       \
  CPUACC_SHARED(parameter, RNN, SEQUENCE_LSTM)
#define SHARED_NAME(parameter)                                                   \
  static_assert(are_alike({{ARMNN_RNN_##parameter, 0}, {ARMNN_GRU_##parameter, 0}, \
                           {ARMNN_SEQUENCE_LSTM_##parameter, 0}}))

SHARED_BY_SEQUENCES(TIME_MAJOR);
SHARED_BY_SEQUENCES(DIRECTION);
SHARED_BY_SEQUENCES(CLIP);
SHARED_NAME(ACTIVATIONS);
SHARED_NAME(ACTIVATION_A);
SHARED_NAME(ACTIVATION_B);

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

void require_parameters(const Lowering &l) {
  for (size_t i = 0; i < l.input_count(); ++i) {
    if (!l.has_input(i)) continue;
    const armnn_data_type type = l.input(i).type;
    const bool is_lengths = i == 4;
    require(is_lengths ? type == ARMNN_SIGNED32 || type == ARMNN_SIGNED64 : type == ARMNN_FLOAT32,
            std::string(type_name(type)) + " is not computed here, " +
                (is_lengths ? "Signed32 and Signed64 are" : "Float32 is"),
            static_cast<int32_t>(i));
  }
  for (size_t i = 0; i < l.layer().outputs.size(); ++i) {
    require(l.output(i).type == ARMNN_FLOAT32, "the output must be Float32");
  }
  require(l.input(0).shape.size() == 3 && l.input(1).shape.size() == 3 && l.input(2).shape.size() == 3,
          "input and weights must have rank 3");
}

/* Lowers the product of all steps with their weights, and collects what the recurrence needs. */
Sequence sequence_of(Lowering &l, int64_t gates, const Activations &usual) {
  require_parameters(l);
  const Layer &layer = l.layer();
  const Shape &shape = l.input(0).shape;
  const bool is_time_major = l.flag(ARMNN_PARAMETER(ARMNN_RNN_TIME_MAJOR));
  const int64_t direction = l.integer(ARMNN_PARAMETER(ARMNN_RNN_DIRECTION));
  const Shape &weights = l.input(1).shape;
  const int64_t units = l.input(2).shape[2];
  const int64_t columns = gates * units;
  Sequence result{{}, {}, {}, l.real32(ARMNN_PARAMETER(ARMNN_RNN_CLIP)), {}};
  result.reading = {shape[is_time_major ? 0 : 1], shape[is_time_major ? 1 : 0], units, units,
                    direction == ARMNN_SEQUENCE_DIRECTION_BIDIRECTIONAL ? 2 : 1,
                    direction == ARMNN_SEQUENCE_DIRECTION_REVERSE, is_time_major};
  const Reading &reading = result.reading;
  require(weights == Shape{reading.ways, columns, shape[2]} &&
              l.input(2).shape == Shape{reading.ways, columns, units},
          "the shapes of the weights do not fit", 1);
  result.functions = functions_of(layer, usual, static_cast<size_t>(reading.ways));
  const TensorId added =
      l.temporary(ARMNN_FLOAT32, {reading.ways, reading.steps * reading.batch, columns});
  const TensorId from = l.in(0);
  l.add(gemm_of_matrices(from, l.in(1), added, matrix_layout(shape[2], columns, true), reading.steps * reading.batch,
                         reading.ways, true));
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

void lower_lstm(Lowering &l) {
  const bool couples_gates = l.flag(ARMNN_PARAMETER(ARMNN_SEQUENCE_LSTM_INPUT_FORGET));
  Sequence s = sequence_of(l, 4, {ARMNN_SEQUENCE_LSTM_ACTIVATIONS_DEFAULT,
                                 ARMNN_SEQUENCE_LSTM_ACTIVATION_A_DEFAULT,
                                 ARMNN_SEQUENCE_LSTM_ACTIVATION_B_DEFAULT});
  LstmSequence<float>::Options options;
  options.clip = s.clip;
  options.couples_gates = couples_gates;
  l.add<LstmSequence<float>>(std::move(s.inputs), std::move(s.outputs), s.reading, options, std::move(s.functions));
}

}  // namespace

std::vector<LayerType> sequence_layers() {
  return {
      {ARMNN_LAYER_GRU, lower_gru},
      {ARMNN_LAYER_RNN, lower_rnn},
      {ARMNN_LAYER_SEQUENCE_LSTM, lower_lstm},
  };
}

}  // namespace cpuacc
