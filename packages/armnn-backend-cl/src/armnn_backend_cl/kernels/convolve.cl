// SPDX-License-Identifier: MIT
// Convolution of NHWC tensors as a matrix product whose left matrix is read from the input as it
// is; a fully connected layer is one of single pixels. Each work item makes WIDTH channels of four
// places: a vector of weights is read once for four places, and four elements of the input once
// for WIDTH channels. It keeps to registers, as what GPUs of phones call local memory is no faster
// than their cache. The items of a group make a nearly square part of the output, so that they
// find each other's inputs and weights in the cache.
// Each sum runs over taps and channels in their order, whatever WIDTH and the sizes are.
// Generated before it: the function activate(v, a, b) of each result.

#define PLACES 4
#define JOINED_(a, b) a##b
#define JOINED(a, b) JOINED_(a, b)
#define FLOATS JOINED(float, WIDTH)
#define LOAD JOINED(vload, WIDTH)
#define STORE JOINED(vstore, WIDTH)

__kernel void convolve(INPUT(float, x), INPUT(float, weights), INPUT(float, bias),
                       OUTPUT(float, y), const int side,  // panels of channels of a group of items
                       const int places, const int groups, const int height, const int width,
                       const int in_channels, const int out_height, const int out_width,
                       const int out_channels,
                       const int8 window,  // rows, columns, strides, dilations, padding before
                       const float a, const float b) {
  const int channels = out_channels / groups, depth = in_channels / groups;
  const int panels = (channels + WIDTH - 1) / WIDTH, sides = (panels + side - 1) / side;
  const int rows = GROUP / side;  // of four places
  const int down = (places + PLACES * rows - 1) / (PLACES * rows);
  const int tile = get_group_id(0), local_id = get_local_id(0);
  const int first = (tile % down * rows + local_id % rows) * PLACES;
  const int panel = tile / down % sides * side + local_id / rows;
  const int group = tile / down / sides;
  if (first >= places || panel >= panels)
    return;

  int top[PLACES], left[PLACES], image[PLACES];
  for (int p = 0; p < PLACES; ++p) {
    const int at = min(first + p, places - 1);
    const int column = at % out_width, row = at / out_width % out_height;
    top[p] = row * window.s2 - window.s6;
    left[p] = column * window.s3 - window.s7;
    image[p] = at / out_width / out_height * height;
  }

  const int taps = window.s0 * window.s1, packed = panels * taps * depth * WIDTH;
  const __global float *w = AT(weights) + (group * panels + panel) * taps * depth * WIDTH;
  const __global float *padding = AT(weights) + groups * packed;  // zeros behind all panels
  const FLOATS start = LOAD(group * panels + panel, AT(bias));
  FLOATS sum[PLACES];
  for (int p = 0; p < PLACES; ++p)
    sum[p] = start;

  for (int tap = 0; tap < taps; ++tap, w += depth * WIDTH) {
    const int below = tap / window.s1 * window.s4, right = tap % window.s1 * window.s5;
    const __global float *source[PLACES];
    for (int p = 0; p < PLACES; ++p) {
      const int row = top[p] + below, column = left[p] + right;
      const bool inside = row >= 0 && row < height && column >= 0 && column < width;
      const int pixel = (image[p] + row) * width + column;
      source[p] = inside ? AT(x) + pixel * in_channels + group * depth : padding;
    }
    int c = 0;
    for (; c + 4 <= depth; c += 4) {
      const FLOATS w0 = LOAD(c, w), w1 = LOAD(c + 1, w), w2 = LOAD(c + 2, w), w3 = LOAD(c + 3, w);
      for (int p = 0; p < PLACES; ++p) {
        const float4 v = vload4(0, source[p] + c);
        sum[p] = fma((FLOATS)(v.s0), w0, sum[p]);
        sum[p] = fma((FLOATS)(v.s1), w1, sum[p]);
        sum[p] = fma((FLOATS)(v.s2), w2, sum[p]);
        sum[p] = fma((FLOATS)(v.s3), w3, sum[p]);
      }
    }
    for (; c < depth; ++c)
      for (int p = 0; p < PLACES; ++p)
        sum[p] = fma((FLOATS)(source[p][c]), LOAD(c, w), sum[p]);
  }

  const int count = min(WIDTH, channels - panel * WIDTH);
  for (int p = 0; p < PLACES && first + p < places; ++p) {
    float result[WIDTH];
    STORE(sum[p], 0, result);
    for (int o = 0; o < WIDTH; ++o)
      result[o] = activate(result[o], a, b);
    __global float *target = AT(y) + (first + p) * out_channels + group * channels + panel * WIDTH;
    if (count == WIDTH)
      STORE(LOAD(0, result), 0, target);
    else
      for (int o = 0; o < count; ++o)
        target[o] = result[o];
  }
}
