/* SPDX-License-Identifier: MIT */
/* Long short-term memory as TensorFlow Lite has it: a matrix per gate. */
#include <string>

#include "layers/lowering/lowering.h"
#include "operations/copy/copy.h"
#include "operations/gemm/gemm.h"
#include "operations/recurrent/recurrence.h"
#include "operations/recurrent/rounded_lstm.h"
#include "operations/storage/formats.h"

namespace cpuacc {
namespace {

/* Where the parameters of a gate are among the inputs. */
struct Gate {
  size_t weights;
  size_t recurrent;
  size_t bias;
  size_t peephole; /* 0: none, as the next one */
  size_t factors; /* of a normalized gate */
};

struct Gates {
  Gate input, output, forget, candidate;
};

/* The inputs that are gates of Lstm, UnidirectionalSequenceLstm and QLstm. */
constexpr Gates kGatesOfLstm{{12, 13, 14, 15, 20}, {5, 8, 11, 17, 23}, {3, 6, 9, 16, 21}, {4, 7, 10, 0, 22}};
constexpr size_t kProjection = 18;
constexpr size_t kProjectionBias = 19;

constexpr Gates kGatesOfQuantizedLstm{{3, 7, 11, 0, 0}, {6, 10, 14, 0, 0}, {4, 8, 12, 0, 0}, {5, 9, 13, 0, 0}};

/* The parameters of all gates, in the order of LstmSequence.
 *
 * The input gate of coupled gates is one minus the forget gate: the logistic function of the negative.
 */
template <typename T>
class Parameters {
 public:
  Parameters(const Lowering &l, const Gates &gates, bool is_coupled)
      : l_(l), gates_(gates), is_coupled_(is_coupled) {}

  /* The numbers of one part of each gate, one gate below the other. */
  std::vector<T> stacked(size_t Gate::*part, const Shape &shape) const {
    std::vector<T> all;
    const T sign = is_coupled_ && part != &Gate::factors ? -1 : 1;
    append(all, (is_coupled_ ? gates_.forget : gates_.input).*part, shape, sign);
    append(all, gates_.output.*part, shape);
    append(all, gates_.forget.*part, shape);
    if (part != &Gate::peephole) append(all, gates_.candidate.*part, shape);
    return all;
  }

  /* Appends one parameter. */
  void append(std::vector<T> &all, size_t i, const Shape &shape, T sign = 1) const {
    const auto number = static_cast<int32_t>(i);
    require(l_.has_input(i) && l_.input(i).shape == shape, "the parameter does not fit", number);
    l_.require_constant(i, "the parameters");
    const auto *numbers = static_cast<const T *>(l_.input(i).read());
    for (int64_t k = 0; k < elements(shape); ++k) all.push_back(sign * numbers[k]);
  }

  /* The bias of the projection. */
  TensorId projection_bias(Lowering &l, int64_t outputs) const {
    if (!l_.has_input(kProjectionBias)) return kNone;
    std::vector<T> bias;
    append(bias, kProjectionBias, {outputs});
    return l.constant_tensor({outputs}, bias);
  }

 private:
  const Lowering &l_;
  const Gates &gates_;
  bool is_coupled_;
};

Elementwise function_of(int64_t number) {
  switch (number) {
    case ARMNN_LSTM_ACTIVATION_NONE: return {Function::identity, 0.0f, 0.0f};
    case ARMNN_LSTM_ACTIVATION_RELU: return {Function::clamp, __builtin_inff(), 0.0f};
    case ARMNN_LSTM_ACTIVATION_RELU6: return {Function::clamp, 6.0f, 0.0f};
    case ARMNN_LSTM_ACTIVATION_TANH: return {Function::tanh, 1.0f, 1.0f};
    case ARMNN_LSTM_ACTIVATION_SIGMOID: return {Function::sigmoid, 0.0f, 0.0f};
    default: throw Refusal{"this activation is not computed here"};
  }
}

/* Lstm, UnidirectionalSequenceLstm and QLstm. */
#define SHARED_BY_ALL(parameter)                              \
  CPUACC_SHARED(parameter, LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM); \
  CPUACC_SHARED(parameter, LSTM, Q_LSTM)

SHARED_BY_ALL(CIFG_ENABLED);
SHARED_BY_ALL(PEEPHOLE_ENABLED);
SHARED_BY_ALL(PROJECTION_ENABLED);
SHARED_BY_ALL(LAYER_NORM_ENABLED);
CPUACC_SHARED(ACTIVATION_FUNC, LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM);
CPUACC_SHARED(CLIPPING_THRES_CELL, LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM);
CPUACC_SHARED(CLIPPING_THRES_PROJ, LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM);

/* Which parts a layer has. */
struct Options {
  bool is_coupled, has_peepholes, is_projected, is_normalized;
  bool has_bias = true;
};

Options options_of(const Lowering &l) {
  return {l.flag(ARMNN_PARAMETER(ARMNN_LSTM_CIFG_ENABLED)), l.flag(ARMNN_PARAMETER(ARMNN_LSTM_PEEPHOLE_ENABLED)),
          l.flag(ARMNN_PARAMETER(ARMNN_LSTM_PROJECTION_ENABLED)),
          l.flag(ARMNN_PARAMETER(ARMNN_LSTM_LAYER_NORM_ENABLED))};
}

void require_states(const Lowering &l, const Shape &output, const Shape &cell, bool is_projected) {
  require(l.input(1).shape == output && l.input(2).shape == cell && (is_projected || output == cell),
          "the states do not fit to the input", 1);
}

/* Args: outputs: the outputs of all steps, the last output, the last cell. */
template <typename T>
void lower_sequence_of(Lowering &l, const Reading &reading, const std::vector<size_t> &outputs) {
  const armnn_data_type type = l.input(0).type;
  const Options has = options_of(l);
  const int64_t width = l.input(0).shape.back();
  const int64_t units = reading.units;
  const int64_t columns = 4 * units;
  require_states(l, {reading.batch, reading.outputs}, {reading.batch, units}, has.is_projected);
  const Parameters<T> parameters(l, kGatesOfLstm, has.is_coupled);
  const TensorId weights = l.constant_tensor({columns, width}, parameters.stacked(&Gate::weights, {units, width}));
  std::vector<T> matrices = parameters.stacked(&Gate::recurrent, {units, reading.outputs});
  if (has.is_projected) parameters.append(matrices, kProjection, {reading.outputs, units});
  const auto count = static_cast<int64_t>(matrices.size());
  const TensorId recurrent = l.constant_tensor({count}, matrices);
  std::vector<T> biases = parameters.stacked(&Gate::bias, {units});
  TensorId normalization = kNone;
  if (has.is_normalized) {
    std::vector<T> both = parameters.stacked(&Gate::factors, {units});
    both.insert(both.end(), biases.begin(), biases.end());
    normalization = l.constant_tensor({2, columns}, both);
  }
  biases.resize(static_cast<size_t>(2 * columns), T{});
  const TensorId bias = has.is_normalized ? kNone : l.constant_tensor({2 * columns}, biases);
  const TensorId peepholes = has.has_peepholes
                                 ? l.constant_tensor({3 * units}, parameters.stacked(&Gate::peephole, {units}))
                                 : kNone;
  const int64_t rows = reading.steps * reading.batch;
  const TensorId added = l.temporary(type, {rows, columns});
  const TensorId from = l.in(0);
  const WeightLayout layout = matrix_layout(width, columns, true);
  l.add(type == ARMNN_FLOAT64 ? plain_gemm(from, weights, added, type, {layout, rows})
                              : gemm_of_matrices(from, weights, added, layout, rows, 1, true));
  std::vector<TensorId> inputs{added, recurrent, bias, kNone, l.in(1), l.in(2), peepholes, normalization,
                               has.is_projected ? parameters.projection_bias(l, reading.outputs) : kNone};
  std::vector<TensorId> results;
  for (const size_t i : outputs) results.push_back(l.out(i));
  const Elementwise function = function_of(l.integer(ARMNN_PARAMETER(ARMNN_LSTM_ACTIVATION_FUNC)));
  typename LstmSequence<T>::Options options;
  options.cell_clip = static_cast<T>(l.real(ARMNN_PARAMETER(ARMNN_LSTM_CLIPPING_THRES_CELL)));
  options.projection_clip = static_cast<T>(l.real(ARMNN_PARAMETER(ARMNN_LSTM_CLIPPING_THRES_PROJ)));
  options.is_projected = has.is_projected;
  l.add<LstmSequence<T>>(std::move(inputs), std::move(results), reading, options,
                      std::vector<Elementwise>{{Function::sigmoid, 0.0f, 0.0f}, function, function});
}

/* In Float64 if its input is. */
void lower_sequence(Lowering &l, const Reading &reading, const std::vector<size_t> &outputs) {
  const bool is_wide = l.input(0).type == ARMNN_FLOAT64;
  require_all(l, is_wide ? ARMNN_FLOAT64 : ARMNN_FLOAT32);
  is_wide ? lower_sequence_of<double>(l, reading, outputs) : lower_sequence_of<float>(l, reading, outputs);
}

void lower_unidirectional(Lowering &l) {
  const Shape &shape = l.input(0).shape;
  require(shape.size() == 3 && l.input(1).shape.size() == 2 && l.input(2).shape.size() == 2, "the rank must be 3", 0);
  const bool is_time_major = l.flag(ARMNN_PARAMETER(ARMNN_UNIDIRECTIONAL_SEQUENCE_LSTM_TIME_MAJOR));
  lower_sequence(l,
                 {shape[is_time_major ? 0 : 1], shape[is_time_major ? 1 : 0], l.input(2).shape[1],
                  l.input(1).shape[1], 1, false, is_time_major},
                 {2, 0, 1});
}

/* Appends the transpose of [rows, columns]. */
void append_transposed(std::vector<float> &all, const std::vector<float> &matrix, int64_t rows) {
  const auto columns = static_cast<int64_t>(matrix.size()) / rows;
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i) all.push_back(matrix[static_cast<size_t>(i * columns + j)]);
  }
}

/* The slots of the states among the inputs of a step, and of the new states among its outputs. */
struct StateSlots {
  size_t hidden, cell, new_hidden, new_cell;
};

/* A step with rounded inner values. Returns its new output, which may be another output of the layer as well. */
TensorId lower_rounded_step(Lowering &l, const Gates &gates, const Options &has, const StateSlots &at,
                        const RoundedLstm::Rules &rules) {
  require_floats(l);
  const RoundedLstm::Sizes sizes{l.input(0).shape[0], l.input(0).shape[1], l.input(at.cell).shape[1],
                                 l.input(at.hidden).shape[1]};
  const auto &[batch, width, units, outputs] = sizes;
  require(units > 0, "a cell without units is not computed here", static_cast<int32_t>(at.cell));
  require(l.input(at.hidden).shape == Shape{batch, outputs} && l.input(at.cell).shape == Shape{batch, units} &&
              (has.is_projected || outputs == units),
          "the states do not fit to the input", static_cast<int32_t>(at.hidden));
  const Parameters<float> parameters(l, gates, has.is_coupled);
  std::vector<float> weights;
  append_transposed(weights, parameters.stacked(&Gate::weights, {units, width}), 4 * units);
  append_transposed(weights, parameters.stacked(&Gate::recurrent, {units, outputs}), 4 * units);
  std::vector<TensorId> inputs(RoundedLstm::kInputs, kNone);
  inputs[RoundedLstm::kX] = l.in(0);
  inputs[RoundedLstm::kHidden] = l.in(at.hidden);
  inputs[RoundedLstm::kCell] = l.in(at.cell);
  inputs[RoundedLstm::kWeights] = l.constant_tensor({width + outputs, 4 * units}, weights);
  if (has.has_bias) {
    inputs[RoundedLstm::kBias] = l.constant_tensor({4 * units}, parameters.stacked(&Gate::bias, {units}));
  }
  if (has.has_peepholes) {
    inputs[RoundedLstm::kPeepholes] = l.constant_tensor({3 * units}, parameters.stacked(&Gate::peephole, {units}));
  }
  if (has.is_normalized) {
    inputs[RoundedLstm::kFactors] = l.constant_tensor({4 * units}, parameters.stacked(&Gate::factors, {units}));
  }
  if (has.is_projected) {
    std::vector<float> rows, columns;
    parameters.append(rows, kProjection, {outputs, units});
    if (outputs > 0) append_transposed(columns, rows, outputs);
    inputs[RoundedLstm::kProjection] = l.constant_tensor({units, outputs}, columns);
    inputs[RoundedLstm::kProjectionBias] = parameters.projection_bias(l, outputs);
  }
  const TensorId output = l.out(at.new_hidden);
  const TensorId cell = l.out(at.new_cell);
  l.add<RoundedLstm>(std::move(inputs), std::vector<TensorId>{output, cell}, sizes, rules);
  return output;
}

/* The format of a value that was stored before it was computed in floats. */
Kept kept_of(const Value &value) {
  if (value.steps.scales.empty()) return {};
  return {value.steps.scales[0], value.steps.zero_points[0], integer_of(value.stored_type)};
}

/* Lstm keeps its gates in the steps of the scratch buffer. */
RoundedLstm::Rules lstm_rules(const Lowering &l) {
  const Kept gates = kept_of(l.output(0));
  RoundedLstm::Rules rules;
  rules.sums.fill(gates);
  rules.normalized.fill(gates);
  rules.biased = rules.activated = rules.shown = rules.output = gates;
  rules.cell = kept_of(l.output(2));
  rules.cell_clip = l.real32(ARMNN_PARAMETER(ARMNN_LSTM_CLIPPING_THRES_CELL));
  rules.projected = kept_of(l.output(3));
  rules.projection_clip = l.real32(ARMNN_PARAMETER(ARMNN_LSTM_CLIPPING_THRES_PROJ));
  rules.function = function_of(l.integer(ARMNN_PARAMETER(ARMNN_LSTM_ACTIVATION_FUNC)));
  rules.couples_gates = l.flag(ARMNN_PARAMETER(ARMNN_LSTM_CIFG_ENABLED));
  return rules;
}

void lower_step(Lowering &l) {
  const Shape &shape = l.input(0).shape;
  require(shape.size() == 2 && l.input(1).shape.size() == 2 && l.input(2).shape.size() == 2, "the rank must be 2", 0);
  for (const armnn_data_type stored :
       {l.input(0).stored_type, l.output(0).stored_type, l.output(2).stored_type}) {
    require(!is_quantized(stored) || stored == ARMNN_QSYMM_S16,
            std::string(type_name(stored)) + " is not computed here, QSymmS16 is");
  }
  if (is_quantized(l.output(0).stored_type)) {
    const TensorId output = lower_rounded_step(l, kGatesOfLstm, options_of(l), {1, 2, 3, 2}, lstm_rules(l));
    l.alias(1, output, plain_order(2));
  } else {
    lower_sequence(l, {1, shape[0], l.input(2).shape[1], l.input(1).shape[1], 1, false, true}, {3, 1, 2});
  }
  /* The values of the scratch buffer are open. */
  l.add<CopyBoxes>(std::vector<TensorId>{}, l.out(), std::vector<CopyBox>{}, std::vector<std::byte>(element_bytes(l.output(0).type)));
}

/* Steps of QLstm: of a normalized gate with its bias, and of its bias in one of its factors. */
constexpr float kBiasedScale = 1.0f / 4096.0f;
constexpr float kNormalizationSteps = 1024.0f;

float scale_above_zero(const Lowering &l, std::string_view name, double otherwise) {
  const float scale = l.real32(name, otherwise);
  require(scale > 0.0f, std::string(name) + " must be above 0");
  return scale;
}

/* The format of a gate behind its normalization; a layer without one keeps the gate as it is. */
Kept kept_normalized(const Lowering &l, const Gate &gate) {
  if (!l.has_input(gate.factors)) return {};
  return {kept_of(l.input(0)).scale * kept_of(l.input(gate.factors)).scale * kNormalizationSteps};
}

void require_stored(const Lowering &l, size_t cell, armnn_data_type data_type) {
  for (size_t i = 0; i < 3; ++i) {
    const armnn_data_type expected = i == cell ? ARMNN_QSYMM_S16 : data_type;
    require(l.input(i).stored_type == expected && l.input(i).shape.size() == 2,
            "it must be a matrix of " + std::string(type_name(expected)), static_cast<int32_t>(i));
  }
}

/* Without a normalization the biases are not added: Android's QUANTIZED_LSTM. */
void lower_q_lstm(Lowering &l) {
  require_stored(l, 2, ARMNN_QASYMM_S8);
  Options has = options_of(l);
  has.has_bias = has.is_normalized;
  const auto sums = [&](std::string_view name, double otherwise) { return Kept{scale_above_zero(l, name, otherwise)}; };
  RoundedLstm::Rules rules;
  rules.sums = {has.is_coupled ? Kept{} : sums(ARMNN_PARAMETER(ARMNN_Q_LSTM_INPUT_INTERMEDIATE_SCALE)),
                sums(ARMNN_PARAMETER(ARMNN_Q_LSTM_OUTPUT_INTERMEDIATE_SCALE)),
                sums(ARMNN_PARAMETER(ARMNN_Q_LSTM_FORGET_INTERMEDIATE_SCALE)),
                sums(ARMNN_PARAMETER(ARMNN_Q_LSTM_CELL_INTERMEDIATE_SCALE))};
  const auto &[input, output, forget, candidate] = kGatesOfLstm;
  rules.normalized = {kept_normalized(l, input), kept_normalized(l, output), kept_normalized(l, forget),
                      kept_normalized(l, candidate)};
  rules.biased = {kBiasedScale};
  rules.activated = rules.cell = kept_of(l.output(1));
  rules.cell_clip = l.real32(ARMNN_PARAMETER(ARMNN_Q_LSTM_CELL_CLIP));
  const int64_t zero_point = l.integer(ARMNN_PARAMETER(ARMNN_Q_LSTM_HIDDEN_STATE_ZERO_POINT));
  rules.shown = {scale_above_zero(l, ARMNN_PARAMETER(ARMNN_Q_LSTM_HIDDEN_STATE_SCALE)),
                 static_cast<int32_t>(zero_point), Integer::signed8};
  rules.projected = kept_of(l.output(2));
  rules.projected.type = Integer::signed16;
  rules.projection_clip = l.real32(ARMNN_PARAMETER(ARMNN_Q_LSTM_PROJECTION_CLIP));
  rules.couples_gates = has.is_coupled;
  l.alias(0, lower_rounded_step(l, kGatesOfLstm, has, {1, 2, 2, 1}, rules), plain_order(2));
}

/* The steps of the gates of QuantizedLstm, which are rounded once. */
constexpr float kGateScale = 1.0f / 4096.0f;

void lower_quantized_lstm(Lowering &l) {
  require_stored(l, 1, ARMNN_QASYMM_U8);
  const auto &[input, output, forget, candidate] = kGatesOfQuantizedLstm;
  for (const Gate &gate : {input, output, forget, candidate}) {
    for (const size_t weights : {gate.weights, gate.recurrent}) {
      require(is_quantized(l.input(weights).stored_type), "the weights must be quantized",
              static_cast<int32_t>(weights));
    }
  }
  require(l.output(0).stored_type == ARMNN_QSYMM_S16, "the cell must be QSymmS16", 1);
  require(l.output(1).stored_type == ARMNN_QASYMM_U8, "the output must be QAsymmU8, as the input is", 0);
  RoundedLstm::Rules rules;
  rules.sums.fill({kGateScale});
  rules.rounds_terms = false;
  rules.cell = kept_of(l.output(0));
  lower_rounded_step(l, kGatesOfQuantizedLstm, {false, false, false, false}, {2, 1, 1, 0}, rules);
}

/* A gate's bias counts in steps of the data times those of its weights, or of its factors. */
std::vector<double> gate_bias_steps(const Lowering &l, const Gates &gates, bool is_normalized, size_t i) {
  for (const Gate *gate : {&gates.input, &gates.output, &gates.forget, &gates.candidate}) {
    const size_t other = is_normalized ? gate->factors : gate->weights;
    if (gate->bias != i || !l.has_input(other)) continue;
    const Value &value = l.input(other);
    if (!is_normalized) return steps_times(value, steps_times(l.input(0), 1.0)[0]);
    return steps_times(value, is_quantized(value.type) ? 1.0 / static_cast<double>(kNormalizationSteps) : 1.0);
  }
  return {};
}

std::vector<double> lstm_bias_steps(const Lowering &l, size_t i) {
  if (i == kProjectionBias && l.has_input(kProjection)) {
    const bool is_q_lstm = l.layer().type == ARMNN_LAYER_Q_LSTM;
    return steps_times(l.input(kProjection), is_q_lstm ? l.real(ARMNN_PARAMETER(ARMNN_Q_LSTM_HIDDEN_STATE_SCALE)) : 1.0);
  }
  return gate_bias_steps(l, kGatesOfLstm, options_of(l).is_normalized, i);
}

std::vector<double> quantized_lstm_bias_steps(const Lowering &l, size_t i) {
  return gate_bias_steps(l, kGatesOfQuantizedLstm, false, i);
}

}  // namespace

std::vector<LayerType> recurrent_layers() {
  return {
      {ARMNN_LAYER_LSTM, lower_step, nullptr, lstm_bias_steps},
      {ARMNN_LAYER_Q_LSTM, lower_q_lstm, nullptr, lstm_bias_steps},
      {ARMNN_LAYER_QUANTIZED_LSTM, lower_quantized_lstm, nullptr, quantized_lstm_bias_steps},
      {ARMNN_LAYER_UNIDIRECTIONAL_SEQUENCE_LSTM, lower_unidirectional, nullptr, lstm_bias_steps},
  };
}

}  // namespace cpuacc
