/* SPDX-License-Identifier: MIT */
/* What layers become: operations on tensors as they lie in memory. */
#ifndef CPUACC_GRAPH_IR_H_
#define CPUACC_GRAPH_IR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "armnn/backend.h"
#include "graph/shape.h"
#include "kernels/kernels.h"
#include "threads/pool.h"

namespace cpuacc {

using TensorId = int32_t;
constexpr TensorId kNone = -1;

size_t element_bytes(armnn_data_type type);
/* A multiple of a cache line that holds them. */
inline size_t aligned_bytes(size_t bytes) { return (bytes + 63) / 64 * 64; }

struct Quantization {
  std::vector<float> scales; /* empty: not quantised */
  std::vector<int32_t> zero_points;
  int32_t axis = -1;
};

/* Elements in memory; shape is in the order of memory. */
struct Tensor {
  armnn_data_type type = ARMNN_FLOAT32;
  Shape shape;
  Quantization quantization;
  const void *constant = nullptr; /* not nullptr: known while compiling and later */
  TensorId alias = kNone; /* the tensor whose memory this one shares */
  size_t alias_offset = 0; /* how many bytes from that one's beginning this one begins */
  std::shared_ptr<const void> memory; /* keeps the constant */

  int64_t count() const { return elements(shape); }
  size_t bytes() const { return static_cast<size_t>(count()) * element_bytes(type); }
};

/* Where an operation finds its tensors in one call. */
class Frame {
 public:
  Frame(void *const *tensors, std::byte *scratch, Pool &pool, const Kernels &kernels)
      : pool(pool), kernels(kernels), tensors_(tensors), scratch_(scratch) {}

  template <typename T>
  const T *in(TensorId id) const { return static_cast<const T *>(tensors_[id]); }
  template <typename T>
  T *out(TensorId id) const { return static_cast<T *>(tensors_[id]); }
  /* The operation's own working memory, aligned to 64 bytes. */
  std::byte *scratch() const { return scratch_; }

  Pool &pool;
  const Kernels &kernels;

 private:
  void *const *tensors_;
  std::byte *scratch_;
};

class Pointwise;
class ProgramWeights;
class Reorder;
struct Graph;

/* All values of a function of bytes. */
using ByteTable = std::array<uint8_t, 256>;

/* What an operation may use while it gets ready. */
struct Setup {
  const std::vector<Tensor> &tensors;
  const Kernels &kernels;
  ProgramWeights &packed;
  int32_t threads;
  double least_ns; /* what a loop takes that is worth sharing */
  bool multiplies_bfloat16; /* whether a gemm may, and the level has a tile for it */

  /* Threads that share a loop of so many nanoseconds. */
  int32_t threads_for(double ns) const { return ns < least_ns ? 1 : threads; }

  const Tensor &operator[](TensorId id) const { return tensors[static_cast<size_t>(id)]; }
};

/* Bytes of an input that an operation carries side by side to the output, as they are. */
struct CopiedRange {
  size_t input;
  size_t from;
  size_t to;
  size_t bytes;
};

/* An operation behind an integer gemm that turns its accumulators into real numbers. */
struct DequantiseStep {
  enum class Kind { none, add_whole, to_float, multiply, add };
  Kind kind = Kind::none;
  size_t data = 0; /* the input that carries the sums */
  TensorId operand = kNone; /* what is added to each column, or the one number that all are multiplied by */
};

/* A computation. Immutable once it is prepared: any number of threads may run it. */
class Operation {
 public:
  Operation(std::vector<TensorId> inputs, std::vector<TensorId> outputs)
      : inputs(std::move(inputs)), outputs(std::move(outputs)) {}
  virtual ~Operation() = default;

  /* Refuses what would reach outside of its tensors: a host may say anything. */
  virtual void check(const Graph &) const {}
  /* Chooses kernels and packs weights. Returns the bytes of scratch memory that run needs.
   *
   * An operation that packed all that it ever reads of a constant input sets that input to kNone: the
   * constant itself may then go, and is not stored with the program.
   */
  virtual size_t prepare(const Setup &) { return 0; }
  virtual void run(const Frame &frame) const = 0;

  /* Whether the first output may lie on this input if both have as many bytes: no thread writes a
   * place before all that is read from there has been read. Known once it is prepared.
   */
  virtual bool may_overwrite(size_t) const { return false; }
  /* What of the inputs is a stretch of the first output; run leaves alone what lies there already.
   * Known once it is prepared.
   */
  virtual std::vector<CopiedRange> copied_ranges() const { return {}; }

  /* Takes over a function of its output, or the sum of its output and another tensor of the same
   * shape, if it can; what it takes is computed by run.
   */
  virtual bool absorb(const Elementwise &) { return false; }
  virtual bool absorb_sum(TensorId) { return false; }
  /* The same for the sum of its output and a row of count numbers, repeated along all other axes. */
  virtual bool absorb_bias(TensorId, int64_t) { return false; }
  /* The function that it applies to its one input, if that is all it does. */
  virtual const Elementwise *as_function() const { return nullptr; }
  /* Whether it is the sum of its two inputs, of one shape. */
  virtual bool is_sum() const { return false; }
  /* Whether it is the sum of its inputs and this one is a row, repeated for each row of the other: the
   * numbers of the row; else 0.
   */
  virtual int64_t added_row(size_t) const { return 0; }
  /* Itself, if it can compute a part of its output on its own. */
  virtual const Pointwise *as_pointwise() const { return nullptr; }

  /* Itself, if all it does is to bring the axes of its input into another order. */
  virtual Reorder *as_reorder() { return nullptr; }

  /* What it is to an integer gemm in front of it. */
  virtual DequantiseStep as_dequantise_step(const Graph &) const { return {}; }
  /* Takes over a step that follows. */
  virtual bool absorb_dequantise_step(const DequantiseStep &) { return false; }

  /* The table by which it makes each byte of its output from the one at the same place of its input,
   * if that is all it does; the graph's tensors are known by then.
   */
  virtual ByteTable *as_table(const Graph &, const Kernels &) { return nullptr; }
  /* Takes over the table of its output. */
  virtual bool absorb_table(const ByteTable &) { return false; }
  /* What it computes of its two inputs, bytes in one shape, if it is a weighted sum of them. */
  virtual std::optional<Int8Addition> as_int8_addition() const { return std::nullopt; }
  /* Takes over such a sum of its output, which is x, and another tensor. */
  virtual bool absorb_int8_addition(const Int8Addition &, TensorId) { return false; }
  /* Computes z of pairs of bytes, if it does that with those at the same place of its inputs. */
  virtual bool pair_up(const Kernels &, const ByteTable &, const ByteTable &, ByteTable &) const {
    return false;
  }

  /* Whether it makes float32 of Float16, or rounds float32 to it, and nothing else. */
  virtual bool decodes_float16() const { return false; }
  virtual bool encodes_float16() const { return false; }
  /* What makes, of the Float16 whose float32 its inputs are, its output rounded to Float16, with the same
   * bits; nullptr: nothing does.
   */
  virtual std::unique_ptr<Operation> in_float16(const Kernels &, const std::vector<TensorId> &, TensorId) const {
    return nullptr;
  }

  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  int32_t node = -1; /* armnn_node.id */
};

struct Graph {
  std::vector<Tensor> tensors;
  std::vector<std::unique_ptr<Operation>> operations;
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;

  TensorId add(Tensor tensor) {
    tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(tensors.size() - 1);
  }
  Tensor &operator[](TensorId id) { return tensors[static_cast<size_t>(id)]; }
  const Tensor &operator[](TensorId id) const { return tensors[static_cast<size_t>(id)]; }
  /* The tensor that owns the memory of this one. */
  TensorId owner(TensorId id) const {
    while ((*this)[id].alias != kNone) id = (*this)[id].alias;
    return id;
  }
  /* How many bytes from the beginning of its owner's memory a tensor begins. */
  size_t offset(TensorId id) const {
    size_t bytes = 0;
    for (; id != kNone; id = (*this)[id].alias) bytes += (*this)[id].alias_offset;
    return bytes;
  }
};

/* Removes operations whose outputs nobody reads. */
void drop_unread(Graph &graph);
/* Lets operations take over what follows them. */
void fuse(Graph &graph, const Kernels &kernels);
/* Computes in Float16 what is rounded to it anyway, at a level that can. */
void compute_in_float16(Graph &graph, const Kernels &kernels);
/* Joins pointwise operations that read each other's outputs, to walk over memory once. */
void chain(Graph &graph);

}  // namespace cpuacc

#endif
