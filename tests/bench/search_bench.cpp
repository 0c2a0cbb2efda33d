// How fast the search is. The problems are typed in here, so that the figures move only with the engine.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "estimate/estimator.h"
#include "meshwise/rules.h"
#include "meshwise/search.h"
#include "search/space.h"

namespace meshwise {
namespace {

Accelerator gpu(double bf16, double memoryBytes, double memoryRate, std::int64_t units, double linkRate) {
  Accelerator chip;
  chip.matrixFlopsPerSecond = {bf16 / 15, bf16 / 2, bf16, bf16, 0, 0};
  chip.vectorFlopsPerSecond = bf16 / 15;
  chip.memoryBytes = memoryBytes;
  chip.memoryBytesPerSecond = memoryRate;
  chip.cacheBytes = 50e6;
  chip.computeUnits = units;
  chip.powerWatts = 700;
  chip.scaleUpBytesPerSecond = linkRate;
  chip.hostBytesPerSecond = 64e9;
  return chip;
}

Accelerator a100() { return gpu(312e12, 80e9, 2.04e12, 108, 300e9); }
Accelerator h100() { return gpu(989e12, 80e9, 3.35e12, 132, 450e9); }
Accelerator gb200() {
  Accelerator chip = gpu(2500e12, 186e9, 8e12, 148, 900e9);
  chip.scaleUpDomain = 72;
  return chip;
}
Accelerator h800() { return gpu(989e12, 80e9, 3.35e12, 132, 200e9); }

Request request(const Model& model, const Accelerator& accelerator, std::int64_t devices, std::int64_t sequenceLength,
                std::int64_t globalBatchSequences) {
  Request r;
  r.model = model;
  r.cluster.accelerator = accelerator;
  r.cluster.devices = devices;
  r.cluster.networkBytesPerSecondPerDevice = 50e9;
  r.job.sequenceLength = sequenceLength;
  r.job.globalBatchSequences = globalBatchSequences;
  return r;
}

Model dense(std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t kvHeads, std::int64_t ffn,
            std::int64_t vocab, bool gated) {
  Model m;
  m.layers = layers;
  m.hidden = hidden;
  m.heads = heads;
  m.kvHeads = kvHeads;
  m.headDim = hidden / heads;
  m.ffn = ffn;
  m.vocab = vocab;
  m.gatedMlp = gated;
  m.attention.type = kvHeads == heads ? AttentionType::Mha : AttentionType::Gqa;
  return m;
}

Request llama70bOn512H100() { return request(dense(80, 8192, 64, 8, 28672, 128256, true), h100(), 512, 8192, 1024); }

Request llama405bOn16384H100() {
  return request(dense(126, 16384, 128, 8, 53248, 128256, true), h100(), 16384, 8192, 2048);
}

Request gpt3On1024A100() {
  Model m = dense(96, 12288, 96, 96, 49152, 51200, false);
  m.position = Position::Learned;
  m.norm = Norm::Layer;
  m.tiedEmbeddings = true;
  return request(m, a100(), 1024, 2048, 1536);
}

Request deepseekV3On2048H800() {
  Model m = dense(61, 7168, 128, 128, 18432, 129280, true);
  m.headDim = 128;
  m.attention.type = AttentionType::Mla;
  m.attention.qLoraRank = 1536;
  m.attention.kvLoraRank = 512;
  m.attention.qkNopeHeadDim = 128;
  m.attention.qkRopeHeadDim = 64;
  m.attention.vHeadDim = 128;
  m.moe.experts = 256;
  m.moe.topK = 8;
  m.moe.expertFfn = 2048;
  m.moe.sharedExperts = 1;
  m.moe.denseFirstLayers = 3;
  return request(m, h800(), 2048, 4096, 15360);
}

Request trillionOn4096A100() {
  return request(dense(128, 25600, 160, 160, 102400, 51200, false), a100(), 4096, 2048, 3072);
}

Request trillionOn100000Gb200() {
  return request(dense(128, 25600, 160, 160, 102400, 51200, false), gb200(), 100000, 2048, 10000);
}

void countStrategies(benchmark::State& state, const SearchReport& report) {
  std::int64_t legal = report.rawSpace;
  for (const RemovedCount& removed : report.removed) {
    if (removed.rule.rfind("search.", 0) != 0) legal -= removed.count;
  }
  using benchmark::Counter;
  state.counters["rawSpace"] = static_cast<double>(report.rawSpace);
  state.counters["legal"] = static_cast<double>(legal);
  state.counters["estimated"] = static_cast<double>(report.evaluated);
  state.counters["candidatesPerSecond"] = Counter(static_cast<double>(legal), Counter::kIsIterationInvariantRate);
}

// A whole search, from nothing to the final list. candidatesPerSecond counts the strategies that break no rule: each is
// estimated or excluded by its own bounds.
void Search(benchmark::State& state, Request (*make)()) {
  const Request problem = make();
  SearchResult result;
  for (auto _ : state) {
    result = searchStrategies(problem);
    benchmark::DoNotOptimize(result);
  }
  countStrategies(state, result.report);
}
BENCHMARK_CAPTURE(Search, llama70bOn512H100, llama70bOn512H100)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Search, gpt3On1024A100, gpt3On1024A100)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Search, deepseekV3On2048H800, deepseekV3On2048H800)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Search, trillionOn4096A100, trillionOn4096A100)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Search, trillionOn100000Gb200, trillionOn100000Gb200)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Search, llama405bOn16384H100, llama405bOn16384H100)->Unit(benchmark::kMillisecond);

// Full estimates of legal strategies in the order of the search, what strategies share being computed once.
void Estimates(benchmark::State& state, Request (*make)()) {
  const Request problem = make();
  const Space space(problem);
  const std::int64_t stride = std::max<std::int64_t>(1, space.size() / 200000);
  std::vector<Strategy> strategies;
  std::int64_t index = 0;
  space.forEach([&](const Strategy& strategy) {
    if (index++ / 64 % stride == 0 && firstBrokenRule(problem, strategy) < 0) strategies.push_back(strategy);
  });
  for (auto _ : state) {
    Estimator estimator(problem);
    for (const Strategy& strategy : strategies) benchmark::DoNotOptimize(estimator.estimate(strategy).stepSeconds);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(strategies.size()));
}
BENCHMARK_CAPTURE(Estimates, llama70bOn512H100, llama70bOn512H100)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Estimates, deepseekV3On2048H800, deepseekV3On2048H800)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace meshwise
