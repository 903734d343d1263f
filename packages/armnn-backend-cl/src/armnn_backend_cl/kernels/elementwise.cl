// SPDX-License-Identifier: MIT
// One function of the elements of up to three tensors, which broadcast by strides of 0.
// Generated before it: the types X, Y, Z and R, COUNT, and the function f(x, y, z, a, b).

#if COUNT == 1
__kernel void elementwise(INPUT(X, x), OUTPUT(R, r), const int count, const int8 sizes,
                          const int8 x_strides, const float a, const float b) {
  const int i = get_global_id(0);
  if (i < count)
    AT(r)[i] = f(AT(x)[place(i, sizes, x_strides)], 0, 0, a, b);
}
#elif COUNT == 2
__kernel void elementwise(INPUT(X, x), INPUT(Y, y), OUTPUT(R, r), const int count,
                          const int8 sizes, const int8 x_strides, const int8 y_strides,
                          const float a, const float b) {
  const int i = get_global_id(0);
  if (i < count)
    AT(r)[i] = f(AT(x)[place(i, sizes, x_strides)], AT(y)[place(i, sizes, y_strides)], 0, a, b);
}
#else
__kernel void elementwise(INPUT(X, x), INPUT(Y, y), INPUT(Z, z), OUTPUT(R, r), const int count,
                          const int8 sizes, const int8 x_strides, const int8 y_strides,
                          const int8 z_strides, const float a, const float b) {
  const int i = get_global_id(0);
  if (i < count)
    AT(r)[i] = f(AT(x)[place(i, sizes, x_strides)], AT(y)[place(i, sizes, y_strides)],
                 AT(z)[place(i, sizes, z_strides)], a, b);
}
#endif
