#include "search/rule_levels.h"

#include <algorithm>
#include <string_view>

#include "meshwise/rules.h"

namespace meshwise {
namespace {

// Where the last choice that a rule reads is made. Choices that the space never varies (shard group, recomputed layers,
// offload) count as made from the start. That no rule reads more than is said here is tested for every rule.
struct KnownLevel {
  std::string_view code;
  Level level;
};
constexpr KnownLevel kKnownLevels[] = {
    {"strategy.degree", Level::Block},  // the space has positive degrees only
    {"strategy.worldSize", Level::Block},
    {"strategy.globalBatch", Level::Block},  // the micro-batches of a block all divide, or none does
    {"strategy.headsTensor", Level::Block},
    {"strategy.keyValueHeadsTensor", Level::Block},
    {"strategy.ffnTensor", Level::Block},
    {"strategy.sequenceContext", Level::Block},
    {"strategy.shardGroup", Level::Block},
    {"strategy.expert", Level::Expert},
    {"strategy.expertTensor", Level::Expert},
    {"strategy.pipelineLayers", Level::Pipeline},
    {"strategy.virtualStages", Level::Pipeline},
    {"strategy.stageLayers", Level::Pipeline},
    {"strategy.dualPipe", Level::MicroBatch},
    {"strategy.contextHeads", Level::ContextKind},
    {"strategy.sequenceParallel", Level::SequenceParallel},
    {"strategy.recomputeLayers", Level::Recompute},
    {"megatron.keyValueGroups", Level::Block},
    {"megatron.layersPipeline", Level::Pipeline},
    {"megatron.layersVirtual", Level::Pipeline},
    {"megatron.interleavedPipeline", Level::Pipeline},
    {"megatron.interleavedMicroBatches", Level::MicroBatch},
    {"megatron.contextSequence", Level::Block},
    {"megatron.moeSequenceParallel", Level::SequenceParallel},
    {"megatron.overlapTensor", Level::SequenceParallel},
    {"megatron.fsdp", Level::Zero},
    {"megatron.schedule", Level::Pipeline},
    {"megatron.offload", Level::Recompute},
    {"torchtitan.keyValueHeads", Level::Block},
    {"torchtitan.sequence", Level::Block},
    {"torchtitan.expert", Level::Expert},
    {"torchtitan.tied", Level::Block},
    {"torchtitan.schedule", Level::Pipeline},
    {"torchtitan.stages", Level::Pipeline},
    {"torchtitan.sequenceParallel", Level::SequenceParallel},
    {"torchtitan.zero", Level::Zero},
    {"deepspeed.pipelineZero", Level::Zero},
    {"deepspeed.schedule", Level::Pipeline},
    {"deepspeed.ulysses", Level::ContextKind},
    {"mindspeed.alibi", Level::Block},
    {"mindspeed.expertTensor", Level::Expert},
    {"mindspeed.virtual", Level::Pipeline},
    {"nanotron.keyValueHeads", Level::Block},
    {"nanotron.sequence", Level::Block},
    {"nanotron.schedule", Level::Pipeline},
    {"nanotron.zero", Level::Zero},
    {"colossalai.schedule", Level::Pipeline},
    {"colossalai.pipelineZero", Level::Zero},
    {"colossalai.expertData", Level::Expert},
    {"fsdp.pipeline", Level::Block},
};

}  // namespace

// A rule that is not known here is asked when every choice is made: slower, never wrong.
Level levelOf(std::string_view code) {
  for (const KnownLevel& known : kKnownLevels) {
    if (known.code == code) return known.level;
  }
  return Level::Placement;
}

RuleLevels::RuleLevels(const Request& request) : request_(request) {
  std::uint8_t deepest = 0;
  for (std::size_t rule = 0; rule < allRules().size(); ++rule) {
    settledAt_.push_back(deepest);
    if (!ruleApplies(request, allRules()[rule])) continue;
    const Level level = levelOf(allRules()[rule].code);
    rules_[static_cast<std::size_t>(level)].push_back(static_cast<int>(rule));
    deepest = std::max(deepest, static_cast<std::uint8_t>(level));
  }
}

bool RuleLevels::breaks(int rule, const Strategy& strategy) const { return breaksRule(request_, strategy, rule); }

}  // namespace meshwise
