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
 * output.
 */
class LstmSequence final : public Recurrence {
 public:
  /* Args: clip: of what enters a function; cell_clip: of the cell; 0 for not. couples_gates: whether
   * the forget gate is one minus the input gate.
   */
  LstmSequence(std::vector<TensorId> inputs, std::vector<TensorId> outputs, Reading reading, float clip,
               float cell_clip, std::vector<Elementwise> functions, bool couples_gates)
      : Recurrence(std::move(inputs), std::move(outputs), reading, 4, clip, std::move(functions)),
        cell_clip_(cell_clip),
        couples_gates_(couples_gates) {}

 private:
  void step(const Step &at) const override;

  float cell_clip_;
  bool couples_gates_;
};

}  // namespace cpuacc
