/* SPDX-License-Identifier: MIT */
/* A step of long short-term memory whose inner values are kept in few bits. */
#pragma once

#include <utility>
#include <vector>

#include "graph/ir.h"

namespace cpuacc {

/* Rounds what Arm NN's reference rounds, where and as often: each sum after each of its terms, what
 * comes out of an activation, the cell after each operation.
 *
 * Inputs, all Float32: x [batch, width], the output and the cell of the step before [batch, units], the
 * weights of x above those of the output [width + units, 4 * units], the bias [4 * units] and the
 * peepholes [3 * units] or kNone; gates in the order input, output, forget, candidate. Outputs: the
 * output and the cell [batch, units].
 */
class RoundedLstm final : public Operation {
 public:
  struct Sizes {
    int64_t batch, width, units;
  };
  struct Rules {
    float scale; /* of gates and the output, in 16 bits */
    float cell_scale; /* 0: the cell is not rounded */
    float cell_clip; /* 0: none */
    Elementwise function; /* of the candidate and of the cell */
    bool couples_gates; /* the input gate is one minus the forget gate */
  };

  RoundedLstm(std::vector<TensorId> inputs, std::vector<TensorId> outputs, Sizes sizes, Rules rules)
      : Operation(std::move(inputs), std::move(outputs)), sizes_(sizes), rules_(rules) {}

  size_t prepare(const Setup &setup) override;
  void run(const Frame &frame) const override;

 private:
  enum Input { kX, kHidden, kCell, kWeights, kBias, kPeepholes };

  /* What an item works with: a row of all gates twice, and once as it is stored. */
  struct Memory {
    float *gates;
    float *terms;
    int16_t *stored;
  };

  void round(const Kernels &kernels, float scale, float *x, int64_t n, const Memory &memory) const;
  void add_terms(const Frame &frame, const float *row, int64_t depth, const float *weights,
                 const Memory &memory) const;
  void add_peephole(const Frame &frame, int64_t gate, const float *cell, float *sums, const Memory &memory) const;
  void activate(const Kernels &kernels, const Elementwise &function, float *x, const Memory &memory) const;
  void step(const Frame &frame, int64_t item, const Memory &memory) const;

  Sizes sizes_;
  Rules rules_;
};

}  // namespace cpuacc
