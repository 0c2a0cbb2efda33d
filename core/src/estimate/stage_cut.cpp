#include "estimate/stage_cut.h"

#include <algorithm>

#include "meshwise/rules.h"
#include "meshwise/schedule.h"
#include "operators/operators.h"

namespace meshwise {

std::size_t StageCuts::Hash::operator()(const Key& key) const {
  std::uint64_t hash = 1469598103934665603ull;
  for (const std::int64_t value : {key.schedule, key.pipeline, key.virtualStages, key.firstStageLayers,
                                   key.lastStageLayers, key.recomputeLayers}) {
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 1099511628211ull;
    hash ^= hash >> 29;
  }
  return static_cast<std::size_t>(hash);
}

StageCuts::StageCuts(const Model& model) : layers_(model.layers) {
  for (auto& prefix : prefix_) prefix.assign(static_cast<std::size_t>(layers_) + 1, 0);
  for (std::int64_t layer = 0; layer < layers_; ++layer) {
    const auto l = static_cast<std::size_t>(layer);
    const std::size_t kind = layerKindIndex(model.isMoeLayer(layer), isLocalLayer(model, layer));
    for (std::size_t k = 0; k < kLayerKinds; ++k) prefix_[k][l + 1] = prefix_[k][l] + (k == kind ? 1 : 0);
  }
}

Chunk StageCuts::chunkOf(const Strategy& strategy, std::int64_t rank, std::int64_t chunk) const {
  const std::int64_t stage = globalStage(strategy.schedule, strategy.pipeline, rank, chunk);
  const std::int64_t begin = firstLayerOfChunk(layers_, strategy, rank, chunk);
  const std::int64_t count = layersOfChunk(layers_, strategy, rank, chunk);
  const std::int64_t policy = strategy.recomputeLayers > 0 ? std::min(count, strategy.recomputeLayers) : count;
  Chunk result;
  result.first = stage == 0;
  result.last = stage == strategy.pipeline * strategy.virtualStages - 1;
  const auto from = static_cast<std::size_t>(begin);
  for (std::size_t k = 0; k < kLayerKinds; ++k) {
    const auto& prefix = prefix_[k];
    result.layers[k] = static_cast<double>(prefix[static_cast<std::size_t>(begin + count)] - prefix[from]);
    result.recomputed[k] = static_cast<double>(prefix[static_cast<std::size_t>(begin + policy)] - prefix[from]);
  }
  return result;
}

const StageCut& StageCuts::of(const Strategy& s) {
  const Key key{static_cast<std::int64_t>(s.schedule),
                s.pipeline,
                s.virtualStages,
                s.firstStageLayers,
                s.lastStageLayers,
                s.recomputeLayers};
  if (lastCut_ != nullptr && key == lastKey_) return *lastCut_;
  lastKey_ = key;
  const auto found = cuts_.find(key);
  if (found != cuts_.end()) return *(lastCut_ = &found->second);

  StageCut cut;
  const std::int64_t v = s.virtualStages;
  for (std::int64_t rank = 0; rank < s.pipeline; ++rank) {
    for (std::int64_t j = 0; j < v; ++j) {
      const Chunk chunk = chunkOf(s, rank, j);
      const auto at = std::find(cut.chunks.begin(), cut.chunks.end(), chunk);
      cut.kindOf.push_back(static_cast<std::uint32_t>(at - cut.chunks.begin()));
      if (at == cut.chunks.end()) cut.chunks.push_back(chunk);
    }
    const auto own = cut.kindOf.begin() + rank * v;
    if (rank > 0 && std::equal(own, own + v, own - v)) {
      cut.classes.back().end = rank + 1;
    } else {
      cut.classes.push_back({rank, rank + 1});
    }
  }
  return *(lastCut_ = &cuts_.emplace(key, std::move(cut)).first->second);
}

}  // namespace meshwise
