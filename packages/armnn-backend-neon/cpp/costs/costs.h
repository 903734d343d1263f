/* SPDX-License-Identifier: MIT */
/* Sizes and estimates by which loops are split, the same on all machines; measured times are in machine.h.
 *
 * Times in ns that are left here are what a scheduler takes, or how large a piece of work is: no CPU is compared by
 * them. Some sizes decide how a result is computed, so a change may change its last bits.
 */
#pragma once

#include <cstddef>
#include <cstdint>

namespace cpuacc {
namespace costs {

/* The times of kernels' steps, as multiples of a unit of work.h. They are about the same on all CPUs that were measured,
 * so that only few times have to be measured on each.
 */
/* in multiply-adds of a whole register */
constexpr double kRowStep = 0.25; /* a number of a row, which all lanes multiply, with its share of the loop */
constexpr double kMissingSum = 0.25; /* a sum that a tile has too few, so that each step waits for the one before */
constexpr double kDepthwiseMultiplyAdd = 2.0; /* a product of a depthwise convolution */
constexpr double kByteMultiplyAdd = 1.0 / 3.0; /* of bytes, by an instruction that adds four products */
constexpr double kWidenedByteMultiplyAdd = 0.75; /* of bytes, as numbers of 16 bits */
constexpr double kByteLineMultiplyAdd = 2.0 / 3.0; /* of bytes, depthwise, over interleaved lines */
constexpr double kByteNeighborMultiplyAdd = 3.0; /* of bytes, depthwise, over gathered neighbors */
/* in other units */
constexpr double kDirectLineTiles = 4.0; /* tiles: a line of a direct convolution */
constexpr double kAwaitedRows = 2.0; /* rows of weights: the wait for one that few rows of the image multiply */
constexpr double kReadForFiltering1d = 0.5; /* transformed numbers: one that is read for filtering along one axis */
constexpr double kTileRegisterStored = 3.0; /* products of tile registers: their sums, finished and stored */
constexpr double kStoredByteElements = 32.0; /* elements: a register of results that are stored as bytes */

/* Loops over elements, as multiples of costs::element, which is measured on each CPU. They only decide whether threads
 * share a loop: no bit of a result depends on them.
 */
constexpr double kOneElement = 1.0; /* a number that is read, compared and written */
constexpr double kFunctionElements = 4.0; /* an exponential or a similar function: 3 to 5 with AVX2 of Zen 3 */
constexpr double kWidenedElements = 0.2; /* a byte that becomes a number of 16 bits */
constexpr double kLookUpElements = 2.7; /* a byte that is looked up in a table */

/* Threads. A fork is the handing of a loop to other threads. */
constexpr double kForksWorthSplitting = 3.0; /* a loop that takes so many times a fork is split among threads */
constexpr double kLoopsWorthWaking = 3.0; /* so many of the shortest such loops are worth waking a thread */
constexpr double kTimeSliceNs = 3.0e6; /* of the system's scheduler: the time that a loop may lose */
constexpr double kLostToOthersNs = 0.5e6; /* a longer wait, longer than the loop, is for a CPU */
/* the time without other threads after one ran on the caller's CPU; it doubles while that repeats */
constexpr double kLeastAloneNs = 0.1e6;
/* The time without other threads after a wait for a CPU, as a multiple of that wait: at the first wait, and at
 * most. It doubles with each wait: on a quiet machine a sleeping thread may wake late once, but beside other
 * programs threads lose time again and again.
 */
constexpr double kLeastAlonePerLost = 2.0;
constexpr double kAlonePerLost = 16.0;
constexpr double kCalmNs = 20.0e6; /* after loops of so long with other threads, a wait is the first one again */
constexpr double kWorthSplittingNs = 4000.0; /* of an item whose time is unknown */
constexpr double kChunkNs = 2000.0; /* a chunk that takes so long makes little of the cost of taking it */
constexpr double kInt8TaskNs = 1000.0; /* a task of an int8 gemm */

/* Elements, rows or columns that a thread takes at a time. */
constexpr int64_t kChunkElements = 4096;
constexpr int64_t kCopiedElements = 16384;
constexpr int64_t kTransposedRows = 256;
constexpr int64_t kReducedColumns = 256;
/* Tiles of a gemm that share a panel while it is in the first cache, and rows in float32: so many as eight tiles of
 * AVX-512 have, or more tiles where these are lower. With AVX2 of Zen 3 gemms take 0.90 to 1.01 of the time that they
 * take with eight, as they do with 28 (one thread); those of bytes 0.97 to 1.01, so theirs are eight.
 */
constexpr int64_t kTilesPerTask = 8;
constexpr int64_t kRowsPerTask = 112;

/* Caches. */
constexpr int64_t kMostChainBytes = 4096; /* of one such buffer */
constexpr int64_t kLeastChainBytes = 512;
constexpr int64_t kRepeatedBytes = 4096; /* of a short row that is copied out until it is this long */
/* Rows of so many numbers, or a multiple, crowd a few sets of the first cache; rows are kept so many
 * numbers apart then.
 */
constexpr int64_t kCrowdedFloats = 512;
constexpr int64_t kCrowdedTransforms = 256;
constexpr int64_t kRowFiller = 16;
constexpr int64_t kBfloat16RowFiller = 32;
constexpr int64_t kCopiedRowFloats = 64 * 1024; /* of the rows that one task copies apart */

constexpr int64_t kWidestLanes = 16; /* floats in the widest vectors */
constexpr int64_t kLeastLanes = 4; /* and in the narrowest ones */

/* Sums that a tile must have in registers so that none waits for the one before it; tiles of so few that they
 * keep two sums for each.
 */
constexpr double kInFlight = 8.0;
constexpr double kPairedRegisters = 4.0;
/* Numbers of the first cache that share a set: rows so far apart crowd it. */
constexpr int64_t kFloatsOfAWay = 1024;

/* Rows of a panel from which on the next panel is fetched while it is multiplied. */
constexpr int64_t kLeastFetchedRows = 32;
constexpr int64_t kLeastFetchedFours = 64; /* of bytes: each has as many as a row has floats */

/* Rows of an image whose products hide the time in which weights are read; fewer hide a part of it (Zen 5). */
constexpr double kHidingRows = 10.0;

/* Panels converted from float16: tasks per thread and rows of a task, with which it takes 2 % of a gemm. */
constexpr int64_t kLeastFloat16Tasks = 8;
constexpr int64_t kLeastFloat16Rows = 160;
/* Panels converted from steps: a quarter of the memory for 10 to 20 % of a gemm of 16 rows, 4 % of one of 48, 1 % of
 * one of 96; columns of so many numbers that their steps count little.
 */
constexpr int64_t kLeastStepsRows = 16;
constexpr int64_t kLeastStepsDepth = 8;
/* The size of a tile register: rows, bytes of a row, and columns of the right side. */
constexpr int64_t kTileRegisterRows = 16;
constexpr int64_t kTileRegisterBytes = 64;
constexpr int64_t kTileRegisterColumns = 16;

/* The smallest gemm for which rounding to bfloat16 pays. */
constexpr int64_t kLeastBfloat16Depth = 4;
constexpr int64_t kLeastBfloat16Columns = 8;

/* Direct convolution: channels up to which it beats an indirect one. 9 layers for each number: up to 16 channels take 0.76 to
 * 0.98 of the time, 24 and 32 take 0.93 to 1.06, 48 take 0.98 to 1.18 (AVX2 of Zen 3). Costs are measured up to 16
 * channels, and predict the same there; for Zen 5 and Emerald Rapids they predict 0.94 and 0.97 for 24 and 32, beyond
 * what was measured.
 */
constexpr int64_t kMostDirectChannels = 16;
/* The most channels of a direct convolution of bytes: up to 64 take 0.66 to 1.01 of the time, 96 and 128 take 0.95 to
 * 1.05 (the same).
 */
constexpr int64_t kMostInt8DirectChannels = 64;
constexpr int64_t kNarrowImage = 32; /* outputs of a row that is copied whole */
/* Outputs computed as one row: columns at most. */
constexpr int64_t kMostBlockColumns = 32;

/* Reduced bytes: so many columns side by side, below which decoding them for float32 is quicker. */
constexpr int64_t kLeastInt8ReducedColumns = 4;

/* Depthwise convolution: output rows at a time, outputs of a row at a time. */
constexpr int64_t kMostDepthwiseRows = 8;
constexpr int64_t kLeastDepthwisePiece = 64;
constexpr int64_t kMostInt8DepthwisePiece = 96;
constexpr int64_t kLeastInterleavedColumns = 8;

/* Chains of pointwise operations: links at most, the shortest run of one number worth filling in. */
constexpr size_t kMostLinks = 16;
constexpr int64_t kShortestRun = 8;

/* Winograd is chosen for kLeastWinogradChannels channels and more, if it takes less than kWorthFiltering of the time of
 * plain sums, which are more exact, and if it saves kLeastFilteredNs and kLeastFilteredOperations of the time of an
 * empty operation: huge numbers may become NaN in its transforms, and small layers take up to twice the predicted time
 * (3 to 4 channels of 6 x 7, Zen 3: 5.6 us instead of 2.5; 3.4 by plain sums).
 */
constexpr int64_t kLeastWinogradChannels = 16;
constexpr double kWorthFiltering = 0.99;
constexpr double kLeastFilteredNs = 200.0;
constexpr double kLeastFilteredOperations = 0.5;

/* The part of the third cache up to which constants are taken to stay in it: other programs use it, too, transformed
 * weights are up to four times as large, and a run writes its images between. The 5 MB of squeezenet do not stay in 32.
 */
constexpr int64_t kThirdCacheParts = 8;

}  // namespace costs
}  // namespace cpuacc
