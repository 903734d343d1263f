// SPDX-License-Identifier: MIT
// Some axes of a tensor reduced to one element, running sums along an axis, and places of extremes.
// Generated before it: the accessors of x and y; for reduce and scan tree.cl, GROUP, SUMS, the type
// of sums, START, DIVIDED(total, count) and the function combine(x, y); for find
// IS_BEYOND(value, most).

#ifdef SUMS
// Sum up every `step`-th element of a row: 64 at a time and then these sums, which loses little to
// rounding.
#define SUM_UP(result, begin, step)                                          \
  SUMS result = START;                                                       \
  for (uint first_ = begin; first_ < length; first_ += 64 * step) {          \
    const uint end_ = min(first_ + 64 * step, (uint)length);                 \
    SUMS sum_ = START;                                                       \
    for (uint i = first_; i < end_; i += step)                               \
      sum_ = combine(sum_, (SUMS)LOAD_X(source + place(i, sizes, strides))); \
    result = combine(result, sum_);                                          \
  }

// A work item makes one result.
__kernel void reduce(INPUT(X, x), OUTPUT(Y, y), const int items, const int length,
                     const int8 kept_sizes, const int8 kept_strides, const int8 sizes,
                     const int8 strides, const int divisor) {
  const int item = get_global_id(0);
  if (item >= items)
    return;
  const int source = place(item, kept_sizes, kept_strides);
  SUM_UP(total, 0, 1)
  STORE_Y(item, DIVIDED(total, divisor));
}

// A group makes one result of a long row.
__kernel void reduce_long(INPUT(X, x), OUTPUT(Y, y), const int items, const int length,
                          const int8 kept_sizes, const int8 kept_strides, const int8 sizes,
                          const int8 strides, const int divisor) {
  __local SUMS shared[GROUP];
  const int lane = get_local_id(0), item = get_group_id(0);
  const int source = place(item, kept_sizes, kept_strides);
  SUM_UP(total, lane, GROUP)
  shared[lane] = total;
  TREE(combine)
  if (lane == 0)
    STORE_Y(item, DIVIDED(total, divisor));
}

// A work item makes the sums of one line.
__kernel void scan(INPUT(X, x), OUTPUT(Y, y), const int items, const int length, const int inner,
                   const int is_reverse, const int is_exclusive) {
  const int item = get_global_id(0);
  if (item >= items)
    return;
  const int start = item / inner * length * inner + item % inner;
  SUMS total = START;
  for (int i = 0; i < length; ++i) {
    const int at = start + (is_reverse ? length - 1 - i : i) * inner;
    const SUMS value = LOAD_X(at);
    if (!is_exclusive)
      total = combine(total, value);
    STORE_Y(at, total);
    if (is_exclusive)
      total = combine(total, value);
  }
}
#else
// A work item looks for the first extreme of one line, or the last one; NaN is one.
__kernel void find(INPUT(X, x), OUTPUT(Y, y), const int items, const int length, const int inner,
                   const int is_last) {
  const int item = get_global_id(0);
  if (item >= items)
    return;
  const int start = item / inner * length * inner + item % inner;
  int found = is_last ? length - 1 : 0;
  X_VALUE most = LOAD_X(start + found * inner);
  for (int i = 1; i < length; ++i) {
    const int at = is_last ? length - 1 - i : i;
    const X_VALUE value = LOAD_X(start + at * inner);
    if (IS_BEYOND(value, most)) {
      found = at;
      most = value;
    }
  }
  STORE_Y(item, found);
}
#endif
