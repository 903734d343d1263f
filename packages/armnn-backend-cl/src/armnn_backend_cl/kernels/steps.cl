// SPDX-License-Identifier: MIT
// Quantized layers in whole numbers: products are summed up exactly in SUM, int or long.
// Generated before it: the accessors of x, weights or other, and y, LOWEST and HIGHEST of y,
// ROUNDED(sum, factor, exponent), and for products SUM, and REAL if sums are rounded as real
// numbers.

#define JOINED_(a, b) a##b
#define JOINED(a, b) JOINED_(a, b)
#define SUM8 JOINED(SUM, 8)
#define CONVERTED JOINED(convert_, SUM8)

// number * factor * 2^(exponent - 31) as TensorFlow Lite rounds it: the upper 32 bits of the product
// and then the shift, halves up and then away from zero; ...
inline long twice_rounded(const long number, const int factor, const int exponent) {
  const int left = max(exponent, 0), right = max(-exponent, 0);
  const long scaled = (number * (1L << left) * factor + (1L << 30)) >> 31;
  return (scaled + (right > 0 ? scaled >> 63 : 0) + ((1L << right) >> 1)) >> right;
}

// ... or all of it at once, halves up; ...
inline long once_rounded(const long number, const int factor, const int exponent) {
  const int shift = 31 - exponent;
  return (number * factor + (1L << (shift - 1))) >> shift;
}

// ... or with 16 bits of the factor, for sums of more than 32 bits.
inline long narrowly_rounded(const long number, const int factor, const int exponent) {
  const int upper = factor < 0x7FFF0000 ? (factor + (1 << 15)) >> 16 : 0x7FFF;
  const int shift = 15 - exponent;
  return (number * upper + (1L << (shift - 1))) >> shift;
}

#define STORE_STEPS(i, v) AT(y)[i] = (Y)clamp((long)(v) + (long)y_steps.y, (long)LOWEST, (long)HIGHEST)

#ifdef SUM
// Of a channel: bias, factor and exponent; the factor of real numbers is a float.
#ifdef REAL
#define STORE_SUM(i, sum, channel) STORE_Y(i, (float)(sum)*as_float((channel)[1]))
#else
#define STORE_SUM(i, sum, channel) STORE_STEPS(i, ROUNDED(sum, (channel)[1], (channel)[2]))
#endif
#endif

#ifdef WEIGHTS
// A work item makes eight channels of a place.
__kernel void convolve_steps(INPUT(X, x), INPUT(WEIGHTS, weights), INPUT(int, channels), OUTPUT(Y, y),
                       const int items, const int groups, const int height, const int width,
                       const int in_channels, const int out_height, const int out_width,
                       const int out_channels,
                       const int8 window) {  // rows, columns, strides, dilations, padding before
  int item = get_global_id(0);
  if (item >= items)
    return;
  const int count = out_channels / groups, depth = in_channels / groups, panels = (count + 7) / 8;
  const int panel = item % panels, group = item / panels % groups, at = item / panels / groups;
  const int column = at % out_width, row = at / out_width % out_height;
  const int top = row * window.s2 - window.s6, left = column * window.s3 - window.s7;
  const int image = at / out_width / out_height * height;
  const int taps = window.s0 * window.s1, zero = (int)x_steps.y;
  const __global WEIGHTS *w = AT(weights) + (group * panels + panel) * taps * depth * 8;

  SUM8 sum = 0;
  for (int tap = 0; tap < taps; ++tap, w += depth * 8) {
    const int y_in = top + tap / window.s1 * window.s4, x_in = left + tap % window.s1 * window.s5;
    if (y_in < 0 || y_in >= height || x_in < 0 || x_in >= width)
      continue;
    const __global X *source = AT(x) + ((image + y_in) * width + x_in) * in_channels + group * depth;
    for (int c = 0; c < depth; ++c)
      sum += (SUM8)((SUM)source[c] - zero) * CONVERTED(vload8(c, w));
  }
  SUM sums[8];
  vstore8(sum, 0, sums);
  for (int o = 0; o < 8 && panel * 8 + o < count; ++o) {
    const int to = group * count + panel * 8 + o;
    const __global int *channel = AT(channels) + to * 3;
    STORE_SUM(at * out_channels + to, sums[o] + channel[0], channel);
  }
}

__kernel void depthwise_steps(INPUT(X, x), INPUT(WEIGHTS, weights), INPUT(int, channels), OUTPUT(Y, y),
                        const int items, const int height, const int width, const int in_channels,
                        const int out_height, const int out_width, const int out_channels,
                        const int8 window) {  // as above
  const int item = get_global_id(0);
  if (item >= items)
    return;
  const int o = item % out_channels, at = item / out_channels;
  const int column = at % out_width, row = at / out_width % out_height;
  const int top = row * window.s2 - window.s6, left = column * window.s3 - window.s7;
  const int image = at / out_width / out_height * height, zero = (int)x_steps.y;
  const int from = o / (out_channels / in_channels);

  SUM sum = 0;
  for (int tap = 0; tap < window.s0 * window.s1; ++tap) {
    const int y_in = top + tap / window.s1 * window.s4, x_in = left + tap % window.s1 * window.s5;
    if (y_in >= 0 && y_in < height && x_in >= 0 && x_in < width)
      sum += ((SUM)AT(x)[((image + y_in) * width + x_in) * in_channels + from] - zero) *
             AT(weights)[tap * out_channels + o];
  }
  const __global int *channel = AT(channels) + o * 3;
  STORE_SUM(item, sum + channel[0], channel);
}

// Each result gathers the elements whose kernels reach it; weights: [rows, columns, I, O].
__kernel void transpose_convolve_steps(INPUT(X, x), INPUT(WEIGHTS, weights), INPUT(int, channels),
                        OUTPUT(Y, y), const int items, const int groups, const int height,
                        const int width, const int in_channels, const int out_height,
                        const int out_width, const int out_channels,
                        const int8 window) {  // as above
  const int item = get_global_id(0);
  if (item >= items)
    return;
  const int o = item % out_channels, at = item / out_channels;
  const int column = at % out_width, row = at / out_width % out_height;
  const int depth = in_channels / groups, zero = (int)x_steps.y;
  const __global X *image = AT(x) + at / out_width / out_height * height * width * in_channels +
                            o / (out_channels / groups) * depth;

  SUM sum = 0;
  for (int tap = 0; tap < window.s0 * window.s1; ++tap) {
    const int down = row + window.s6 - tap / window.s1, right = column + window.s7 - tap % window.s1;
    if (down < 0 || down % window.s2 != 0 || down / window.s2 >= height || right < 0 ||
        right % window.s3 != 0 || right / window.s3 >= width)
      continue;
    const __global X *source = image + (down / window.s2 * width + right / window.s3) * in_channels;
    const __global WEIGHTS *w = AT(weights) + tap * depth * out_channels + o;
    for (int c = 0; c < depth; ++c)
      sum += ((SUM)source[c] - zero) * w[c * out_channels];
  }
  const __global int *channel = AT(channels) + o * 3;
  STORE_SUM(item, sum + channel[0], channel);
}
#elif defined(SUM)
// A work item makes an element of a product of computed matrices. by: factor and exponent.
__kernel void matmul_steps(INPUT(X, x), INPUT(OTHER, other), OUTPUT(Y, y), const int items,
                           const int rows, const int columns, const int depth,
                           const int8 batch_sizes, const int8 x_batches, const int8 other_batches,
                           const int8 steps,  // of rows and columns of x and of other
                           const int8 by) {
  const int item = get_global_id(0);
  if (item >= items)
    return;
  const int column = item % columns, row = item / columns % rows, batch = item / columns / rows;
  const __global X *left = AT(x) + place(batch, batch_sizes, x_batches) + row * steps.s0;
  const __global OTHER *right =
      AT(other) + place(batch, batch_sizes, other_batches) + column * steps.s3;
  const int zero = (int)x_steps.y, other_zero = (int)other_steps.y;

  SUM sum = 0;
  for (int k = 0; k < depth; ++k)
    sum += ((SUM)left[k * steps.s1] - zero) * ((SUM)right[k * steps.s2] - other_zero);
  const int channel[] = {0, by.s0, by.s1};
  STORE_SUM(item, sum, channel);
}
#elif defined(OTHER)
// by: factors and exponents of x, of other and of their sum, the shift of both, and 1 or -1 for
// other; or the factor and the exponent of the product, and zeros.
__kernel void combine_steps(INPUT(X, x), INPUT(OTHER, other), OUTPUT(Y, y), const int count,
                      const int8 sizes, const int8 x_strides, const int8 other_strides,
                      const int8 by) {
  const int i = get_global_id(0);
  if (i >= count)
    return;
  const long left = (long)AT(x)[place(i, sizes, x_strides)] - (long)x_steps.y;
  const long right = (long)AT(other)[place(i, sizes, other_strides)] - (long)other_steps.y;
  if (by.s7 == 0)
    STORE_STEPS(i, twice_rounded(left * right, by.s0, by.s1));
  else
    STORE_STEPS(i, twice_rounded(twice_rounded(left * (1L << by.s6), by.s0, by.s1) +
                                     by.s7 * twice_rounded(right * (1L << by.s6), by.s2, by.s3),
                                 by.s4, by.s5));
}
#else
// The sum of some axes, in other steps.
__kernel void rescale_steps(INPUT(X, x), OUTPUT(Y, y), const int items, const int length,
                      const int8 kept_sizes, const int8 kept_strides, const int8 sizes,
                      const int8 strides, const int factor, const int exponent) {
  const int item = get_global_id(0);
  if (item >= items)
    return;
  const __global X *source = AT(x) + place(item, kept_sizes, kept_strides);
  long sum = 0;
  for (int i = 0; i < length; ++i)
    sum += source[place(i, sizes, strides)] - (int)x_steps.y;
  STORE_STEPS(item, twice_rounded(sum, factor, exponent));
}
#endif
