// SPDX-License-Identifier: MIT
// Elements of one size, T, copied from one strided view to another, or set to one value.

// The walk is over WIDTH elements at once, which lie behind each other in both views.
__kernel void move(INPUT(T, x), OUTPUT(T, y), const int count, const int8 sizes,
                   const int8 x_strides, const int8 y_strides) {
  const int i = get_global_id(0);
  if (i >= count)
    return;
  const __global T *source = AT(x) + place(i, sizes, x_strides);
  __global T *target = AT(y) + place(i, sizes, y_strides);
  STORE(LOAD(0, source), 0, target);
}

__kernel void fill(OUTPUT(T, y), const int count, const int low, const int high) {
  const int i = get_global_id(0);
  if (i < count)
    AT(y)[i] = (T)(((ulong)(uint)high << 32) | (uint)low);
}
