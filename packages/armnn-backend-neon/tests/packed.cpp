/* SPDX-License-Identifier: MIT */
/* Programs that ask whether weights fit a recipe: prints how often that was found out, and how often they were packed.
 * Then how much memory that grew kept its pages, and programs of equal constants with other identities: prints how often these were packed, if they are stored or not, and what two constants at one address are.
 */
#include "graph/packed.h"

#include <cstdio>
#include <cstring>

namespace {

/* A constant that a program alone knows. */
std::vector<cpuacc::ProgramWeights::Source> known(const float *constant, uintptr_t identity) {
  return {{constant, 16 * sizeof *constant, 0, identity, false}};
}

void count_questions(bool fits) {
  int asked = 0, packed = 0;
  cpuacc::PackedWeights shared;
  const float weights[16] = {};
  const auto use = [&](cpuacc::ProgramWeights &program, bool gains = true) {
    const bool is_small = program.is_packed_as(weights, "bytes", gains, [&] { return ++asked > 0 && fits; });
    program.get(weights, is_small ? "bytes" : "floats", 64, [&](void *) { ++packed; });
  };
  {
    cpuacc::ProgramWeights early(shared, false, known(weights, 1)), first(shared, false, known(weights, 1)),
        second(shared, false, known(weights, 1)), other(shared, false, known(weights, 2));
    use(early, false);
    std::printf("%d %d, ", asked, packed);
    use(first);
    use(second);
    use(second, false);
    std::printf("%d %d, ", asked, packed);
    use(other);
    std::printf("%d %d, ", asked, packed);
  }
  cpuacc::ProgramWeights later(shared, false, known(weights, 1)); /* nothing has them any more */
  use(later);
  cpuacc::ProgramWeights unknown(shared, false, known(weights, 0)), again(shared, false, known(weights, 0));
  use(unknown);
  use(again);
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
  const auto pack = [&](cpuacc::ProgramWeights &program, const float *constant) {
    packed = 0;
    program.get(constant, "floats", 64, [&](void *) { ++packed; });
    std::printf("%d ", packed);
  };
  cpuacc::ProgramWeights plain(shared, false, known(weights, 3)), stored(shared, true, known(weights, 4)),
      equal(shared, false, known(copy, 5)), nameless(shared, true, known(copy, 0)), unequal(shared, false, known(others, 6));
  pack(plain, weights);
  pack(stored, weights);
  pack(equal, copy);
  pack(nameless, copy);
  pack(unequal, others);
  std::printf("%d\n", stored.entries().front().digest == nameless.entries().front().digest);

  /* Of constants at one address the last counts; what is packed once takes memory once. */
  cpuacc::ProgramWeights two(shared, false, {{others, 64, 0, 7, false}, {weights, 64, 1, 8, false}, {others, 64, 2, 9, false}});
  for (int i = 0; i < 2; ++i) two.get(others, "floats", 64, [](void *) {});
  std::printf("%zu %zu\n", two.entries().front().value, two.bytes());
}
