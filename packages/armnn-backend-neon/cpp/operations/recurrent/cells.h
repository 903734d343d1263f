/* SPDX-License-Identifier: MIT */
/* The cells of recurrent layers. */
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "operations/recurrent/recurrence.h"

namespace cpuacc {

/* Inputs and outputs: those of Recurrence. */
OperationPtr rnn(std::vector<TensorId> inputs, std::vector<TensorId> outputs, const Reading &reading, float clip,
                 std::vector<Elementwise> functions);

/* Inputs and outputs: those of Recurrence. Args: resets_behind: whether the reset gate follows the gemv. */
OperationPtr gru(std::vector<TensorId> inputs, std::vector<TensorId> outputs, const Reading &reading, float clip,
                 std::vector<Elementwise> functions, bool resets_behind);

/* Gates in the order input, output, forget, candidate; functions of the gates, the candidate and the
 * output. With a projection its weights [ways, outputs, units] are behind the recurrent ones of a way.
 *
 * Inputs: those of Recurrence, or these and, each or kNone, the factors and offsets of normalised gates
 * [2, 4 * units], which have no other bias, and the bias of the projection [outputs]; both for one way.
 */
template <typename T>
class LstmSequence final : public Recurrence<T> {
  using Base = Recurrence<T>;
  using Step = typename Base::Step;
  using Item = typename Base::Item;
  using Place = typename Base::Place;

 public:
  /* What an Lstm of TensorFlow Lite and one of ONNX have apart. */
  struct Options {
    T clip{}; /* of what enters a function; 0 for not, as the next two */
    T cell_clip{};
    T projection_clip{};
    bool couples_gates = false; /* the forget gate is one minus the input gate */
    bool is_projected = false;
  };

  LstmSequence(std::vector<TensorId> inputs, std::vector<TensorId> outputs, Reading reading, Options options,
               std::vector<Elementwise> functions)
      : Base(std::move(inputs), std::move(outputs), reading, 4, options.clip, std::move(functions)), options_(options) {
    this->inputs.resize(kProjectionBias + 1, kNone);
  }

 private:
  enum Further { kNormalization = Base::kInputs, kProjectionBias };

  std::vector<GemvMatrix<T>> matrices() const override;
  void step(const Step &at) const override;
  void normalize(const Frame &frame, T *gates, int64_t first, int64_t last) const;
  void show(const Step &at, const Item &item) const;
  void project(const Step &at) const;

  Options options_;
};

}  // namespace cpuacc
