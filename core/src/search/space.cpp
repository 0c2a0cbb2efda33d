#include "search/space.h"

#include <algorithm>
#include <array>
#include <map>

namespace meshwise {
namespace {

bool inRange(std::int64_t value, const Range& range) {
  return value >= range.min && (range.max <= 0 || value <= range.max);
}

std::vector<std::int64_t> divisorsInRange(std::int64_t number, const Range& range) {
  std::vector<std::int64_t> values = divisorsOf(number);
  std::erase_if(values, [&](std::int64_t value) { return !inRange(value, range); });
  return values;
}

// The allowed values in the order of `all`; all of them when nothing is stated.
template <class T, std::size_t Size>
std::vector<T> allowedOf(const std::array<T, Size>& all, const std::vector<T>& allowed) {
  std::vector<T> values;
  for (const T value : all) {
    if (allowed.empty() || std::find(allowed.begin(), allowed.end(), value) != allowed.end()) values.push_back(value);
  }
  return values;
}

template <class T>
Span append(std::vector<T>& table, const std::vector<T>& values) {
  const std::size_t begin = table.size();
  table.insert(table.end(), values.begin(), values.end());
  return {begin, table.size()};
}

constexpr std::array kSchedules = {
    Schedule::OneForwardOneBackward, Schedule::GPipe,       Schedule::Interleaved, Schedule::ZeroBubbleH1,
    Schedule::ZeroBubble2p,          Schedule::ZeroBubbleV, Schedule::DualPipe};
constexpr std::array kRecomputes = {Recompute::None, Recompute::Selective, Recompute::Full};
constexpr std::array kZeroStages = {0, 1, 2, 3};

std::vector<Schedule> schedulesOf(const Limits& limits) {
  if (limits.schedules.empty()) return {Schedule::OneForwardOneBackward, Schedule::Interleaved};
  return allowedOf(kSchedules, limits.schedules);
}

// How the layers may be dealt to the stages.
struct LayerSplit {
  std::int64_t first = -1;  // -1 = even
  std::int64_t last = -1;
  std::int64_t middle = 1;  // layers of the other stages
};

// The even split, and where it leaves a rest the two ways to give the missing layers to the end stages, which carry the
// embedding and the head anyway (Llama 3 405B: 126 layers on 16 stages are 7 + 14 * 8 + 7).
std::vector<LayerSplit> layerSplits(std::int64_t layers, std::int64_t stages) {
  const std::int64_t middle = (layers + stages - 1) / stages;
  std::vector<LayerSplit> splits = {{-1, -1, middle}};
  const std::int64_t missing = middle * stages - layers;
  if (missing == 0) return splits;
  const std::int64_t less = missing / 2;
  const std::int64_t more = missing - less;
  if (middle - more < 1) return splits;
  splits.push_back({middle - more, middle - less, middle});
  if (more != less) splits.push_back({middle - less, middle - more, middle});
  return splits;
}

std::vector<PipelineOption> pipelineOptions(const Request& request, std::int64_t stages) {
  std::vector<PipelineOption> options;
  const Range& range = request.limits.virtualStages;
  if (stages == 1) {
    if (inRange(1, range)) options.push_back({});
    return options;
  }
  for (const Schedule schedule : schedulesOf(request.limits)) {
    for (const LayerSplit& split : layerSplits(request.model.layers, stages)) {
      std::vector<std::int64_t> chunks;
      if (schedule == Schedule::Interleaved) {
        chunks = divisorsOf(split.middle);
        chunks.erase(chunks.begin());  // one chunk is plain 1F1B
      } else if (schedule == Schedule::ZeroBubbleV || schedule == Schedule::DualPipe) {
        chunks = {2};
      } else {
        chunks = {1};
      }
      for (const std::int64_t count : chunks) {
        if (inRange(count, range)) options.push_back({schedule, count, split.first, split.last});
      }
    }
  }
  return options;
}

std::vector<ExpertOption> expertOptions(const Request& request, std::int64_t tensor) {
  const Limits& limits = request.limits;
  std::vector<ExpertOption> options;
  if (!request.model.isMoe()) {
    if (inRange(1, limits.expert) && inRange(1, limits.expertTensor)) options.push_back({});
    return options;
  }
  const std::vector<std::int64_t> expertTensors = divisorsInRange(tensor, limits.expertTensor);
  for (const std::int64_t expert : divisorsInRange(request.model.moe.experts, limits.expert)) {
    for (const std::int64_t expertTensor : expertTensors) options.push_back({expert, expertTensor});
  }
  return options;
}

std::vector<std::int64_t> microBatchOptions(const Request& request, std::int64_t data) {
  const std::int64_t batch = request.job.globalBatchSequences;
  return divisorsInRange(batch % data == 0 ? batch / data : 1, request.limits.microBatchSequences);
}

}  // namespace

std::vector<std::int64_t> divisorsOf(std::int64_t number) {
  std::vector<std::int64_t> small;
  std::vector<std::int64_t> large;
  for (std::int64_t candidate = 1; candidate <= number / candidate; ++candidate) {
    if (number % candidate != 0) continue;
    small.push_back(candidate);
    if (candidate != number / candidate) large.push_back(number / candidate);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

Space::Space(const Request& request)
    : recomputes_(allowedOf(kRecomputes, request.limits.recompute)),
      zeroStages_(allowedOf(kZeroStages, request.limits.zeroStages)) {
  const Limits& limits = request.limits;
  const std::int64_t devices = request.cluster.devices;

  std::map<std::int64_t, Span> expertSpans;
  std::map<std::int64_t, Span> pipelineSpans;
  std::map<std::int64_t, Span> microBatchSpans;
  for (const std::int64_t tensor : divisorsInRange(devices, limits.tensor)) {
    if (!expertSpans.contains(tensor)) expertSpans[tensor] = append(experts_, expertOptions(request, tensor));
    for (const std::int64_t context : divisorsInRange(devices / tensor, limits.context)) {
      for (const std::int64_t pipeline : divisorsInRange(devices / tensor / context, limits.pipeline)) {
        const std::int64_t data = devices / tensor / context / pipeline;
        if (!inRange(data, limits.data)) continue;
        if (!pipelineSpans.contains(pipeline)) {
          pipelineSpans[pipeline] = append(pipelines_, pipelineOptions(request, pipeline));
        }
        if (!microBatchSpans.contains(data)) {
          microBatchSpans[data] = append(microBatches_, microBatchOptions(request, data));
        }
        Block block;
        block.tensor = tensor;
        block.context = context;
        block.pipeline = pipeline;
        block.data = data;
        block.experts = expertSpans[tensor];
        block.pipelines = pipelineSpans[pipeline];
        block.microBatches = microBatchSpans[data];
        block.contextKindChoices = context > 1 ? 2 : 1;
        block.sequenceParallelChoices = tensor > 1 ? 2 : 1;
        // The states of one rank cannot be sharded; experts have more ranks than the dense parts.
        const bool oneRank = data * context == 1 && !request.model.isMoe();
        block.zeroChoices = std::min<std::int64_t>(oneRank ? 1 : 4, static_cast<std::int64_t>(zeroStages_.size()));
        block.placementChoices = pipeline > 1 && data > 1 ? 2 : 1;
        if (sizeOf(block) == 0) continue;
        size_ += sizeOf(block);
        blocks_.push_back(block);
      }
    }
  }
}

}  // namespace meshwise
