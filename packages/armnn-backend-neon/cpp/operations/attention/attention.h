/* SPDX-License-Identifier: MIT */
/* Operations of transformers: attention, also to the keys of a cache, whose scores are never in memory as a whole;
 * and RotaryEmbedding.
 */
#pragma once

#include <memory>
#include <vector>

#include "graph/ir.h"

namespace cpuacc {

struct AttentionSizes {
  int64_t batch, heads, groups; /* groups: heads of keys and values */
  int64_t queries, keys, depth, width; /* depth: of a query; width: of a value */
};

struct AttentionRules {
  float scale;
  float softcap; /* 0: none */
  bool is_causal;
  int64_t first_keys; /* keys that the first query sees, if causal */
};

/* softmax(scale * query * key^T + mask) * value. Args: mask_steps: along batch, heads, queries and keys. */
OperationPtr attention(std::vector<TensorId> inputs, TensorId to, const AttentionSizes &sizes,
                       const AttentionRules &rules, Shape mask_steps);

struct CacheRules {
  float scale;
  float softcap; /* 0: none */
  bool is_causal;
  int64_t window; /* keys that a query sees up to its own; 0: all */
};

/* Attention to the first keys of a cache, which is read in place. Args: inputs: query, key, value, lengths (the
 * numbers of keys), and mask and sink or kNone.
 */
OperationPtr cached_attention(std::vector<TensorId> inputs, TensorId to, const AttentionSizes &sizes,
                              const CacheRules &rules, Shape mask_steps);

/* Args: angle_step: from one item's angles to the next one's. */
OperationPtr rotary_embedding(std::vector<TensorId> inputs, TensorId to, Shape shape, int64_t pairs,
                              int64_t angle_step, bool is_interleaved);

}  // namespace cpuacc
