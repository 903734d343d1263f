/* SPDX-License-Identifier: MIT */
/* Programs that ask whether weights fit a recipe: prints how often that was found out, and how often they were packed. */
#include "graph/packed.h"

#include <cstdio>

int main() {
  int asked = 0, packed = 0;
  cpuacc::PackedWeights shared;
  const float weights[16] = {};
  const auto use = [&](cpuacc::ProgramWeights &program, const char *identity) {
    program.add_source(weights, 0, identity);
    const bool fits = program.is_packed_as(weights, "bytes", [&] { return ++asked > 0; });
    program.get(weights, fits ? "bytes" : "floats", 64, [&](void *) { ++packed; });
  };
  {
    cpuacc::ProgramWeights first(shared), second(shared), other(shared);
    use(first, "1");
    use(second, "1");
    std::printf("%d %d\n", asked, packed);
    use(other, "2");
    std::printf("%d %d\n", asked, packed);
  }
  cpuacc::ProgramWeights later(shared); /* nothing has them any more */
  use(later, "1");
  cpuacc::ProgramWeights unknown(shared), again(shared);
  use(unknown, "");
  use(again, "");
  std::printf("%d %d\n", asked, packed);
}
