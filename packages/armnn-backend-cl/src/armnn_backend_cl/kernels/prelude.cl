// SPDX-License-Identifier: MIT
// Parameters of tensors: a buffer, the element at which the tensor begins there, and the scale and
// the zero point of a quantized one.

#pragma OPENCL FP_CONTRACT OFF

#define INPUT(T, x) __global const T *restrict x##_block, const ulong x##_start, const float2 x##_steps
#define OUTPUT(T, x) __global T *restrict x##_block, const ulong x##_start, const float2 x##_steps
#define AT(x) (x##_block + x##_start)

// The real value of a quantized element, and the nearest element, halves away from zero.
inline float real(const int stored, const float2 steps) {
  return (float)(stored - (int)steps.y) * steps.x;
}
inline int quantized(const float value, const float2 steps, const float low, const float high) {
  const float nearest = clamp(round(value / steps.x), low - steps.y, high - steps.y);
  return (int)((isnan(value) ? 0.0f : nearest) + steps.y);
}

// The nearest BFloat16 of a number; halves go to the even one.
inline ushort bfloat16(const float value) {
  const uint bits = as_uint(value);
  return isnan(value) ? (ushort)(bits >> 16 | 0x40)
                      : (ushort)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

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
