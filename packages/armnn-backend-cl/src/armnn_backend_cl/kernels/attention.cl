// SPDX-License-Identifier: MIT
// Attention of queries to the first keys of a cache, as many as `lengths` says; a length that the
// cache cannot have is told in `fault`, with the number of the check. A group makes one row of y: it
// takes GROUP keys at a time, and what it has so far is scaled down where a score is a new maximum.
// Generated before it: the accessors of q, k, v, mask, sink and y, GROUP, SIZE, the numbers of a query,
// SHARE, the most numbers of a value that a work item makes, MASKED or ADDED if there is a mask, and
// SUNK if there is a sink.

// q: [items, heads, queries, SIZE], k: [items, groups, keys, SIZE], v: [items, groups, keys, values]
__kernel void attend_in_cache(INPUT(Q, q), INPUT(K, k), INPUT(V, v), INPUT(I, lengths),
                              INPUT(MASK, mask), INPUT(SINK, sink), OUTPUT(Y, y),
                              __global int *fault, const int check, const int heads,
                              const int groups, const int queries, const int keys,
                              const int values, const int each, const int8 mask_strides,
                              const float scale, const float softcap, const int causal,
                              const int window) {
  __local float query[SIZE], weights[GROUP], shared[GROUP];
  const int lane = get_local_id(0), row = get_group_id(0);
  const int s = row % queries, h = row / queries % heads, item = row / queries / heads;
  long given = AT(lengths)[each ? item : 0];
  if (given < 0 || given > keys) {
    if (lane == 0) {
      fault[0] = check;
      fault[1] = (int)clamp(given, (long)INT_MIN, (long)INT_MAX);
    }
    given = 0;
  }
  const int count = (int)given, at = count - queries + s;
  const int end = causal ? min(count, at + 1) : count;
  const int cache = (item * groups + h / (heads / groups)) * keys;
  for (int i = lane; i < SIZE; i += GROUP)
    query[i] = LOAD_Q(row * SIZE + i) * scale;
  float total, sum = 0, most = -INFINITY, found[SHARE];
#ifdef SUNK
  most = LOAD_SINK(h);
  sum = most > -INFINITY || isnan(most) ? 1 : 0;
#endif
  for (int i = 0; i < SHARE; ++i)
    found[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);

  for (int first = window ? max(0, at - window + 1) : 0; first < end; first += GROUP) {
    const int key = first + lane, here = min(GROUP, end - first);
    float score = -INFINITY;
    if (lane < here) {
      score = 0;
      for (int i = 0; i < SIZE; ++i)
        score = fma(query[i], LOAD_K((cache + key) * SIZE + i), score);
      if (softcap > 0)
        score = softcap * tanh(score / softcap);
#if defined(MASKED) || defined(ADDED)
      const int seen = item * mask_strides.s0 + h * mask_strides.s1 + s * mask_strides.s2 +
                       key * mask_strides.s3;
#ifdef MASKED
      score = LOAD_MASK(seen) ? score : -INFINITY;
#else
      score += LOAD_MASK(seen);
#endif
#endif
    }
    shared[lane] = score;
    TREE(GREATER)
    const float top = GREATER(total, most);
    const bool sees_none = top == -INFINITY;
    const float kept = sees_none ? 1 : exp(most - top);
    weights[lane] = shared[lane] = sees_none ? 0 : exp(score - top);
    TREE(SUM)
    sum = sum * kept + total;
    for (int j = 0; j < SHARE; ++j) {
      const int place = lane + j * GROUP;
      if (place < values) {
        float v = found[j] * kept;
        for (int i = 0; i < here; ++i)
          v = fma(weights[i], LOAD_V((cache + first + i) * values + place), v);
        found[j] = v;
      }
    }
    most = top;
  }
  for (int j = 0; j < SHARE; ++j)
    if (lane + j * GROUP < values)
      STORE_Y(row * values + lane + j * GROUP, sum == 0 ? 0.0f : found[j] / sum);
}
