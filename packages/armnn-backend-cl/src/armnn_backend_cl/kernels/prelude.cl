// SPDX-License-Identifier: MIT
// Parameters of tensors: a buffer and the element at which the tensor begins there.

#define INPUT(T, x) __global const T *restrict x##_block, const uint x##_start
#define OUTPUT(T, x) __global T *restrict x##_block, const uint x##_start
#define AT(x) (x##_block + x##_start)

// Where element `index` of a walk over up to eight axes, the fastest first, lies in a tensor with
// these strides.
inline int place(int index, const int8 sizes, const int8 strides) {
  int size[8], stride[8], found = 0;
  vstore8(sizes, 0, size);
  vstore8(strides, 0, stride);
  for (int axis = 0; axis < 8 && index > 0; ++axis) {
    const int rest = index / size[axis];
    found += (index - rest * size[axis]) * stride[axis];
    index = rest;
  }
  return found;
}

#ifdef WIDTH  // elements that a work item takes at once
#define JOINED_(a, b) a##b
#define JOINED(a, b) JOINED_(a, b)
#if WIDTH == 1
#define FLOATS float
#define LOAD(i, p) (p)[i]
#define STORE(v, i, p) (p)[i] = v
#else
#define FLOATS JOINED(float, WIDTH)
#define LOAD JOINED(vload, WIDTH)
#define STORE JOINED(vstore, WIDTH)
#endif
#endif
