/* SPDX-License-Identifier: MIT */
/* Recurrent layers: rows of numbers, weights for a step, the loop over steps, and the cells. */
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "graph/ir.h"
#include "graph/packed.h"
#include "kernels/kernels.h"
#include "operations/gemm/gemm.h"

namespace cpuacc {

/* The operands of gemv: rows, numbers that are added to their products, and results. */
template <typename T>
struct GemvOperands {
  const T *const *rows;
  const T *const *x; /* is added to the products; nullptr: none */
  T *const *y;
  int64_t count;
  const T *bias; /* nullptr: none */
};

/* A panel of weights that are multiplied in T; only those of float may be stored in another format. */
template <typename T>
struct PanelOf {
  const T *numbers;
  const int8_t *steps;
  const float *scales;
  const Bfloat16 *bfloat16;
};

template <>
struct PanelOf<float> : GemvPanel {};

/* The kernels of recurrent layers for numbers of T; members have the meaning of those of Kernels. */
template <typename T>
class Rows;

template <>
class Rows<float> {
 public:
  explicit Rows(const Kernels &kernels)
      : lanes(kernels.lanes), gemv_columns(kernels.gemv_columns), kernels_(kernels) {}

  void gemv(const GemvOperands<float> &all, int64_t depth, const GemvPanel &panel, int64_t first,
            int64_t columns) const {
    const auto gemv = panel.bfloat16 == nullptr ? kernels_.gemv : kernels_.gemv_of_bfloat16;
    gemv({all.rows, all.x, all.y, all.count, depth, panel, all.bias, first, columns});
  }
  void round(const float *x, Bfloat16 *y, int64_t n) const { kernels_.round_to_bfloat16(x, y, n); }
  void elementwise(const Elementwise &function, const float *x, float *y, int64_t n) const {
    kernels_.elementwise(function, x, y, n);
  }
  void clamp(float bound, float *x, int64_t n) const { elementwise({Function::clamp, bound, -bound}, x, x, n); }
  void multiply(const float *x, const float *y, float *z, int64_t n) const {
    kernels_.arithmetic(Arithmetic::multiply, x, 1, y, 1, z, n);
  }
  void add(const float *x, const float *y, float *z, int64_t n) const {
    kernels_.arithmetic(Arithmetic::add, x, 1, y, 1, z, n);
  }
  void multiply_add(const float *x, const float *y, float *z, int64_t n) const { kernels_.multiply_add(x, y, z, n); }
  void transpose(const float *x, int64_t x_stride, float *y, int64_t y_stride, int64_t rows, int64_t columns) const {
    kernels_.transpose(x, x_stride, y, y_stride, rows, columns);
  }
  void normalize(const float *gamma, const float *beta, float *x, int64_t n, float eps) const {
    kernels_.normalize(x, gamma, beta, x, n, eps, true);
  }

  const int64_t lanes;
  const int64_t gemv_columns;

 private:
  const Kernels &kernels_;
};

template <>
class Rows<double> {
 public:
  explicit Rows(const Kernels &) {}

  void gemv(const GemvOperands<double> &all, int64_t depth, const PanelOf<double> &panel, int64_t first,
            int64_t columns) const {
    const int64_t stride = (columns + lanes - 1) / lanes * lanes;
    for (int64_t i = 0; i < all.count; ++i) {
      double sums[gemv_columns] = {};
      for (int64_t k = 0; k < depth; ++k) {
        for (int64_t j = 0; j < columns; ++j) sums[j] += all.rows[i][k] * panel.numbers[k * stride + j];
      }
      for (int64_t j = 0; j < columns; ++j) {
        const double x = all.x == nullptr ? 0.0 : all.x[i][first + j];
        all.y[i][first + j] = sums[j] + x + (all.bias == nullptr ? 0.0 : all.bias[first + j]);
      }
    }
  }
  void elementwise(const Elementwise &function, const double *x, double *y, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) y[i] = value_of(function, x[i]);
  }
  void clamp(double bound, double *x, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) x[i] = between(-bound, bound, x[i]);
  }
  void multiply(const double *x, const double *y, double *z, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) z[i] = x[i] * y[i];
  }
  void add(const double *x, const double *y, double *z, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) z[i] = x[i] + y[i];
  }
  void multiply_add(const double *x, const double *y, double *z, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) z[i] += x[i] * y[i];
  }
  void transpose(const double *x, int64_t x_stride, double *y, int64_t y_stride, int64_t rows, int64_t columns) const {
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t i = 0; i < rows; ++i) y[j * y_stride + i] = x[i * x_stride + j];
    }
  }
  void normalize(const double *gamma, const double *beta, double *x, int64_t n, double eps) const {
    double mean = 0.0;
    for (int64_t i = 0; i < n; ++i) mean += x[i] / static_cast<double>(n);
    double variance = eps;
    for (int64_t i = 0; i < n; ++i) variance += (x[i] - mean) * (x[i] - mean) / static_cast<double>(n);
    for (int64_t i = 0; i < n; ++i) x[i] = (x[i] - mean) / std::sqrt(variance) * gamma[i] + beta[i];
  }

  static constexpr int64_t lanes = 8;
  static constexpr int64_t gemv_columns = 32;

 private:
  /* NaN stays NaN. */
  static double between(double low, double high, double x) { return x < low ? low : x > high ? high : x; }

  static double value_of(const Elementwise &function, double x) {
    const double a = function.a;
    const double b = function.b;
    switch (function.function) {
      case Function::identity: return x;
      case Function::clamp: return between(b, a, x);
      case Function::sigmoid: return 1.0 / (1.0 + std::exp(-x));
      case Function::tanh: return a * std::tanh(b * x);
      case Function::linear: return a * x + b;
      default: throw std::logic_error("this function is not computed in Float64");
    }
  }
};

/* Matrices that few rows at a time are multiplied by, as in each step of a recurrent layer. */

/* Rounds a count up to 16 numbers: a cache line of float32, two of Float64. */
inline int64_t padded(int64_t numbers) {
  constexpr int64_t kNumbersPerLine = 16;
  return ratio_up(numbers, kNumbersPerLine) * kNumbersPerLine;
}

template <typename T>
size_t bytes_of(int64_t numbers) { return static_cast<size_t>(numbers) * sizeof(T); }

/* The format of a packed matrix: its numbers or, of floats only, bfloat16, or steps after all columns' scales. */
enum class GemvStorage { numbers, steps, bfloat16 };

/* A matrix [columns, depth] in panels that gemv reads. */
template <typename T>
struct GemvMatrix {
  int64_t columns = 0;
  int64_t depth = 0;
  GemvStorage storage = GemvStorage::numbers;

  /* The bytes of the packed matrix. */
  size_t bytes(const Rows<T> &rows) const;
  /* Whether each column is exactly whole multiples, in 8 bits, of one scale; appends these scales to steps. */
  bool find_steps(const T *weights, std::vector<float> &steps) const;
  /* Args: known: the steps of the columns, if they were looked for. */
  void pack(const T *weights, const Rows<T> &rows, std::byte *packed, const float *known = nullptr) const;
  /* y = x + bias + row * matrix for each row. Args: is_shared: whether threads share the columns. */
  void multiply(const Frame &frame, bool is_shared, const GemvOperands<T> &all, const std::byte *packed) const;

  /* The time of multiplying so many rows. */
  double ns(const Frame &frame, int64_t rows) const {
    return static_cast<double>(columns * depth) * weight_ns(frame, rows);
  }

 private:
  double weight_ns(const Frame &frame, int64_t rows) const;
  void pack_numbers(const T *weights, const Rows<T> &rows, T *packed) const;
  void pack_steps(const float *weights, const Rows<float> &rows, const float *scales, int8_t *steps) const;
  size_t scale_bytes() const;
};

/* The loop over steps, each of which needs the one before. */

/* How a layer reads its sequences. */
struct Reading {
  int64_t steps;
  int64_t batch;
  int64_t units;
  int64_t outputs; /* numbers of an output: as many as units, unless it is projected */
  int64_t ways; /* 2: forward and backward */
  bool is_backward; /* whether the first way is backward */
  bool is_time_major;
};

/* Runs a cell along each item of the batch and each way, in Float32 or Float64. Items take their steps together,
 * so that weights are read once for all of them.
 *
 * Inputs: the inputs' share of the gates [ways, steps and batch, gates * units]; the recurrent weights
 * [ways, gates * units, outputs], for each way followed by further matrices of the cell; the bias
 * [ways, 2 * gates * units], the lengths [batch], the first output, the first cell and the peepholes [ways, 3 * units],
 * each of which may be kNone; then inputs of one kind of cell only.
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
  /* The working memory of a step of one item. */
  struct Item {
    T *gates; /* the sums of the gates, to which the step adds; may be overwritten */
    T *hidden; /* the output of the step before, then of this one: [outputs] */
    T *cell;
    T *spare; /* [gates * units] */
    T *further; /* [further_numbers()] */
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

  /* The data of a step of items in one direction. */
  struct Step {
    const Frame &frame;
    int64_t way;
    bool is_shared; /* whether threads share the loops of a step */
    const std::byte *packed; /* the recurrent weights of this way */
    const T *bias; /* [gates * units], the sum of both biases */
    const T *recurrent_bias; /* [gates * units], that of the recurrent weights */
    const T *peepholes; /* nullptr: none */
    const Elementwise *functions; /* of this way */
    Items items;
  };

  /* A vector of each item: it begins at an index in the memory that a member of Item points to. */
  struct ItemField {
    T *Item::*member;
    int64_t first = 0;
  };

  virtual void step(const Step &at) const = 0;
  /* y = x + bias + row * matrix for each item; x.member and bias may be nullptr. */
  virtual void multiply(const Step &at, const GemvMatrix<T> &matrix, const std::byte *packed, ItemField row,
                        ItemField x, const T *bias, ItemField y) const;
  /* Packs weights that are constant. Called once matrices_ is known. */
  virtual void pack_ahead(const Setup &setup);
  /* How many numbers of scratch memory a product of an item needs beside the members of Item. */
  virtual int64_t further_numbers() const { return 0; }
  /* The matrices of which the recurrent weights of one way consist, in the order of memory. */
  virtual std::vector<GemvMatrix<T>> matrices() const;

  /* Clips numbers that are side by side, then applies a function to them. */
  void activate(const Rows<T> &rows, const Elementwise &function, T *x, int64_t n) const;

  Reading reading_;
  int64_t gates_;
  std::vector<GemvMatrix<T>> matrices_; /* once it is prepared */

  enum Input { kGates, kWeights, kBias, kLengths, kHidden, kCell, kPeepholes, kInputs };

  std::shared_ptr<const void> packed_;
  size_t way_bytes_ = 0; /* of the packed weights */

 private:
  int64_t item_numbers() const;
  int64_t thread_numbers() const;
  int64_t bias_numbers() const;
  size_t way_bytes(const Rows<T> &rows) const;
  bool find_steps(const T *weights, std::vector<float> &steps) const;
  void store_as(GemvStorage storage);
  /* Args: bytes: of a way's weights that are not rounded. */
  bool gains_by_bfloat16(const Setup &setup, size_t bytes) const;
  void pack(const T *weights, const Rows<T> &rows, std::byte *packed, const float *steps = nullptr) const;
  void add_biases(const Frame &frame, T *sums) const;
  double chain_ns(const Frame &frame, int64_t items) const;
  /* Whether all threads share each step, instead of one thread for each way and block of items. */
  bool shares_steps(const Frame &frame, int64_t blocks) const;
  /* Args: first, last: the items. */
  void run_chains(const Frame &frame, int64_t way, int64_t first, int64_t last, bool is_shared,
                  const std::byte *packed, const T *bias, T *memory) const;
  /* Copies the first states of an item into its memory; end copies the last ones from there. */
  Item begin(const Frame &frame, int64_t way, int64_t item, T *memory) const;
  void end(const Frame &frame, int64_t way, int64_t item, const Item &states) const;
  int64_t state_of(int64_t way, int64_t item) const;
  int64_t length_of(const Frame &frame, int64_t item) const;

  T clip_;
  std::vector<Elementwise> functions_; /* of all ways */
  bool has_wide_lengths_ = false;
};

/* Shared by the cells of long short-term memories. */

/* The order of the gates in a row of all gates. */
enum LstmGate : int64_t { kInputGate, kOutputGate, kForgetGate, kCandidate, kLstmGates };

/* The number that is added to the variance of a normalized gate, so that numbers that are all alike become zeros. */
template <typename T>
constexpr T kNoVariance = std::numeric_limits<T>::min();

/* The cells of recurrent layers. */

/* Inputs and outputs: those of Recurrence. */
OperationPtr rnn(std::vector<TensorId> inputs, std::vector<TensorId> outputs, const Reading &reading, float clip,
                 std::vector<Elementwise> functions);

/* Inputs and outputs: those of Recurrence. Args: resets_behind: whether the reset gate comes after the gemv. */
OperationPtr gru(std::vector<TensorId> inputs, std::vector<TensorId> outputs, const Reading &reading, float clip,
                 std::vector<Elementwise> functions, bool resets_behind);

/* Gates in the order input, output, forget, candidate; functions of the gates, the candidate and the
 * output. The weights of a projection [ways, outputs, units] follow the recurrent ones of each way.
 *
 * Inputs: those of Recurrence, or these and, each or kNone, the factors and offsets of normalized gates
 * [2, 4 * units], which have no other bias, and the bias of the projection [outputs]; both for one way.
 */
template <typename T>
class LstmSequence : public Recurrence<T> {
 protected:
  using Base = Recurrence<T>;
  using Step = typename Base::Step;
  using Item = typename Base::Item;
  using ItemField = typename Base::ItemField;

 public:
  /* The differences between an Lstm of TensorFlow Lite and one of ONNX. */
  struct Options {
    T clip{}; /* of a function's argument; 0: no clipping, as in the next two */
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

/* Weights [ways, depth, columns] of bytes. */
struct ByteWeights {
  WeightLayout layout; /* of one way */
  int64_t ways;
  bool are_signed;
  bool scales_differ; /* within a way */
  std::vector<float> scales; /* of the columns of all ways */
  std::vector<int32_t> zero_points; /* of each way */
};

/* Rows of unsigned bytes times weights: [ways, rows, columns]. Args: operands: rows, weights, and, of one number each,
 * the scale and the zero point of the rows; bias: [ways, columns], or empty.
 */
OperationPtr product_of_bytes(std::vector<TensorId> operands, TensorId out, int64_t rows, ByteWeights weights,
                              std::vector<float> bias);

/* A LstmSequence of which the output of each step is rounded to bytes before it is multiplied. */
OperationPtr dynamic_lstm(std::vector<TensorId> inputs, std::vector<TensorId> outputs, const Reading &reading,
                          const LstmSequence<float>::Options &options, std::vector<Elementwise> functions,
                          ByteWeights weights);

}  // namespace cpuacc
