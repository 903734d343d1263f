/* SPDX-License-Identifier: MIT */
/* Objects that are made in and out of compilations by several threads, and deleted by others: prints how many
 * had other content than they were given, and whether memory was used again.
 */
#include "graph/bump_allocator.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace {

using Object = std::unique_ptr<std::vector<uint32_t>>;

Object made(uint32_t size) {
  auto object = std::make_unique<std::vector<uint32_t>>(size);
  for (uint32_t i = 0; i < size; ++i) (*object)[i] = size * 31 + i;
  return object;
}

bool is_whole(const Object &object) {
  const auto size = static_cast<uint32_t>(object->size());
  for (uint32_t i = 0; i < size; ++i) {
    if ((*object)[i] != size * 31 + i) return false;
  }
  return true;
}

std::vector<Object> compiled(std::mt19937 &random) {
  const cpuacc::ScopedBumpAllocator memory;
  std::vector<Object> objects;
  for (int i = 0; i < 2000; ++i) {
    if (i % 3 == 0) {
      const cpuacc::ScopedBumpAllocator within;
      objects.push_back(made(random() % 40));
    } else {
      objects.push_back(made(random() % (i % 50 == 0 ? 5000 : 30)));
    }
    if (i % 7 == 0) objects.erase(objects.begin() + static_cast<std::ptrdiff_t>(random() % objects.size()));
  }
  return objects;
}

int wrong(const std::vector<Object> &objects) {
  return static_cast<int>(std::count_if(objects.begin(), objects.end(), [](const Object &o) { return !is_whole(o); }));
}

/* Each thread makes objects, and deletes those that its neighbor made in the round before. */
int exchanged(size_t threads) {
  std::vector<std::vector<Object>> held(threads), taken(threads);
  std::vector<int> found(threads);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::thread> running;
    for (size_t t = 0; t < threads; ++t) {
      running.emplace_back([&, t] {
        std::mt19937 random(static_cast<uint32_t>(round * 16 + static_cast<int>(t)));
        found[t] += wrong(taken[t]);
        taken[t].clear();
        held[t] = compiled(random);
      });
    }
    for (std::thread &each : running) each.join();
    for (size_t t = 0; t < threads; ++t) taken[t] = std::move(held[(t + 1) % threads]);
  }
  int all = 0;
  for (size_t t = 0; t < threads; ++t) all += found[t] + wrong(taken[t]);
  return all;
}

bool is_used_again() {
  std::mt19937 random(1);
  std::set<uintptr_t> pages;
  for (int i = 0; i < 300; ++i) {
    const std::vector<Object> objects = compiled(random);
    for (const Object &each : objects) pages.insert(reinterpret_cast<uintptr_t>(each.get()) >> 16);
  }
  return pages.size() < 100;
}

}  // namespace

int main() {
  const int before = exchanged(1) + exchanged(4);
  std::printf("%d wrong, %s\n", before, is_used_again() ? "used again" : "grows");
}
