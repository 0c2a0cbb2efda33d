// Writing a request and reading it again gives the same request, whatever its fields hold.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>

#include "meshwise_codec/decode.h"
#include "meshwise_codec/encode.h"
#include "meshwise_codec/enums.h"
#include "support/documents.h"
#include "support/random_problem.h"

namespace meshwise {
namespace {

using testing::Random;

// All fields of each structure. A structured binding names every one: a field that joins a structure stops this file
// from compiling until it is named here, and the property then fails until the codec carries it.
template <class T>
auto fieldsOf(T& s) {
  using S = std::remove_const_t<T>;
  if constexpr (std::is_same_v<S, AttentionShape>) {
    auto& [a, b, c, d, e, f, g, h, i] = s;
    return std::tie(a, b, c, d, e, f, g, h, i);
  } else if constexpr (std::is_same_v<S, MoeShape>) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  } else if constexpr (std::is_same_v<S, Biases>) {
    auto& [a, b, c, d] = s;
    return std::tie(a, b, c, d);
  } else if constexpr (std::is_same_v<S, Model>) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, t, u, v, w, x, y, z, aa] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, t, u, v, w, x, y, z, aa);
  } else if constexpr (std::is_same_v<S, MatrixPeaks>) {
    auto& [a, b, c, d, e, f] = s;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (std::is_same_v<S, Efficiency>) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q);
  } else if constexpr (std::is_same_v<S, Accelerator>) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
  } else if constexpr (std::is_same_v<S, Cluster>) {
    auto& [a, b, c, d, e, f, g, h, i, j] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (std::is_same_v<S, Job>) {
    auto& [a, b, c, d, e, f] = s;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (std::is_same_v<S, Software>) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, t, u, v, w, x, y, z] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, t, u, v, w, x, y, z);
  } else if constexpr (std::is_same_v<S, RecomputeModules>) {
    auto& [a, b, c, d, e] = s;
    return std::tie(a, b, c, d, e);
  } else if constexpr (std::is_same_v<S, Strategy>) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, t, u] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, t, u);
  } else if constexpr (std::is_same_v<S, Range>) {
    auto& [a, b] = s;
    return std::tie(a, b);
  } else if constexpr (std::is_same_v<S, Limits>) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m);
  } else {
    static_assert(std::is_same_v<S, Request>);
    auto& [a, b, c, d, e, f, g] = s;
    return std::tie(a, b, c, d, e, f, g);
  }
}

template <class T>
constexpr bool kIsPlain = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string>;

bool isEqual(const auto& a, const auto& b) {
  using T = std::remove_cvref_t<decltype(a)>;
  if constexpr (kIsPlain<T> || std::is_same_v<T, std::vector<int>> || std::is_same_v<T, std::vector<Recompute>> ||
                std::is_same_v<T, std::vector<Schedule>>) {
    return a == b;
  } else {
    return std::apply(
        [&](const auto&... x) {
          return std::apply([&](const auto&... y) { return (isEqual(x, y) && ...); }, fieldsOf(b));
        },
        fieldsOf(a));
  }
}

void randomize(Random& random, bool& value) { value = random.oneIn(2); }
// Inside the bounds of every count.
void randomize(Random& random, std::int64_t& value) { value = random.between(1, 16); }
void randomize(Random& random, int& value) { value = static_cast<int>(random.between(0, 3)); }
// Inside the bounds of every fraction; down to the last bit.
void randomize(Random& random, double& value) { value = 0.01 + 0.99 * random.fraction(); }
void randomize(Random& random, std::string& value) {
  value =
      random.pick<const char*>({"", "tiny", "a b", "quote \" backslash \\ slash /", "\xc3\xa9\xe2\x82\xac", "\n\t"});
}
template <class E>
requires std::is_enum_v<E>
void randomize(Random& random, E& value) {
  const auto names = enumNames<E>();
  value = names[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(names.size()) - 1))].value;
}
template <class E>
void randomize(Random& random, std::vector<E>& values) {
  values.clear();
  if (random.oneIn(2)) return;
  randomize(random, values.emplace_back());
}
void randomize(Random& random, Range& range) {
  range.min = random.between(0, 8);
  range.max = random.oneIn(2) ? 0 : range.min + random.between(1, 8);
}
template <class T>
requires std::is_class_v<T>
void randomize(Random& random, T& structure) {
  std::apply([&](auto&... field) { (randomize(random, field), ...); }, fieldsOf(structure));
}

RC_GTEST_PROP(RequestDocuments, ReadBackAsTheyWere, (std::uint64_t seed)) {
  Random random(seed);
  RequestDocument document;
  Request& request = document.request;
  randomize(random, request);
  // factors that are at least one
  request.model.moe.imbalanceFactor += 1;
  request.cluster.networkOversubscription += 1;
  document.hasStrategy = random.oneIn(2);
  if (document.hasStrategy) {
    Strategy& strategy = document.strategy;
    randomize(random, strategy);
    // modules are stated with selective recomputation, at least one, and with no other
    const bool isSelective = strategy.recompute == Recompute::Selective;
    if (!isSelective) strategy.recomputeModules = {};
    if (isSelective && strategy.recomputeModules == RecomputeModules{}) strategy.recomputeModules.mlp = true;
  }
  document.precisionRaw = random.oneIn(2) ? "" : "mixed";
  document.framework = random.oneIn(2) ? "" : "Titan";

  const std::string text = encodeRequest(document);
  const RequestDocument read = decodeRequest(text, testing::testCatalogue()).value;
  RC_ASSERT(encodeRequest(read) == text);
  RC_ASSERT(isEqual(read.request, request));
  RC_ASSERT(read.hasStrategy == document.hasStrategy);
  if (document.hasStrategy) RC_ASSERT(read.strategy == document.strategy);
  RC_ASSERT(read.precisionRaw == document.precisionRaw);
  RC_ASSERT(read.framework == document.framework);
}

RC_GTEST_PROP(RequestDocuments, AnyTextIsAnswered, (const std::string& noise, std::uint64_t seed)) {
  // Text of any bytes, alone and inside a document.
  Random random(seed);
  std::string text =
      R"({"model":{"preset":"tiny"},"cluster":{"preset":"pod","devices":8},"job":{"sequenceLength":64}})";
  text.insert(static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(text.size()))), noise);
  RC_ASSERT(!decodeRequest(noise, testing::testCatalogue()).ok());
  RC_ASSERT(!decodeRequest(text, testing::testCatalogue()).ok());  // the batch is missing in any case
}

}  // namespace
}  // namespace meshwise
