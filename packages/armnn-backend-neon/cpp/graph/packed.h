/* SPDX-License-Identifier: MIT */
/* Weights in the order that a kernel reads them, shared by all programs of a backend. */
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "armnn/backend.h"
#include "graph/digest.h"
#include "threads/forks.h"

namespace cpuacc {

/* Memory aligned to 64 bytes; throws std::bad_alloc. */
std::shared_ptr<void> aligned_memory(size_t bytes);

/* Whole pages, which the system provides when they are touched and gets back as soon as they are freed; the C
 * library would keep them. Throws std::bad_alloc.
 */
std::shared_ptr<void> mapped_memory(size_t bytes);

/* Memory as of aligned_memory, with this value in each byte. */
std::shared_ptr<const void> filled_memory(size_t bytes, int32_t byte);

/* Where the working memory of contexts comes from: the user's allocator, if there is one. */
class MemorySource {
 public:
  /* The allocator outlives all that comes from it. */
  void use(const armnn_allocator &allocator) { allocator_ = &allocator; }
  /* As aligned_memory. */
  std::shared_ptr<void> get(size_t bytes) const;
  /* Replaces memory that has no other owner by larger memory, without its contents. Mapped memory keeps its
   * pages, as getting new ones takes longer than many a run.
   */
  std::shared_ptr<void> grown(std::shared_ptr<void> memory, size_t bytes) const;

 private:
  const armnn_allocator *allocator_ = nullptr;
};

/* Hands out pieces of mapped blocks, so that small pieces are in huge pages, too: getting megabytes in pages
 * of 4 KiB takes longer than packing weights. A block is freed with its last piece.
 */
class HugePages {
 public:
  /* Aligned to 64 bytes, which may be read beyond the end; throws std::bad_alloc. */
  std::shared_ptr<void> get(size_t bytes);
  /* Gives back the memory behind the last piece; the next piece comes from another block. */
  void end();

 private:
  struct Block;
  std::shared_ptr<Block> block_;
  size_t used_ = 0; /* bytes of the block */
  size_t plain_ = 0; /* bytes that came from the C library */
};

using Fill = std::function<void(void *)>;
using Make = std::function<std::shared_ptr<const void>()>;

/* The key in PackedWeights of the packed form of a constant with this digest. */
std::string key_of(const Digest::Sums &digest, const std::string &recipe);

/* The weights that the programs of a backend packed, each kept as long as a program uses it. */
class PackedWeights {
 public:
  /* Returns the packed form with this key and size; calls make if there is none yet.
   *
   * Args: key: the identity of the source, which no other source ever has, or its digest; and all that the
   * packing depends on.
   */
  std::shared_ptr<const void> get(const std::string &key, size_t bytes, const Make &make);
  /* Whether a source is packed in the form of this key; false: it does not fit the form; nullopt: unknown. */
  std::optional<bool> has(const std::string &key);
  /* Records that a source does not fit a form, for as long as it is packed in another form instead. */
  void note_unfit(const std::string &key, const std::shared_ptr<const void> &instead);
  /* Whether any source that is known by its digest was packed by this recipe. */
  bool has_of_any_digest(const std::string &recipe);

 private:
  struct Entry {
    std::weak_ptr<const void> memory;
    size_t bytes; /* kUnfit: the memory is of another form */
  };
  static constexpr size_t kUnfit = ~size_t{0};
  ForkSafeMutex mutex_;
  std::map<std::string, Entry> entries_;
};

/* The weights that one program packed, or that came with it if it was stored. */
class ProgramWeights {
 public:
  /* The packed form of a constant of the host's. */
  struct Entry {
    size_t value; /* index of the constant in the host's graph */
    std::string recipe;
    size_t bytes;
    std::shared_ptr<const void> memory;
    Digest::Sums digest; /* of the constant, if the program is to be stored; else zeros */
  };

  /* A constant of the host's. */
  struct Source {
    const void *address;
    size_t bytes;
    size_t value; /* its index in the host's graph */
    uintptr_t identity; /* a number that no other constant ever has; 0: unknown */
    bool is_left_out; /* only its packed forms were stored */
  };

  /* Args: will_be_stored: whether entries need digests; sources: of several with one address, the last counts. */
  ProgramWeights(PackedWeights &shared, bool will_be_stored, std::vector<Source> sources);

  /* Adds a packed form that was stored with the program. */
  void add_stored(Entry entry);

  /* Returns the packed form of a constant: what was stored, what another program packed, or what
   * fill writes.
   *
   * Args: recipe: all that the packing depends on. Throws std::runtime_error if the constant was left
   * out and no such form of it is there.
   */
  std::shared_ptr<const void> get(const void *source, const std::string &recipe, size_t bytes,
                                  const Fill &fill);

  /* Whether a constant is to be packed by a recipe. If only packed forms of it were stored, or another program
   * packed it, the answer is the same as then; else it is gains && fits(). fits may take as long as packing,
   * so its answer is remembered.
   */
  bool is_packed_as(const void *source, const std::string &recipe, bool gains, const std::function<bool()> &fits);

  /* After the last get: gives back memory that no packed form took. */
  void end() { pages_.end(); }

  /* The bytes of all packed forms together. */
  size_t bytes() const;
  /* The time spent on packing so far. */
  int64_t pack_ns() const { return pack_ns_; }
  const std::vector<Entry> &entries() const { return entries_; }

 private:
  const Source *source_of(const void *address) const;
  std::shared_ptr<const void> counted(std::shared_ptr<const void> memory, size_t bytes);
  std::shared_ptr<void> pack(const Fill &fill, size_t bytes);

  PackedWeights &shared_;
  bool will_be_stored_;
  std::vector<Source> sources_; /* by address */
  std::map<std::pair<size_t, std::string>, Entry> stored_;
  std::vector<Entry> entries_;
  HugePages pages_;
  std::vector<std::pair<const void *, std::string>> unfit_; /* recipes of sources that are packed next */
  std::vector<std::pair<const void *, size_t>> counted_; /* packed forms, one more than once if several asked for it */
  int64_t pack_ns_ = 0;
};

}  // namespace cpuacc
