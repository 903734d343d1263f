/* SPDX-License-Identifier: MIT */
/* A step of long short-term memory whose inner values are kept in few bits. */
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "graph/ir.h"

namespace cpuacc {

/* The format of a value; a scale of 0: it is not rounded. */
struct Kept {
  float scale = 0.0f;
  int32_t zero_point = 0;
  Integer type = Integer::signed16;
};

/* Rounds the values that Arm NN's reference rounds, at the same places: a sum after each of its terms, the
 * results of normalizations and activations, the cell after each operation.
 *
 * Inputs, all Float32: x [batch, width], the output [batch, outputs] and the cell [batch, units] of the step
 * before, the weights of x, then those of the output [width + outputs, 4 * units], and, each of them or
 * kNone, the bias [4 * units], the peepholes [3 * units], the factors of normalized gates [4 * units], whose
 * bias is added after them, the projection's weights [units, outputs] and bias [outputs]; gates in the
 * order input, output, forget, candidate. Outputs: the output [batch, outputs] and the cell [batch, units].
 */
class RoundedLstm final : public Operation {
 public:
  enum Input { kX, kHidden, kCell, kWeights, kBias, kPeepholes, kFactors, kProjection, kProjectionBias, kInputs };

  struct Sizes {
    int64_t batch, width, units, outputs;
  };
  struct Rules {
    std::array<Kept, 4> sums; /* of each gate */
    bool rounds_terms = true; /* whether a sum is rounded after each of its terms; else once */
    std::array<Kept, 4> normalized; /* a gate after its normalization, and again after its factors */
    Kept biased; /* a normalized gate with its bias */
    Kept activated;
    Kept cell;
    float cell_clip = 0.0f; /* 0: none, as the next one */
    Kept shown; /* the output before its projection */
    Kept projected; /* its projection, after each term */
    float projection_clip = 0.0f;
    Kept output;
    Elementwise function{Function::tanh, 1.0f, 1.0f}; /* of the candidate and of the cell */
    bool couples_gates = false; /* the input gate is one minus the forget gate */
  };

  RoundedLstm(std::vector<TensorId> inputs, std::vector<TensorId> outputs, Sizes sizes, const Rules &rules)
      : Operation(std::move(inputs), std::move(outputs)), sizes_(sizes), rules_(rules) {}

  size_t prepare(const Setup &setup) override;
  void run(const Frame &frame) const override;

 private:
  /* The working memory of an item: a row of all gates twice, and once as it is stored. */
  struct Memory {
    float *gates;
    float *terms;
    int16_t *stored;
  };

  size_t row_bytes() const;
  void round(const Kernels &kernels, const Kept &kept, float *x, int64_t n, const Memory &memory) const;
  void add_sums(const Frame &frame, int64_t item, const Memory &memory) const;
  /* Adds the peephole to a gate's sum, and normalizes it. */
  void finish_sum(const Frame &frame, int64_t gate, const float *cell, const Memory &memory) const;
  void activate(const Kernels &kernels, const Elementwise &function, float *x, const Memory &memory) const;
  void show(const Frame &frame, float *shown, float *output, const Memory &memory) const;
  void step(const Frame &frame, int64_t item, const Memory &memory) const;

  Sizes sizes_;
  Rules rules_;
};

}  // namespace cpuacc
