// SPDX-License-Identifier: MIT
// Some axes of a tensor reduced to one element, running sums along an axis, and places of extremes.
// Generated before it: the accessors of x and y; for reduce and scan SUM, the type of sums, START,
// DIVIDED(total, count) and the function combine(x, y); for find IS_BEYOND(value, most).

#ifdef SUM
// A work item makes one result: it sums up 64 elements at a time and then these sums, which loses
// little to rounding.
__kernel void reduce(INPUT(X, x), OUTPUT(Y, y), const int items, const int length,
                     const int8 kept_sizes, const int8 kept_strides, const int8 sizes,
                     const int8 strides, const int divisor) {
  const int item = get_global_id(0);
  if (item >= items)
    return;
  const int source = place(item, kept_sizes, kept_strides);
  SUM total = START;
  for (int first = 0; first < length; first += 64) {
    SUM sum = START;
    for (int i = first; i < min(first + 64, length); ++i)
      sum = combine(sum, (SUM)LOAD_X(source + place(i, sizes, strides)));
    total = combine(total, sum);
  }
  STORE_Y(item, DIVIDED(total, divisor));
}

// A work item makes the sums of one line.
__kernel void scan(INPUT(X, x), OUTPUT(Y, y), const int items, const int length, const int inner,
                   const int is_reverse, const int is_exclusive) {
  const int item = get_global_id(0);
  if (item >= items)
    return;
  const int start = item / inner * length * inner + item % inner;
  SUM total = START;
  for (int i = 0; i < length; ++i) {
    const int at = start + (is_reverse ? length - 1 - i : i) * inner;
    const SUM value = LOAD_X(at);
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
