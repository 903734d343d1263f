// SPDX-License-Identifier: MIT
// Rows of elements of one size, T, written into a cache from the positions on that integers of the
// type I name, one for each item of a batch or one for all. Where a row would be outside, nothing of
// its item is written, and `fault` gets the number of the check and the position.

__kernel void copy(INPUT(T, x), OUTPUT(T, y), const int count) {
  const int i = get_global_id(0);
  if (i < count)
    AT(y)[i] = AT(x)[i];
}

// rows: [items, outer, count, inner], y: [items, outer, size, inner]
__kernel void scatter_rows(INPUT(T, rows), INPUT(I, positions), OUTPUT(T, y), __global int *fault,
                           const int check, const int elements, const int outer, const int count,
                           const int size, const int inner, const int each, const int wraps) {
  const int i = get_global_id(0);
  if (i >= elements)
    return;
  const int line = i / inner, block = line / count;
  long first = AT(positions)[each ? block / outer : 0];
  if (wraps) {
    first %= size;
    first += first < 0 ? size : 0;
  } else if (first < 0 || first > size - count) {
    fault[0] = check;
    fault[1] = (int)clamp(first, (long)INT_MIN, (long)INT_MAX);
    return;
  }
  const int row = (int)((first + line % count) % size);
  AT(y)[((long)block * size + row) * inner + i % inner] = AT(rows)[i];
}
