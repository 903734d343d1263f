/* SPDX-License-Identifier: MIT */
/* operator new for small objects of a compilation: one behind the other, in blocks that are used again. */
#include "graph/bump_allocator.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

/* Empty under sanitizers, which watch each object by itself. */
cpuacc::ScopedBumpAllocator::ScopedBumpAllocator() = default;
cpuacc::ScopedBumpAllocator::~ScopedBumpAllocator() = default;

#else

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace cpuacc {
namespace {

constexpr size_t kSmallBlock = 1 << 16;
constexpr size_t kSmallBlocks = 1 << 12; /* addresses only, until one is used; then objects come from the C library */
constexpr int kPopulated = 23; /* MADV_POPULATE_WRITE of Linux 5.14 */
constexpr size_t kSmallBytes = 1024; /* larger pieces come from the C library */
constexpr size_t kSmallStep = alignof(std::max_align_t);
constexpr uint32_t kAhead = 1U << 30; /* pieces that a block has in advance while it is filled */

/* The head of a block. */
struct alignas(64) Head {
  std::atomic<uint32_t> pieces; /* pieces that were not deleted */
  std::atomic<uint32_t> next; /* the number of the block below it in the stack, plus 1 */
};

/* Reserved addresses, so that one comparison tells whether an object is in a block. Blocks that are free are
 * a stack without a lock, as a fork may come at any time: its head is a number of a block, plus 1, and a
 * count of the changes.
 */
struct Range {
  std::atomic<uintptr_t> begin{0};
  std::atomic<uint32_t> used{0};
  std::atomic<uint64_t> free{0};
};
Range range;

Head &head_of(uint32_t block) { return *reinterpret_cast<Head *>(range.begin.load(std::memory_order_relaxed) + block * kSmallBlock); }

void reserve() {
  if (range.begin.load(std::memory_order_acquire) != 0) return;
  const size_t bytes = (kSmallBlocks + 1) * kSmallBlock;
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(memory) + kSmallBlock - 1) / kSmallBlock * kSmallBlock;
  uintptr_t none = 0;
  if (!range.begin.compare_exchange_strong(none, begin, std::memory_order_acq_rel)) munmap(memory, bytes);
}

void push(uint32_t block) {
  uint64_t top = range.free.load(std::memory_order_relaxed);
  uint64_t made;
  do {
    head_of(block).next.store(static_cast<uint32_t>(top), std::memory_order_relaxed);
    made = ((top >> 32) + 1) << 32 | (block + 1);
  } while (!range.free.compare_exchange_weak(top, made, std::memory_order_acq_rel));
}

/* nullptr: there is none. */
Head *pop() {
  uint64_t top = range.free.load(std::memory_order_acquire);
  while (static_cast<uint32_t>(top) != 0) {
    Head &head = head_of(static_cast<uint32_t>(top) - 1);
    const uint64_t made = ((top >> 32) + 1) << 32 | head.next.load(std::memory_order_relaxed);
    if (range.free.compare_exchange_weak(top, made, std::memory_order_acq_rel)) return &head;
  }
  if (range.begin.load(std::memory_order_relaxed) == 0) return nullptr;
  const uint32_t block = range.used.fetch_add(1, std::memory_order_relaxed);
  if (block < kSmallBlocks) {
    madvise(&head_of(block), kSmallBlock, kPopulated); /* all pages at once; older systems refuse that */
    return new (&head_of(block)) Head{};
  }
  range.used.store(kSmallBlocks, std::memory_order_relaxed);
  return nullptr;
}

void give_back(Head &head, uint32_t pieces) {
  if (head.pieces.fetch_sub(pieces, std::memory_order_acq_rel) != pieces) return;
  const uintptr_t begin = range.begin.load(std::memory_order_relaxed);
  push(static_cast<uint32_t>((reinterpret_cast<uintptr_t>(&head) - begin) / kSmallBlock));
}

/* The memory that a thread is filling. */
struct Filling {
  int32_t depth = 0;
  uint32_t pieces = 0;
  Head *head = nullptr;
  std::byte *next = nullptr;
  std::byte *end = nullptr;

  void close() {
    if (head != nullptr) give_back(*head, kAhead - pieces);
    head = nullptr;
    next = end = nullptr;
  }

  /* nullptr: it comes from the C library. */
  void *get(size_t bytes) {
    if (depth == 0 || bytes > kSmallBytes) return nullptr;
    bytes = (bytes + (bytes == 0) + kSmallStep - 1) / kSmallStep * kSmallStep;
    if (static_cast<size_t>(end - next) < bytes) {
      close();
      head = pop();
      if (head == nullptr) return nullptr;
      head->pieces.store(kAhead, std::memory_order_relaxed);
      pieces = 0;
      next = reinterpret_cast<std::byte *>(head + 1);
      end = reinterpret_cast<std::byte *>(head) + kSmallBlock;
    }
    void *piece = next;
    next += bytes;
    ++pieces;
    return piece;
  }
};
thread_local Filling filling;

}  // namespace

ScopedBumpAllocator::ScopedBumpAllocator() {
  reserve();
  ++filling.depth;
}

ScopedBumpAllocator::~ScopedBumpAllocator() {
  if (--filling.depth == 0) filling.close();
}

}  // namespace cpuacc

void *operator new(size_t bytes) {
  if (void *piece = cpuacc::filling.get(bytes)) return piece;
  void *memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void operator delete(void *memory) noexcept {
  const uintptr_t begin = cpuacc::range.begin.load(std::memory_order_relaxed);
  const uintptr_t offset = reinterpret_cast<uintptr_t>(memory) - begin;
  if (begin == 0 || offset >= cpuacc::kSmallBlocks * cpuacc::kSmallBlock) return std::free(memory);
  cpuacc::give_back(*reinterpret_cast<cpuacc::Head *>(begin + offset / cpuacc::kSmallBlock * cpuacc::kSmallBlock), 1);
}

void operator delete(void *memory, size_t) noexcept { operator delete(memory); }

#endif
