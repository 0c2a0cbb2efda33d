#include "estimate/layer_cost.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace meshwise {

Phase& Phase::operator+=(const Phase& o) {
  compute += o.compute;
  tensor += o.tensor;
  tensorReduction += o.tensorReduction;
  context += o.context;
  expert += o.expert;
  hidden += o.hidden;
  host += o.host;
  return *this;
}

Phase operator*(double f, const Phase& p) {
  return {f * p.compute, f * p.tensor, f * p.tensorReduction, f * p.context, f * p.expert, f * p.hidden, f * p.host};
}

// Times of single products and totals that overlap rules need.
struct LayerCostModel::Products {
  OperatorTime column[2];  // column-parallel products that follow the gather: attention input, MLP up
  OperatorTime row[2];     // row-parallel products before the scatter: attention output, MLP down
  OperatorTime attention;
  double recompute = 0;  // compute seconds run again under selective recomputation
  double recomputeKernels = 0;
  double forwardKernels = 0, backwardKernels = 0;
};

namespace {

void add(OperatorTime& sum, const OperatorTime& t) {
  sum.forward += t.forward;
  sum.backwardInput += t.backwardInput;
  sum.backwardWeight += t.backwardWeight;
}

// Kernels that a collective launches: the communication kernel and its stream events.
constexpr double kKernelsPerCollective = 2;

}  // namespace

OperatorTime LayerCostModel::timeOf(const Operator& op) const {
  if (op.kind != OperatorKind::Matrix) return compute_.time(op);
  std::uint64_t hash = op.lowPrecision ? 1 : 0;
  for (const double size : {op.count, op.m, op.n, op.k}) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &size, sizeof bits);
    hash = (hash ^ bits ^ (bits >> 32)) * 0x9e3779b97f4a7c15ull;  // whole numbers have their bits on top
    hash ^= hash >> 32;
  }
  MatrixTime& known = matrixTimes_[hash % kMatrixTimes];
  if (known.count != op.count || known.m != op.m || known.n != op.n || known.k != op.k ||
      known.lowPrecision != op.lowPrecision) {
    known = {op.count, op.m, op.n, op.k, op.lowPrecision, compute_.time(op)};
  }
  return known.time;
}

LayerCost LayerCostModel::price(const OperatorList& list, const LayerSetting& setting, double layerInputBytes,
                                Products* products) const {
  LayerCost cost;
  int mlpMatrix = 0;
  for (const Operator& op : list) {
    const OperatorTime t = timeOf(op);
    cost.forward.compute += t.forward;
    cost.backwardInput.compute += t.backwardInput;
    cost.backwardWeight.compute += t.backwardWeight;
    products->forwardKernels += t.forwardKernels;
    products->backwardKernels += t.backwardInputKernels + t.backwardWeightKernels;
    if (op.part == Part::Expert) {
      cost.expertParameters += op.parameters;
    } else {
      cost.denseParameters += op.parameters;
    }
    if (setting.recompute == Recompute::Selective && isRecomputed(op, setting.modules)) {
      products->recompute += t.forward;
      products->recomputeKernels += t.forwardKernels;
    }
    const bool matrix = op.kind == OperatorKind::Matrix;
    switch (op.part) {
      case Part::AttentionInput:
        if (matrix && !request_.model.isMla()) add(products->column[0], t);
        break;
      case Part::MlaUpProjection:
        if (matrix) add(products->column[0], t);
        break;
      case Part::AttentionOutput:
        if (matrix) add(products->row[0], t);
        break;
      case Part::CoreAttention:
        add(products->attention, t);
        break;
      case Part::Mlp:
      case Part::MlpActivation:
        if (matrix) add(mlpMatrix++ == 0 ? products->column[1] : products->row[1], t);
        break;
      default:
        break;
    }
  }
  cost.activations = activationBytesOf(list, setting.recompute, setting.modules, layerInputBytes);
  return cost;
}

void LayerCostModel::addTensorCollectives(LayerCost& cost, const LayerSetting& setting, const Products& products,
                                          bool attention, bool mlp) const {
  const double t = setting.shard.tensor;
  if (t <= 1) return;
  const Software& software = request_.software;
  const double contention = request_.cluster.accelerator.efficiency.overlapContention;
  const double bytes = activationBytes(request_.job.precision) * setting.shard.tokens(request_.job) *
                       static_cast<double>(request_.model.hidden);
  const Group group = network_.group(1, t);
  const CollectiveCost reduce = network_.allReduce(group, bytes);
  const CollectiveCost gather = network_.allGather(group, bytes);
  const CollectiveCost scatter = network_.reduceScatter(group, bytes);
  const bool present[2] = {attention, mlp};
  for (int i = 0; i < 2; ++i) {
    if (!present[i]) continue;
    const OperatorTime& column = products.column[i];
    const OperatorTime& row = products.row[i];
    if (!setting.shard.sequenceParallel) {
      cost.forward.tensor += reduce.seconds;
      cost.forward.tensorReduction += reduce.reductionSeconds;
      cost.backwardInput.tensor += reduce.seconds;
      cost.backwardInput.tensorReduction += reduce.reductionSeconds;
      if (software.asyncTensorBackward) {
        // the input gradient's all-reduce runs beside the weight-gradient product (the paper's Figure 2, Eq. 12)
        cost.backwardInput.hidden += (1 - contention) * std::min(reduce.total(), column.backwardWeight);
      }
      continue;
    }
    // Sequence parallelism (arXiv 2205.05198, section 4.2.2): gather before, scatter after, each direction; backward
    // gathers the column input once more for its weight gradient.
    cost.forward.tensor += gather.seconds + scatter.seconds;
    cost.forward.tensorReduction += scatter.reductionSeconds;
    cost.backwardInput.tensor += 2 * gather.seconds + scatter.seconds;
    cost.backwardInput.tensorReduction += scatter.reductionSeconds;
    if (software.overlapTensor) {
      // Ring-fused products: all but the first chunk moves while the product runs.
      const double chunks = 1 - 1 / t;
      const auto hide = [&](double comm, double product) {
        return (1 - contention) * std::min(comm * chunks, product);
      };
      cost.forward.hidden += hide(gather.seconds, column.forward) + hide(scatter.total(), row.forward);
      cost.backwardInput.hidden += hide(gather.seconds, row.backwardInput) +
                                   hide(gather.seconds, column.backwardInput) +
                                   hide(scatter.total(), column.backwardWeight);
    } else if (software.asyncTensorBackward) {
      cost.backwardInput.hidden += (1 - contention) * (std::min(gather.seconds, column.backwardInput) +
                                                       std::min(scatter.total(), column.backwardWeight));
    }
  }
}

void LayerCostModel::addContext(LayerCost& cost, const LayerSetting& setting, const Products& products) const {
  const double c = setting.shard.context;
  if (c <= 1) return;
  const Model& model = request_.model;
  const double element = activationBytes(request_.job.precision);
  const double tokens = setting.shard.tokens(request_.job);
  const double t = setting.shard.tensor;
  const double heads = static_cast<double>(model.heads) / t;
  const double keyValueHeads = std::max(1.0, static_cast<double>(model.kvHeads) / t);
  const double qk = static_cast<double>(model.queryKeyHeadDim());
  const double value = static_cast<double>(model.valueHeadDim());
  const double keyValueWidth = model.isMla() ? heads * (qk + value) : keyValueHeads * (qk + value);
  const double contention = request_.cluster.accelerator.efficiency.overlapContention;
  if (setting.shard.contextAllToAll) {
    // DeepSpeed-Ulysses (arXiv 2309.14509): queries, keys, values in, output back; nothing to hide it under
    const Group group = network_.group(t, c);
    const double bytes = element * tokens * (heads * (qk + value) + keyValueWidth);
    const double seconds = network_.allToAll(group, bytes).total();
    cost.forward.context += seconds;
    cost.backwardInput.context += seconds;
    return;
  }
  // Ring: c - 1 passes of the local keys and values beside the attention of the block already here; backward passes
  // their gradients too (Liu et al., arXiv 2310.01889).
  const double bytes = element * tokens * keyValueWidth;
  const bool oneDomain = network_.group(t, c).domains <= 1;
  const double pass = network_.pointToPoint(oneDomain ? t : t * c, bytes);
  const double forward = (c - 1) * pass;
  const double backward = 2 * (c - 1) * pass;
  const double share = (c - 1) / c;
  cost.forward.context += forward;
  cost.forward.hidden += (1 - contention) * std::min(forward, products.attention.forward * share);
  cost.backwardInput.context += backward;
  cost.backwardInput.hidden += (1 - contention) * std::min(backward, products.attention.backwardInput * share);
}

void LayerCostModel::addExpert(LayerCost& cost, const LayerSetting& setting) const {
  const Shard& shard = setting.shard;
  const Model& model = request_.model;
  const double element = activationBytes(request_.job.precision);
  const double routed = shard.tokens(request_.job) / shard.tensor * static_cast<double>(model.moe.topK) *
                        std::max(1.0, model.moe.imbalanceFactor);
  const double bytes = element * routed * static_cast<double>(model.hidden);
  cost.dispatchBytes = bytes * shard.expertTensor;
  const double contention = request_.cluster.accelerator.efficiency.overlapContention;
  double each = 0;
  if (shard.expert > 1) {
    const Group group = network_.group(shard.expertTensor, shard.expert);
    double distinct = 1;
    if (request_.software.deduplicatedDispatch && group.domains > 1) {
      // A token goes once to each domain that holds one of its experts and fans out inside: of K experts spread evenly
      // over D domains, D (1 - (1 - 1/D)^K) domains are distinct (DeepEP; DeepSeek-V3, arXiv 2412.19437,
      // section 3.2.2).
      double missed = 1;
      for (std::int64_t i = 0; i < model.moe.topK; ++i) missed *= 1 - 1 / group.domains;
      distinct = group.domains * (1 - missed) / static_cast<double>(model.moe.topK);
    }
    each += 2 * network_.allToAll(group, bytes, std::min(1.0, distinct)).total();
  }
  if (shard.expertTensor > 1) {
    const Group group = network_.group(1, shard.expertTensor);
    each += network_.allGather(group, bytes * shard.expertTensor).total() +
            network_.reduceScatter(group, bytes * shard.expertTensor).total();
  }
  cost.forward.expert += each;
  cost.backwardInput.expert += each;
  if (request_.software.overlapExpert) {
    // under the compute of another micro-batch that runs the opposite direction (DeepSeek-V3, arXiv 2412.19437, section
    // 3.2.1): all of it can hide, and slows that compute
    cost.forward.hidden += (1 - contention) * std::min(each, cost.forward.compute);
    cost.backwardInput.hidden +=
        (1 - contention) * std::min(each, cost.backwardInput.compute + cost.backwardWeight.compute);
  }
}

void LayerCostModel::finish(LayerCost& cost, const LayerSetting& setting, const Products& products) const {
  const double launch = compute_.launchSeconds() *
                        (1 + request_.software.launchSpreadFraction * std::log2(std::max(1.0, setting.shard.tensor)));
  double collectives = 0;
  if (cost.forward.tensor > 0) collectives += setting.shard.sequenceParallel ? 4 : 2;
  if (cost.forward.context > 0) collectives += setting.shard.context;
  if (cost.forward.expert > 0) collectives += 2;
  const double extra = kKernelsPerCollective * collectives;
  if (setting.recompute == Recompute::Full) {
    cost.recompute = cost.forward;
  } else if (products.recompute > 0) {
    cost.recompute.compute = products.recompute;
  }
  // The device waits where the host cannot launch kernels as fast as they run.
  // Kernels differ in length, so that some wait for the host even where the sum would not: the fourth root of the sum
  // of fourth powers passes smoothly from the larger of the two to either one (square roots give the same bits
  // everywhere).
  const auto waiting = [](double device, double host) {
    const double d2 = device * device, h2 = host * host;
    return std::max(0.0, std::sqrt(std::sqrt(d2 * d2 + h2 * h2)) - device);
  };
  cost.forward.host = waiting(cost.forward.total(), (products.forwardKernels + extra) * launch);
  cost.backwardInput.host =
      waiting(cost.backwardInput.total() + cost.backwardWeight.total(), (products.backwardKernels + extra) * launch);
  if (setting.recompute == Recompute::Full) {
    cost.recompute.host = cost.forward.host;
  } else if (products.recomputeKernels > 0) {
    cost.recompute.host = waiting(cost.recompute.total(), products.recomputeKernels * launch);
  }
}

LayerCost LayerCostModel::layer(const LayerSetting& setting, LayerKind kind) const {
  const Model& model = request_.model;
  const OperatorList list = layerOperators(model, request_.job, request_.software, setting.shard, kind);
  Products products;
  const double input = activationBytes(request_.job.precision) * setting.shard.normTokens(request_.job) *
                       static_cast<double>(model.hidden);
  LayerCost cost = price(list, setting, input, &products);
  // A parallel block shares one gather and one scatter between attention and MLP.
  const bool mlpCollective = !model.parallelBlock && (!kind.moe || model.sharedExpertWidth() > 0);
  addTensorCollectives(cost, setting, products, true, mlpCollective);
  addContext(cost, setting, products);
  if (kind.moe) addExpert(cost, setting);
  finish(cost, setting, products);
  return cost;
}

LayerCost LayerCostModel::embedding(const LayerSetting& setting, double paddedVocabulary) const {
  const OperatorList list =
      embeddingOperators(request_.model, request_.job, request_.software, setting.shard, paddedVocabulary);
  Products products;
  LayerSetting plain = setting;
  plain.recompute = Recompute::None;
  LayerCost cost = price(list, plain, 0, &products);
  if (setting.shard.tensor > 1) {
    // the vocabulary-parallel lookup is summed (or scattered along the sequence)
    const double bytes = activationBytes(request_.job.precision) * setting.shard.tokens(request_.job) *
                         static_cast<double>(request_.model.hidden);
    const Group group = network_.group(1, setting.shard.tensor);
    const CollectiveCost sum =
        setting.shard.sequenceParallel ? network_.reduceScatter(group, bytes) : network_.allReduce(group, bytes);
    cost.forward.tensor += sum.seconds;
    cost.forward.tensorReduction += sum.reductionSeconds;
    if (setting.shard.sequenceParallel) cost.backwardInput.tensor += network_.allGather(group, bytes).seconds;
  }
  finish(cost, plain, products);
  return cost;
}

LayerCost LayerCostModel::head(const LayerSetting& setting, double paddedVocabulary, bool ownsWeight) const {
  const OperatorList list =
      headOperators(request_.model, request_.job, request_.software, setting.shard, paddedVocabulary, ownsWeight);
  Products products;
  LayerSetting plain = setting;
  plain.recompute = Recompute::None;
  LayerCost cost = price(list, plain, 0, &products);
  if (setting.shard.tensor > 1) {
    const double element = activationBytes(request_.job.precision);
    const double tokens = setting.shard.tokens(request_.job);
    const double bytes = element * tokens * static_cast<double>(request_.model.hidden);
    const Group group = network_.group(1, setting.shard.tensor);
    if (setting.shard.sequenceParallel) {
      cost.forward.tensor += network_.allGather(group, bytes).seconds;
      const CollectiveCost scatter = network_.reduceScatter(group, bytes);
      cost.backwardInput.tensor += scatter.seconds + network_.allGather(group, bytes).seconds;
      cost.backwardInput.tensorReduction += scatter.reductionSeconds;
    } else {
      const CollectiveCost sum = network_.allReduce(group, bytes);
      cost.backwardInput.tensor += sum.seconds;
      cost.backwardInput.tensorReduction += sum.reductionSeconds;
    }
    if (request_.software.parallelLogits) {
      // maximum, predicted logit and sum of exponentials of each token
      cost.forward.tensor += 3 * network_.allReduce(group, 4 * tokens).total();
    } else {
      cost.forward.tensor += network_.allGather(group, element * tokens * paddedVocabulary).total();
    }
  }
  finish(cost, plain, products);
  return cost;
}

LayerCost LayerCostModel::mtp(const LayerSetting& setting) const {
  const OperatorList list = mtpOperators(request_.model, request_.job, request_.software, setting.shard);
  Products products;
  LayerSetting plain = setting;
  plain.recompute = Recompute::None;
  LayerCost cost = price(list, plain, 0, &products);
  finish(cost, plain, products);
  return cost;
}

}  // namespace meshwise
