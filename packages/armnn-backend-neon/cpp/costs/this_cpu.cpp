/* SPDX-License-Identifier: MIT */
#include "costs/this_cpu.h"

#include <algorithm>
#include <cstdlib>

#include "costs/text_file.h"

namespace cpuacc {
namespace costs {
namespace {

constexpr Caches kUnknown{32 * 1024, 512 * 1024, 4 * 1024 * 1024};
constexpr int kMostCaches = 8;
constexpr size_t kOfFirstCpu = 8192; /* bytes of what the system says, which takes a while where it has hundreds */

std::string line_of(const std::string &path) {
  const std::string text = text_of_file(path).value_or("");
  return text.substr(0, text.find('\n'));
}

/* "48K", "2048K" or "32M" in bytes. */
int64_t bytes_of(const std::string &size) {
  char *end = nullptr;
  const int64_t number = std::strtoll(size.c_str(), &end, 10);
  return number * (*end == 'K' ? 1024 : *end == 'M' ? 1024 * 1024 : 1);
}

}  // namespace

std::string cpu_name() {
  const std::string text = text_of_file("/proc/cpuinfo", kOfFirstCpu).value_or("");
  std::string_view lines = text;
  std::string name, family, model;
  for (std::string line; take_line(lines, line) && !line.empty();) {
    const size_t key = line.find_first_of("\t:"), colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string field = line.substr(0, key), value = line.substr(colon + 2);
    if (field == "model name") name = value;
    if (field == "cpu family") family = ", family " + value;
    if (field == "model") model = ", model " + value;
  }
  return name.empty() ? "" : name + family + model;
}

Caches cpu_caches() {
  Caches caches = kUnknown;
  for (int i = 0; i < kMostCaches; ++i) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i);
    const std::string level = line_of(folder + "/level");
    if (level.empty()) break; /* they are numbered without gaps */
    const int64_t bytes = bytes_of(line_of(folder + "/size"));
    if (bytes <= 0 || line_of(folder + "/type") == "Instruction") continue;
    (level == "1" ? caches.first : level == "2" ? caches.second : caches.third) = bytes;
  }
  return caches;
}

}  // namespace costs
}  // namespace cpuacc
