// The raw space of strategies: what the search goes through, and how many there are. Private to the core.
//
// Choices that would describe the same run are one strategy: without tensor parallelism there is no sequence
// parallelism, without a pipeline no schedule and no virtual stages, without context parallelism no kind of it, in a
// dense model no expert degrees. So the counts that are shown to a user do not grow by repetitions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "meshwise/plan.h"

namespace meshwise {

// Divisors of a positive number, ascending.
std::vector<std::int64_t> divisorsOf(std::int64_t number);

struct ExpertOption {
  std::int64_t expert = 1;
  std::int64_t expertTensor = 1;
};

struct PipelineOption {
  Schedule schedule = Schedule::OneForwardOneBackward;
  std::int64_t virtualStages = 1;
  std::int64_t firstStageLayers = -1;
  std::int64_t lastStageLayers = -1;
};

// Part of a flat table.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::int64_t size() const { return static_cast<std::int64_t>(end - begin); }
};

// All strategies with the same four degrees of the device product: a full Cartesian product of the spans.
struct Block {
  std::int64_t tensor = 1;
  std::int64_t context = 1;
  std::int64_t pipeline = 1;
  std::int64_t data = 1;
  Span experts;       // into Space::experts
  Span pipelines;     // into Space::pipelines
  Span microBatches;  // into Space::microBatches
  std::int64_t contextKindChoices = 1;
  std::int64_t sequenceParallelChoices = 1;  // off, on
  std::int64_t zeroChoices = 1;              // the first so many of Space::zeroStages
  std::int64_t placementChoices = 1;
};

// Built once a request; nothing is allocated afterwards. The order of all tables is fixed by the request alone.
//
// - tensor, context, pipeline: every divisor of the devices whose product divides them; data is the rest.
// - expert: every divisor of the experts (MoE only); expertTensor: every divisor of tensor (MoE only).
// - pipeline options: 1F1B, GPipe and the zero-bubble schedules once each, interleaved with every number of chunks > 1
//   that divides the layers of a stage; where the layers do not divide evenly, also with lighter first and last stages.
// - micro-batch: every divisor of the sequences of one data replica; one entry where the batch does not divide at all,
//   so that a rule can say so.
// - sequence parallelism off and on, recomputation none, core attention and full, ZeRO 0 to 3, kind of context
//   parallelism, placement of data and pipeline groups.
// - the limits of the request leave out whole values.
class Space {
 public:
  explicit Space(const Request& request);

  const std::vector<Block>& blocks() const { return blocks_; }
  const std::vector<ExpertOption>& experts() const { return experts_; }
  const std::vector<PipelineOption>& pipelines() const { return pipelines_; }
  const std::vector<std::int64_t>& microBatches() const { return microBatches_; }
  const std::vector<Recompute>& recomputes() const { return recomputes_; }
  const std::vector<int>& zeroStages() const { return zeroStages_; }

  std::int64_t size() const { return size_; }
  // Strategies of one block, and of the parts of it that the search settles at once.
  std::int64_t sizeOf(const Block& block) const { return block.experts.size() * sizePerExpert(block); }
  std::int64_t sizePerExpert(const Block& block) const { return block.pipelines.size() * sizePerPipeline(block); }
  std::int64_t sizePerPipeline(const Block& block) const {
    return block.microBatches.size() * sizePerMicroBatch(block);
  }
  std::int64_t sizePerMicroBatch(const Block& block) const {
    return block.contextKindChoices * sizePerContextKind(block);
  }
  std::int64_t sizePerContextKind(const Block& block) const {
    return block.sequenceParallelChoices * sizePerSequenceParallel(block);
  }
  std::int64_t sizePerSequenceParallel(const Block& block) const {
    return static_cast<std::int64_t>(recomputes_.size()) * sizePerRecompute(block);
  }
  std::int64_t sizePerRecompute(const Block& block) const { return block.zeroChoices * block.placementChoices; }

  // Every strategy, in the order of the tables. For tests and for the exhaustive reference.
  template <class Visit>
  void forEach(Visit visit) const;

 private:
  std::vector<Block> blocks_;
  std::vector<ExpertOption> experts_;
  std::vector<PipelineOption> pipelines_;
  std::vector<std::int64_t> microBatches_;
  std::vector<Recompute> recomputes_;
  std::vector<int> zeroStages_;
  std::int64_t size_ = 0;
};

// Writes one choice into a strategy; the other fields stay.
inline void choose(const Block& block, Strategy& strategy) {
  strategy.tensor = block.tensor;
  strategy.context = block.context;
  strategy.pipeline = block.pipeline;
  strategy.data = block.data;
}
inline void choose(const ExpertOption& option, Strategy& strategy) {
  strategy.expert = option.expert;
  strategy.expertTensor = option.expertTensor;
}
inline void choose(const PipelineOption& option, Strategy& strategy) {
  strategy.schedule = option.schedule;
  strategy.virtualStages = option.virtualStages;
  strategy.firstStageLayers = option.firstStageLayers;
  strategy.lastStageLayers = option.lastStageLayers;
}
inline void choose(Recompute recompute, Strategy& strategy) {
  strategy.recompute = recompute;
  strategy.recomputeModules.coreAttention = recompute == Recompute::Selective;
}

inline void chooseContextKind(std::int64_t choice, Strategy& strategy) {
  strategy.contextKind = choice == 0 ? ContextKind::Ring : ContextKind::AllToAll;
}
inline void choosePlacement(std::int64_t choice, Strategy& strategy) {
  strategy.placement = choice == 0 ? Placement::DataBeforePipeline : Placement::PipelineBeforeData;
}

template <class Visit>
void Space::forEach(Visit visit) const {
  Strategy strategy;
  for (const Block& block : blocks_) {
    choose(block, strategy);
    for (std::size_t expert = block.experts.begin; expert < block.experts.end; ++expert) {
      choose(experts_[expert], strategy);
      for (std::size_t pipeline = block.pipelines.begin; pipeline < block.pipelines.end; ++pipeline) {
        choose(pipelines_[pipeline], strategy);
        for (std::size_t batch = block.microBatches.begin; batch < block.microBatches.end; ++batch) {
          strategy.microBatchSequences = microBatches_[batch];
          for (std::int64_t kind = 0; kind < block.contextKindChoices; ++kind) {
            chooseContextKind(kind, strategy);
            for (std::int64_t sequence = 0; sequence < block.sequenceParallelChoices; ++sequence) {
              strategy.sequenceParallel = sequence != 0;
              for (const Recompute recompute : recomputes_) {
                choose(recompute, strategy);
                for (std::int64_t zero = 0; zero < block.zeroChoices; ++zero) {
                  strategy.zeroStage = zeroStages_[static_cast<std::size_t>(zero)];
                  for (std::int64_t placement = 0; placement < block.placementChoices; ++placement) {
                    choosePlacement(placement, strategy);
                    visit(static_cast<const Strategy&>(strategy));
                  }
                }
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace meshwise
