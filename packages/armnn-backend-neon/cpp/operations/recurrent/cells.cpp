/* SPDX-License-Identifier: MIT */
#include "operations/recurrent/cells.h"

#include <algorithm>

#include "operations/recurrent/lstm.h"

namespace cpuacc {
namespace {

class Rnn final : public Recurrence<float> {
 public:
  using Recurrence::Recurrence;

 private:
  void step(const Step &at) const override {
    const int64_t units = reading_.units;
    multiply(at, matrices_[0], at.packed, {&Item::hidden}, {&Item::gates}, at.bias, {&Item::spare});
    for (const Item &item : at.items) {
      activate(Rows<float>(at.frame.kernels), at.functions[0], item.spare, units);
      std::copy_n(item.spare, units, item.hidden);
    }
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
    const Rows<float> rows(kernels);
    const std::byte *second = at.packed + matrices_[0].bytes(rows);
    const Place reset{&Item::spare, units};
    const Place seen{&Item::spare, 2 * units};
    const Place candidate{&Item::gates, 2 * units};
    multiply(at, matrices_[0], at.packed, {&Item::hidden}, {&Item::gates}, at.bias, {&Item::spare});
    for (const Item &item : at.items) activate(rows, at.functions[0], item.spare, 2 * units);
    if (resets_behind_) {
      const float *bias = at.recurrent_bias == nullptr ? nullptr : at.recurrent_bias + 2 * units;
      multiply(at, matrices_[1], second, {&Item::hidden}, {nullptr}, bias, seen);
      for (const Item &item : at.items) {
        float *to = item.gates + candidate.first;
        if (bias != nullptr) kernels.arithmetic(Arithmetic::add, to, 1, bias - 3 * units, 1, to, units);
        kernels.multiply_add(item.spare + reset.first, item.spare + seen.first, to, units);
      }
    } else {
      for (const Item &item : at.items) {
        float *to = item.spare + reset.first;
        kernels.arithmetic(Arithmetic::multiply, to, 1, item.hidden, 1, to, units);
      }
      multiply(at, matrices_[1], second, reset, candidate, at.bias + 2 * units, candidate);
    }
    for (const Item &item : at.items) {
      float *next = item.gates + candidate.first;
      activate(rows, at.functions[1], next, units);
      kernels.arithmetic(Arithmetic::subtract, item.hidden, 1, next, 1, item.hidden, units);
      kernels.multiply_add(item.spare, item.hidden, next, units); /* the update gate */
      std::copy_n(next, units, item.hidden);
    }
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

/* What the cells show, in the place of the output gate, by the projection's weights and bias, clipped. */
template <typename T>
void LstmSequence<T>::project(const Step &at) const {
  const Rows<T> rows(at.frame.kernels);
  const std::vector<GemvMatrix<T>> &both = this->matrices_;
  const auto *bias = at.frame.template in<T>(this->inputs[kProjectionBias]);
  const Place shown{&Item::spare, kOutputGate * this->reading_.units};
  this->multiply(at, both[1], at.packed + both[0].bytes(rows), shown, {nullptr}, bias, {&Item::hidden});
  if (options_.projection_clip == 0) return;
  for (const Item &item : at.items) rows.clamp(options_.projection_clip, item.hidden, this->reading_.outputs);
}

template <typename T>
void LstmSequence<T>::step(const Step &at) const {
  this->multiply(at, this->matrices_[0], at.packed, {&Item::hidden}, {&Item::gates}, at.bias, {&Item::spare});
  for (const Item &item : at.items) show(at, item);
  if (options_.is_projected) project(at);
}

/* From the sums of the gates to the cell, and to what it shows. */
template <typename T>
void LstmSequence<T>::show(const Step &at, const Item &item) const {
  const int64_t units = this->reading_.units;
  const Rows<T> rows(at.frame.kernels);
  T *gates = item.spare;
  T *input = gates + kInputGate * units;
  T *output = gates + kOutputGate * units;
  T *forget = gates + kForgetGate * units;
  T *candidate = gates + kCandidate * units;
  if (at.peepholes == nullptr) {
    normalize(at.frame, gates, kInputGate, kLstmGates);
    this->activate(rows, at.functions[0], input, 3 * units);
  } else {
    rows.multiply_add(at.peepholes, item.cell, input, units);
    rows.multiply_add(at.peepholes + 2 * units, item.cell, forget, units);
    normalize(at.frame, gates, kInputGate, kOutputGate);
    normalize(at.frame, gates, kForgetGate, kLstmGates);
    this->activate(rows, at.functions[0], input, units);
    this->activate(rows, at.functions[0], forget, units);
  }
  if (options_.couples_gates) rows.elementwise({Function::linear, -1.0f, 1.0f}, input, forget, units);
  this->activate(rows, at.functions[1], candidate, units);
  rows.multiply(item.cell, forget, item.cell, units);
  rows.multiply_add(input, candidate, item.cell, units);
  if (options_.cell_clip > 0) rows.clamp(options_.cell_clip, item.cell, units);
  if (at.peepholes != nullptr) {
    rows.multiply_add(at.peepholes + units, item.cell, output, units);
    normalize(at.frame, gates, kOutputGate, kForgetGate);
    this->activate(rows, at.functions[0], output, units);
  }
  std::copy_n(item.cell, units, candidate);
  this->activate(rows, at.functions[2], candidate, units);
  rows.multiply(output, candidate, options_.is_projected ? output : item.hidden, units);
}

template class LstmSequence<float>;
template class LstmSequence<double>;

}  // namespace cpuacc
