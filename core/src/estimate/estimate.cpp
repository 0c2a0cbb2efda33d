// Composition: layers to stages, stages to a pipeline, a pipeline to a step.
#include "meshwise/estimate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "estimate/bounded_memo.h"
#include "estimate/estimator.h"
#include "estimate/layer_cost.h"
#include "estimate/stage_cut.h"
#include "meshwise/rules.h"
#include "meshwise/schedule.h"

namespace meshwise {

double StageMemory::total() const {
  double sum = 0;
  for (const double b : bytes) sum += b;
  return sum;
}

namespace {

double d(std::int64_t value) { return static_cast<double>(value); }

std::size_t at(TimeTerm term) { return static_cast<std::size_t>(term); }
std::size_t at(MemoryClass c) { return static_cast<std::size_t>(c); }

// Everything of a strategy that a layer's cost depends on, as a hashable key.
struct SettingKey {
  std::int64_t tensor, context, expert, expertTensor, microBatch;
  std::int64_t flags;
  bool operator==(const SettingKey&) const = default;
};
struct SettingHash {
  std::size_t operator()(const SettingKey& k) const {
    std::uint64_t h = 1469598103934665603ull;
    for (const std::int64_t v : {k.tensor, k.context, k.expert, k.expertTensor, k.microBatch, k.flags}) {
      h = (h ^ static_cast<std::uint64_t>(v)) * 1099511628211ull;
      h ^= h >> 29;
    }
    return static_cast<std::size_t>(h);
  }
};

// Costs that all strategies with one key share.
struct SettingCost {
  std::array<LayerCost, kLayerKinds> layer;  // under the recomputation policy
  std::array<LayerCost, kLayerKinds> plain;  // without recomputation: strategies that recompute the first k layers
  LayerCost embedding, head, mtp;
  double paddedVocabulary = 0;
  double tableParameters = 0;  // of this rank's part of the token table
};

struct ParameterBytes {
  double dense = 0, expert = 0;  // parameters on this rank
};

// What one chunk, or all chunks of a rank, need for one micro-batch.
struct ChunkCost {
  ChunkTimes times;
  ParameterBytes held;
  double saved = 0;            // bytes that stay until backward
  double working = 0;          // widest transient of a layer
  double layerParameters = 0;  // of the largest layer
  double dispatch = 0;         // routed tokens of the widest exchange
  double layers = 0;
  bool first = false, last = false;

  double busy() const { return times.forward + times.backwardInput + times.backwardWeight; }
};

// What strategies share that differ only in ZeRO stage, shard group and placement.
struct Work {
  bool valid = false;
  Strategy strategy;
  const SettingCost* cost = nullptr;
  const StageCut* cut = nullptr;
  double microBatches = 0;
  std::vector<ChunkCost> chunks;  // by StageCut::chunks
  std::vector<ChunkCost> stages;  // by StageCut::classes, all chunks of one rank together
  std::size_t slowest = 0;        // stage class with the most work
  double leastSpan = 0;           // the pipeline's span is never below

  // Known once a strategy of this work is estimated: what the memory and time bounds do not need.
  bool timed = false;
  std::array<double, kTimeTermCount> time{};  // terms of the slowest stage
  double quietSpan = 0;                       // span without sends
  // Span with sends of the given time; one for each placement.
  struct Sent {
    double sendSeconds = -1, span = 0;
  };
  std::array<Sent, 2> sent{};
};

bool sharesWork(const Strategy& a, const Strategy& b) {
  return a.microBatchSequences == b.microBatchSequences && a.tensor == b.tensor && a.pipeline == b.pipeline &&
         a.data == b.data && a.context == b.context && a.expert == b.expert && a.expertTensor == b.expertTensor &&
         a.virtualStages == b.virtualStages && a.sequenceParallel == b.sequenceParallel && a.recompute == b.recompute &&
         a.recomputeModules == b.recomputeModules && a.recomputeLayers == b.recomputeLayers &&
         a.schedule == b.schedule && a.contextKind == b.contextKind && a.firstStageLayers == b.firstStageLayers &&
         a.lastStageLayers == b.lastStageLayers && a.offloadActivations == b.offloadActivations;
}

}  // namespace

struct Estimator::State {
  Request request;
  ComputeModel compute;
  Network network;
  LayerCostModel layers;
  StageCuts cuts;
  double flopsPerStep;
  double jitterShare = 0;  // slow-down by stragglers, of the step
  // By setting; for a mixture of experts also without the routed layers. Some 6 MB each when full.
  BoundedMemo<SettingKey, SettingCost, SettingHash, 2048> unroutedCosts, routedCosts;
  PipelineShape shape;
  Work work;

  double idealSeconds = 0;

  explicit State(const Request& r)
      : request(r),
        compute(request.cluster.accelerator, request.software, request.job.precision,
                usesFp32Gradients(request.job, request.software)),
        network(request.cluster),
        layers(request, compute, network),
        cuts(request.model),
        flopsPerStep(modelFlopsPerStep(request)) {
    const double nodes = d(request.cluster.devices) / d(std::max<std::int64_t>(1, request.cluster.devicesPerNode));
    jitterShare = request.cluster.accelerator.efficiency.jitterFraction * std::log2(std::max(1.0, nodes));
    idealSeconds = idealStepSeconds();
  }

  double idealStepSeconds() const;
  const SettingCost& cost(const Strategy& s);
  void priceLayers(const Strategy& s, const LayerSetting& setting, bool moe, SettingCost* c) const;
  ChunkCost chunkCost(const SettingCost& c, const Chunk& chunk) const;
  void prepare(const Strategy& s);
  double leastSpan(const Strategy& s) const;
  void timeWork(const Strategy& s);
  double spanWithSends(double sendSeconds);
  double inFlightOf(const Strategy& s, std::int64_t rank) const;
  StageMemory memoryOfRank(const Strategy& s, const ChunkCost& stage, double inFlight) const;
  MemoryEstimate memory(const Strategy& s) const;
  void dataParallel(const Strategy& s, Estimate* e, double* step) const;
  Estimate estimate(const Strategy& s);
};

// The model's own products and attention of one step at the best rates, spread evenly over all devices; backward is
// twice the forward's products, and of the attention at least twice.
double Estimator::State::idealStepSeconds() const {
  const Shard whole;
  double sequence = 2 * d(request.job.sequenceLength) * d(request.model.vocab) * d(request.model.hidden) /
                    compute.bestMatrixFlopsPerSecond(false);
  for (const bool moe : {false, true}) {
    for (const bool local : {false, true}) {
      const std::size_t kind = layerKindIndex(moe, local);
      if (!cuts.present(kind)) continue;
      double layer = 0;
      for (const Operator& op : layerOperators(request.model, request.job, request.software, whole, {moe, local})) {
        if (op.kind == OperatorKind::Matrix) {
          layer += 2 * op.count * op.m * op.n * op.k / compute.bestMatrixFlopsPerSecond(op.lowPrecision);
        } else if (op.kind == OperatorKind::Attention) {
          layer += 2 * op.batchHeads * op.queries * op.visibleKeys * (op.queryKeyDim + op.valueDim) /
                   compute.bestAttentionFlopsPerSecond();
        }
      }
      sequence += cuts.layers(kind) * layer;
    }
  }
  return 3 * sequence * d(request.job.globalBatchSequences) / d(request.cluster.devices) * (1 - 1e-9);
}

namespace {

LayerSetting settingOf(const Strategy& s) {
  LayerSetting setting;
  setting.shard = {d(s.tensor),
                   d(s.context),
                   d(s.expert),
                   d(s.expertTensor),
                   d(s.microBatchSequences),
                   s.sequenceParallel && s.tensor > 1,
                   s.contextKind == ContextKind::AllToAll};
  setting.recompute = s.recompute;
  setting.modules = s.recomputeModules;
  return setting;
}

}  // namespace

const SettingCost& Estimator::State::cost(const Strategy& s) {
  SettingKey key{s.tensor, s.context, s.expert, s.expertTensor, s.microBatchSequences, 0};
  const RecomputeModules& m = s.recomputeModules;
  key.flags = static_cast<std::int64_t>(s.recompute) | (s.sequenceParallel ? 4 : 0) |
              (s.contextKind == ContextKind::AllToAll ? 8 : 0) | (m.coreAttention ? 16 : 0) | (m.mlp ? 32 : 0) |
              (m.layerNorm ? 64 : 0) | (m.moeActivation ? 128 : 0) | (m.mlaUpProjection ? 256 : 0) |
              (s.recomputeLayers > 0 ? 512 : 0);
  // What the expert degrees do not touch comes first: strategies of a mixture of experts that differ in them share it.
  SettingKey plainKey = key;
  plainKey.expert = plainKey.expertTensor = 0;
  const SettingCost* unrouted = unroutedCosts.find(plainKey);
  if (unrouted == nullptr) {
    SettingCost& c = unroutedCosts.insert(plainKey);
    const LayerSetting setting = settingOf(s);
    c.paddedVocabulary = d(paddedVocabulary(request, s));
    c.tableParameters = c.paddedVocabulary * d(request.model.hidden) / d(s.tensor);
    priceLayers(s, setting, false, &c);
    c.embedding = layers.embedding(setting, c.paddedVocabulary);
    c.head = layers.head(setting, c.paddedVocabulary, !request.model.tiedEmbeddings);
    if (request.model.mtpLayers > 0) c.mtp = layers.mtp(setting);
    unrouted = &c;
  }
  if (!request.model.isMoe()) return *unrouted;
  const SettingCost* routed = routedCosts.find(key);
  if (routed != nullptr) return *routed;
  SettingCost& c = routedCosts.insert(key);
  c = *unrouted;
  priceLayers(s, settingOf(s), true, &c);
  return c;
}

// The layers with routed experts, or those without.
void Estimator::State::priceLayers(const Strategy& s, const LayerSetting& setting, bool moe, SettingCost* c) const {
  LayerSetting plain = setting;
  plain.recompute = Recompute::None;
  for (const bool local : {false, true}) {
    const std::size_t k = layerKindIndex(moe, local);
    if (!cuts.present(k)) continue;
    c->layer[k] = layers.layer(setting, {moe, local});
    if (s.recomputeLayers > 0) c->plain[k] = layers.layer(plain, {moe, local});
  }
}

namespace {

// Calls use(factor, cost) for everything that a chunk runs for one micro-batch.
template <class Use>
void forEachPart(const Request& request, const SettingCost& c, const Chunk& chunk, Use use) {
  for (std::size_t k = 0; k < kLayerKinds; ++k) {
    if (chunk.recomputed[k] > 0) use(chunk.recomputed[k], c.layer[k]);
    if (chunk.layers[k] > chunk.recomputed[k]) use(chunk.layers[k] - chunk.recomputed[k], c.plain[k]);
  }
  if (chunk.first) use(1.0, c.embedding);
  if (chunk.last) {
    use(1.0, c.head);
    if (request.model.mtpLayers > 0) {
      const double depth = d(request.model.mtpLayers);
      // a module has a layer like the model's last one, its projection, and the shared head once more
      const std::size_t kind = layerKindIndex(request.model.isMoeLayer(request.model.layers - 1),
                                              isLocalLayer(request.model, request.model.layers - 1));
      use(depth, c.layer[kind]);
      use(depth, c.mtp);
      use(depth, c.head);
    }
  }
}

}  // namespace

ChunkCost Estimator::State::chunkCost(const SettingCost& c, const Chunk& chunk) const {
  ChunkCost sum;
  sum.first = chunk.first;
  sum.last = chunk.last;
  bool headSeen = false;
  forEachPart(request, c, chunk, [&](double factor, const LayerCost& cost) {
    sum.times.forward += factor * cost.forward.total();
    sum.times.backwardInput += factor * (cost.backwardInput.total() + cost.recompute.total());
    sum.times.backwardWeight += factor * cost.backwardWeight.total();
    sum.saved += factor * cost.activations.saved;
    if (&cost == &c.head) {
      if (!headSeen) sum.held.dense += cost.denseParameters;  // the MTP modules share the head
      headSeen = true;
      return;
    }
    sum.held.dense += factor * cost.denseParameters;
    sum.held.expert += factor * cost.expertParameters;
    if (&cost != &c.embedding) {
      sum.working = std::max(sum.working, cost.activations.working);
      sum.layerParameters = std::max(sum.layerParameters, cost.denseParameters + cost.expertParameters);
      sum.dispatch = std::max(sum.dispatch, cost.dispatchBytes);
    }
  });
  for (const double n : chunk.layers) sum.layers += n;
  return sum;
}

namespace {

void add(const ChunkCost& chunk, ChunkCost* sum) {
  sum->times.forward += chunk.times.forward;
  sum->times.backwardInput += chunk.times.backwardInput;
  sum->times.backwardWeight += chunk.times.backwardWeight;
  sum->held.dense += chunk.held.dense;
  sum->held.expert += chunk.held.expert;
  sum->saved += chunk.saved;
  sum->working = std::max(sum->working, chunk.working);
  sum->layerParameters = std::max(sum->layerParameters, chunk.layerParameters);
  sum->dispatch = std::max(sum->dispatch, chunk.dispatch);
  sum->layers += chunk.layers;
  sum->first = sum->first || chunk.first;
  sum->last = sum->last || chunk.last;
}

}  // namespace

// Makes `work` that of the strategy. Strategies that come one after the other often share it.
void Estimator::State::prepare(const Strategy& s) {
  if (work.valid && sharesWork(work.strategy, s)) return;
  work.valid = false;
  work.strategy = s;
  work.cost = &cost(s);
  work.cut = &cuts.of(s);
  work.microBatches = d(microBatchesPerReplica(request, s));
  work.chunks.clear();
  for (const Chunk& chunk : work.cut->chunks) work.chunks.push_back(chunkCost(*work.cost, chunk));
  work.stages.clear();
  work.slowest = 0;
  for (const StageClass& stage : work.cut->classes) {
    ChunkCost sum;
    for (std::int64_t j = 0; j < s.virtualStages; ++j) {
      add(work.chunks[work.cut->kindOf[static_cast<std::size_t>(stage.begin * s.virtualStages + j)]], &sum);
    }
    // the last stage has a copy of a tied table, unless a V-shaped schedule brings it back to the rank of the first
    if (request.model.tiedEmbeddings && sum.last && !sum.first) sum.held.dense += work.cost->tableParameters;
    work.stages.push_back(sum);
    if (sum.busy() > work.stages[work.slowest].busy()) work.slowest = work.stages.size() - 1;
  }
  work.leastSpan = leastSpan(s);
  work.timed = false;
  work.valid = true;
}

// Seconds that the pipeline takes at least: some rank does all its work; before its first forward the first chunk's
// forward has passed all ranks above it, and after its last backward the last micro-batch's first-chunk backward passes
// them again. The zero-bubble schedules end with weight gradients, which nothing has to wait for.
double Estimator::State::leastSpan(const Strategy& s) const {
  const bool endsWithBackward = s.schedule == Schedule::OneForwardOneBackward || s.schedule == Schedule::GPipe ||
                                s.schedule == Schedule::Interleaved;
  double least = 0;
  double above = 0;
  for (std::size_t i = 0; i < work.stages.size(); ++i) {
    const StageClass& stage = work.cut->classes[i];
    if (endsWithBackward) {
      const double entry =
          work.chunks[work.cut->kindOf[static_cast<std::size_t>(stage.begin * s.virtualStages)]].busy();
      least =
          std::max(least, above + d(stage.end - stage.begin - 1) * entry + work.microBatches * work.stages[i].busy());
      above += d(stage.end - stage.begin) * entry;
    } else {
      least = std::max(least, work.microBatches * work.stages[i].busy());
    }
  }
  return least;
}

namespace {

struct Sharding {
  double denseShards, expertShards;  // ranks that share the ZeRO shards
  double denseReplicas, expertReplicas;
};

// ZeRO-3 gathers a layer's parameters when it runs and drops them after. Under pipeline parallelism that would repeat
// for every micro-batch of a stage, so launchers keep them for the whole step (torchtitan: reshard_after_forward is off
// and gradients are reduced on the last micro-batch when pipeline > 1).
bool gathersEachMicroBatch(const Strategy& s) { return s.zeroStage == 3 && s.pipeline == 1; }

Sharding shardingOf(const Strategy& s, bool moe) {
  Sharding sh;
  const double stageRanks = d(s.tensor * s.context * s.data);
  sh.denseReplicas = d(s.data * s.context);
  sh.expertReplicas = moe ? std::max(1.0, stageRanks / d(s.expert * s.expertTensor)) : sh.denseReplicas;
  sh.denseShards = s.shardGroup > 0 ? std::min(d(s.shardGroup), sh.denseReplicas) : sh.denseReplicas;
  sh.expertShards = s.shardGroup > 0 ? std::min(d(s.shardGroup), sh.expertReplicas) : sh.expertReplicas;
  return sh;
}

}  // namespace

// Micro-batches whose activations are alive at once on the rank.
double Estimator::State::inFlightOf(const Strategy& s, std::int64_t rank) const {
  if (s.pipeline == 1) return 1;
  const std::int64_t microBatches = std::max<std::int64_t>(1, static_cast<std::int64_t>(work.microBatches));
  return inFlightChunks(s.schedule, s.pipeline, rank, s.virtualStages, microBatches) / d(s.virtualStages);
}

StageMemory Estimator::State::memoryOfRank(const Strategy& s, const ChunkCost& stage, double inFlight) const {
  StageMemory out;
  const Job& job = request.job;
  const Software& soft = request.software;
  const SettingCost& c = *work.cost;
  const ParameterBytes& held = stage.held;
  double working = stage.working;
  const Sharding sh = shardingOf(s, request.model.isMoe());
  const StateBytes dense = stateBytesPerParameter(job, soft, s.zeroStage, sh.denseShards);
  const StateBytes expert = stateBytesPerParameter(job, soft, s.zeroStage, sh.expertShards);
  out.bytes[at(MemoryClass::Weights)] = held.dense * dense.weights + held.expert * expert.weights;
  out.bytes[at(MemoryClass::Gradients)] = held.dense * dense.gradients + held.expert * expert.gradients;
  out.bytes[at(MemoryClass::OptimizerStates)] = held.dense * dense.optimizer + held.expert * expert.optimizer;
  out.bytes[at(MemoryClass::Activations)] = s.offloadActivations
                                                ? stage.saved * std::min(inFlight, 2.0 / std::max(1.0, stage.layers))
                                                : stage.saved * inFlight;
  const double element = activationBytes(job.precision);
  const double tokens = d(s.microBatchSequences) * d(job.sequenceLength) / d(s.context);
  const double hidden = d(request.model.hidden);
  if (stage.last) {
    out.bytes[at(MemoryClass::Logits)] =
        logitsBytes(soft, tokens, c.paddedVocabulary / (soft.parallelLogits ? d(s.tensor) : 1), element);
  }
  // ZeRO-3 holds two gathered layers at a time: the one that runs and the one prefetched
  if (s.zeroStage >= 3) {
    if (gathersEachMicroBatch(s)) {
      working += 2 * stage.layerParameters * element;
      // the embedding and the head are a unit of their own, gathered as long as the model runs
      const double ends = (stage.last ? c.head.denseParameters : 0) + (stage.first ? c.embedding.denseParameters : 0);
      working += ends * element;
    } else {
      // gathered for the whole step, and so are the gradients that are reduced at its end
      working += (held.dense + held.expert) * (element + (usesFp32Gradients(job, soft) ? 4 : 2));
    }
  }
  out.bytes[at(MemoryClass::WorkingSet)] = working;
  double buffers = 0;
  if (s.tensor > 1) buffers += element * tokens * hidden;  // gathered or reduced activation
  if (s.pipeline > 1) buffers += 2 * element * tokens * hidden / (s.sequenceParallel ? d(s.tensor) : 1);
  if (s.zeroStage == 2 || s.zeroStage == 3)
    buffers += 2 * stage.layerParameters * (usesFp32Gradients(job, soft) ? 4 : 2);
  buffers += 2 * stage.dispatch;
  out.bytes[at(MemoryClass::CommunicationBuffers)] = buffers;
  double allocated = 0;
  for (std::size_t i = 0; i < kMemoryClassCount; ++i) allocated += out.bytes[i];
  out.bytes[at(MemoryClass::Reserve)] = soft.reservedBytes + soft.allocatorFraction * allocated;
  return out;
}

// Of ranks with the same chunks the first or the last has the most micro-batches in flight, whatever the schedule.
MemoryEstimate Estimator::State::memory(const Strategy& s) const {
  MemoryEstimate m;
  m.capacityBytes = request.cluster.accelerator.memoryBytes * request.limits.memoryFraction;
  for (std::size_t i = 0; i < work.stages.size(); ++i) {
    const StageClass& ranks = work.cut->classes[i];
    for (std::int64_t rank = ranks.begin; rank < ranks.end; rank += std::max<std::int64_t>(1, ranks.end - 1 - rank)) {
      const StageMemory stage = memoryOfRank(s, work.stages[i], inFlightOf(s, rank));
      const double total = stage.total();
      if (rank == 0 || total > m.peakBytes) {
        m.peakBytes = total;
        m.peakStage = rank;
        m.classes = stage.bytes;
      }
    }
  }
  m.allocatedBytes = m.peakBytes - m.classes[at(MemoryClass::Reserve)];
  return m;
}

// Gradient reduction, parameter gathering and the optimizer step of the slowest rank; adds to the terms and returns the
// seconds that the step grows by.
void Estimator::State::dataParallel(const Strategy& s, Estimate* e, double* step) const {
  const Software& soft = request.software;
  const Efficiency& efficiency = request.cluster.accelerator.efficiency;
  const bool moe = request.model.isMoe();
  const Sharding sh = shardingOf(s, moe);
  const double gradientBytes = usesFp32Gradients(request.job, soft) ? 4 : 2;
  const double weightBytes = activationBytes(request.job.precision);
  const double keep = 1 - efficiency.overlapContention;
  const double m = work.microBatches;
  const auto groupOf = [&](double inner, double members) {
    if (s.placement == Placement::DataBeforePipeline || s.pipeline == 1) return network.group(inner, members);
    // context ranks stay inside; data ranks sit past the pipeline
    return network.group(inner * d(s.pipeline), members);
  };
  const Group dense = groupOf(d(s.tensor), sh.denseReplicas);
  const Group denseShard = groupOf(d(s.tensor), sh.denseShards);
  const Group expert = groupOf(d(s.expertTensor * s.expert), sh.expertReplicas);
  const Group expertShard = groupOf(d(s.expertTensor * s.expert), sh.expertShards);

  double worst = -1;
  double worstComm = 0, worstReduction = 0, worstHidden = 0, worstOptimizer = 0;
  for (const ChunkCost& stage : work.stages) {
    const ParameterBytes& held = stage.held;
    const double forward = stage.times.forward;
    const double backward = stage.times.backwardInput + stage.times.backwardWeight;
    const double count = stage.layers;
    double comm = 0, reduction = 0, hidden = 0;
    const auto put = [&](const CollectiveCost& cost, double factor) {
      comm += factor * cost.seconds;
      reduction += factor * cost.reductionSeconds;
      return factor * cost.total();
    };
    // the bucket of the first (last) layer cannot hide under work that is over (not begun)
    const double edge = 1 - 1 / std::max(1.0, count);
    // interleaved chunks finish in turn, so that all but the last one's gradients have later chunks to hide under
    const double v = d(s.virtualStages);
    const double windows = v > 1 ? 1 / v + d(s.pipeline) * (v - 1) / v : 1;
    if (gathersEachMicroBatch(s)) {
      // every micro-batch gathers each layer in forward and in backward and reduces its gradients
      const double gather = network.allGather(denseShard, held.dense * weightBytes).total() +
                            (held.expert > 0 ? network.allGather(expertShard, held.expert * weightBytes).total() : 0);
      CollectiveCost scatter = network.reduceScatter(denseShard, held.dense * gradientBytes);
      if (held.expert > 0) {
        const CollectiveCost more = network.reduceScatter(expertShard, held.expert * gradientBytes);
        scatter.seconds += more.seconds;
        scatter.reductionSeconds += more.reductionSeconds;
      }
      // latency is paid per layer, not once per model
      const double latency = std::max(0.0, count - 1) * (network.allGather(denseShard, 1).seconds);
      comm += m * (2 * (gather + latency) + scatter.seconds + latency);
      reduction += m * scatter.reductionSeconds;
      if (soft.overlapData) {
        hidden += m * keep *
                  (std::min(gather + latency, forward * edge) +
                   std::min(gather + scatter.total() + 2 * latency, backward * edge));
      }
      if (sh.denseShards < sh.denseReplicas) {
        // hybrid sharding: the shards' gradients are summed over the replicas once
        const Group across = groupOf(d(s.tensor) * sh.denseShards, sh.denseReplicas / sh.denseShards);
        put(network.allReduce(across, held.dense * gradientBytes / sh.denseShards), 1);
      }
    } else {
      const double rounds = s.zeroStage == 2 ? m : 1;  // sharded gradients cannot be accumulated locally
      double reduce = 0, gather = 0;
      if (s.zeroStage == 0) {
        reduce += put(network.allReduce(dense, held.dense * gradientBytes), 1);
        if (held.expert > 0) reduce += put(network.allReduce(expert, held.expert * gradientBytes), 1);
      } else {
        const bool hybrid = sh.denseShards < sh.denseReplicas;
        reduce += put(hybrid ? network.allReduce(dense, held.dense * gradientBytes)
                             : network.reduceScatter(dense, held.dense * gradientBytes),
                      rounds);
        if (held.expert > 0) reduce += put(network.reduceScatter(expert, held.expert * gradientBytes), rounds);
        gather += put(network.allGather(denseShard, held.dense * weightBytes), 1);
        if (held.expert > 0) gather += put(network.allGather(expertShard, held.expert * weightBytes), 1);
      }
      if (soft.overlapData) {
        const double window = (rounds > 1 ? m : 1) * backward * edge * windows;
        hidden += keep * std::min(reduce, window);
        if (soft.overlapParameterGather) hidden += keep * std::min(gather, forward * edge * windows);
      }
    }
    if (request.model.tiedEmbeddings && stage.first != stage.last) {
      // both copies of the table must see the sum of their gradients
      const Group ends{2, 1, 2, false};
      const Group near{2, 2, 1, false};
      const double distance = d(s.tensor * s.context * s.data) * d(s.pipeline - 1);
      const bool apart = distance >= d(request.cluster.domainDevices());
      put(network.allReduce(apart ? ends : near, work.cost->tableParameters * gradientBytes), 1);
    }
    // Adam: read gradient, master and two moments, write master and moments and the 16-bit weight; the norm reads the
    // gradients once more
    const double statesShards = s.zeroStage >= 1 ? sh.denseShards : 1;
    const double expertShards = s.zeroStage >= 1 ? sh.expertShards : 1;
    const double updated = held.dense / statesShards + held.expert / expertShards;
    const StateBytes states = stateBytesPerParameter(request.job, soft, 0, 1);
    const double optimizer =
        updated * (2 * states.optimizer + 2 * gradientBytes + weightBytes) / compute.memoryBytesPerSecond();
    const double total = comm + reduction - hidden + optimizer;
    if (total > worst) {
      worst = total;
      worstComm = comm;
      worstReduction = reduction;
      worstHidden = hidden;
      worstOptimizer = optimizer;
    }
  }
  e->time[at(TimeTerm::DataCommunication)] += worstComm;
  e->time[at(TimeTerm::DataReduction)] += worstReduction;
  e->time[at(TimeTerm::Overlapped)] -= worstHidden;
  e->time[at(TimeTerm::OptimizerStep)] += worstOptimizer;
  *step += worst;
}

// Terms of the slowest rank, and the pipeline's span without sends.
void Estimator::State::timeWork(const Strategy& s) {
  const std::int64_t v = s.virtualStages;
  const double m = work.microBatches;
  Phase phases, again;
  const std::int64_t slowest = work.cut->classes[work.slowest].begin;
  for (std::int64_t j = 0; j < v; ++j) {
    const std::uint32_t kind = work.cut->kindOf[static_cast<std::size_t>(slowest * v + j)];
    forEachPart(request, *work.cost, work.cut->chunks[kind], [&](double factor, const LayerCost& cost) {
      phases += factor * cost.forward;
      phases += factor * cost.backwardInput;
      phases += factor * cost.backwardWeight;
      again += factor * cost.recompute;
    });
  }
  work.time.fill(0);
  work.time[at(TimeTerm::Compute)] = m * phases.compute;
  work.time[at(TimeTerm::Recompute)] = m * again.compute;
  work.time[at(TimeTerm::TensorCommunication)] = m * (phases.tensor + again.tensor);
  work.time[at(TimeTerm::TensorReduction)] = m * (phases.tensorReduction + again.tensorReduction);
  work.time[at(TimeTerm::ContextCommunication)] = m * (phases.context + again.context);
  work.time[at(TimeTerm::ExpertCommunication)] = m * (phases.expert + again.expert);
  work.time[at(TimeTerm::Overlapped)] = -m * (phases.hidden + again.hidden);
  work.time[at(TimeTerm::Host)] = m * (phases.host + again.host);

  shape.schedule = s.schedule;
  shape.ranks = s.pipeline;
  shape.virtualStages = v;
  shape.microBatches = static_cast<std::int64_t>(m);
  shape.chunks.clear();
  for (const std::uint32_t kind : work.cut->kindOf) shape.chunks.push_back(work.chunks[kind].times);
  shape.sendSeconds = 0;
  shape.asyncSend = true;
  work.quietSpan = s.pipeline > 1 ? pipelineSpan(shape) : work.leastSpan;
  work.sent = {};
  work.timed = true;
}

double Estimator::State::spanWithSends(double sendSeconds) {
  for (const Work::Sent& known : work.sent) {
    if (known.sendSeconds == sendSeconds) return known.span;
  }
  shape.sendSeconds = sendSeconds;
  shape.asyncSend = request.software.overlapPipeline;
  work.sent[1] = work.sent[0];
  work.sent[0] = {sendSeconds, pipelineSpan(shape)};
  return work.sent[0].span;
}

Estimate Estimator::State::estimate(const Strategy& s) {
  prepare(s);
  if (!work.timed) timeWork(s);
  Estimate e;
  e.time = work.time;
  const Efficiency& efficiency = request.cluster.accelerator.efficiency;
  const double busy = work.microBatches * work.stages[work.slowest].busy();

  double span = busy;
  if (s.pipeline > 1) {
    const double element = activationBytes(request.job.precision);
    const double tokens = d(s.microBatchSequences) * d(request.job.sequenceLength) / d(s.context);
    const bool sliced = s.sequenceParallel || request.software.scatterGatherPipeline;
    const double whole = element * tokens * d(request.model.hidden);
    const double bytes = whole / (sliced ? d(s.tensor) : 1);
    const double stride =
        s.placement == Placement::PipelineBeforeData ? d(s.tensor * s.context) : d(s.tensor * s.context * s.data);
    double send = network.pointToPoint(stride, bytes);
    if (sliced && !s.sequenceParallel) send += network.allGather(network.group(1, d(s.tensor)), whole).seconds;
    // Every boundary is crossed twice per micro-batch. Asynchronous sends cost the fill and drain only.
    e.time[at(TimeTerm::PipelineCommunication)] = std::max(0.0, spanWithSends(send) - work.quietSpan);
    span = std::max(work.quietSpan, work.leastSpan);
    e.time[at(TimeTerm::Bubble)] = span - busy;
    span += e.time[at(TimeTerm::PipelineCommunication)];
  }
  double step = span;
  dataParallel(s, &e, &step);

  const double jitter = jitterShare * step;
  e.time[at(TimeTerm::Host)] += jitter + efficiency.stepSeconds;
  // The step is the sum of its terms, in one fixed order: what is shown adds up to the last bit that matters.
  e.stepSeconds = 0;
  for (const double term : e.time) e.stepSeconds += term;

  const double tokens = d(request.job.globalBatchSequences) * d(request.job.sequenceLength);
  e.tokensPerSecondPerDevice = tokens / e.stepSeconds / d(request.cluster.devices);
  e.modelFlopsUtilization = flopsPerStep / (e.stepSeconds * d(request.cluster.devices) *
                                            referencePeak(request.cluster.accelerator, request.job.precision));
  e.memory = memory(s);
  e.fits = e.memory.peakBytes <= e.memory.capacityBytes;
  return e;
}

Estimator::Estimator(const Request& request) : state_(new State(request)) {}
Estimator::~Estimator() = default;
Estimator::Estimator(Estimator&&) noexcept = default;
Estimator& Estimator::operator=(Estimator&&) noexcept = default;

Estimate Estimator::estimate(const Strategy& strategy) { return state_->estimate(strategy); }

double Estimator::stepSecondsLowerBound(const Strategy& s) {
  state_->prepare(s);
  const double host = state_->request.cluster.accelerator.efficiency.stepSeconds;
  // The estimate adds the same numbers in another order: leave room for the rounding.
  return (state_->work.leastSpan * (1 + state_->jitterShare) + host) * (1 - 1e-9);
}

double Estimator::memoryLowerBoundBytes(const Strategy& s) {
  state_->prepare(s);
  return state_->memory(s).peakBytes;
}

double Estimator::idealStepSeconds() const { return state_->idealSeconds; }

// At least one micro-batch is in flight on every rank, under every schedule. With just one, all that a larger
// micro-batch changes grows with its tokens.
double Estimator::memoryFloorBytes(const Strategy& s) {
  state_->prepare(s);
  double floor = 0;
  for (const ChunkCost& stage : state_->work.stages) {
    floor = std::max(floor, state_->memoryOfRank(s, stage, 1).total());
  }
  return floor;
}

Estimate estimateStrategy(const Request& request, const Strategy& strategy) {
  Estimator estimator(request);
  return estimator.estimate(strategy);
}

std::vector<StageMemory> stageMemory(const Request& request, const Strategy& strategy) {
  Estimator::State state(request);
  state.prepare(strategy);
  std::vector<StageMemory> stages;
  for (std::size_t i = 0; i < state.work.stages.size(); ++i) {
    const StageClass& ranks = state.work.cut->classes[i];
    for (std::int64_t rank = ranks.begin; rank < ranks.end; ++rank) {
      stages.push_back(state.memoryOfRank(strategy, state.work.stages[i], state.inFlightOf(strategy, rank)));
    }
  }
  return stages;
}

PipelineShape pipelineShape(const Request& request, const Strategy& strategy) {
  Estimator::State state(request);
  state.estimate(strategy);
  return std::move(state.shape);
}

double modelFlopsPerStep(const Request& request) {
  const Model& m = request.model;
  const ParameterCount count = countParameters(m);
  // Every active parameter but the input table multiplies and adds once forward and twice backward. A tied table is
  // the head, so it counts once.
  const double table = d(count.embedding);
  const double tied = m.tiedEmbeddings ? d(m.vocab) * d(m.hidden) : 0;
  const double weights = d(count.active) - table + tied;
  const double attention =
      6 * d(m.layers) * d(m.heads) * d(m.queryKeyHeadDim() + m.valueHeadDim()) * d(request.job.sequenceLength);
  return (6 * weights + attention) * d(request.job.globalBatchSequences) * d(request.job.sequenceLength);
}

}  // namespace meshwise
