/* SPDX-License-Identifier: MIT */
/* Memory for packed weights, and the cache of packed forms that programs share. */
#include "graph/packed.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>
#include <stdexcept>

#include "graph/ir.h"

namespace cpuacc {
namespace {

constexpr size_t kMapped = 1 << 18; /* working memory from here on is mapped */
constexpr size_t kPage = 4096;
constexpr size_t kLargestPage = 1 << 16; /* the largest page of a system besides huge ones */
constexpr size_t kHugePage = 2 << 20; /* on x86-64, and on Arm with pages of 4 KiB */
/* packed weights that are not worth a huge page, cleared in the time of some forty others */
constexpr size_t kPlain = 1 << 19;
constexpr size_t kBlock = 16 * kHugePage;

/* Lets the system back memory by huge pages: kernels walk over all of it, so each page costs a look-up. */
void prefer_huge_pages(void *memory, size_t bytes) {
  if (bytes < kHugePage) return;
  const size_t before = (kPage - reinterpret_cast<uintptr_t>(memory) % kPage) % kPage;
  madvise(static_cast<std::byte *>(memory) + before, (bytes - before) / kPage * kPage, MADV_HUGEPAGE);
}

}  // namespace

std::shared_ptr<void> aligned_memory(size_t bytes) {
  const size_t whole = aligned_bytes(bytes) + 64;
  void *memory = nullptr; /* aligned_alloc asks for a multiple of the alignment */
  if (posix_memalign(&memory, whole < kHugePage ? 64 : kHugePage, whole) != 0) throw std::bad_alloc();
  prefer_huge_pages(memory, whole);
  return std::shared_ptr<void>(memory, std::free);
}

namespace {

/* Advice for a part of the last page would make a mapping of two, which cannot grow. */
size_t whole_pages(size_t bytes) { return (bytes + kLargestPage - 1) / kLargestPage * kLargestPage; }

/* Unmaps memory at its end; bytes are 0 if another owner took it over. */
struct Unmap {
  size_t bytes;
  void operator()(void *memory) const {
    if (bytes > 0) munmap(memory, bytes);
  }
};

/* Whole pages; where they fill a huge page, they begin with one. */
void *map_pages(size_t bytes) {
  const size_t spare = bytes < kHugePage ? 0 : kHugePage;
  void *mapped = mmap(nullptr, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  if (spare == 0) return mapped;
  const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(mapped) % kHugePage) % kHugePage;
  std::byte *start = static_cast<std::byte *>(mapped) + before;
  if (before > 0) munmap(mapped, before);
  munmap(start + bytes, spare - before);
  prefer_huge_pages(start, bytes);
  return start;
}

}  // namespace

std::shared_ptr<void> mapped_memory(size_t bytes) {
  bytes = whole_pages(bytes);
  return std::shared_ptr<void>(map_pages(bytes), Unmap{bytes});
}

/* Mapped memory that begins with a huge page. */
struct HugePages::Block {
  explicit Block(size_t size) : start(static_cast<std::byte *>(map_pages(size))), bytes(size) {}
  Block(const Block &) = delete;
  Block &operator=(const Block &) = delete;
  ~Block() { munmap(start, bytes); }

  void end_at(size_t used) {
    const size_t kept = (used + kLargestPage - 1) / kLargestPage * kLargestPage;
    if (kept < bytes) munmap(start + kept, bytes - kept);
    bytes = kept;
  }

  std::byte *start;
  size_t bytes;
};

std::shared_ptr<void> HugePages::get(size_t bytes) {
  const size_t whole = aligned_bytes(bytes) + 64;
  if (plain_ + whole <= kPlain) {
    plain_ += whole;
    return aligned_memory(bytes);
  }
  if (block_ == nullptr || used_ + whole > block_->bytes) {
    end();
    block_ = std::make_shared<Block>((std::max(whole, kBlock) + kHugePage - 1) / kHugePage * kHugePage);
  }
  std::byte *piece = block_->start + used_;
  used_ += whole;
  return {block_, piece};
}

void HugePages::end() {
  if (block_ != nullptr) block_->end_at(used_);
  block_.reset();
  used_ = 0;
}

std::shared_ptr<const void> filled_memory(size_t bytes, int32_t byte) {
  const std::shared_ptr<void> memory = aligned_memory(bytes);
  std::memset(memory.get(), byte, bytes);
  return memory;
}

std::shared_ptr<void> MemorySource::get(size_t bytes) const {
  if (allocator_ == nullptr) return bytes < kMapped ? aligned_memory(bytes) : mapped_memory(bytes);
  const armnn_allocator &from = *allocator_;
  void *memory = from.allocate(from.ctx, aligned_bytes(bytes) + 64, 64);
  if (memory == nullptr) throw std::bad_alloc();
  return std::shared_ptr<void>(memory, [&from](void *made) { from.free(from.ctx, made); });
}

std::shared_ptr<void> MemorySource::grown(std::shared_ptr<void> memory, size_t bytes) const {
  Unmap *mapped = std::get_deleter<Unmap>(memory);
  if (mapped != nullptr) {
    const size_t whole = whole_pages(bytes);
    void *moved = mremap(memory.get(), mapped->bytes, whole, MREMAP_MAYMOVE);
    if (moved != MAP_FAILED) {
      mapped->bytes = 0;
      prefer_huge_pages(moved, whole);
      return std::shared_ptr<void>(moved, Unmap{whole});
    }
  }
  memory.reset(); /* before the larger one is there */
  return get(bytes);
}

std::shared_ptr<const void> PackedWeights::get(const std::string &key, size_t bytes, const Make &make) {
  {
    const std::lock_guard<ForkSafeMutex> guard(mutex_);
    const auto found = entries_.find(key);
    if (found != entries_.end() && found->second.bytes == bytes) {
      if (std::shared_ptr<const void> packed = found->second.memory.lock()) return packed;
    }
  }
  const std::shared_ptr<const void> memory = make();
  const std::lock_guard<ForkSafeMutex> guard(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    entry = entry->second.memory.expired() ? entries_.erase(entry) : std::next(entry);
  }
  entries_[key] = {memory, bytes};
  return memory;
}

std::optional<bool> PackedWeights::has(const std::string &key) {
  const std::lock_guard<ForkSafeMutex> guard(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end() || found->second.memory.expired()) return std::nullopt;
  return found->second.bytes != kUnfit;
}

void PackedWeights::note_unfit(const std::string &key, const std::shared_ptr<const void> &instead) {
  const std::lock_guard<ForkSafeMutex> guard(mutex_);
  entries_[key] = {instead, kUnfit};
}

std::string key_of(const Digest::Sums &digest, const std::string &recipe) {
  return "digest " + recipe + " " + std::to_string(digest[0]) + " " + std::to_string(digest[1]);
}

/* The key of the packed form of a constant of the host's. */
static std::string key_of(uintptr_t identity, const std::string &recipe) {
  return std::to_string(identity) + " " + recipe;
}

bool PackedWeights::has_of_any_digest(const std::string &recipe) {
  const std::string begin = "digest " + recipe + " ";
  const std::lock_guard<ForkSafeMutex> guard(mutex_);
  const auto found = entries_.lower_bound(begin);
  return found != entries_.end() && found->first.compare(0, begin.size(), begin) == 0;
}

ProgramWeights::ProgramWeights(PackedWeights &shared, bool will_be_stored, std::vector<Source> sources)
    : shared_(shared), will_be_stored_(will_be_stored), sources_(std::move(sources)) {
  const std::less<const void *> is_before;
  std::stable_sort(sources_.begin(), sources_.end(), [&](const Source &one, const Source &other) {
    return is_before(one.address, other.address);
  });
}

/* nullptr: the address is that of no constant of the host's. */
const ProgramWeights::Source *ProgramWeights::source_of(const void *address) const {
  const std::less<const void *> is_before;
  const auto after = std::upper_bound(sources_.begin(), sources_.end(), address, [&](const void *one, const Source &other) {
    return is_before(one, other.address);
  });
  return after == sources_.begin() || std::prev(after)->address != address ? nullptr : &*std::prev(after);
}

void ProgramWeights::add_stored(Entry entry) {
  const auto key = std::make_pair(entry.value, entry.recipe);
  stored_[key] = std::move(entry);
}

std::shared_ptr<const void> ProgramWeights::get(const void *source, const std::string &recipe,
                                                size_t bytes, const Fill &fill) {
  const Source *known = source_of(source);
  if (known == nullptr) return counted(pack(fill, bytes), bytes);
  const auto &[address, source_bytes, value, identity, is_left_out] = *known;
  const auto stored = stored_.find({value, recipe});
  if (stored != stored_.end() && stored->second.bytes == bytes) {
    entries_.push_back(stored->second);
    return counted(stored->second.memory, bytes);
  }
  if (is_left_out) {
    throw std::runtime_error("constant " + std::to_string(value) + " lacks the packed form " + recipe);
  }
  Entry entry{value, recipe, bytes, nullptr, {}};
  if (will_be_stored_) entry.digest = Digest::of(source, source_bytes);
  /* A stored program, whose constants were other objects, may have packed the same bytes. */
  const Make find_or_pack = [&, size = source_bytes]() -> std::shared_ptr<const void> {
    if (!will_be_stored_ && !shared_.has_of_any_digest(recipe)) return pack(fill, bytes);
    const Digest::Sums digest = will_be_stored_ ? entry.digest : Digest::of(source, size);
    return shared_.get(key_of(digest, recipe), bytes, [&] { return pack(fill, bytes); });
  };
  entry.memory = identity == 0 ? find_or_pack() : shared_.get(key_of(identity, recipe), bytes, find_or_pack);
  for (const auto &[other, unfit] : unfit_) {
    if (other == source) shared_.note_unfit(key_of(identity, unfit), entry.memory);
  }
  unfit_.clear();
  entries_.push_back(entry);
  return counted(entry.memory, bytes);
}

std::shared_ptr<void> ProgramWeights::pack(const Fill &fill, size_t bytes) {
  const auto began = std::chrono::steady_clock::now();
  std::shared_ptr<void> memory = pages_.get(bytes);
  fill(memory.get());
  const auto took = std::chrono::steady_clock::now() - began;
  pack_ns_ += std::chrono::duration_cast<std::chrono::nanoseconds>(took).count();
  return memory;
}

bool ProgramWeights::is_packed_as(const void *source, const std::string &recipe, bool gains,
                                  const std::function<bool()> &fits) {
  const Source *known = source_of(source);
  if (known == nullptr) return gains && fits();
  if (known->is_left_out) return stored_.count({known->value, recipe}) > 0;
  if (known->identity == 0) return gains && fits();
  const std::optional<bool> is_packed = shared_.has(key_of(known->identity, recipe));
  if (is_packed) return *is_packed;
  if (!gains || fits()) return gains;
  unfit_.emplace_back(source, recipe);
  return false;
}

std::shared_ptr<const void> ProgramWeights::counted(std::shared_ptr<const void> memory, size_t bytes) {
  counted_.emplace_back(memory.get(), bytes);
  return memory;
}

size_t ProgramWeights::bytes() const {
  const std::map<const void *, size_t> once(counted_.begin(), counted_.end());
  return std::accumulate(once.begin(), once.end(), size_t{0}, [](size_t sum, const auto &each) { return sum + each.second; });
}

}  // namespace cpuacc
