/* SPDX-License-Identifier: MIT */
#include "operations/recurrent/cells.h"

#include <cstring>

#include "operations/recurrent/lstm.h"

namespace cpuacc {
namespace {

class Rnn final : public Recurrence {
 public:
  using Recurrence::Recurrence;

 private:
  void step(const Step &at) const override {
    const int64_t units = reading_.units;
    const GemvMatrix matrix{units, units};
    matrix.multiply(at.frame, at.is_shared, at.hidden, reinterpret_cast<const float *>(at.packed), at.gates, at.bias,
                    at.spare);
    activate(at.frame, at.functions[0], at.spare, units);
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
class Gru final : public Recurrence {
 public:
  Gru(std::vector<TensorId> inputs, std::vector<TensorId> outputs, Reading reading, float clip,
      std::vector<Elementwise> functions, bool resets_behind)
      : Recurrence(std::move(inputs), std::move(outputs), reading, 3, clip, std::move(functions)),
        resets_behind_(resets_behind) {}

 private:
  std::vector<GemvMatrix> matrices() const override {
    const int64_t units = reading_.units;
    return {{2 * units, units}, {units, units}};
  }

  void step(const Step &at) const override {
    const int64_t units = reading_.units;
    const Kernels &kernels = at.frame.kernels;
    const std::vector<GemvMatrix> &both = matrices_;
    const auto *first = reinterpret_cast<const float *>(at.packed);
    const auto *second = reinterpret_cast<const float *>(at.packed + both[0].bytes(kernels));
    float *update = at.spare;
    float *reset = at.spare + units;
    float *seen = at.spare + 2 * units;
    float *candidate = at.gates + 2 * units;
    both[0].multiply(at.frame, at.is_shared, at.hidden, first, at.gates, at.bias, update);
    activate(at.frame, at.functions[0], update, 2 * units);
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
    activate(at.frame, at.functions[1], candidate, units);
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

std::vector<GemvMatrix> LstmSequence::matrices() const {
  std::vector<GemvMatrix> all = Recurrence::matrices();
  if (options_.is_projected) all.push_back({reading_.outputs, reading_.units});
  return all;
}

/* Each gate of some that are side by side by its own mean and variance. */
void LstmSequence::normalize(const Frame &frame, float *gates, int64_t first, int64_t last) const {
  const auto *factors = frame.in<float>(inputs[kNormalization]);
  if (factors == nullptr) return;
  const int64_t units = reading_.units;
  for (int64_t i = first; i < last; ++i) {
    float *gate = gates + i * units;
    frame.kernels.normalize(gate, factors + i * units, factors + (kLstmGates + i) * units, gate, units, kNoVariance, true);
  }
}

/* What the cell shows, by the projection's weights and bias, clipped. */
void LstmSequence::project(const Step &at, const float *row) const {
  const auto *packed = reinterpret_cast<const float *>(at.packed + matrices_[0].bytes(at.frame.kernels));
  matrices_[1].multiply(at.frame, at.is_shared, row, packed, nullptr, at.frame.in<float>(inputs[kProjectionBias]),
                        at.hidden);
  const float clip = options_.projection_clip;
  if (clip > 0.0f) {
    at.frame.kernels.elementwise({Function::clamp, clip, -clip}, at.hidden, at.hidden, reading_.outputs);
  }
}

void LstmSequence::step(const Step &at) const {
  const int64_t units = reading_.units;
  const Kernels &kernels = at.frame.kernels;
  float *gates = at.spare;
  float *input = gates + kInputGate * units;
  float *output = gates + kOutputGate * units;
  float *forget = gates + kForgetGate * units;
  float *candidate = gates + kCandidate * units;
  matrices_[0].multiply(at.frame, at.is_shared, at.hidden, reinterpret_cast<const float *>(at.packed), at.gates,
                        at.bias, gates);
  if (at.peepholes == nullptr) {
    normalize(at.frame, gates, kInputGate, kLstmGates);
    activate(at.frame, at.functions[0], input, 3 * units);
  } else {
    kernels.multiply_add(at.peepholes, at.cell, input, units);
    kernels.multiply_add(at.peepholes + 2 * units, at.cell, forget, units);
    normalize(at.frame, gates, kInputGate, kOutputGate);
    normalize(at.frame, gates, kForgetGate, kLstmGates);
    activate(at.frame, at.functions[0], input, units);
    activate(at.frame, at.functions[0], forget, units);
  }
  if (options_.couples_gates) kernels.elementwise({Function::linear, -1.0f, 1.0f}, input, forget, units);
  activate(at.frame, at.functions[1], candidate, units);
  kernels.arithmetic(Arithmetic::multiply, at.cell, 1, forget, 1, at.cell, units);
  kernels.multiply_add(input, candidate, at.cell, units);
  const float clip = options_.cell_clip;
  if (clip > 0.0f) kernels.elementwise({Function::clamp, clip, -clip}, at.cell, at.cell, units);
  if (at.peepholes != nullptr) {
    kernels.multiply_add(at.peepholes + units, at.cell, output, units);
    normalize(at.frame, gates, kOutputGate, kForgetGate);
    activate(at.frame, at.functions[0], output, units);
  }
  std::memcpy(candidate, at.cell, static_cast<size_t>(units) * sizeof(float));
  activate(at.frame, at.functions[2], candidate, units);
  float *shown = options_.is_projected ? output : at.hidden;
  kernels.arithmetic(Arithmetic::multiply, output, 1, candidate, 1, shown, units);
  if (options_.is_projected) project(at, shown);
}

}  // namespace cpuacc
