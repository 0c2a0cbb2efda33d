// Small random planning problems, the same on every platform: the search can be compared with brute force on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <sstream>
#include <string>

#include "meshwise/plan.h"

namespace meshwise::testing {

// SplitMix64 (Steele, Lea, Flood 2014): standard generators are portable, standard distributions are not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ull;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool oneIn(std::int64_t n) { return between(1, n) == 1; }
  double fraction() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  template <class T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[between(0, static_cast<std::int64_t>(values.size()) - 1)];
  }

 private:
  std::uint64_t state_;
};

inline std::int64_t divisorOf(Random& random, std::int64_t number) {
  std::int64_t divisor = random.between(1, number);
  while (number % divisor != 0) divisor = random.between(1, number);
  return divisor;
}

inline Model randomModel(Random& random) {
  Model model;
  model.layers = random.oneIn(3) ? random.between(1, 9) : random.pick<std::int64_t>({4, 6, 8, 12, 16});
  model.heads = random.oneIn(4) ? random.between(1, 9) : random.pick<std::int64_t>({8, 12, 16, 24, 40});
  model.kvHeads = random.oneIn(2) ? model.heads : divisorOf(random, model.heads);
  model.headDim = random.pick<std::int64_t>({16, 32, 40, 64, 128});
  model.hidden = random.oneIn(3) ? random.between(1, 40) * 24 : model.heads * model.headDim;
  model.ffn = random.oneIn(6) ? random.between(50, 3000) : 4 * model.hidden;
  model.vocab = random.pick<std::int64_t>({1000, 32000, 50257});
  model.gatedMlp = random.oneIn(2);
  model.tiedEmbeddings = random.oneIn(3);
  model.attention.type = model.kvHeads == model.heads ? AttentionType::Mha : AttentionType::Gqa;
  if (random.oneIn(4)) {
    model.moe.experts = random.pick<std::int64_t>({2, 3, 4, 8, 12});
    model.moe.topK = random.between(1, model.moe.experts < 4 ? model.moe.experts : 4);
    model.moe.expertFfn = random.pick<std::int64_t>({64, 96, 512, 1000});
    if (random.oneIn(3)) model.moe.sharedExperts = 1;
    if (random.oneIn(3)) model.moe.denseFirstLayers = 1;
  }
  return model;
}

inline Cluster randomCluster(Random& random) {
  Accelerator chip;
  chip.matrixFlopsPerSecond.bf16 = random.pick({50e12, 312e12, 989e12});
  chip.matrixFlopsPerSecond.fp16 = chip.matrixFlopsPerSecond.bf16;
  chip.matrixFlopsPerSecond.fp32 = chip.matrixFlopsPerSecond.bf16 / 8;
  chip.vectorFlopsPerSecond = chip.matrixFlopsPerSecond.bf16 / 16;
  chip.memoryBytes = random.pick({2e9, 16e9, 80e9});
  chip.memoryBytesPerSecond = random.pick({0.5e12, 2e12, 3.3e12});
  chip.cacheBytes = 40e6;
  chip.computeUnits = random.pick<std::int64_t>({20, 108, 132});
  chip.powerWatts = 400;
  chip.scaleUpTopology = random.pick({Topology::Switch, Topology::FullMesh, Topology::Ring, Topology::HostPcie});
  chip.scaleUpBytesPerSecond = random.pick({16e9, 300e9, 450e9});
  chip.scaleUpDomain = random.pick<std::int64_t>({1, 2, 4, 6, 8});
  chip.hostBytesPerSecond = 32e9;
  Cluster cluster;
  cluster.accelerator = chip;
  cluster.devices = random.oneIn(3) ? random.between(1, 64)
                                    : random.pick<std::int64_t>({1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 16, 24, 27, 32});
  cluster.devicesPerNode = chip.scaleUpDomain;
  cluster.networkBytesPerSecondPerDevice = random.pick({1e9, 25e9, 50e9});
  cluster.usdPerDeviceHour = random.oneIn(2) ? 2.5 : 0;
  return cluster;
}

// A bound on a degree, seldom; most often one that leaves something of the devices to choose.
inline Range randomRange(Random& random, std::int64_t devices) {
  if (!random.oneIn(8)) return {};
  if (random.oneIn(2)) {
    const std::int64_t pin = random.oneIn(5) ? random.between(1, 4) : divisorOf(random, devices);
    return {pin, pin};
  }
  return random.oneIn(2) ? Range{0, random.between(1, 8)} : Range{random.between(1, 2), 0};
}

inline Limits randomLimits(Random& random, std::int64_t devices) {
  Limits limits;
  limits.memoryFraction = random.pick({1.0, 0.9, 0.5});
  limits.tensor = randomRange(random, devices);
  limits.pipeline = randomRange(random, devices);
  limits.data = randomRange(random, devices);
  limits.context = random.oneIn(2) ? Range{1, 1} : randomRange(random, devices);
  limits.expert = randomRange(random, 2);
  limits.expertTensor = randomRange(random, 2);
  limits.virtualStages = randomRange(random, 4);
  limits.microBatchSequences = randomRange(random, 6);
  for (const int stage : {3, 1, 0, 2}) {
    if (random.oneIn(3)) limits.zeroStages.push_back(stage);
  }
  for (const Recompute recompute : {Recompute::Full, Recompute::None, Recompute::Selective}) {
    if (random.oneIn(3)) limits.recompute.push_back(recompute);
  }
  for (const Schedule schedule : {Schedule::OneForwardOneBackward, Schedule::GPipe, Schedule::Interleaved}) {
    if (random.oneIn(4)) limits.schedules.push_back(schedule);
  }
  limits.launcherRules = !random.oneIn(3);
  return limits;
}

inline Request randomRequest(Random& random) {
  Request request;
  request.model = randomModel(random);
  request.cluster = randomCluster(random);
  request.job.sequenceLength =
      random.oneIn(6) ? random.pick<std::int64_t>({96, 100, 1000}) : random.pick<std::int64_t>({64, 512, 2048});
  request.job.globalBatchSequences =
      random.oneIn(4) ? random.between(1, 48) : random.pick<std::int64_t>({8, 12, 16, 24, 32, 48, 60});
  request.job.precision = random.pick({Precision::Bf16, Precision::Bf16, Precision::Fp16, Precision::Fp32});
  request.software.launcher = random.pick({Launcher::MegatronLm, Launcher::MegatronLm, Launcher::Torchtitan,
                                           Launcher::DeepSpeed, Launcher::Nanotron, Launcher::None});
  request.software.attentionKernel =
      random.pick({AttentionKernel::Flash2, AttentionKernel::Flash1, AttentionKernel::UnfusedTorch});
  request.software.overlapTensor = random.oneIn(4);
  request.software.overlapData = !random.oneIn(3);
  request.software.overlapPipeline = !random.oneIn(3);
  request.software.cudaGraphs = random.oneIn(2);
  request.software.reservedBytes = 0;  // so that memory differs between small strategies
  request.limits = randomLimits(random, request.cluster.devices);
  request.objective = random.pick({Objective::StepTime, Objective::TokensPerSecondPerDevice, Objective::Cost});
  request.top = random.pick<std::int64_t>({1, 3, 10, 50});
  return request;
}

// For the message of a failed check.
inline std::string describe(const Strategy& s) {
  std::ostringstream out;
  out << "t" << s.tensor << " c" << s.context << " p" << s.pipeline << " d" << s.data << " e" << s.expert << "x"
      << s.expertTensor << " v" << s.virtualStages << " b" << s.microBatchSequences << " sp" << s.sequenceParallel
      << " rc" << static_cast<int>(s.recompute) << " z" << s.zeroStage << " s" << static_cast<int>(s.schedule) << " k"
      << static_cast<int>(s.contextKind) << " pl" << static_cast<int>(s.placement) << " first" << s.firstStageLayers
      << " last" << s.lastStageLayers;
  return out.str();
}

}  // namespace meshwise::testing
