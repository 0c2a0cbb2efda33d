#include "meshwise/model.h"

#include <cstdio>

#include "facts/checks.h"

namespace meshwise {

std::string numberText(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

Issues validateModel(const Model& m, const std::string& path) {
  constexpr std::int64_t kWidth = 1'000'000;
  Checks check(path);
  check.count("layers", m.layers, 1, 10'000);
  check.count("hidden", m.hidden, 1, kWidth);
  check.count("heads", m.heads, 1, 100'000);
  check.count("kvHeads", m.kvHeads, 1, 100'000);
  check.count("headDim", m.headDim, 1, 65'536);
  // a MoE model without dense layers has no ordinary MLP
  check.count("ffn", m.ffn, m.isMoe() && m.moe.denseFirstLayers == 0 && m.moe.moeEvery <= 1 ? 0 : 1, 10 * kWidth);
  check.count("vocab", m.vocab, 1, 100'000'000);
  check.count("positionRows", m.positionRows, 0, 100'000'000);
  check.count("normsPerLayer", m.normsPerLayer, 0, 16);
  check.count("mtpLayers", m.mtpLayers, 0, 64);
  check.count("extraParameters", m.extraParameters, -1'000'000'000'000, 1'000'000'000'000);
  check.count("maxSequenceLength", m.maxSequenceLength, 0, 1'000'000'000);
  if (m.heads >= 1 && m.kvHeads >= 1 && !m.isMla() && (m.kvHeads > m.heads || m.heads % m.kvHeads != 0)) {
    check.fault(
        "model.kvHeads", "kvHeads",
        "kvHeads is " + std::to_string(m.kvHeads) + "; it must divide heads (" + std::to_string(m.heads) + ").");
  }
  const AttentionShape& a = m.attention;
  check.count("attention/slidingWindow", a.slidingWindow, 0, 1'000'000'000);
  check.count("attention/localPeriod", a.localPeriod, 0, 10'000);
  if (m.isMla()) {
    check.count("attention/qLoraRank", a.qLoraRank, 0, kWidth);
    check.count("attention/kvLoraRank", a.kvLoraRank, 1, kWidth);
    check.count("attention/qkNopeHeadDim", a.qkNopeHeadDim, 1, 65'536);
    check.count("attention/qkRopeHeadDim", a.qkRopeHeadDim, 0, 65'536);
    check.count("attention/vHeadDim", a.vHeadDim, 1, 65'536);
  }
  const MoeShape& e = m.moe;
  check.count("moe/experts", e.experts, 0, 100'000);
  if (e.experts > 0) {
    check.count("moe/topK", e.topK, 1, e.experts);
    check.count("moe/expertFfn", e.expertFfn, 1, kWidth);
    check.count("moe/sharedExperts", e.sharedExperts, 0, 1'000);
    check.count("moe/sharedExpertFfn", e.sharedExpertFfn, 0, kWidth);
    check.count("moe/denseFirstLayers", e.denseFirstLayers, 0, 10'000);
    if (m.layers >= 1 && e.denseFirstLayers > m.layers) {
      check.fault("model.denseFirstLayers", "moe/denseFirstLayers",
                  "denseFirstLayers is " + std::to_string(e.denseFirstLayers) + "; the model has " +
                      std::to_string(m.layers) + " layers.");
    }
    check.count("moe/moeEvery", e.moeEvery, 1, 10'000);
    check.number("moe/imbalanceFactor", e.imbalanceFactor, 1, 1'000);
    check.number("moe/capacityFactor", e.capacityFactor, 0, 1'000);
  }
  return check.take();
}

}  // namespace meshwise
