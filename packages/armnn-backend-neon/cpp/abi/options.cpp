/* SPDX-License-Identifier: MIT */
/* Options as the host spells them. */
#include "abi/options.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>
#include <vector>

#include "abi/errors.h"
#include "abi/importing.h"

namespace cpuacc {
namespace {

constexpr const char *kThreads = "NumberOfThreads";
constexpr const char *kFastMath = "FastMathEnabled";
constexpr size_t kMostTypos = 4; /* of a name that is suggested */

int32_t parse_threads(const std::string &text) {
  int32_t threads = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), threads);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || threads < 0) {
    throw Failure{ARMNN_INVALID_ARGUMENT,
                  "option NumberOfThreads is '" + text + "', expected a number from 0 on", {}};
  }
  return threads;
}

bool parse_boolean(const std::string &key, const std::string &text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  throw Failure{ARMNN_INVALID_ARGUMENT, "option " + key + " is '" + text + "', expected true or false",
                {}};
}

char folded(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

/* Levenshtein's distance, capital and small letters alike. */
size_t typos(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (folded(a[i - 1]) == folded(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string suggestion(const std::string &key) {
  for (const char *known : {kThreads, kFastMath}) {
    if (key.size() < 100 && typos(key, known) <= kMostTypos) return std::string("; did you mean ") + known + "?";
  }
  return "";
}

}  // namespace

void Options::read(const armnn_option *options, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    const std::string key = text_of(options[i].key);
    const std::string value = text_of(options[i].value);
    if (key == kThreads) {
      threads = parse_threads(value);
    } else if (key == kFastMath) {
      allows_fast_math = parse_boolean(key, value);
    } else {
      throw Failure{ARMNN_INVALID_ARGUMENT,
                    "option '" + key + "' is not known, expected NumberOfThreads or FastMathEnabled" +
                        suggestion(key),
                    {}};
    }
  }
}

}  // namespace cpuacc
