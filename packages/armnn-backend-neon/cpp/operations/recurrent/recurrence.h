/* SPDX-License-Identifier: MIT */
/* Chains of steps that each need the one before: what all recurrent layers have in common. */
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "graph/ir.h"
#include "graph/packed.h"
#include "operations/recurrent/gemv_matrix.h"

namespace cpuacc {

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

/* Runs a cell along each item of the batch and each way, in Float32 or Float64. Items take their steps together,
 * so that weights are read once for all of them.
 *
 * Inputs: what the steps add to the gates [ways, steps and batch, gates * units], the recurrent
 * weights [ways, gates * units, outputs] with further matrices of the cell behind those of a way, and,
 * each of them or kNone, the bias [ways, 2 * gates * units], the lengths [batch], the first output and
 * the first cell, the peepholes [ways, 3 * units]; then what only one kind of cell reads.
 * Outputs: the outputs of all steps, the last output, and, if there is one, the last cell.
 */
template <typename T>
class Recurrence : public Operation {
 public:
  Recurrence(std::vector<TensorId> inputs, std::vector<TensorId> outputs, Reading reading, int64_t gates, T clip,
             std::vector<Elementwise> functions);

  size_t prepare(const Setup &setup) override;
  void run(const Frame &frame) const override;

 protected:
  /* What a step of one item has of its own. */
  struct Item {
    T *gates; /* what the step adds to them; may be overwritten */
    T *hidden; /* the output of the step before, then of this one: [outputs] */
    T *cell;
    T *spare; /* [gates * units] */
  };

  static constexpr int64_t kItemsTogether = 16;

  class Items {
   public:
    void clear() { count_ = 0; }
    void add(const Item &item) { all_[count_++] = item; }
    int64_t count() const { return static_cast<int64_t>(count_); }
    const Item *begin() const { return all_.data(); }
    const Item *end() const { return all_.data() + count_; }

   private:
    std::array<Item, kItemsTogether> all_;
    size_t count_ = 0;
  };

  /* What a step of items of one way has. */
  struct Step {
    const Frame &frame;
    bool is_shared; /* the pool is free for parts of the step */
    const std::byte *packed; /* the recurrent weights of this way */
    const T *bias; /* [gates * units], the sum of both */
    const T *recurrent_bias; /* [gates * units], that of the recurrent weights */
    const T *peepholes; /* nullptr: none */
    const Elementwise *functions; /* of this way */
    Items items;
  };

  /* Numbers of each item, from one on. */
  struct Place {
    T *Item::*of;
    int64_t first = 0;
  };

  virtual void step(const Step &at) const = 0;
  /* y = x + bias + row * matrix for each item; x.of and bias may be nullptr. */
  void multiply(const Step &at, const GemvMatrix<T> &matrix, const std::byte *packed, Place row, Place x,
                const T *bias, Place y) const;
  /* The matrices that the recurrent weights of one way are, one behind the other. */
  virtual std::vector<GemvMatrix<T>> matrices() const;

  /* Applies a function to numbers side by side, clipped before. */
  void activate(const Rows<T> &rows, const Elementwise &function, T *x, int64_t n) const;

  Reading reading_;
  int64_t gates_;
  std::vector<GemvMatrix<T>> matrices_; /* once it is prepared */

  enum Input { kGates, kWeights, kBias, kLengths, kHidden, kCell, kPeepholes, kInputs };

 private:
  int64_t item_numbers() const;
  int64_t thread_numbers() const;
  int64_t bias_numbers() const;
  size_t way_bytes(const Rows<T> &rows) const;
  bool find_steps(const T *weights, std::vector<float> &steps) const;
  void store_as(GemvStorage storage);
  /* Args: bytes: of a way's weights as they are. */
  bool gains_by_bfloat16(const Setup &setup, size_t bytes) const;
  void pack(const T *weights, const Rows<T> &rows, std::byte *packed, const float *steps = nullptr) const;
  void add_biases(const Frame &frame, T *sums) const;
  double chain_ns(const Frame &frame, int64_t items) const;
  /* Args: blocks: of items, with threads of their own. */
  bool shares_steps(const Frame &frame, int64_t blocks) const;
  /* Args: first, last: the items. */
  void run_chains(const Frame &frame, int64_t way, int64_t first, int64_t last, bool is_shared,
                  const std::byte *packed, const T *bias, T *memory) const;
  /* Where the first states of an item are copied to, and later the last ones from. */
  Item begin(const Frame &frame, int64_t way, int64_t item, T *memory) const;
  void end(const Frame &frame, int64_t way, int64_t item, const Item &states) const;
  int64_t state_of(int64_t way, int64_t item) const;
  int64_t length_of(const Frame &frame, int64_t item) const;

  T clip_;
  std::vector<Elementwise> functions_; /* of all ways */
  std::shared_ptr<const void> packed_;
  size_t way_bytes_ = 0; /* of the packed weights */
  bool has_wide_lengths_ = false;
};

}  // namespace cpuacc
