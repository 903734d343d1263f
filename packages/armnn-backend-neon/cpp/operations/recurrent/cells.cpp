/* SPDX-License-Identifier: MIT */
#include "operations/recurrent/cells.h"

#include <algorithm>
#include <cstring>

#include "operations/recurrent/lstm.h"

namespace cpuacc {
namespace {

class Rnn final : public Recurrence<float> {
 public:
  using Recurrence::Recurrence;

 private:
  void step(const Step &at) const override {
    const int64_t units = reading_.units;
    const GemvMatrix<float> matrix{units, units};
    matrix.multiply(at.frame, at.is_shared, at.hidden, reinterpret_cast<const float *>(at.packed), at.gates, at.bias,
                    at.spare);
    activate(Rows<float>(at.frame.kernels), at.functions[0], at.spare, units);
    std::memcpy(at.hidden, at.spare, static_cast<size_t>(units) * sizeof(float));
  }
};

}  // namespace

OperationPtr rnn(std::vector<TensorId> inputs, std::vector<TensorId> outputs, const Reading &reading, float clip,
                 std::vector<Elementwise> functions) {
  return std::make_unique<Rnn>(std::move(inputs), std::move(outputs), reading, 1, clip, std::move(functions));
}

namespace {

/* Gates in the order update, reset, candidate. */
class Gru final : public Recurrence<float> {
 public:
  Gru(std::vector<TensorId> inputs, std::vector<TensorId> outputs, Reading reading, float clip,
      std::vector<Elementwise> functions, bool resets_behind)
      : Recurrence(std::move(inputs), std::move(outputs), reading, 3, clip, std::move(functions)),
        resets_behind_(resets_behind) {}

 private:
  std::vector<GemvMatrix<float>> matrices() const override {
    const int64_t units = reading_.units;
    return {{2 * units, units}, {units, units}};
  }

  void step(const Step &at) const override {
    const int64_t units = reading_.units;
    const Kernels &kernels = at.frame.kernels;
    const std::vector<GemvMatrix<float>> &both = matrices_;
    const auto *first = reinterpret_cast<const float *>(at.packed);
    const auto *second = reinterpret_cast<const float *>(at.packed + both[0].bytes(Rows<float>(kernels)));
    float *update = at.spare;
    float *reset = at.spare + units;
    float *seen = at.spare + 2 * units;
    float *candidate = at.gates + 2 * units;
    both[0].multiply(at.frame, at.is_shared, at.hidden, first, at.gates, at.bias, update);
    activate(Rows<float>(at.frame.kernels), at.functions[0], update, 2 * units);
    if (resets_behind_) {
      const float *bias = at.recurrent_bias == nullptr ? nullptr : at.recurrent_bias + 2 * units;
      both[1].multiply(at.frame, at.is_shared, at.hidden, second, nullptr, bias, seen);
      if (bias != nullptr) {
        kernels.arithmetic(Arithmetic::add, candidate, 1, bias - 3 * units, 1, candidate, units);
      }
      kernels.multiply_add(reset, seen, candidate, units);
    } else {
      kernels.arithmetic(Arithmetic::multiply, reset, 1, at.hidden, 1, reset, units);
      both[1].multiply(at.frame, at.is_shared, reset, second, candidate, at.bias + 2 * units, candidate);
    }
    activate(Rows<float>(at.frame.kernels), at.functions[1], candidate, units);
    kernels.arithmetic(Arithmetic::subtract, at.hidden, 1, candidate, 1, at.hidden, units);
    kernels.multiply_add(update, at.hidden, candidate, units);
    std::memcpy(at.hidden, candidate, static_cast<size_t>(units) * sizeof(float));
  }

  bool resets_behind_;
};

}  // namespace

OperationPtr gru(std::vector<TensorId> inputs, std::vector<TensorId> outputs, const Reading &reading, float clip,
                 std::vector<Elementwise> functions, bool resets_behind) {
  return std::make_unique<Gru>(std::move(inputs), std::move(outputs), reading, clip, std::move(functions),
                               resets_behind);
}

template <typename T>
std::vector<GemvMatrix<T>> LstmSequence<T>::matrices() const {
  std::vector<GemvMatrix<T>> all = Base::matrices();
  if (options_.is_projected) all.push_back({this->reading_.outputs, this->reading_.units});
  return all;
}

/* Each gate of some that are side by side by its own mean and variance. */
template <typename T>
void LstmSequence<T>::normalize(const Frame &frame, T *gates, int64_t first, int64_t last) const {
  const auto *factors = frame.in<T>(this->inputs[kNormalization]);
  if (factors == nullptr) return;
  const int64_t units = this->reading_.units;
  const Rows<T> rows(frame.kernels);
  for (int64_t i = first; i < last; ++i) {
    rows.normalize(factors + i * units, factors + (kLstmGates + i) * units, gates + i * units, units, kNoVariance<T>);
  }
}

/* What the cell shows, by the projection's weights and bias, clipped. */
template <typename T>
void LstmSequence<T>::project(const Step &at, const T *row) const {
  const Rows<T> rows(at.frame.kernels);
  const std::vector<GemvMatrix<T>> &both = this->matrices_;
  const auto *bias = at.frame.template in<T>(this->inputs[kProjectionBias]);
  const auto *packed = reinterpret_cast<const T *>(at.packed + both[0].bytes(rows));
  both[1].multiply(at.frame, at.is_shared, row, packed, nullptr, bias, at.hidden);
  if (options_.projection_clip > 0) rows.clamp(options_.projection_clip, at.hidden, this->reading_.outputs);
}

template <typename T>
void LstmSequence<T>::step(const Step &at) const {
  const int64_t units = this->reading_.units;
  const Rows<T> rows(at.frame.kernels);
  T *gates = at.spare;
  T *input = gates + kInputGate * units;
  T *output = gates + kOutputGate * units;
  T *forget = gates + kForgetGate * units;
  T *candidate = gates + kCandidate * units;
  this->matrices_[0].multiply(at.frame, at.is_shared, at.hidden, reinterpret_cast<const T *>(at.packed), at.gates, at.bias,
                              gates);
  if (at.peepholes == nullptr) {
    normalize(at.frame, gates, kInputGate, kLstmGates);
    this->activate(rows, at.functions[0], input, 3 * units);
  } else {
    rows.multiply_add(at.peepholes, at.cell, input, units);
    rows.multiply_add(at.peepholes + 2 * units, at.cell, forget, units);
    normalize(at.frame, gates, kInputGate, kOutputGate);
    normalize(at.frame, gates, kForgetGate, kLstmGates);
    this->activate(rows, at.functions[0], input, units);
    this->activate(rows, at.functions[0], forget, units);
  }
  if (options_.couples_gates) rows.elementwise({Function::linear, -1.0f, 1.0f}, input, forget, units);
  this->activate(rows, at.functions[1], candidate, units);
  rows.multiply(at.cell, forget, at.cell, units);
  rows.multiply_add(input, candidate, at.cell, units);
  if (options_.cell_clip > 0) rows.clamp(options_.cell_clip, at.cell, units);
  if (at.peepholes != nullptr) {
    rows.multiply_add(at.peepholes + units, at.cell, output, units);
    normalize(at.frame, gates, kOutputGate, kForgetGate);
    this->activate(rows, at.functions[0], output, units);
  }
  std::copy_n(at.cell, units, candidate);
  this->activate(rows, at.functions[2], candidate, units);
  T *shown = options_.is_projected ? output : at.hidden;
  rows.multiply(output, candidate, shown, units);
  if (options_.is_projected) project(at, shown);
}

template class LstmSequence<float>;
template class LstmSequence<double>;

}  // namespace cpuacc
