// SPDX-License-Identifier: MIT
// Convolution of NHWC tensors as a matrix product whose left matrix is read from the input as it
// is. Each work item makes eight channels of four places: the weights of a tap are read once for
// four places, and each element of the input once for eight channels. It keeps to registers, as
// what GPUs of phones call local memory is no faster than their cache.
// Generated before it: the function activate(v, a, b) of each result.

#define PLACES 4

__kernel void convolve(INPUT(float, x), INPUT(float, weights), INPUT(float, bias),
                       OUTPUT(float, y), const int items, const int places, const int groups,
                       const int height, const int width, const int in_channels,
                       const int out_height, const int out_width, const int out_channels,
                       const int8 window,  // rows, columns, strides, dilations, padding before
                       const float a, const float b) {
  int item = get_global_id(0);
  if (item >= items)
    return;
  const int blocks = (out_channels / groups + 7) / 8;
  const int block = item % blocks;
  item /= blocks;
  const int group = item % groups;
  const int first = item / groups * PLACES;
  const int depth = in_channels / groups;

  int top[PLACES], left[PLACES], image[PLACES];
  for (int p = 0; p < PLACES; ++p) {
    const int at = min(first + p, places - 1);
    const int column = at % out_width, row = at / out_width % out_height;
    top[p] = row * window.s2 - window.s6;
    left[p] = column * window.s3 - window.s7;
    image[p] = at / out_width / out_height * height;
  }

  const int taps = window.s0 * window.s1;
  const __global float *w = AT(weights) + (group * blocks + block) * taps * depth * 8;
  const float8 start = vload8(group * blocks + block, AT(bias));
  float8 sum[PLACES];
  for (int p = 0; p < PLACES; ++p)
    sum[p] = start;

  for (int tap = 0; tap < taps; ++tap, w += depth * 8) {
    const int down = tap / window.s1 * window.s4, right = tap % window.s1 * window.s5;
    const __global float *source[PLACES];
    int is_inside[PLACES];
    for (int p = 0; p < PLACES; ++p) {
      const int row = top[p] + down, column = left[p] + right;
      const bool inside = row >= 0 && row < height && column >= 0 && column < width;
      is_inside[p] = inside;
      const int pixel = inside ? (image[p] + row) * width + column : 0;
      source[p] = AT(x) + pixel * in_channels + group * depth;
    }
    if (!(is_inside[0] | is_inside[1] | is_inside[2] | is_inside[3]))
      continue;
    int c = 0;
    for (; c + 4 <= depth; c += 4) {
      const float8 w0 = vload8(c, w), w1 = vload8(c + 1, w);
      const float8 w2 = vload8(c + 2, w), w3 = vload8(c + 3, w);
      for (int p = 0; p < PLACES; ++p) {
        const float4 v = is_inside[p] ? vload4(0, source[p] + c) : (float4)(0);
        sum[p] = fma((float8)(v.s0), w0, sum[p]);
        sum[p] = fma((float8)(v.s1), w1, sum[p]);
        sum[p] = fma((float8)(v.s2), w2, sum[p]);
        sum[p] = fma((float8)(v.s3), w3, sum[p]);
      }
    }
    for (; c < depth; ++c)
      for (int p = 0; p < PLACES; ++p)
        sum[p] = fma((float8)(is_inside[p] ? source[p][c] : 0), vload8(c, w), sum[p]);
  }

  const int channels = out_channels / groups;
  for (int p = 0; p < PLACES && first + p < places; ++p) {
    float result[8];
    vstore8(sum[p], 0, result);
    __global float *target = AT(y) + (first + p) * out_channels + group * channels + block * 8;
    for (int o = 0; o < 8 && block * 8 + o < channels; ++o)
      target[o] = activate(result[o], a, b);
  }
}
