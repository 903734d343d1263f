/* SPDX-License-Identifier: MIT */
/* Attention block by block, attention to a cache, and rotary embedding. */
#include "operations/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "costs/costs.h"
#include "operations/gemm/gemm.h"

namespace cpuacc {
namespace {

/* softmax(scale * query * key^T + mask) * value. A block of queries of one head is computed at a time. */
class Attention final : public Operation {
 public:
  /* Args: mask_steps: strides of the mask in elements along batch, heads, queries and keys. */
  Attention(std::vector<TensorId> inputs, TensorId to, AttentionSizes sizes, AttentionRules rules, Shape mask_steps)
      : Operation(std::move(inputs), {to}), sizes_(sizes), rules_(rules), mask_steps_(std::move(mask_steps)) {}

  size_t prepare(const Setup &setup) override {
    const Kernels &kernels = setup.kernels;
    constexpr int64_t kTiles = 4; /* tiles of queries that are computed together */
    rows_ = std::min<int64_t>(sizes_.queries, kTiles * kernels.rows);
    key_layout_ = {1, 0, sizes_.depth, 1, sizes_.keys, sizes_.depth};
    value_layout_ = {1, 0, sizes_.keys, sizes_.width, sizes_.width, 1};
    is_bfloat16_ = setup.multiplies_bfloat16 && gains_by_bfloat16(setup.machine(), setup.kernels, key_layout_) &&
                   gains_by_bfloat16(setup.machine(), setup.kernels, value_layout_);
    const auto bytes_of = [&](const WeightLayout &layout) {
      return aligned_bytes(is_bfloat16_ ? packed_bfloat16_bytes(layout, kernels)
                                        : packed_bytes(layout, kernels));
    };
    key_bytes_ = bytes_of(key_layout_);
    value_bytes_ = bytes_of(value_layout_);
    has_truth_ = inputs[3] != kNone && setup[inputs[3]].type == ARMNN_BOOLEAN;
    score_bytes_ = aligned_bytes(static_cast<size_t>(rows_ * sizes_.keys) * sizeof(float));
    pointer_bytes_ = pointer_bytes(tiling(rows_, sizes_.keys, kernels), key_layout_);
    const int64_t rounded = is_bfloat16_ ? rows_ * std::max(sizes_.keys, sizes_.depth) : 0;
    thread_bytes_ =
        score_bytes_ + pointer_bytes_ + aligned_bytes(static_cast<size_t>(rounded) * sizeof(Bfloat16));
    const auto heads = static_cast<size_t>(sizes_.batch * sizes_.groups);
    return heads * (key_bytes_ + value_bytes_) + thread_bytes_ * static_cast<size_t>(setup.threads);
  }

  void run(const Frame &frame) const override {
    const int64_t heads = sizes_.batch * sizes_.groups;
    const double pack_ns = static_cast<double>(sizes_.keys * (sizes_.depth + sizes_.width)) * frame.element_ns();
    frame.for_each(heads, pack_ns, [&](int64_t i, int32_t) { pack(frame, i); });
    const int64_t blocks = rows_ == 0 ? 0 : ratio_up(sizes_.queries, rows_);
    const double score_ns = static_cast<double>(sizes_.depth + sizes_.width) * frame.ns_of(costs::multiply_add) +
                            costs::kFunctionElements * frame.element_ns();
    const double block_ns = static_cast<double>(rows_ * sizes_.keys) * score_ns;
    frame.for_each(sizes_.batch * sizes_.heads * blocks, block_ns, [&](int64_t i, int32_t thread) {
      std::byte *memory = packed_of(frame, heads) + static_cast<size_t>(thread) * thread_bytes_;
      attend(frame, i / blocks, i % blocks * rows_, memory);
    });
  }

 private:
  static Tiling tiling(int64_t rows, int64_t columns, const Kernels &kernels) {
    const auto whole = [](int64_t count, int64_t part) { return ratio_up(count, part) * part; };
    return {rows, columns, whole(rows, std::max(kernels.rows, kernels.rows_bfloat16)),
            whole(columns, kernels.columns)};
  }

  std::byte *packed_of(const Frame &frame, int64_t head) const {
    return frame.scratch() + static_cast<size_t>(head) * (key_bytes_ + value_bytes_);
  }

  void pack(const Frame &frame, int64_t head) const {
    is_bfloat16_ ? pack_as<Bfloat16>(frame, head) : pack_as<float>(frame, head);
  }

  template <typename Number>
  void pack_as(const Frame &frame, int64_t head) const {
    std::byte *packed = packed_of(frame, head);
    pack_weights(frame.in<float>(inputs[1]) + head * sizes_.keys * sizes_.depth, key_layout_, frame.kernels,
                 reinterpret_cast<Number *>(packed));
    pack_weights(frame.in<float>(inputs[2]) + head * sizes_.keys * sizes_.width, value_layout_,
                 frame.kernels, reinterpret_cast<Number *>(packed + key_bytes_));
  }

  /* Computes a block of queries.
   * Args: head: head of the queries, counted over the whole batch; first: first query of the block; memory: scratch
   * memory of the thread.
   */
  void attend(const Frame &frame, int64_t head, int64_t first, std::byte *memory) const {
    const int64_t count = std::min(rows_, sizes_.queries - first);
    const int64_t shared = sizes_.heads / sizes_.groups; /* heads of queries that share one head of keys */
    const std::byte *keys = packed_of(frame, head / shared);
    const float *queries = frame.in<float>(inputs[0]) + (head * sizes_.queries + first) * sizes_.depth;
    auto *scores = reinterpret_cast<float *>(memory);
    multiply(frame, key_layout_, count, queries, keys, scores, memory + score_bytes_);
    for (int64_t i = 0; i < count; ++i) weigh(frame, head, first + i, scores + i * sizes_.keys);
    float *to = frame.out<float>(outputs[0]) + (head * sizes_.queries + first) * sizes_.width;
    multiply(frame, value_layout_, count, scores, keys + key_bytes_, to, memory + score_bytes_);
  }

  /* Multiplies rows by packed keys or values.
   * Args: left: count contiguous rows; memory: scratch for row pointers, then for rows in bfloat16.
   */
  void multiply(const Frame &frame, const WeightLayout &layout, int64_t count, const float *left,
                const std::byte *packed, float *to, std::byte *memory) const {
    if (!is_bfloat16_) return multiply_as(frame, layout, count, left, packed, to, memory);
    auto *rounded = reinterpret_cast<Bfloat16 *>(memory + pointer_bytes_);
    frame.kernels.round_to_bfloat16(left, rounded, count * layout.depth);
    multiply_as<Bfloat16>(frame, layout, count, rounded, packed, to, memory);
  }

  template <typename Number>
  void multiply_as(const Frame &frame, const WeightLayout &layout, int64_t count, const Number *left,
                   const std::byte *packed, float *to, std::byte *memory) const {
    const Epilogue nothing{nullptr, nullptr, {Function::identity, 0.0f, 0.0f}};
    const GemmTask<Number> task{layout, reinterpret_cast<const Number *>(packed), {to}, layout.columns, nothing};
    run_gemm_task(task, tiling(count, layout.columns, frame.kernels), 0, frame.kernels,
                  reinterpret_cast<const Number **>(memory), EvenRows<Number>{left, layout.depth});
  }

  /* Computes the softmax of the scores of one query in place. Keys that the query does not see get the weight 0. */
  void weigh(const Frame &frame, int64_t head, int64_t query, float *scores) const {
    const Kernels &kernels = frame.kernels;
    const int64_t seen =
        rules_.is_causal ? std::clamp<int64_t>(query + rules_.first_keys, 0, sizes_.keys) : sizes_.keys;
    std::fill(scores + seen, scores + sizes_.keys, 0.0f);
    if (seen == 0) return;
    /* Without mask and softcap one kernel does all. If all scores are minus infinity, all weights must be 0, which
     * this kernel does not check: a finite first score excludes that.
     */
    if (inputs[3] == kNone && rules_.softcap == 0.0f && std::isfinite(scores[0])) {
      return kernels.softmax(scores, scores, 1, seen, rules_.scale, false);
    }
    const float cap = rules_.softcap;
    const Elementwise scale = cap == 0.0f ? Elementwise{Function::linear, rules_.scale, 0.0f}
                                          : Elementwise{Function::tanh, cap, rules_.scale / cap};
    kernels.elementwise(scale, scores, scores, seen);
    if (inputs[3] != kNone) add_mask(frame, head, query, scores, seen);
    if (kernels.reduce_row(Reduction::maximum, scores, seen) == -std::numeric_limits<float>::infinity()) {
      std::fill(scores, scores + seen, 0.0f);
    } else {
      kernels.softmax(scores, scores, 1, seen, 1.0f, false);
    }
  }

  void add_mask(const Frame &frame, int64_t head, int64_t query, float *scores, int64_t seen) const {
    const int64_t place = head / sizes_.heads * mask_steps_[0] + head % sizes_.heads * mask_steps_[1] +
                          query * mask_steps_[2];
    const int64_t step = mask_steps_[3];
    if (!has_truth_) {
      const float *mask = frame.in<float>(inputs[3]) + place;
      return frame.kernels.arithmetic(Arithmetic::add, scores, 1, mask, step, scores, seen);
    }
    const auto *mask = frame.in<uint8_t>(inputs[3]) + place;
    for (int64_t i = 0; i < seen; ++i) {
      if (mask[i * step] == 0) scores[i] = -std::numeric_limits<float>::infinity();
    }
  }

  AttentionSizes sizes_;
  AttentionRules rules_;
  Shape mask_steps_;
  int64_t rows_ = 0; /* queries of a block */
  WeightLayout key_layout_{};
  WeightLayout value_layout_{};
  size_t key_bytes_ = 0;
  size_t value_bytes_ = 0;
  bool is_bfloat16_ = false;
  size_t score_bytes_ = 0;
  size_t pointer_bytes_ = 0;
  size_t thread_bytes_ = 0;
  bool has_truth_ = false;
};

/* A range of keys in a cache: first .. last - 1. */
struct Keys {
  int64_t first, last;
  int64_t count() const { return last - first; }
};

/* Attention to the valid keys of a cache, which are its first ones and whose number is an input. The heads of queries
 * that share keys are computed together, so that keys are read once. A "row" below is one query of one of these heads.
 * The cache is not copied, except for values whose width is no multiple of a register.
 */
class CachedAttention final : public Operation {
 public:
  CachedAttention(std::vector<TensorId> inputs, TensorId to, AttentionSizes sizes, CacheRules rules, Shape mask_steps)
      : Operation(std::move(inputs), {to}), sizes_(sizes), rules_(rules), mask_steps_(std::move(mask_steps)) {}

  size_t prepare(const Setup &setup) override {
    const Kernels &kernels = setup.kernels;
    all_rows_ = sizes_.heads / sizes_.groups * sizes_.queries;
    constexpr int64_t kFewRows = 8; /* for up to so many rows dot_rows computes the scores, else a gemm */
    are_few_ = all_rows_ <= kFewRows;
    rows_ = std::min<int64_t>(all_rows_, are_few_ ? kFewRows : kernels.columns);
    is_wide_ = setup[inputs[3]].type == ARMNN_SIGNED64;
    length_step_ = setup[inputs[3]].count() == 1 ? 0 : 1;
    has_truth_ = inputs[4] != kNone && setup[inputs[4]].type == ARMNN_BOOLEAN;
    const auto bytes_of = [](int64_t count, size_t bytes) { return aligned_bytes(static_cast<size_t>(count) * bytes); };
    query_bytes_ = are_few_ ? 0 : aligned_bytes(packed_bytes(query_layout(rows_), kernels));
    score_bytes_ = bytes_of(rows_ * sizes_.keys, sizeof(float));
    by_key_bytes_ = are_few_ ? 0 : score_bytes_;
    pointer_bytes_ = bytes_of(rows_, sizeof(float *));
    padded_width_ = ratio_up(sizes_.width, kernels.lanes) * kernels.lanes;
    const bool is_padded = padded_width_ != sizes_.width;
    value_bytes_ = is_padded ? bytes_of(sizes_.keys * padded_width_, sizeof(float)) : 0;
    thread_bytes_ = query_bytes_ + by_key_bytes_ + score_bytes_ + 2 * pointer_bytes_ + value_bytes_;
    return thread_bytes_ * static_cast<size_t>(setup.threads);
  }

  void run(const Frame &frame) const override {
    int64_t most = 0;
    /* length() may throw, which must not happen in a thread of for_each */
    for (int64_t n = 0; n < sizes_.batch; ++n) most = std::max(most, length(frame, n));
    const int64_t blocks = rows_ == 0 ? 0 : ratio_up(all_rows_, rows_);
    const double score_ns = static_cast<double>(sizes_.depth + sizes_.width) * frame.ns_of(costs::multiply_add) +
                            costs::kFunctionElements * frame.element_ns();
    const double block_ns = static_cast<double>(rows_ * most) * score_ns;
    frame.for_each(sizes_.batch * sizes_.groups * blocks, block_ns, [&](int64_t i, int32_t thread) {
      attend(frame, i / blocks, i % blocks * rows_, frame.scratch_of<std::byte>(thread, thread_bytes_));
    });
  }

 private:
  WeightLayout query_layout(int64_t rows) const { return {1, 0, sizes_.depth, 1, rows, sizes_.depth}; }

  /* The number of valid keys in the cache of an item. Throws std::out_of_range if the cache cannot hold them. */
  int64_t length(const Frame &frame, int64_t item) const {
    const auto *memory = frame.in<std::byte>(inputs[3]);
    const int64_t place = item * length_step_;
    const int64_t given = is_wide_ ? reinterpret_cast<const int64_t *>(memory)[place]
                                   : reinterpret_cast<const int32_t *>(memory)[place];
    if (given < 0 || given > sizes_.keys) {
      throw std::out_of_range("a cache of " + std::to_string(sizes_.keys) + " keys cannot have " +
                              std::to_string(given));
    }
    return given;
  }

  /* The keys that a query sees by its position and the window, without the mask. */
  Keys seen_by(int64_t query, int64_t length) const {
    const int64_t place = length - sizes_.queries + query;
    const int64_t last = rules_.is_causal ? std::clamp<int64_t>(place + 1, 0, length) : length;
    const int64_t first = rules_.window == 0 ? 0 : std::clamp<int64_t>(place - rules_.window + 1, 0, last);
    return {first, last};
  }

  /* Computes a block of rows.
   * Args: group: group of heads that share keys, counted over the batch; first: first row of the block; memory: scratch
   * memory of the thread.
   */
  void attend(const Frame &frame, int64_t group, int64_t first, std::byte *memory) const {
    const int64_t count = std::min(rows_, all_rows_ - first);
    const int64_t item = group / sizes_.groups;
    const int64_t filled = length(frame, item);
    Keys keys{filled, 0};
    for (int64_t row = first; row < first + count; ++row) {
      const Keys own = seen_by(row % sizes_.queries, filled);
      keys = {std::min(keys.first, own.first), std::max(keys.last, own.last)};
    }
    float *to = frame.out<float>(outputs[0]) + (group * all_rows_ + first) * sizes_.width;
    if (keys.count() <= 0) {
      std::fill(to, to + count * sizes_.width, 0.0f);
      return;
    }
    auto *scores = reinterpret_cast<float *>(memory + query_bytes_ + by_key_bytes_);
    multiply_keys(frame, group, first, count, keys, memory, scores);
    const int64_t shared_heads = sizes_.heads / sizes_.groups;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t head = group % sizes_.groups * shared_heads + (first + i) / sizes_.queries;
      const int64_t query = (first + i) % sizes_.queries;
      weigh(frame, item, head, query, seen_by(query, filled), keys, scores + i * keys.count());
    }
    multiply_values(frame, group, count, keys, scores, to, memory + query_bytes_ + by_key_bytes_ + score_bytes_);
  }

  /* Computes scores of shape [rows, keys]. */
  void multiply_keys(const Frame &frame, int64_t group, int64_t first, int64_t count, const Keys &keys,
                     std::byte *memory, float *scores) const {
    const float *queries = frame.in<float>(inputs[0]) + (group * all_rows_ + first) * sizes_.depth;
    const float *first_key = frame.in<float>(inputs[1]) + (group * sizes_.keys + keys.first) * sizes_.depth;
    if (are_few_) {
      return frame.kernels.dot_rows({queries, count, first_key, keys.count(), sizes_.depth, scores, keys.count()});
    }
    auto *packed = reinterpret_cast<float *>(memory);
    auto *by_key = reinterpret_cast<float *>(memory + query_bytes_);
    const WeightLayout layout = query_layout(count);
    pack_weights(queries, layout, frame.kernels, packed);
    GemmRows rows{};
    rows.function = {Function::identity, 0.0f, 0.0f};
    rows.c = by_key;
    rows.c_stride = count;
    rows.residual_stride = count;
    rows.column_count = static_cast<int32_t>(count);
    rows.a = first_key;
    rows.count = keys.count();
    rows.step = sizes_.depth;
    rows.taps = 1;
    rows.depth = sizes_.depth;
    rows.b = packed;
    frame.kernels.gemm_rows(rows);
    frame.kernels.transpose(by_key, count, scores, keys.count(), keys.count(), count);
  }

  /* Computes the softmax of the scores of a row in place. Keys that the row does not see get the weight 0.
   * Args: own: keys that the row sees; keys: keys whose scores are computed, those of all rows of the block.
   */
  void weigh(const Frame &frame, int64_t item, int64_t head, int64_t query, const Keys &own, const Keys &keys,
             float *scores) const {
    const Kernels &kernels = frame.kernels;
    std::fill(scores, scores + (own.first - keys.first), 0.0f);
    std::fill(scores + (own.last - keys.first), scores + keys.count(), 0.0f);
    const int64_t count = own.count();
    if (count == 0) return;
    float *seen = scores + (own.first - keys.first);
    const float cap = rules_.softcap;
    const Elementwise scale = cap == 0.0f ? Elementwise{Function::linear, rules_.scale, 0.0f}
                                          : Elementwise{Function::tanh, cap, rules_.scale / cap};
    kernels.elementwise(scale, seen, seen, count);
    if (inputs[4] != kNone) add_mask(frame, item, head, query, own.first, seen, count);
    float highest = kernels.reduce_row(Reduction::maximum, seen, count);
    const float *sinks = frame.in<float>(inputs[5]);
    if (sinks != nullptr) highest = std::max(highest, sinks[head]);
    if (highest == -std::numeric_limits<float>::infinity()) {
      std::fill(seen, seen + count, 0.0f);
      return;
    }
    if (sinks == nullptr) return kernels.softmax(seen, seen, 1, count, 1.0f, false);
    kernels.elementwise({Function::linear, 1.0f, -highest}, seen, seen, count);
    kernels.elementwise({Function::exp, 0.0f, 0.0f}, seen, seen, count);
    const float total = kernels.reduce_row(Reduction::sum, seen, count) + std::exp(sinks[head] - highest);
    kernels.elementwise({Function::linear, 1.0f / total, 0.0f}, seen, seen, count);
  }

  void add_mask(const Frame &frame, int64_t item, int64_t head, int64_t query, int64_t first, float *scores,
                int64_t count) const {
    const int64_t step = mask_steps_[3];
    const int64_t place = item * mask_steps_[0] + head * mask_steps_[1] + query * mask_steps_[2] + first * step;
    if (!has_truth_) {
      return frame.kernels.arithmetic(Arithmetic::add, scores, 1, frame.in<float>(inputs[4]) + place, step, scores,
                                      count);
    }
    const auto *mask = frame.in<uint8_t>(inputs[4]) + place;
    for (int64_t i = 0; i < count; ++i) {
      if (mask[i * step] == 0) scores[i] = -std::numeric_limits<float>::infinity();
    }
  }

  void multiply_values(const Frame &frame, int64_t group, int64_t count, const Keys &keys, const float *weights, float *to,
                       std::byte *memory) const {
    const float *values = frame.in<float>(inputs[2]) + (group * sizes_.keys + keys.first) * sizes_.width;
    if (value_bytes_ != 0) {
      auto *padded = reinterpret_cast<float *>(memory + 2 * pointer_bytes_);
      for (int64_t i = 0; i < keys.count(); ++i) {
        std::copy(values + i * sizes_.width, values + (i + 1) * sizes_.width, padded + i * padded_width_);
      }
      values = padded;
    }
    auto **rows = reinterpret_cast<const float **>(memory);
    auto **outputs_of_rows = reinterpret_cast<float **>(memory + pointer_bytes_);
    for (int64_t i = 0; i < count; ++i) {
      rows[i] = weights + i * keys.count();
      outputs_of_rows[i] = to + i * sizes_.width;
    }
    const GemvPanel panel{values, nullptr, nullptr, nullptr, padded_width_};
    frame.kernels.gemv({rows, nullptr, outputs_of_rows, count, keys.count(), panel, nullptr, 0, sizes_.width});
  }

  AttentionSizes sizes_;
  CacheRules rules_;
  Shape mask_steps_;
  int64_t all_rows_ = 0; /* rows of a group: queries of all heads that share keys */
  int64_t rows_ = 0; /* rows of a block */
  int64_t length_step_ = 0;
  int64_t padded_width_ = 0;
  bool are_few_ = false; /* whether dot_rows computes the scores; else a gemm */
  size_t query_bytes_ = 0;
  size_t by_key_bytes_ = 0;
  size_t score_bytes_ = 0;
  size_t pointer_bytes_ = 0;
  size_t value_bytes_ = 0;
  size_t thread_bytes_ = 0;
  bool is_wide_ = false;
  bool has_truth_ = false;
};

/* Rotates pairs of elements of each row by the angles of its position. Shape: [batch, heads, positions, depth]. */
class RotaryEmbedding final : public Operation {
 public:
  /* Args: pairs: rotated pairs of a row, whose other elements are copied; angle_step: elements from the angles of one
   * item of the batch to those of the next one, 0 if all share them; is_interleaved: whether a pair is adjacent.
   */
  RotaryEmbedding(std::vector<TensorId> inputs, TensorId to, Shape shape, int64_t pairs, int64_t angle_step,
                  bool is_interleaved)
      : Operation(std::move(inputs), {to}),
        shape_(std::move(shape)),
        pairs_(pairs),
        angle_step_(angle_step),
        is_interleaved_(is_interleaved) {}

  void run(const Frame &frame) const override {
    const int64_t depth = shape_[3];
    const int64_t rows = elements(shape_, 0, 3);
    frame.for_each(rows, static_cast<double>(depth) * frame.element_ns(), [&](int64_t i, int32_t) {
      const int64_t item = i / (shape_[1] * shape_[2]);
      const int64_t angles = item * angle_step_ + i % shape_[2] * pairs_;
      const float *x = frame.in<float>(inputs[0]) + i * depth;
      float *y = frame.out<float>(outputs[0]) + i * depth;
      rotate(frame.kernels, x, frame.in<float>(inputs[1]) + angles, frame.in<float>(inputs[2]) + angles, y);
      std::copy(x + 2 * pairs_, x + depth, y + 2 * pairs_);
    });
  }

 private:
  void rotate(const Kernels &kernels, const float *x, const float *cosines, const float *sines,
              float *y) const {
    if (is_interleaved_) {
      for (int64_t i = 0; i < pairs_; ++i) {
        y[2 * i] = x[2 * i] * cosines[i] - x[2 * i + 1] * sines[i];
        y[2 * i + 1] = x[2 * i] * sines[i] + x[2 * i + 1] * cosines[i];
      }
      return;
    }
    float *z = y + pairs_;
    kernels.arithmetic(Arithmetic::multiply, x + pairs_, 1, sines, 1, z, pairs_);
    kernels.arithmetic(Arithmetic::multiply, x, 1, cosines, 1, y, pairs_);
    kernels.arithmetic(Arithmetic::subtract, y, 1, z, 1, y, pairs_);
    kernels.arithmetic(Arithmetic::multiply, x + pairs_, 1, cosines, 1, z, pairs_);
    kernels.multiply_add(x, sines, z, pairs_);
  }

  Shape shape_;
  int64_t pairs_;
  int64_t angle_step_;
  bool is_interleaved_;
};

}  // namespace

OperationPtr attention(std::vector<TensorId> inputs, TensorId to, const AttentionSizes &sizes,
                       const AttentionRules &rules, Shape mask_steps) {
  return std::make_unique<Attention>(std::move(inputs), to, sizes, rules, std::move(mask_steps));
}

OperationPtr cached_attention(std::vector<TensorId> inputs, TensorId to, const AttentionSizes &sizes,
                              const CacheRules &rules, Shape mask_steps) {
  return std::make_unique<CachedAttention>(std::move(inputs), to, sizes, rules, std::move(mask_steps));
}

OperationPtr rotary_embedding(std::vector<TensorId> inputs, TensorId to, Shape shape, int64_t pairs,
                              int64_t angle_step, bool is_interleaved) {
  return std::make_unique<RotaryEmbedding>(std::move(inputs), to, std::move(shape), pairs, angle_step,
                                           is_interleaved);
}

}  // namespace cpuacc
