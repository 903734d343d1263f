/* SPDX-License-Identifier: MIT */
/* Programs that ask whether weights fit a recipe: prints how often that was found out, and how often they were packed.
 * Then programs of equal constants with other identities: prints how often these were packed, if they are stored or not.
 */
#include "graph/packed.h"

#include <cstdio>

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

}  // namespace

int main() {
  count_questions(true);
  count_questions(false);

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
