/* SPDX-License-Identifier: MIT */
/* Tensors and operations, what an operation computes as data, and the graph that passes rewrite. */
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "armnn/backend.h"
#include "costs/machine.h"
#include "graph/shape.h"
#include "kernels/kernels.h"
#include "threads/pool.h"

namespace cpuacc {

/* The floats are computed when they are first read: operations pack theirs one after the other, and all floats
 * together take up to four times the memory of the file. Not for several threads at once.
 */
class DecodedConstant {
 public:
  using Decode = std::function<void(float *)>;

  /* Args: source: the host's; memory: keeps it; recipe: all that the floats depend on but the source's bytes. */
  DecodedConstant(const void *source, std::shared_ptr<const void> memory, std::string recipe, size_t bytes,
                  Decode decode);

  const void *source() const { return source_; }
  const std::string &recipe() const { return recipe_; }
  /* Where the floats are, or will be. */
  const void *address() const { return floats_.get(); }
  void decode();

 private:
  const void *source_;
  std::shared_ptr<const void> memory_;
  std::string recipe_;
  std::shared_ptr<void> floats_;
  Decode decode_; /* empty: they are there */
};

/* Descriptions of operations for the passes: the function of each, and its epilogue slots. */

using TensorId = int32_t;
constexpr TensorId kNone = -1;

/* An iteration over a dense output and two operands, with the strides of each. */
struct Broadcast {
  Shape shape;
  Shape x;
  Shape y;

  bool is_plain() const { return shape.size() == 1 && x[0] == 1 && y[0] == 1; }
  /* The numbers of an operand that is the same row for all rows of the other one; else 0. */
  int64_t row_of(size_t side) const {
    if (shape.size() != 2 || x[1] != 1 || y[1] != 1) return 0;
    const int64_t own = side == 0 ? x[0] : y[0];
    const int64_t other = side == 0 ? y[0] : x[0];
    return own == 0 && other == shape[1] ? shape[1] : 0;
  }
};

/* Arithmetic of two operands, element by element. */
struct BinaryArithmetic {
  Arithmetic operation;
  Broadcast broadcast;
};

/* Each element in the data type of the output, rounded to nearest. */
struct Conversion {};

/* The lowest and the highest number that is stored in a tensor. */
struct Bounds {
  int32_t lowest;
  int32_t highest;
};

/* All values of a function of bytes. */
using ByteTable = std::array<uint8_t, 256>;

/* Each byte from the one at the same place. */
struct ByteFunction {
  ByteTable table;
  std::optional<Bounds> bounds = std::nullopt; /* if it is a clamp to these */
};

/* Arithmetic of the bytes of two operands. */
using Int8Operation = std::variant<Int8Addition, Int8Multiplication, Int8Prelu>;
struct Int8Arithmetic {
  Int8Operation operation;
  bool is_plain; /* the operands have one shape */
};

/* Elements that are copied; strides and offsets are in elements. */
struct CopyBox {
  Shape shape;
  Shape from;
  Shape to;
  int64_t from_offset = 0;
  int64_t to_offset = 0;
};

/* Where one of several things begins that are numbered along axes, the last one first. */
inline int64_t place_of(const Shape &counts, const Shape &steps, int64_t number) {
  int64_t place = 0;
  for (size_t axis = counts.size(); axis-- > 0; number /= counts[axis]) place += number % counts[axis] * steps[axis];
  return place;
}

struct Places {
  Shape counts; /* along each axis */
  Shape steps; /* from one to the next one */

  int64_t of(int64_t number) const { return place_of(counts, steps, number); }
};

/* Where matrices go that an operation computes; steps are in elements, and numbers of a row side by side. */
struct OutputMatrices {
  Places places;
  int64_t rows, columns;
  int64_t row_step;
};

/* Rows of numbers of 2, 4 or 8 bits, from the lowest bits of a byte on. */
struct FewBits {
  int32_t bits;
  int64_t block_size; /* numbers that share a scale; the last block may have fewer */
  int64_t size; /* of a row */
  int64_t row_bytes = 0; /* that are given */

  int64_t blocks() const { return ratio_up(size, block_size); }
  int64_t packed_bytes(int64_t count) const { return ratio_up(count * bits, 8); }
  int32_t number(const uint8_t *row, int64_t k) const {
    return row[k * bits / 8] >> (k * bits % 8) & ((1 << bits) - 1);
  }
};

/* The rows of its first input, so many, that the second one names. */
struct GatheredRows {
  int64_t size;
};
/* Its inputs (numbers, scales, zero points or kNone) as floats. */
struct FewBitsAsFloats {
  FewBits form;
};
/* The product of its first input and the further ones: weights, scales, zero points or kNone. */
struct FewBitsProduct {
  FewBits form;
  int64_t columns;
};

/* The function of an operation; an Elementwise is a function of float32, a CopyBox a permutation of axes. */
using Description = std::variant<std::monostate, Elementwise, BinaryArithmetic, Conversion, ByteFunction,
                                 Int8Arithmetic, CopyBox, GatheredRows, FewBitsAsFloats, FewBitsProduct>;

/* Slots for what an operation can do with what it computes before it stores it. nullptr: it has no such
 * slot, or what fills another one comes later.
 */
struct EpilogueSlots {
  Elementwise *function = nullptr;
  bool scales = false; /* by the function's scale and shift */
  TensorId *bias = nullptr; /* added to each row, before the function */
  int64_t columns = 0; /* of a row */
  bool *multiplies_row = nullptr; /* its last input, the same row for all rows, before the function */
  bool *adds_row = nullptr; /* likewise */
  bool *adds_residual = nullptr; /* its last input, before the function */
  bool *dequantizes = nullptr; /* accumulators become float32 */
  TensorId *scale = nullptr; /* one number, by which they are then multiplied */
  int32_t *lowest = nullptr; /* the least byte that is stored */
  int32_t *highest = nullptr;
  std::optional<ByteFunction> *table = nullptr;
  std::optional<Int8Addition> *addition = nullptr; /* of the computed bytes and its last input */
  CopyBox *box = nullptr;
  OutputMatrices *matrices = nullptr;
};

/* Operations on tensors in their memory order, to which layers are lowered. */

size_t element_bytes(armnn_data_type type);
/* A multiple of a cache line that holds them. */
inline size_t aligned_bytes(size_t bytes) { return (bytes + 63) / 64 * 64; }

/* The ways in which a program may compute less exactly. */
struct FastMath {
  bool is_allowed = false;
  bool has_bfloat16 = false; /* the kernels do: a gemm multiplies it */
};

struct Quantization {
  std::vector<float> scales; /* empty: not quantized */
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
  std::shared_ptr<DecodedConstant> decoded; /* the constant, if it is one */

  /* The elements of a constant. */
  template <typename T>
  const T *read() const {
    if (decoded != nullptr) decoded->decode();
    return static_cast<const T *>(constant);
  }
  /* The constant and the recipe by which a packed form is known. */
  const void *source() const { return decoded == nullptr ? constant : decoded->source(); }
  std::string recipe(const std::string &of_elements) const {
    return decoded == nullptr ? of_elements : of_elements + decoded->recipe();
  }
  int64_t count() const { return elements(shape); }
  size_t bytes() const { return static_cast<size_t>(count()) * element_bytes(type); }
};

/* Where an operation finds its tensors in one call. */
class Frame {
 public:
  Frame(void *const *tensors, std::byte *scratch, Pool &pool, const Kernels &kernels)
      : pool(pool), kernels(kernels), tensors_(tensors), scratch_(scratch) {}

  /* nullptr for kNone. */
  template <typename T>
  const T *in(TensorId id) const { return id == kNone ? nullptr : static_cast<const T *>(tensors_[id]); }
  template <typename T>
  T *out(TensorId id) const { return static_cast<T *>(tensors_[id]); }
  /* The operation's own working memory, aligned to 64 bytes. */
  std::byte *scratch() const { return scratch_; }
  /* The scratch memory of one thread, if each has so many bytes. */
  template <typename T>
  T *scratch_of(int32_t thread, size_t bytes) const {
    return reinterpret_cast<T *>(scratch_ + bytes * static_cast<size_t>(thread));
  }

  /* Calls compute(i, thread) for 0 .. count - 1, by threads. Args: item_ns: the time of one. */
  template <typename Compute>
  void for_each(int64_t count, double item_ns, const Compute &compute) const {
    pool.run(count, item_ns, [&](int64_t begin, int64_t end, int32_t thread) {
      for (int64_t i = begin; i < end; ++i) compute(i, thread);
    });
  }

  const costs::Machine &machine() const { return costs::machine(kernels.lanes); }
  double ns_of(costs::Unit unit) const { return machine().ns[unit]; }
  double element_ns() const { return ns_of(costs::element); }

  Pool &pool;
  const Kernels &kernels;

 private:
  void *const *tensors_;
  std::byte *scratch_;
};

class ProgramWeights;
struct Graph;

/* The things that an operation may use while it prepares. */
struct Setup {
  const std::vector<Tensor> &tensors;
  const Kernels &kernels;
  ProgramWeights &packed;
  Pool &pool;
  int32_t threads;
  double least_ns; /* the time of the shortest loop that is worth sharing */
  bool multiplies_bfloat16; /* whether a gemm may, and the level has a tile for it */

  /* Threads that share a loop of so many nanoseconds. */
  int32_t threads_for(double ns) const { return ns < least_ns ? 1 : threads; }

  const Tensor &operator[](TensorId id) const { return tensors[static_cast<size_t>(id)]; }
  bool is_bfloat16(TensorId id) const { return (*this)[id].type == ARMNN_BFLOAT16; }
  const costs::Machine &machine() const { return costs::machine(kernels.lanes); }
  double element_ns() const { return machine().ns[costs::element]; }
};

/* Bytes of an input that an operation carries side by side to the output, as they are. */
struct CopiedRange {
  size_t input;
  size_t from;
  size_t to;
  size_t bytes;
};

/* Tensors of an operation with one of each. */
struct Io {
  TensorId from, to;
};

/* A computation. Immutable once it is prepared: any number of threads may run it. */
class Operation {
 public:
  Operation(std::vector<TensorId> inputs, std::vector<TensorId> outputs)
      : inputs(std::move(inputs)), outputs(std::move(outputs)) {}
  explicit Operation(Io io) : Operation({io.from}, {io.to}) {}
  virtual ~Operation() = default;

  /* Refuses parameters by which it would reach outside of its tensors: a host may ask for anything. */
  virtual void check(const Graph &) const {}
  /* Chooses kernels and packs weights. Returns the bytes of scratch memory that run needs.
   *
   * An operation that packed all that it ever reads of a constant input sets that input to kNone: the
   * constant itself may then go, and is not stored with the program.
   */
  virtual size_t prepare(const Setup &) { return 0; }
  virtual void run(const Frame &frame) const = 0;

  /* Whether the first output may overwrite this input if both have as many bytes: no thread writes a
   * place before all that is read from there has been read. Known once it is prepared.
   */
  virtual bool may_overwrite(size_t) const { return false; }
  /* Ranges of the inputs that are copied to the first output; run leaves alone what is there already.
   * Known once it is prepared.
   */
  virtual std::vector<CopiedRange> copied_ranges() const { return {}; }

  /* Whether an input, and the outputs, may be bfloat16 in place of float32, at a level that multiplies it. Which
   * are is known when it is prepared.
   */
  virtual bool can_read_bfloat16(const Kernels &, size_t) const { return false; }
  virtual bool can_store_bfloat16(const Kernels &) const { return false; }
  /* Whether its inputs and outputs are stored alike. */
  virtual bool keeps_format() const { return false; }

  /* The function that it computes, as far as a rule of passes/ asks. */
  virtual Description describe() const { return {}; }
  /* The slots for steps that it can do on its result before it stores it. */
  virtual EpilogueSlots epilogue_slots() { return {}; }

  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  int32_t node = -1; /* the id of its layer */
  /* The name and the work of the kernel that was chosen; empty: there was no choice. */
  std::string kernel;
  costs::Work work;
};

using OperationPtr = std::unique_ptr<Operation>;

struct Graph {
  std::vector<Tensor> tensors;
  std::vector<OperationPtr> operations;
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

}  // namespace cpuacc
