// How a pipeline cuts the model: most stages are alike, so few of them have to
// be priced. Private to the core.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "meshwise/plan.h"

namespace meshwise {

// Layers with the same cost: dense or MoE, global or local attention.
inline constexpr std::size_t kLayerKinds = 4;
inline std::size_t layerKindIndex(bool moe, bool local) { return (moe ? 2u : 0u) + (local ? 1u : 0u); }

// Layers of one chunk by kind, and what else it carries.
struct Chunk {
  std::array<double, kLayerKinds> layers{};
  std::array<double, kLayerKinds> recomputed{};  // of these, under the policy; the rest is plain
  bool first = false, last = false;

  bool operator==(const Chunk&) const = default;
};

// Consecutive pipeline ranks with the same chunks in the same order.
struct StageClass {
  std::int64_t begin = 0, end = 0;
};

struct StageCut {
  std::vector<Chunk> chunks;          // each distinct one once
  std::vector<std::uint32_t> kindOf;  // index into chunks, by rank * virtualStages + chunk of the rank
  std::vector<StageClass> classes;    // in the order of the ranks
};

// The cuts of one model, each made once.
class StageCuts {
 public:
  explicit StageCuts(const Model& model);

  // Reads schedule, pipeline, virtualStages, firstStageLayers, lastStageLayers
  // and recomputeLayers of the strategy. The reference stays valid.
  const StageCut& of(const Strategy& strategy);

  bool present(std::size_t kind) const { return prefix_[kind].back() > 0; }
  double layers(std::size_t kind) const { return static_cast<double>(prefix_[kind].back()); }

 private:
  struct Key {
    std::int64_t schedule, pipeline, virtualStages, firstStageLayers, lastStageLayers, recomputeLayers;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };

  Chunk chunkOf(const Strategy& strategy, std::int64_t rank, std::int64_t chunk) const;

  std::int64_t layers_;
  std::array<std::vector<std::int64_t>, kLayerKinds> prefix_;  // [kind][l]: layers of that kind among the first l
  std::unordered_map<Key, StageCut, Hash> cuts_;
  Key lastKey_{};
  const StageCut* lastCut_ = nullptr;
};

}  // namespace meshwise
