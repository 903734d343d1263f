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

/* A constant of the host's that is read as floats, which are computed when they are first read: all floats
 * together would take up to four times the memory of the file, so operations decode and pack theirs one after
 * the other. Not thread-safe.
 */
class DecodedConstant {
 public:
  using Decode = std::function<void(float *)>;

  /* Args: source: the host's; memory: keeps it alive; recipe: all that the floats depend on, except its bytes. */
  DecodedConstant(const void *source, std::shared_ptr<const void> memory, std::string recipe, size_t bytes,
                  Decode decode);

  const void *source() const { return source_; }
  const std::string &recipe() const { return recipe_; }
  /* Where the floats are, or will be once they are decoded. */
  const void *address() const { return floats_.get(); }
  void decode();

 private:
  const void *source_;
  std::shared_ptr<const void> memory_;
  std::string recipe_;
  std::shared_ptr<void> floats_;
  Decode decode_; /* empty once the floats are there */
};

/* Descriptions of operations for the passes: the function of each, and its epilogue slots. */

using TensorId = int32_t;
constexpr TensorId kNone = -1;

/* An iteration over a dense output and two operands, with the strides of each operand. */
struct Broadcast {
  Shape shape;
  Shape x;
  Shape y;

  bool is_plain() const { return shape.size() == 1 && x[0] == 1 && y[0] == 1; }
  /* The length of an operand (0: x, 1: y) that is one row for all rows of the other operand; else 0. */
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

/* A function that computes each byte from the one at the same index. */
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

/* The offset of an item, by its number: items are counted along axes, fastest along the last one. */
inline int64_t offset_of(const Shape &counts, const Shape &steps, int64_t number) {
  int64_t offset = 0;
  for (size_t axis = counts.size(); axis-- > 0; number /= counts[axis]) offset += number % counts[axis] * steps[axis];
  return offset;
}

/* The offsets of items that are counted along axes, such as the matrices of a batch. */
struct ItemOffsets {
  Shape counts; /* along each axis */
  Shape steps; /* from an item to the next one along each axis */

  int64_t of(int64_t number) const { return offset_of(counts, steps, number); }
};

/* Where an operation stores its matrices. Steps are in elements; the numbers of a row are side by side. */
struct OutputMatrices {
  ItemOffsets offsets;
  int64_t rows, columns;
  int64_t row_step;
};

/* The format of rows of numbers of 2, 4 or 8 bits: the first number of a byte is in its lowest bits. */
struct FewBits {
  int32_t bits;
  int64_t block_size; /* numbers that share a scale; the last block may have fewer */
  int64_t size; /* numbers of a row */
  int64_t row_bytes = 0; /* of a row in the model's constant */

  int64_t blocks() const { return ratio_up(size, block_size); }
  int64_t packed_bytes(int64_t count) const { return ratio_up(count * bits, 8); }
  int32_t number(const uint8_t *row, int64_t k) const {
    return row[k * bits / 8] >> (k * bits % 8) & ((1 << bits) - 1);
  }
};

/* The rows of its first input that its second input names; size: how many rows the first input has. */
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

/* Slots for the steps that an operation can apply to its result before it stores it. nullptr: it has no such
 * slot, or a slot whose step comes after this one is filled already.
 */
struct EpilogueSlots {
  Elementwise *function = nullptr;
  bool scales = false; /* the function may be followed by its scale and shift */
  TensorId *bias = nullptr; /* added to each row, before the function */
  int64_t columns = 0; /* of a row */
  bool *multiplies_row = nullptr; /* by its last input, one row for all rows, before the function */
  bool *adds_row = nullptr; /* likewise */
  bool *adds_residual = nullptr; /* its last input, as long as the result, before the function */
  bool *dequantizes = nullptr; /* accumulators become float32 */
  TensorId *scale = nullptr; /* one number, by which these floats are multiplied */
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
  bool has_bfloat16 = false; /* the level's gemm multiplies bfloat16 */
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
  const void *constant = nullptr; /* the elements of a constant; nullptr: it is none */
  TensorId alias = kNone; /* the tensor whose memory this one shares */
  size_t alias_offset = 0; /* bytes from the beginning of that tensor to that of this one */
  std::shared_ptr<const void> memory; /* keeps the constant alive */
  std::shared_ptr<DecodedConstant> decoded; /* the constant, if it is decoded when it is read */

  /* The elements of a constant. */
  template <typename T>
  const T *read() const {
    if (decoded != nullptr) decoded->decode();
    return static_cast<const T *>(constant);
  }
  /* The host's constant and the recipe, which together identify a packed form. */
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

  /* Calls compute(i, thread) for i of 0 .. count - 1, on several threads. Args: item_ns: the time of a call. */
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
  bool multiplies_bfloat16; /* whether a gemm may multiply it, and the level has a tile for it */

  /* How many threads share a loop of so many nanoseconds. */
  int32_t threads_for(double ns) const { return ns < least_ns ? 1 : threads; }

  const Tensor &operator[](TensorId id) const { return tensors[static_cast<size_t>(id)]; }
  bool is_bfloat16(TensorId id) const { return (*this)[id].type == ARMNN_BFLOAT16; }
  const costs::Machine &machine() const { return costs::machine(kernels.lanes); }
  double element_ns() const { return machine().ns[costs::element]; }
};

/* Neighboring bytes of an input that an operation copies as they are to its first output. */
struct CopiedRange {
  size_t input;
  size_t from;
  size_t to;
  size_t bytes;
};

/* The tensors of an operation with one input and one output. */
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

  /* Refuses parameters with which it would access memory outside of its tensors: a host may pass any. */
  virtual void check(const Graph &) const {}
  /* Chooses kernels and packs weights. Returns the bytes of scratch memory that run needs.
   *
   * An operation that packed all that it ever reads of a constant input sets that input to kNone: the
   * constant itself may then be freed, and is not stored with the program.
   */
  virtual size_t prepare(const Setup &) { return 0; }
  virtual void run(const Frame &frame) const = 0;

  /* Whether the first output may overwrite this input if both have the same number of bytes: each byte is
   * written only after it has been read for the last time. Known once the operation is prepared.
   */
  virtual bool may_overwrite(size_t) const { return false; }
  /* Ranges of the inputs that are copied to the first output; run skips a range that is in its place already,
   * as the tensors share memory. Known once the operation is prepared.
   */
  virtual std::vector<CopiedRange> copied_ranges() const { return {}; }

  /* Whether an input, or the outputs, may be stored in bfloat16 instead of float32, at a level that multiplies
   * bfloat16. Which of them are, the types of the tensors tell when the operation is prepared.
   */
  virtual bool can_read_bfloat16(const Kernels &, size_t) const { return false; }
  virtual bool can_store_bfloat16(const Kernels &) const { return false; }
  /* Whether its inputs and outputs must all be stored in the same format. */
  virtual bool keeps_format() const { return false; }

  /* The function that it computes, if a pass asks for functions of this kind. */
  virtual Description describe() const { return {}; }
  /* The slots for steps that it can apply to its result before it stores it. */
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
