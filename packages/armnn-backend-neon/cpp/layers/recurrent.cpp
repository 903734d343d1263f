/* SPDX-License-Identifier: MIT */
/* Long short-term memory as TensorFlow Lite has it: a matrix per gate. */
#include <string>

#include "layers/lowering/registry.h"
#include "operations/copy/copy.h"
#include "operations/gemm/gemm.h"
#include "operations/recurrent/cells.h"
#include "operations/recurrent/rounded_lstm.h"
#include "operations/storage/formats.h"

namespace cpuacc {
namespace {

/* Where the parameters of a gate are among the inputs of Lstm and UnidirectionalSequenceLstm. */
struct Gate {
  size_t weights;
  size_t recurrent;
  size_t bias;
  size_t peephole; /* 0: none */
};

constexpr Gate kInput{12, 13, 14, 15};

constexpr Gate kForget{3, 6, 9, 16};

constexpr Gate kCandidate{4, 7, 10, 0};

constexpr Gate kOutput{5, 8, 11, 17};

constexpr size_t kFirstRefused = 18; /* projection and layer normalisation */

/* The parameters of all gates below each other, in the order of LstmSequence.
 *
 * The input gate of coupled gates is one minus the forget gate: the logistic function of the negative.
 */
class Parameters {
 public:
  Parameters(const Lowering &l, bool is_coupled) : l_(l), is_coupled_(is_coupled) {}

  std::vector<float> stacked(size_t Gate::*part, const Shape &shape, bool has_candidate) const {
    std::vector<float> all;
    add(all, is_coupled_ ? kForget.*part : kInput.*part, shape, is_coupled_ ? -1.0f : 1.0f);
    add(all, kOutput.*part, shape, 1.0f);
    add(all, kForget.*part, shape, 1.0f);
    if (has_candidate) add(all, kCandidate.*part, shape, 1.0f);
    return all;
  }

 private:
  void add(std::vector<float> &all, size_t i, const Shape &shape, float sign) const {
    const auto number = static_cast<int32_t>(i);
    require(l_.has_input(i) && l_.input(i).shape == shape, "the parameter does not fit", number);
    const float *numbers = l_.constant(i, "the parameters");
    for (int64_t k = 0; k < elements(shape); ++k) all.push_back(sign * numbers[k]);
  }

  const Lowering &l_;
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

CPUACC_SHARED(PEEPHOLE_ENABLED, LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM);

CPUACC_SHARED(CIFG_ENABLED, LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM);

CPUACC_SHARED(ACTIVATION_FUNC, LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM);

CPUACC_SHARED(CLIPPING_THRES_CELL, LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM);

void require_plain_cell(const Lowering &l) {
  require_floats(l);
  for (size_t i = kFirstRefused; i < l.input_count(); ++i) {
    require(!l.has_input(i), "projection and layer normalisation are not computed here",
            static_cast<int32_t>(i));
  }
}

/* Args: outputs: the outputs of all steps, the last output, the last cell. */
void lower_sequence(Lowering &l, Reading reading, const std::vector<size_t> &outputs) {
  require_plain_cell(l);
  const int64_t width = l.input(0).shape.back();
  const int64_t units = reading.units;
  const int64_t columns = 4 * units;
  const Shape state{reading.batch, units};
  require(l.input(1).shape == state && l.input(2).shape == state, "the states do not fit to the input", 1);
  const bool has_peepholes = l.flag(ARMNN_PARAMETER(ARMNN_LSTM_PEEPHOLE_ENABLED));
  const Parameters parameters(l, l.flag(ARMNN_PARAMETER(ARMNN_LSTM_CIFG_ENABLED)));
  const TensorId weights =
      l.constant_tensor({columns, width}, parameters.stacked(&Gate::weights, {units, width}, true));
  const TensorId recurrent =
      l.constant_tensor({columns, units}, parameters.stacked(&Gate::recurrent, {units, units}, true));
  std::vector<float> biases = parameters.stacked(&Gate::bias, {units}, true);
  biases.resize(static_cast<size_t>(2 * columns), 0.0f);
  const TensorId bias = l.constant_tensor({2 * columns}, biases);
  const TensorId peepholes =
      has_peepholes ? l.constant_tensor({3 * units}, parameters.stacked(&Gate::peephole, {units}, false)) : kNone;
  const int64_t rows = reading.steps * reading.batch;
  const TensorId added = l.temporary(ARMNN_FLOAT32, {rows, columns});
  const TensorId from = l.in(0);
  l.add(gemm_of_matrices(from, weights, added, matrix_layout(width, columns, true), rows, 1, true));
  std::vector<TensorId> inputs{added, recurrent, bias, kNone, l.in(1), l.in(2), peepholes};
  std::vector<TensorId> results;
  for (const size_t i : outputs) results.push_back(l.out(i));
  const Elementwise function = function_of(l.integer(ARMNN_PARAMETER(ARMNN_LSTM_ACTIVATION_FUNC)));
  const Elementwise logistic{Function::sigmoid, 0.0f, 0.0f};
  l.add<LstmSequence>(std::move(inputs), std::move(results), reading, 0.0f,
                      l.real32(ARMNN_PARAMETER(ARMNN_LSTM_CLIPPING_THRES_CELL)),
                      std::vector<Elementwise>{logistic, function, function}, false);
}

void lower_unidirectional(Lowering &l) {
  const Shape &shape = l.input(0).shape;
  require(shape.size() == 3 && l.input(2).shape.size() == 2, "the rank must be 3", 0);
  const bool is_time_major = l.flag(ARMNN_PARAMETER(ARMNN_UNIDIRECTIONAL_SEQUENCE_LSTM_TIME_MAJOR));
  lower_sequence(l,
                 {shape[is_time_major ? 0 : 1], shape[is_time_major ? 1 : 0], l.input(2).shape[1], 1, false,
                  is_time_major},
                 {2, 0, 1});
}

/* The transpose of [rows, columns], below what is there. */
void add_transposed(std::vector<float> &all, const std::vector<float> &matrix, int64_t rows) {
  const auto columns = static_cast<int64_t>(matrix.size()) / rows;
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i) all.push_back(matrix[static_cast<size_t>(i * columns + j)]);
  }
}

/* A step that keeps its gates in the steps of the scratch buffer. */
void lower_rounded_step(Lowering &l) {
  require_plain_cell(l);
  const RoundedLstm::Sizes sizes{l.input(0).shape[0], l.input(0).shape[1], l.input(2).shape[1]};
  const int64_t units = sizes.units;
  require(units > 0, "a cell without units is not computed here", 2);
  const Shape state{sizes.batch, units};
  require(l.input(1).shape == state && l.input(2).shape == state, "the states do not fit to the input", 1);
  const bool is_coupled = l.flag(ARMNN_PARAMETER(ARMNN_LSTM_CIFG_ENABLED));
  const bool has_peepholes = l.flag(ARMNN_PARAMETER(ARMNN_LSTM_PEEPHOLE_ENABLED));
  const Parameters parameters(l, is_coupled);
  std::vector<float> weights;
  add_transposed(weights, parameters.stacked(&Gate::weights, {units, sizes.width}, true), 4 * units);
  add_transposed(weights, parameters.stacked(&Gate::recurrent, {units, units}, true), 4 * units);
  const std::vector<float> &cell_scales = l.output(2).steps.scales;
  const RoundedLstm::Rules rules{l.output(0).steps.scales[0], cell_scales.empty() ? 0.0f : cell_scales[0],
                                 l.real32(ARMNN_PARAMETER(ARMNN_LSTM_CLIPPING_THRES_CELL)),
                                 function_of(l.integer(ARMNN_PARAMETER(ARMNN_LSTM_ACTIVATION_FUNC))), is_coupled};
  std::vector<TensorId> inputs{l.in(0),
                               l.in(1),
                               l.in(2),
                               l.constant_tensor({sizes.width + units, 4 * units}, weights),
                               l.constant_tensor({4 * units}, parameters.stacked(&Gate::bias, {units}, true)),
                               kNone};
  if (has_peepholes) {
    inputs[5] = l.constant_tensor({3 * units}, parameters.stacked(&Gate::peephole, {units}, false));
  }
  const TensorId output = l.out(3);
  l.share(1, output, plain_order(2));
  const TensorId cell = l.out(2);
  l.add<RoundedLstm>(std::move(inputs), std::vector<TensorId>{output, cell}, sizes, rules);
}

void lower_step(Lowering &l) {
  const Shape &shape = l.input(0).shape;
  require(shape.size() == 2 && l.input(2).shape.size() == 2, "the rank must be 2", 0);
  for (const armnn_data_type stored :
       {l.input(0).stored_type, l.output(0).stored_type, l.output(2).stored_type}) {
    require(!is_quantized(stored) || stored == ARMNN_QSYMM_S16,
            std::string(type_name(stored)) + " is not computed here, QSymmS16 is");
  }
  if (!l.output(0).steps.scales.empty()) {
    lower_rounded_step(l);
  } else {
    lower_sequence(l, {1, shape[0], l.input(2).shape[1], 1, false, true}, {3, 1, 2});
  }
  /* The values of the scratch buffer are open. */
  l.add<CopyBoxes>(std::vector<TensorId>{}, l.out(), std::vector<CopyBox>{}, std::vector<std::byte>(sizeof(float)));
}

}  // namespace

std::vector<LayerType> recurrent_layers() {
  return {
      {ARMNN_LAYER_LSTM, lower_step},
      {ARMNN_LAYER_UNIDIRECTIONAL_SEQUENCE_LSTM, lower_unidirectional},
  };
}

}  // namespace cpuacc
