/* SPDX-License-Identifier: MIT */
/* What work takes: every estimate and threshold by which an operation chooses a kernel or splits a loop.
 *
 * Times are nanoseconds of one core at the level avx512, measured on AMD EPYC (Zen 4) in 2026-11 unless
 * a constant says otherwise. Ratios are relative to a float32 multiply-add there. They decide how a
 * result is computed, so a change may change its last bits.
 */
#pragma once

#include <cstddef>
#include <cstdint>

namespace cpuacc {
namespace costs {

/* Float32, ns: a multiply-add of a gemm; an element read, looked at and written; an exponential. */
constexpr double kMultiplyAddNs = 1.0 / 48.0;
constexpr double kElementNs = 0.15;
constexpr double kFunctionNs = 0.6;
/* Float32 gemm and depthwise convolution, ns: an output stored, a weight read. */
constexpr double kStoredNs = 0.15;
constexpr double kWeightNs = 0.12;
/* A float32 rounded to bfloat16, ns; at the level avx512_bf16. */
constexpr double kRoundedNs = 0.1;

/* Int8, ns: a multiply-add of a gemm and of a depthwise convolution, an output stored, a weight read, a
 * byte looked up in a table.
 */
constexpr double kInt8MultiplyAddNs = 0.005;
constexpr double kInt8DepthwiseMultiplyAddNs = 0.02;
constexpr double kInt8StoredNs = 0.2;
constexpr double kInt8WeightNs = 0.03;
constexpr double kLookUpNs = 0.4;

/* Threads, ns: a loop that is worth splitting, one that is worth waking a sleeping thread, the chunk
 * beside which taking it costs little, an int8 gemm task.
 */
constexpr double kWorthSplittingNs = 4000.0;
constexpr double kWorthWakingNs = 8000.0;
constexpr double kChunkNs = 2000.0;
constexpr double kInt8TaskNs = 1000.0;

/* Elements, rows or columns that a thread takes at a time. */
constexpr int64_t kChunkElements = 4096;
constexpr int64_t kCopiedElements = 16384;
constexpr int64_t kTransposedRows = 256;
constexpr int64_t kReducedColumns = 256;
constexpr int64_t kTilesPerTask = 8; /* of a gemm: they share a panel while it is in the first cache */

/* Caches. */
constexpr int64_t kSecondCacheBytes = 512 * 1024; /* of a core, half of it left to others */
constexpr int64_t kFirstCacheBytes = 16 * 1024; /* for the buffers of a chain of pointwise operations */
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

/* Columns that take as long as one: lanes of a tile that few columns leave empty. */
constexpr int64_t kLeastGemmColumns = 8;
constexpr int64_t kLeastInt8GemmColumns = 16;
constexpr int64_t kWidestLanes = 16; /* floats in the widest vectors */
constexpr int64_t kDirectLanes = 8; /* direct convolution has narrow vectors */

/* Panels converted from float16: tasks per thread and rows of a task, with which it takes 2 % of a gemm. */
constexpr int64_t kLeastFloat16Tasks = 8;
constexpr int64_t kLeastFloat16Rows = 160;
/* The smallest gemm for which rounding to bfloat16 pays. */
constexpr int64_t kLeastBfloat16Depth = 4;
constexpr int64_t kLeastBfloat16Columns = 8;

/* Direct convolution: channels up to which it beats an indirect one. */
constexpr int64_t kMostDirectChannels = 16;
constexpr int64_t kMostInt8DirectChannels = 64;
constexpr int64_t kNarrowImage = 32; /* outputs of a row that is copied whole */
constexpr int64_t kMostPaddedBytes = 16 * 1024; /* of an image that is copied whole, to stay in the first cache */
/* Outputs computed as one row: columns at most, the saving that it must bring, the copy of a ragged end. */
constexpr int64_t kMostBlockColumns = 32;
constexpr double kWorthBlocking = 0.8;
constexpr double kRaggedBlock = 1.1;

/* Reduced bytes: so many columns side by side, below which decoding them for float32 is quicker. */
constexpr int64_t kLeastInt8ReducedColumns = 4;

/* Depthwise convolution: output rows at a time, outputs of a row at a time. */
constexpr int64_t kMostDepthwiseRows = 8;
constexpr int64_t kLeastDepthwisePiece = 64;
constexpr int64_t kMostInt8DepthwisePiece = 96;

/* Chains of pointwise operations: links at most, the shortest run of one number worth filling in. */
constexpr size_t kMostLinks = 16;
constexpr int64_t kShortestRun = 8;

/* Winograd's filtering in multiply-adds: transforming a channel of a tile, reading a weight, a
 * multiply-add in bfloat16; the share of plain sums below which it is chosen.
 */
namespace winograd_2d {
constexpr double kTransform = 7.0;
constexpr double kWeight = 4.0;
constexpr double kBfloat16 = 0.5;
constexpr double kWorth = 0.8;
constexpr int64_t kLeastChannels = 16;
}  // namespace winograd_2d

/* The same along one axis: transforming a number, a point of a tile however few its numbers, reading a
 * weight; of plain sums, an output and a tap that is looked up.
 */
namespace winograd_1d {
constexpr double kTransform = 8.0;
constexpr double kTilePoint = 100.0;
constexpr double kWeight = 4.0;
constexpr double kOutput = 150.0;
constexpr double kTap = 60.0;
constexpr double kWorth = 0.85;
constexpr int64_t kWholeColumns = 8; /* columns that are computed together, or more */
}  // namespace winograd_1d

}  // namespace costs
}  // namespace cpuacc
