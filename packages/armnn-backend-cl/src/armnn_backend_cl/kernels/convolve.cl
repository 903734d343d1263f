// SPDX-License-Identifier: MIT
// Convolution of NHWC tensors as a product of matrices: the left one is read from the input as it
// is, a row for each place, and the right one is the weights, packed in panels of WIDTH channels. A
// fully connected layer is a convolution of single pixels.

__kernel void convolve(OPERANDS INPUT(X, x), INPUT(float, weights), INPUT(float, bias),
                       OUTPUT(OUT, out), const int side, const int places, const int groups,
                       const int height, const int width, const int in_channels,
                       const int out_height, const int out_width, const int out_channels,
                       const int8 window) {  // rows, columns, strides, dilations, padding before
  const int channels = out_channels / groups, depth = in_channels / groups;
  const int panels = (channels + WIDTH - 1) / WIDTH;
  const int3 own = tile(places, panels, side);
  const int first = own.s0, panel = own.s1, group = own.s2;
  if (first >= places || panel >= panels)
    return;

  int top[ROWS], left[ROWS], image[ROWS];
  for (int p = 0; p < ROWS; ++p) {
    const int at = min(first + p, places - 1);
    const int column = at % out_width, row = at / out_width % out_height;
    top[p] = row * window.s2 - window.s6;
    left[p] = column * window.s3 - window.s7;
    image[p] = at / out_width / out_height * height;
  }

  const int taps = window.s0 * window.s1, packed = panels * taps * depth * WIDTH;
  const __global float *w = AT(weights) + (group * panels + panel) * taps * depth * WIDTH;
  // Zeros behind all panels, which are zeros of any type.
  const __global X *padding = (const __global X *)(AT(weights) + groups * packed);
  const FLOATS start = LOAD(group * panels + panel, AT(bias));
  FLOATS sum[ROWS];
  for (int p = 0; p < ROWS; ++p)
    sum[p] = start;

  for (int tap = 0; tap < taps; ++tap, w += depth * WIDTH) {
    const int below = tap / window.s1 * window.s4, right = tap % window.s1 * window.s5;
    const __global X *source[ROWS];
    for (int p = 0; p < ROWS; ++p) {
      const int row = top[p] + below, column = left[p] + right;
      const bool inside = row >= 0 && row < height && column >= 0 && column < width;
      const int pixel = (image[p] + row) * width + column;
      source[p] = inside ? AT(x) + pixel * in_channels + group * depth : padding;
    }
    int c = 0;
    for (; c + 4 <= depth; c += 4) {
      const FLOATS four[4] = {LOAD(c, w), LOAD(c + 1, w), LOAD(c + 2, w), LOAD(c + 3, w)};
      for (int p = 0; p < ROWS; ++p) {
        const float4 v = READ_X4(source[p] + c);
        MULTIPLY(sum[p], v, four);
      }
    }
    for (; c < depth; ++c)
      for (int p = 0; p < ROWS; ++p)
        sum[p] = fma((FLOATS)(READ_X(source[p] + c)), LOAD(c, w), sum[p]);
  }

  const int count = min(WIDTH, channels - panel * WIDTH);
  for (int p = 0; p < ROWS && first + p < places; ++p) {
    const int at = (first + p) * out_channels + group * channels + panel * WIDTH;
    FINISH(sum[p], 0, count, at);
  }
}
