// Composition: layers to stages, stages to a pipeline, a pipeline to a step.
#include "meshwise/estimate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>

#include "estimate/estimator.h"
#include "estimate/layer_cost.h"
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

constexpr int kKinds = 4;  // dense or MoE, global or local attention
int kindIndex(bool moe, bool local) { return (moe ? 2 : 0) + (local ? 1 : 0); }

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
  std::array<LayerCost, kKinds> layer;  // under the recomputation policy
  std::array<LayerCost, kKinds> plain;  // without recomputation, for strategies that recompute the first k layers only
  LayerCost embedding, head, mtp;
  double paddedVocabulary = 0;
};

// Layers of one chunk by kind, and what else it carries.
struct Chunk {
  std::array<double, kKinds> layers{};
  std::array<double, kKinds> recomputed{};  // of these, under the policy; the rest is plain
  bool first = false, last = false;
};

struct ParameterBytes {
  double dense = 0, expert = 0;  // parameters on this rank
};

}  // namespace

struct Estimator::State {
  Request request;
  ComputeModel compute;
  Network network;
  LayerCostModel layers;
  std::array<bool, kKinds> present{};
  // prefix[kind][l]: layers of that kind among the first l
  std::array<std::vector<std::int64_t>, kKinds> prefix;
  std::unordered_map<SettingKey, SettingCost, SettingHash> memo;
  PipelineShape shape;
  std::vector<Chunk> chunks;
  // Ideal FLOP of one sequence through one layer of each kind (forward), for the lower bound.
  std::array<double, kKinds> layerLowFlops{}, layerFlops{}, layerAttentionFlops{};
  double headFlops = 0;

  explicit State(const Request& r)
      : request(r),
        compute(request.cluster.accelerator, request.software, request.job.precision,
                usesFp32Gradients(request.job, request.software)),
        network(request.cluster),
        layers(request, compute, network) {
    const Model& model = request.model;
    for (auto& p : prefix) p.assign(static_cast<std::size_t>(model.layers) + 1, 0);
    for (std::int64_t l = 0; l < model.layers; ++l) {
      const int kind = kindIndex(model.isMoeLayer(l), isLocalLayer(model, l));
      present[static_cast<std::size_t>(kind)] = true;
      for (std::size_t k = 0; k < kKinds; ++k) {
        prefix[k][static_cast<std::size_t>(l) + 1] =
            prefix[k][static_cast<std::size_t>(l)] + (static_cast<int>(k) == kind ? 1 : 0);
      }
    }
    Shard whole;
    for (std::size_t k = 0; k < kKinds; ++k) {
      if (!present[k]) continue;
      for (const Operator& op :
           layerOperators(model, request.job, request.software, whole, {(k & 2) != 0, (k & 1) != 0})) {
        if (op.kind == OperatorKind::Matrix) {
          (op.lowPrecision ? layerLowFlops[k] : layerFlops[k]) += 2 * op.count * op.m * op.n * op.k;
        } else if (op.kind == OperatorKind::Attention) {
          layerAttentionFlops[k] += 2 * op.batchHeads * op.queries * op.visibleKeys * (op.queryKeyDim + op.valueDim);
        }
      }
    }
    headFlops = 2 * d(request.job.sequenceLength) * d(model.vocab) * d(model.hidden);
  }

  const SettingCost& cost(const Strategy& s);
  void cut(const Strategy& s, std::int64_t rank, std::int64_t chunkIndex, Chunk* out) const;
  ChunkTimes times(const SettingCost& c, const Chunk& chunk) const;
  ParameterBytes parameters(const SettingCost& c, const Chunk& chunk) const;
  StageMemory memoryOfRank(const Strategy& s, const SettingCost& c, std::int64_t rank);
  MemoryEstimate memory(const Strategy& s, const SettingCost& c);
  void dataParallel(const Strategy& s, const SettingCost& c, const std::vector<Chunk>& all, Estimate* e,
                    double* step) const;
  Estimate estimate(const Strategy& s);
};

const SettingCost& Estimator::State::cost(const Strategy& s) {
  SettingKey key{s.tensor, s.context, s.expert, s.expertTensor, s.microBatchSequences, 0};
  const RecomputeModules& m = s.recomputeModules;
  key.flags = static_cast<std::int64_t>(s.recompute) | (s.sequenceParallel ? 4 : 0) |
              (s.contextKind == ContextKind::AllToAll ? 8 : 0) | (m.coreAttention ? 16 : 0) | (m.mlp ? 32 : 0) |
              (m.layerNorm ? 64 : 0) | (m.moeActivation ? 128 : 0) | (m.mlaUpProjection ? 256 : 0) |
              (s.recomputeLayers > 0 ? 512 : 0);
  const auto found = memo.find(key);
  if (found != memo.end()) return found->second;
  SettingCost c;
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
  LayerSetting plain = setting;
  plain.recompute = Recompute::None;
  c.paddedVocabulary = d(paddedVocabulary(request, s));
  for (std::size_t k = 0; k < kKinds; ++k) {
    if (!present[k]) continue;
    const LayerKind kind{(k & 2) != 0, (k & 1) != 0};
    c.layer[k] = layers.layer(setting, kind);
    if (s.recomputeLayers > 0) c.plain[k] = layers.layer(plain, kind);
  }
  c.embedding = layers.embedding(setting, c.paddedVocabulary);
  c.head = layers.head(setting, c.paddedVocabulary, !request.model.tiedEmbeddings);
  if (request.model.mtpLayers > 0) c.mtp = layers.mtp(setting);
  return memo.emplace(key, c).first->second;
}

void Estimator::State::cut(const Strategy& s, std::int64_t rank, std::int64_t chunkIndex, Chunk* out) const {
  const std::int64_t stage = globalStage(s.schedule, s.pipeline, rank, chunkIndex);
  const std::int64_t begin = firstLayerOfChunk(request.model.layers, s, rank, chunkIndex);
  const std::int64_t count = layersOfChunk(request.model.layers, s, rank, chunkIndex);
  out->first = stage == 0;
  out->last = stage == s.pipeline * s.virtualStages - 1;
  const std::int64_t policy = s.recomputeLayers > 0 ? std::min(count, s.recomputeLayers) : count;
  for (std::size_t k = 0; k < kKinds; ++k) {
    if (!present[k]) {
      out->layers[k] = out->recomputed[k] = 0;
      continue;
    }
    const auto& p = prefix[k];
    out->layers[k] = d(p[static_cast<std::size_t>(begin + count)] - p[static_cast<std::size_t>(begin)]);
    out->recomputed[k] = d(p[static_cast<std::size_t>(begin + policy)] - p[static_cast<std::size_t>(begin)]);
  }
}

namespace {

// Calls use(factor, cost) for everything that a chunk runs for one micro-batch.
template <class Use>
void forEachPart(const Request& request, const SettingCost& c, const Chunk& chunk, Use use) {
  for (std::size_t k = 0; k < kKinds; ++k) {
    if (chunk.recomputed[k] > 0) use(chunk.recomputed[k], c.layer[k]);
    if (chunk.layers[k] > chunk.recomputed[k]) use(chunk.layers[k] - chunk.recomputed[k], c.plain[k]);
  }
  if (chunk.first) use(1.0, c.embedding);
  if (chunk.last) {
    use(1.0, c.head);
    if (request.model.mtpLayers > 0) {
      const double depth = d(request.model.mtpLayers);
      // a module has a layer like the model's last one, its projection, and the shared head once more
      const std::size_t kind = static_cast<std::size_t>(kindIndex(
          request.model.isMoeLayer(request.model.layers - 1), isLocalLayer(request.model, request.model.layers - 1)));
      use(depth, c.layer[kind]);
      use(depth, c.mtp);
      use(depth, c.head);
    }
  }
}

}  // namespace

ChunkTimes Estimator::State::times(const SettingCost& c, const Chunk& chunk) const {
  ChunkTimes t;
  forEachPart(request, c, chunk, [&](double factor, const LayerCost& cost) {
    t.forward += factor * cost.forward.total();
    t.backwardInput += factor * (cost.backwardInput.total() + cost.recompute.total());
    t.backwardWeight += factor * cost.backwardWeight.total();
  });
  return t;
}

ParameterBytes Estimator::State::parameters(const SettingCost& c, const Chunk& chunk) const {
  ParameterBytes p;
  bool headSeen = false;
  forEachPart(request, c, chunk, [&](double factor, const LayerCost& cost) {
    if (&cost == &c.head) {
      if (headSeen) return;  // the MTP modules share the head
      headSeen = true;
      p.dense += cost.denseParameters;
      return;
    }
    p.dense += factor * cost.denseParameters;
    p.expert += factor * cost.expertParameters;
  });
  return p;
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

StageMemory Estimator::State::memoryOfRank(const Strategy& s, const SettingCost& c, std::int64_t rank) {
  StageMemory out;
  const Job& job = request.job;
  const Software& soft = request.software;
  ParameterBytes held;
  double saved = 0, working = 0, layerParameters = 0, dispatch = 0;
  bool last = false;
  Chunk chunk;
  for (std::int64_t j = 0; j < s.virtualStages; ++j) {
    cut(s, rank, j, &chunk);
    const bool tiedCopy = request.model.tiedEmbeddings && chunk.last && !(s.pipeline == 1);
    const ParameterBytes p = parameters(c, chunk);
    held.dense += p.dense + (tiedCopy ? c.paddedVocabulary * d(request.model.hidden) / d(s.tensor) : 0);
    held.expert += p.expert;
    last = last || chunk.last;
    forEachPart(request, c, chunk, [&](double factor, const LayerCost& cost) {
      saved += factor * cost.activations.saved;
      if (&cost != &c.head && &cost != &c.embedding) {
        working = std::max(working, cost.activations.working);
        layerParameters = std::max(layerParameters, cost.denseParameters + cost.expertParameters);
        dispatch = std::max(dispatch, cost.dispatchBytes);
      }
    });
  }
  const Sharding sh = shardingOf(s, request.model.isMoe());
  const StateBytes dense = stateBytesPerParameter(job, soft, s.zeroStage, sh.denseShards);
  const StateBytes expert = stateBytesPerParameter(job, soft, s.zeroStage, sh.expertShards);
  out.bytes[at(MemoryClass::Weights)] = held.dense * dense.weights + held.expert * expert.weights;
  out.bytes[at(MemoryClass::Gradients)] = held.dense * dense.gradients + held.expert * expert.gradients;
  out.bytes[at(MemoryClass::OptimizerStates)] = held.dense * dense.optimizer + held.expert * expert.optimizer;
  const double microBatches = d(std::max<std::int64_t>(1, microBatchesPerReplica(request, s)));
  const double inFlight = s.pipeline == 1 ? 1
                                          : inFlightChunks(s.schedule, s.pipeline, rank, s.virtualStages,
                                                           static_cast<std::int64_t>(microBatches)) /
                                                d(s.virtualStages);
  out.bytes[at(MemoryClass::Activations)] =
      s.offloadActivations
          ? saved * std::min(inFlight, 2.0 / d(std::max<std::int64_t>(1, layersOfStage(request.model.layers, s, rank))))
          : saved * inFlight;
  const double element = activationBytes(job.precision);
  const double tokens = d(s.microBatchSequences) * d(job.sequenceLength) / d(s.context);
  const double hidden = d(request.model.hidden);
  if (last) {
    out.bytes[at(MemoryClass::Logits)] = logitsBytes(soft, tokens, c.paddedVocabulary / d(s.tensor), element);
  }
  // ZeRO-3 holds two gathered layers at a time: the one that runs and the one prefetched
  if (s.zeroStage >= 3) {
    working += gathersEachMicroBatch(s) ? 2 * layerParameters * element : (held.dense + held.expert) * element;
  }
  out.bytes[at(MemoryClass::WorkingSet)] = working;
  double buffers = 0;
  if (s.tensor > 1) buffers += element * tokens * hidden;  // gathered or reduced activation
  if (s.pipeline > 1) buffers += 2 * element * tokens * hidden / (s.sequenceParallel ? d(s.tensor) : 1);
  if (s.zeroStage == 2 || s.zeroStage == 3) buffers += 2 * layerParameters * (usesFp32Gradients(job, soft) ? 4 : 2);
  buffers += 2 * dispatch;
  out.bytes[at(MemoryClass::CommunicationBuffers)] = buffers;
  double allocated = 0;
  for (std::size_t i = 0; i < kMemoryClassCount; ++i) allocated += out.bytes[i];
  out.bytes[at(MemoryClass::Reserve)] = soft.reservedBytes + soft.allocatorFraction * allocated;
  return out;
}

MemoryEstimate Estimator::State::memory(const Strategy& s, const SettingCost& c) {
  MemoryEstimate m;
  m.capacityBytes = request.cluster.accelerator.memoryBytes * request.limits.memoryFraction;
  for (std::int64_t rank = 0; rank < s.pipeline; ++rank) {
    const StageMemory stage = memoryOfRank(s, c, rank);
    const double total = stage.total();
    if (rank == 0 || total > m.peakBytes) {
      m.peakBytes = total;
      m.peakStage = rank;
      m.classes = stage.bytes;
    }
  }
  m.allocatedBytes = m.peakBytes - m.classes[at(MemoryClass::Reserve)];
  return m;
}

// Gradient reduction, parameter gathering and the optimizer step of the slowest rank; adds to the terms and returns the
// seconds that the step grows by.
void Estimator::State::dataParallel(const Strategy& s, const SettingCost& c, const std::vector<Chunk>& all, Estimate* e,
                                    double* step) const {
  const Software& soft = request.software;
  const Efficiency& efficiency = request.cluster.accelerator.efficiency;
  const bool moe = request.model.isMoe();
  const Sharding sh = shardingOf(s, moe);
  const double gradientBytes = usesFp32Gradients(request.job, soft) ? 4 : 2;
  const double weightBytes = activationBytes(request.job.precision);
  const double keep = 1 - efficiency.overlapContention;
  const double m = d(microBatchesPerReplica(request, s));
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
  for (std::int64_t rank = 0; rank < s.pipeline; ++rank) {
    ParameterBytes held;
    double forward = 0, backward = 0, count = 0;
    for (std::int64_t j = 0; j < s.virtualStages; ++j) {
      const Chunk& chunk = all[static_cast<std::size_t>(rank * s.virtualStages + j)];
      const ParameterBytes p = parameters(c, chunk);
      held.dense += p.dense;
      held.expert += p.expert;
      if (request.model.tiedEmbeddings && chunk.last && s.pipeline > 1)
        held.dense += c.paddedVocabulary * d(request.model.hidden) / d(s.tensor);
      for (const double n : chunk.layers) count += n;
      const ChunkTimes& t = shape.chunks[static_cast<std::size_t>(rank * s.virtualStages + j)];
      forward += t.forward;
      backward += t.backwardInput + t.backwardWeight;
    }
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
    if (request.model.tiedEmbeddings && s.pipeline > 1 && (rank == 0 || rank == s.pipeline - 1)) {
      // both copies of the table must see the sum of their gradients
      const Group ends{2, 1, 2, false};
      const Group near{2, 2, 1, false};
      const double distance = d(s.tensor * s.context * s.data) * d(s.pipeline - 1);
      const bool apart = distance >= d(request.cluster.domainDevices());
      put(network.allReduce(apart ? ends : near,
                            c.paddedVocabulary * d(request.model.hidden) / d(s.tensor) * gradientBytes),
          1);
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

Estimate Estimator::State::estimate(const Strategy& s) {
  Estimate e;
  const SettingCost& c = cost(s);
  const Efficiency& efficiency = request.cluster.accelerator.efficiency;
  const std::int64_t v = s.virtualStages;
  const std::size_t n = static_cast<std::size_t>(s.pipeline * v);
  const double m = d(microBatchesPerReplica(request, s));

  shape.schedule = s.schedule;
  shape.ranks = s.pipeline;
  shape.virtualStages = v;
  shape.microBatches = static_cast<std::int64_t>(m);
  shape.chunks.resize(n);
  chunks.resize(n);
  std::int64_t slowest = 0;
  double slowestBusy = -1;
  for (std::int64_t rank = 0; rank < s.pipeline; ++rank) {
    double busy = 0;
    for (std::int64_t j = 0; j < v; ++j) {
      const std::size_t i = static_cast<std::size_t>(rank * v + j);
      cut(s, rank, j, &chunks[i]);
      shape.chunks[i] = times(c, chunks[i]);
      busy += shape.chunks[i].forward + shape.chunks[i].backwardInput + shape.chunks[i].backwardWeight;
    }
    if (busy > slowestBusy) {
      slowestBusy = busy;
      slowest = rank;
    }
  }

  // terms of the slowest rank
  Phase phases, again;
  for (std::int64_t j = 0; j < v; ++j) {
    forEachPart(request, c, chunks[static_cast<std::size_t>(slowest * v + j)],
                [&](double factor, const LayerCost& cost) {
                  phases += factor * cost.forward;
                  phases += factor * cost.backwardInput;
                  phases += factor * cost.backwardWeight;
                  again += factor * cost.recompute;
                });
  }
  e.time[at(TimeTerm::Compute)] = m * phases.compute;
  e.time[at(TimeTerm::Recompute)] = m * again.compute;
  e.time[at(TimeTerm::TensorCommunication)] = m * (phases.tensor + again.tensor);
  e.time[at(TimeTerm::TensorReduction)] = m * (phases.tensorReduction + again.tensorReduction);
  e.time[at(TimeTerm::ContextCommunication)] = m * (phases.context + again.context);
  e.time[at(TimeTerm::ExpertCommunication)] = m * (phases.expert + again.expert);
  e.time[at(TimeTerm::Overlapped)] = -m * (phases.hidden + again.hidden);
  e.time[at(TimeTerm::Host)] = m * (phases.host + again.host);

  double span = m * slowestBusy;
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
    shape.sendSeconds = 0;
    shape.asyncSend = true;
    const double quiet = pipelineSpan(shape);
    // Every boundary is crossed twice per micro-batch. Asynchronous sends cost the fill and drain only.
    shape.sendSeconds = send;
    shape.asyncSend = request.software.overlapPipeline;
    const double withSends = pipelineSpan(shape);
    e.time[at(TimeTerm::PipelineCommunication)] = std::max(0.0, withSends - quiet);
    span = std::max(quiet, span);
    e.time[at(TimeTerm::Bubble)] = span - m * slowestBusy;
    span += e.time[at(TimeTerm::PipelineCommunication)];
  }
  double step = span;
  dataParallel(s, c, chunks, &e, &step);

  const double nodes = d(request.cluster.devices) / d(std::max<std::int64_t>(1, request.cluster.devicesPerNode));
  const double jitter = efficiency.jitterFraction * std::log2(std::max(1.0, nodes)) * step;
  e.time[at(TimeTerm::Host)] += jitter + efficiency.stepSeconds;
  // The step is the sum of its terms, in one fixed order: what is shown adds up to the last bit that matters.
  e.stepSeconds = 0;
  for (const double term : e.time) e.stepSeconds += term;

  const double tokens = d(request.job.globalBatchSequences) * d(request.job.sequenceLength);
  e.tokensPerSecondPerDevice = tokens / e.stepSeconds / d(request.cluster.devices);
  e.modelFlopsUtilization =
      modelFlopsPerStep(request) /
      (e.stepSeconds * d(request.cluster.devices) * referencePeak(request.cluster.accelerator, request.job.precision));
  e.memory = memory(s, c);
  e.fits = e.memory.peakBytes <= e.memory.capacityBytes;
  return e;
}

Estimator::Estimator(const Request& request) : state_(new State(request)) {}
Estimator::~Estimator() = default;
Estimator::Estimator(Estimator&&) noexcept = default;
Estimator& Estimator::operator=(Estimator&&) noexcept = default;

Estimate Estimator::estimate(const Strategy& strategy) { return state_->estimate(strategy); }

double Estimator::stepSecondsLowerBound(const Strategy& s) {
  const State& st = *state_;
  const Request& r = st.request;
  // Forward work of one sequence at the best rates, over all layers; backward is twice the products and 2 (fused: 2.5)
  // times the attention, so three times the forward is below either.
  double sequence = 0;
  for (std::size_t k = 0; k < kKinds; ++k) {
    if (!st.present[k]) continue;
    const double layers = d(st.prefix[k].back());
    sequence += layers * (st.layerLowFlops[k] / st.compute.bestMatrixFlopsPerSecond(true) +
                          st.layerFlops[k] / st.compute.bestMatrixFlopsPerSecond(false) +
                          st.layerAttentionFlops[k] / st.compute.bestAttentionFlopsPerSecond());
  }
  const double recompute = s.recompute == Recompute::Full && s.recomputeLayers == 0 ? 4.0 : 3.0;
  const double m = d(microBatchesPerReplica(r, s));
  // mean busy time of a stage for one micro-batch
  const double mean = d(s.microBatchSequences) *
                      (recompute * sequence + 3 * st.headFlops / st.compute.bestMatrixFlopsPerSecond(false)) /
                      (d(s.tensor) * d(s.context) * d(s.pipeline));
  double factor = m;
  if (s.schedule == Schedule::OneForwardOneBackward || s.schedule == Schedule::GPipe) factor += d(s.pipeline) - 1;
  return mean * factor * (1 - 1e-9);
}

double Estimator::memoryLowerBoundBytes(const Strategy& s) { return state_->memory(s, state_->cost(s)).peakBytes; }

Estimate estimateStrategy(const Request& request, const Strategy& strategy) {
  Estimator estimator(request);
  return estimator.estimate(strategy);
}

std::vector<StageMemory> stageMemory(const Request& request, const Strategy& strategy) {
  Estimator::State state(request);
  const SettingCost& c = state.cost(strategy);
  std::vector<StageMemory> stages;
  for (std::int64_t rank = 0; rank < strategy.pipeline; ++rank) stages.push_back(state.memoryOfRank(strategy, c, rank));
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
