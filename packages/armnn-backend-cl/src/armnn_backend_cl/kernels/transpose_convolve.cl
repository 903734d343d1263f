// SPDX-License-Identifier: MIT
// Transposed convolution of NHWC tensors: each result gathers the elements whose kernels reach it.
// Generated before it: OPERANDS and CHAIN(v, i), what is done to each result, and the accessors of x
// and out.

__kernel void transpose_convolve(OPERANDS INPUT(X, x), INPUT(float, weights),
                                 INPUT(float, bias), OUTPUT(OUT, out), const int items,
                                 const int groups, const int height, const int width,
                                 const int in_channels, const int out_height, const int out_width,
                                 const int out_channels, const int8 window) {
  // The window: rows, columns, strides, 1, 1, padding before.
  const int item = get_global_id(0);
  if (item >= items)
    return;
  const int o = item % out_channels, place = item / out_channels;
  const int column = place % out_width, row = place / out_width % out_height;
  const int depth = in_channels / groups, group = o / (out_channels / groups);
  const __global X *image =
      AT(x) + place / out_width / out_height * height * width * in_channels + group * depth;

  float sum = AT(bias)[o];
  for (int i = 0; i < window.s0; ++i) {
    const int down = row + window.s6 - i;
    if (down < 0 || down % window.s2 != 0 || down / window.s2 >= height)
      continue;
    for (int j = 0; j < window.s1; ++j) {
      const int right = column + window.s7 - j;
      if (right < 0 || right % window.s3 != 0 || right / window.s3 >= width)
        continue;
      const __global X *source =
          image + (down / window.s2 * width + right / window.s3) * in_channels;
      const __global float *w = AT(weights) + (i * window.s1 + j) * depth * out_channels + o;
      for (int c = 0; c < depth; ++c)
        sum = fma(READ_X(source + c), w[c * out_channels], sum);
    }
  }
  STORE_OUT(item, CHAIN(sum, item));
}
