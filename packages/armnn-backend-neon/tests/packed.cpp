/* SPDX-License-Identifier: MIT */
/* Programs that ask whether weights fit a recipe: prints how often that was found out, and how often they were packed.
 * Then how much memory that grew kept its pages, and programs of equal constants with other identities: prints how often these were packed, if they are stored or not.
 */
#include "graph/packed.h"

#include <cstdio>
#include <cstring>

namespace {

void count_questions(bool fits) {
  int asked = 0, packed = 0;
  cpuacc::PackedWeights shared;
  const float weights[16] = {};
  const auto use = [&](cpuacc::ProgramWeights &program, const char *identity, bool gains = true) {
    program.add_source(weights, sizeof weights, 0, identity);
    const bool is_small = program.is_packed_as(weights, "bytes", gains, [&] { return ++asked > 0 && fits; });
    program.get(weights, is_small ? "bytes" : "floats", 64, [&](void *) { ++packed; });
  };
  {
    cpuacc::ProgramWeights early(shared, false), first(shared, false), second(shared, false), other(shared, false);
    use(early, "1", false);
    std::printf("%d %d, ", asked, packed);
    use(first, "1");
    use(second, "1");
    use(second, "1", false);
    std::printf("%d %d, ", asked, packed);
    use(other, "2");
    std::printf("%d %d, ", asked, packed);
  }
  cpuacc::ProgramWeights later(shared, false); /* nothing has them any more */
  use(later, "1");
  cpuacc::ProgramWeights unknown(shared, false), again(shared, false);
  use(unknown, "");
  use(again, "");
  std::printf("%d %d\n", asked, packed);
}

/* Lets memory grow and writes to all of it: prints how many sizes kept their pages. */
void grow() {
  const cpuacc::MemorySource source;
  std::shared_ptr<void> memory;
  size_t before = 0, kept = 0;
  for (const size_t bytes : {1000, 100000, 300000, 300001, 700000, 5000000, 9000000}) {
    memory = source.grown(std::move(memory), bytes);
    auto *begin = static_cast<unsigned char *>(memory.get());
    kept += before >= 300000 && begin[0] == 7 && begin[before - 1] == 7;
    std::memset(begin, 7, bytes);
    before = bytes;
  }
  std::printf("%zu kept\n", kept);
}

}  // namespace

int main() {
  count_questions(true);
  count_questions(false);
  grow();

  int packed = 0;
  cpuacc::PackedWeights shared;
  const float weights[16] = {};
  const float copy[16] = {}, others[16] = {1.0f};
  const auto pack = [&](cpuacc::ProgramWeights &program, const float *constant, const char *identity) {
    packed = 0;
    program.add_source(constant, sizeof weights, 0, identity);
    program.get(constant, "floats", 64, [&](void *) { ++packed; });
    std::printf("%d ", packed);
  };
  cpuacc::ProgramWeights plain(shared, false), stored(shared, true), equal(shared, false), nameless(shared, true),
      unequal(shared, false);
  pack(plain, weights, "3");
  pack(stored, weights, "4");
  pack(equal, copy, "5");
  pack(nameless, copy, "");
  pack(unequal, others, "6");
  std::printf("%d\n", stored.entries().front().digest == nameless.entries().front().digest);
}
