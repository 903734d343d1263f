// SPDX-License-Identifier: MIT
// Each element divided by a power of the squares around it: along the channels with ACROSS, else in
// a square of pixels.
// Generated before it: the accessors of x and y.

// sizes: channels, columns and rows; steps: elements between them, and between images
__kernel void local_response(INPUT(X, x), OUTPUT(Y, y), const int items, const int8 sizes,
                             const int8 steps, const int radius, const float alpha,
                             const float beta, const float k) {
  const int item = get_global_id(0);
  if (item >= items)
    return;
  const int channel = item % sizes.s0, column = item / sizes.s0 % sizes.s1;
  const int row = item / sizes.s0 / sizes.s1 % sizes.s2;
  const int image = item / sizes.s0 / sizes.s1 / sizes.s2 * steps.s3;
  float sum = 0;
#ifdef ACROSS
  const int pixel = image + row * steps.s2 + column * steps.s1;
  for (int c = max(channel - radius, 0); c <= min(channel + radius, sizes.s0 - 1); ++c) {
    const float v = LOAD_X(pixel + c * steps.s0);
    sum = fma(v, v, sum);
  }
#else
  for (int i = max(row - radius, 0); i <= min(row + radius, sizes.s2 - 1); ++i)
    for (int j = max(column - radius, 0); j <= min(column + radius, sizes.s1 - 1); ++j) {
      const float v = LOAD_X(image + i * steps.s2 + j * steps.s1 + channel * steps.s0);
      sum = fma(v, v, sum);
    }
#endif
  const int at = image + row * steps.s2 + column * steps.s1 + channel * steps.s0;
  STORE_Y(at, LOAD_X(at) * pow(sum * alpha + k, -beta));
}
