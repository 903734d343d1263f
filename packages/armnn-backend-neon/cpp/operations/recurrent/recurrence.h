/* SPDX-License-Identifier: MIT */
/* Chains of steps that each need the one before: what all recurrent layers have in common. */
#pragma once

#include <memory>
#include <vector>

#include "graph/ir.h"
#include "graph/packed.h"

namespace cpuacc {

/* A matrix [columns, depth] in panels that kernels.gemv reads. */
struct GemvMatrix {
  int64_t columns = 0;
  int64_t depth = 0;

  size_t bytes(const Kernels &kernels) const;
  void pack(const float *weights, const Kernels &kernels, float *packed) const;
  /* y = x + bias + row * matrix, its columns shared by threads if there is no other work for them;
   * x and bias may be nullptr.
   */
  void multiply(const Frame &frame, bool is_shared, const float *row, const float *packed, const float *x,
                const float *bias, float *y) const;
};

/* How a layer reads its sequences. */
struct Reading {
  int64_t steps;
  int64_t batch;
  int64_t units;
  int64_t outputs; /* numbers of an output: as many as units, but behind a projection */
  int64_t ways; /* 2: there and back */
  bool is_backward; /* the first way */
  bool is_time_major;
};

/* Runs a cell along each item of the batch and each way.
 *
 * Inputs: what the steps add to the gates [ways, steps and batch, gates * units], the recurrent
 * weights [ways, gates * units, outputs] with further matrices of the cell behind those of a way, and,
 * each of them or kNone, the bias [ways, 2 * gates * units], the lengths [batch], the first output and
 * the first cell, the peepholes [ways, 3 * units]; then what only one kind of cell reads.
 * Outputs: the outputs of all steps, the last output, and, if there is one, the last cell.
 */
class Recurrence : public Operation {
 public:
  Recurrence(std::vector<TensorId> inputs, std::vector<TensorId> outputs, Reading reading, int64_t gates,
             float clip, std::vector<Elementwise> functions);

  size_t prepare(const Setup &setup) override;
  void run(const Frame &frame) const override;

 protected:
  /* What a step of one item has. */
  struct Step {
    const Frame &frame;
    bool is_shared; /* the pool is free for parts of the step */
    const std::byte *packed; /* the recurrent weights of this way */
    const float *bias; /* [gates * units], the sum of both */
    const float *recurrent_bias; /* [gates * units], that of the recurrent weights */
    const float *peepholes; /* nullptr: none */
    const Elementwise *functions; /* of this way */
    float *gates; /* what the step adds to them; may be overwritten */
    float *hidden; /* the output of the step before, then of this one: [outputs] */
    float *cell;
    float *spare; /* [gates * units] */
  };

  virtual void step(const Step &at) const = 0;
  /* The matrices that the recurrent weights of one way are, one behind the other. */
  virtual std::vector<GemvMatrix> matrices() const;

  /* Applies a function to numbers side by side, clipped before. */
  void activate(const Frame &frame, const Elementwise &function, float *x, int64_t n) const;

  Reading reading_;
  int64_t gates_;
  std::vector<GemvMatrix> matrices_; /* once it is prepared */

  enum Input { kGates, kWeights, kBias, kLengths, kHidden, kCell, kPeepholes, kInputs };

 private:
  int64_t chain_floats() const;
  int64_t bias_floats() const;
  void pack(const float *weights, const Kernels &kernels, std::byte *packed) const;
  void add_biases(const Frame &frame, float *sums) const;
  void run_chain(const Frame &frame, int64_t way, int64_t item, bool is_shared, const std::byte *packed,
                 const float *biases, float *memory) const;
  int64_t length_of(const Frame &frame, int64_t item) const;

  float clip_;
  std::vector<Elementwise> functions_; /* of all ways */
  std::shared_ptr<const void> packed_;
  size_t way_bytes_ = 0; /* of the packed weights */
  bool has_wide_lengths_ = false;
};

}  // namespace cpuacc
