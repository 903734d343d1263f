// SPDX-License-Identifier: MIT
// Some axes of a tensor reduced to one element. A work item makes one result: it sums up 64
// elements at a time and then these sums, which loses little to rounding.
// Generated before it: START, and the function combine(x, y).

__kernel void reduce(INPUT(float, x), OUTPUT(float, y), const int items, const int length,
                     const int8 kept_sizes, const int8 kept_strides, const int8 sizes,
                     const int8 strides, const float divisor) {
  const int item = get_global_id(0);
  if (item >= items)
    return;
  const __global float *source = AT(x) + place(item, kept_sizes, kept_strides);
  float total = START;
  for (int first = 0; first < length; first += 64) {
    float sum = START;
    for (int i = first; i < min(first + 64, length); ++i)
      sum = combine(sum, source[place(i, sizes, strides)]);
    total = combine(total, sum);
  }
  AT(y)[item] = total / divisor;
}
