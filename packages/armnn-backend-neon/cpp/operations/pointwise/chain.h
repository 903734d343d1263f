/* SPDX-License-Identifier: MIT */
/* Pointwise operations in one loop over memory: intermediate values stay in the nearest cache. */
#pragma once

#include <memory>
#include <vector>

#include "operations/pointwise/pointwise.h"

namespace cpuacc {

/* Computes a block of elements with each of its links in turn, then the next block. Every link computes
 * as it does alone, so the results have the same bits.
 */
class Chain final : public Operation {
 public:
  /* Args: links: operations whose outputs have the same number of elements, each after those that it
   * reads; outputs: those of their outputs that others read.
   */
  Chain(const Graph &graph, std::vector<std::unique_ptr<Pointwise>> links, std::vector<TensorId> outputs);

  size_t prepare(const Setup &setup) override;
  void run(const Frame &frame) const override;
  /* Only a dense input that no link reads after the link that writes the first output. */
  bool may_overwrite(size_t input) const override;
  /* Blocks of an input that is as long as the output are widened to float32, those of an output rounded. */
  bool can_read_bfloat16(const Kernels &, size_t input) const override;
  bool can_store_bfloat16(const Kernels &) const override { return true; }

 private:
  static constexpr size_t kNone = ~size_t{0};
  enum class Location { input, output, buffer };
  struct Operand {
    Location location;
    size_t index; /* of the input, output or buffer */
    AccessPattern pattern;
    int64_t bytes; /* of an element */
    bool is_repeated; /* an input that is neither as long as the output nor one number */
    size_t copy = 0; /* the buffer for a block of a broadcast operand */
    bool is_lasting = false; /* the copy is the same for all blocks */
    bool is_bfloat16 = false; /* float32 stored in bfloat16; copy has a block of it in float32 */
  };
  struct Link {
    std::unique_ptr<Pointwise> operation;
    std::vector<Operand> operands;
    Location location;
    size_t index; /* of the output or buffer */
    int64_t bytes;
    bool is_bfloat16 = false; /* the output is float32 stored in bfloat16 */
    bool takes_bfloat16 = false; /* the link reads or stores bfloat16 itself */
    size_t wide = kNone; /* the buffer for a block of the output in float32 */
  };

  /* Blocks that a thread computes one after the other. */
  struct Blocks {
    const Frame &frame;
    std::byte *own; /* the thread's buffers */
    int64_t first; /* the first element of the first block */
  };

  void connect(const Graph &graph, Link &link, const std::vector<TensorId> &made);
  void choose_buffers();
  void note_storage(const Setup &setup);
  void choose_block(int64_t cache_bytes);
  /* Returns where n elements of an operand begin, and the step with which they are read. */
  const void *read(const Blocks &blocks, const Operand &operand, bool takes_bfloat16, int64_t first, int64_t n,
                   int64_t &step) const;
  /* Computes a link that reads or stores bfloat16 itself. */
  void compute_numbers(const Blocks &blocks, const Link &link, const void *const *operands, const int64_t *steps,
                       int64_t first, int64_t n) const;
  void compute(const Blocks &blocks, int64_t first, int64_t n) const;

  std::vector<Link> links_;
  int64_t count_;
  size_t buffers_ = 0;
  int64_t buffer_bytes_ = 0;
  int64_t block_ = 1; /* elements at a time */
  double elements_ = 0.0;
};

}  // namespace cpuacc
