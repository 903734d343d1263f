// SPDX-License-Identifier: MIT
// Elements of one size, T, read at places that indices, of the type I, name. Negative ones count
// from the end. One that is outside is told in `fault`: the number of the check, and the index; the
// first element is read instead.

inline int inside(const long index, const int size, __global int *fault, const int check) {
  const long place = index < 0 ? index + size : index;
  if (place >= 0 && place < size)
    return (int)place;
  fault[0] = check;
  fault[1] = (int)clamp(index, (long)INT_MIN, (long)INT_MAX);
  return 0;
}

// indices: [count, depth]; for a result without elements
__kernel void check_indices(INPUT(I, indices), __global int *fault, const int check,
                            const int items, const int depth, const int8 sizes) {
  const int item = get_global_id(0);
  if (item >= items)
    return;
  int size[8];
  vstore8(sizes, 0, size);
  inside(AT(indices)[item], size[item % depth], fault, check);
}

// x: [outer, size, inner], indices: [count], y: [outer, count, inner]
__kernel void gather(INPUT(T, x), INPUT(I, indices), OUTPUT(T, y), __global int *fault,
                     const int check, const int items, const int size, const int count,
                     const int inner) {
  const int item = get_global_id(0);
  if (item >= items)
    return;
  const int line = item / inner, outer = line / count;
  const int at = inside(AT(indices)[line % count], size, fault, check);
  AT(y)[item] = AT(x)[(outer * size + at) * inner + item % inner];
}

// x: [sizes..., inner], indices: [count, depth], y: [count, inner]
__kernel void gather_rows(INPUT(T, x), INPUT(I, indices), OUTPUT(T, y), __global int *fault,
                          const int check, const int items, const int depth, const int8 sizes,
                          const int inner) {
  const int item = get_global_id(0);
  if (item >= items)
    return;
  int size[8], row = 0;
  vstore8(sizes, 0, size);
  for (int axis = 0; axis < depth; ++axis)
    row = row * size[axis] +
          inside(AT(indices)[item / inner * depth + axis], size[axis], fault, check);
  AT(y)[item] = AT(x)[row * inner + item % inner];
}

// The indices and y have one shape, `sizes`, as has the part of x that is read, but for an axis of
// `size` elements, `step` apart.
__kernel void gather_elements(INPUT(T, x), INPUT(I, indices), OUTPUT(T, y), __global int *fault,
                              const int check, const int items, const int size, const int step,
                              const int8 sizes, const int8 x_strides) {
  const int item = get_global_id(0);
  if (item >= items)
    return;
  const int at = inside(AT(indices)[item], size, fault, check);
  AT(y)[item] = AT(x)[place(item, sizes, x_strides) + at * step];
}
