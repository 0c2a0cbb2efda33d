// The catalogue of constraints. Sources: the frameworks' own checks at the snapshots named in each text.
#include "meshwise/rules.h"

#include <algorithm>
#include <array>
#include <string>

#include "meshwise/estimate.h"
#include "meshwise/schedule.h"

namespace meshwise {
namespace {

using Int = std::int64_t;

struct Checked {
  Rule rule;
  bool (*breaks)(const Request&, const Strategy&);
  std::string (*why)(const Request&, const Strategy&);
};

std::string n(Int value) { return std::to_string(value); }
bool divides(Int part, Int whole) { return part > 0 && whole % part == 0; }
bool vShaped(Schedule s) { return s == Schedule::ZeroBubbleV || s == Schedule::DualPipe; }
bool uneven(const Strategy& s) { return s.firstStageLayers >= 0 || s.lastStageLayers >= 0; }
// No stated stage has more layers than there are: what later sums rely on.
bool endsFit(const Request& r, const Strategy& s) {
  return s.firstStageLayers <= r.model.layers && s.lastStageLayers <= r.model.layers;
}
// Saturates: hostile degrees must not overflow.
Int times(Int a, Int b) {
  Int product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}
Int stageRanks(const Strategy& s) { return times(times(s.tensor, s.context), s.data); }

bool positive(const Strategy& s) {
  return s.tensor >= 1 && s.pipeline >= 1 && s.data >= 1 && s.context >= 1 && s.expert >= 1 && s.expertTensor >= 1 &&
         s.virtualStages >= 1 && s.microBatchSequences >= 1 && s.shardGroup >= 0 && s.recomputeLayers >= 0 &&
         s.firstStageLayers >= -1 && s.lastStageLayers >= -1 && s.zeroStage >= 0 && s.zeroStage <= 3;
}

// Layers of the fullest stage: rank 1 gets left-over layers first, the end ranks may be stated. -1 where the layers do
// not fill the pipeline, which other rules say.
Int fullestStage(const Request& r, const Strategy& s) {
  if (s.virtualStages > r.model.layers / s.pipeline || !endsFit(r, s)) return -1;
  Int most = 0;
  for (const Int rank : {Int{0}, Int{1}, s.pipeline - 1}) {
    if (rank < s.pipeline) most = std::max(most, layersOfStage(r.model.layers, s, rank));
  }
  return most;
}

// Valid values on either side of one that does not divide, for the reason shown.
std::string nearest(Int value, Int divisor) {
  const Int below = value / divisor * divisor;
  if (divisor == INT64_MAX) return "";
  return below > 0 ? " The nearest that do are " + n(below) + " and " + n(below + divisor) + "."
                   : " The least that does is " + n(divisor) + ".";
}

constexpr std::string_view kMegatron = "Megatron-LM (d98e8a64, 2026-08): ";

// Order matters: it is the order in which removed strategies are counted. Arithmetic first, and rules on few choices
// before rules on many, so that the search can remove large parts at once.
const Checked kRules[] = {
    {{"strategy.degree", Launcher::None, "/strategy",
      "Every degree is a whole number of at least 1; ZeRO stages are 0 to 3."},
     [](const Request&, const Strategy& s) { return !positive(s); },
     [](const Request&, const Strategy&) {
       return std::string("Every degree must be at least 1 and the ZeRO stage 0 to 3.");
     }},
    {{"strategy.worldSize", Launcher::None, "/strategy/data",
      "tensor x pipeline x data x context must equal the number of devices."},
     [](const Request& r, const Strategy& s) {
       // divide step by step: the product could overflow
       Int left = r.cluster.devices;
       for (const Int degree : {s.tensor, s.pipeline, s.data, s.context}) {
         if (!divides(degree, left)) return true;
         left /= degree;
       }
       return left != 1;
     },
     [](const Request& r, const Strategy& s) {
       return "tensor " + n(s.tensor) + " x pipeline " + n(s.pipeline) + " x data " + n(s.data) + " x context " +
              n(s.context) + " is not the number of devices, " + n(r.cluster.devices) + ".";
     }},
    {{"strategy.globalBatch", Launcher::None, "/strategy/microBatchSequences",
      "The global batch must be a whole number of micro-batches on each data rank."},
     [](const Request& r, const Strategy& s) {
       return s.data > r.job.globalBatchSequences || s.microBatchSequences > r.job.globalBatchSequences ||
              microBatchesPerReplica(r, s) < 1;
     },
     [](const Request& r, const Strategy& s) {
       return "The global batch of " + n(r.job.globalBatchSequences) + " sequences does not divide by micro-batch " +
              n(s.microBatchSequences) + " x data " + n(s.data) + "." +
              nearest(r.job.globalBatchSequences, times(s.microBatchSequences, s.data));
     }},
    {{"strategy.headsTensor", Launcher::None, "/strategy/tensor",
      "Attention heads are split evenly over the tensor ranks."},
     [](const Request& r, const Strategy& s) { return !divides(s.tensor, r.model.heads); },
     [](const Request& r, const Strategy& s) {
       return n(r.model.heads) + " heads do not divide by tensor " + n(s.tensor) + ".";
     }},
    {{"strategy.keyValueHeadsTensor", Launcher::None, "/strategy/tensor",
      "Key-value heads divide by tensor, or tensor by them (then they are replicated)."},
     [](const Request& r, const Strategy& s) {
       return !r.model.isMla() && !divides(s.tensor, r.model.kvHeads) && !divides(r.model.kvHeads, s.tensor);
     },
     [](const Request& r, const Strategy& s) {
       return n(r.model.kvHeads) + " key-value heads and tensor " + n(s.tensor) + ": neither divides the other.";
     }},
    {{"strategy.ffnTensor", Launcher::None, "/strategy/tensor", "The MLP width is split evenly over the tensor ranks."},
     [](const Request& r, const Strategy& s) { return r.model.ffn > 0 && !divides(s.tensor, r.model.ffn); },
     [](const Request& r, const Strategy& s) {
       return "MLP width " + n(r.model.ffn) + " does not divide by tensor " + n(s.tensor) + ".";
     }},
    {{"strategy.sequenceContext", Launcher::None, "/strategy/context",
      "The sequence is split evenly over the context ranks."},
     [](const Request& r, const Strategy& s) { return !divides(s.context, r.job.sequenceLength); },
     [](const Request& r, const Strategy& s) {
       return "Sequence length " + n(r.job.sequenceLength) + " does not divide by context " + n(s.context) + "." +
              nearest(r.job.sequenceLength, s.context);
     }},
    {{"strategy.shardGroup", Launcher::None, "/strategy/fsdpGroup",
      "The shard group divides the data and context ranks."},
     [](const Request&, const Strategy& s) {
       return s.shardGroup > 0 && !divides(s.shardGroup, times(s.data, s.context));
     },
     [](const Request&, const Strategy& s) {
       return "Shard group " + n(s.shardGroup) + " does not divide data x context " + n(times(s.data, s.context)) + ".";
     }},
    {{"strategy.expert", Launcher::None, "/strategy/expert",
      "Expert parallelism needs experts, split evenly, inside one pipeline stage."},
     [](const Request& r, const Strategy& s) {
       if (!r.model.isMoe()) return s.expert != 1;
       return !divides(s.expert, r.model.moe.experts) || !divides(s.expert, stageRanks(s));
     },
     [](const Request& r, const Strategy& s) {
       if (!r.model.isMoe()) return "expert " + n(s.expert) + " needs a mixture-of-experts model.";
       return n(r.model.moe.experts) + " experts or the " + n(stageRanks(s)) +
              " ranks of a stage do not divide by expert " + n(s.expert) + ".";
     }},
    {{"strategy.expertTensor", Launcher::None, "/strategy/expertTensor",
      "expert x expertTensor divides the ranks of one pipeline stage, and expertTensor the expert width."},
     [](const Request& r, const Strategy& s) {
       if (!r.model.isMoe()) return s.expertTensor != 1 && s.expertTensor != s.tensor;
       return !divides(s.expertTensor, r.model.moe.expertFfn) ||
              !divides(times(s.expert, s.expertTensor), stageRanks(s));
     },
     [](const Request& r, const Strategy& s) {
       return "expert " + n(s.expert) + " x expertTensor " + n(s.expertTensor) + " does not divide the " +
              n(stageRanks(s)) + " ranks of a stage, or the expert width " + n(r.model.moe.expertFfn) +
              " does not divide by expertTensor.";
     }},
    {{"strategy.pipelineLayers", Launcher::None, "/strategy/pipeline",
      "Every pipeline stage and virtual stage needs at least one layer; with virtual stages the first and the last "
      "chunk "
      "may hold the embedding and the head alone."},
     [](const Request& r, const Strategy& s) {
       return s.pipeline > r.model.layers ||
              times(s.pipeline, s.virtualStages) > r.model.layers + (s.virtualStages > 1 ? 2 : 0);
     },
     [](const Request& r, const Strategy& s) {
       return n(r.model.layers) + " layers do not fill pipeline " + n(s.pipeline) + " x virtual stages " +
              n(s.virtualStages) + ".";
     }},
    {{"strategy.virtualStages", Launcher::None, "/strategy/virtualStages",
      "Virtual stages need pipeline > 1 and the interleaved schedule; ZB-V and DualPipe have two chunks; other "
      "schedules have one."},
     [](const Request&, const Strategy& s) {
       if (s.pipeline == 1) return s.virtualStages != 1;
       if (vShaped(s.schedule)) return s.virtualStages != 2;
       if (s.schedule == Schedule::Interleaved) return s.virtualStages < 2;
       return s.virtualStages != 1;
     },
     [](const Request&, const Strategy& s) {
       return "Virtual stages " + n(s.virtualStages) + " do not go with pipeline " + n(s.pipeline) +
              " under this schedule: interleaved needs 2 or more, ZB-V and DualPipe exactly 2, the others 1.";
     }},
    {{"strategy.stageLayers", Launcher::None, "/strategy/firstStageLayers",
      "Stated layers of the first and last stage need pipeline > 1 and must leave a layer for every other stage."},
     [](const Request& r, const Strategy& s) {
       if (!uneven(s)) return false;
       if (s.pipeline < 2) return true;
       if (s.firstStageLayers == 0 || s.lastStageLayers == 0) return true;
       if (!endsFit(r, s)) return true;
       const Int rest = r.model.layers - (s.firstStageLayers >= 0 ? s.firstStageLayers : 0) -
                        (s.lastStageLayers >= 0 ? s.lastStageLayers : 0);
       const Int places = s.pipeline - (s.firstStageLayers >= 0 ? 1 : 0) - (s.lastStageLayers >= 0 ? 1 : 0);
       return places == 0 ? rest != 0 : rest < places;
     },
     [](const Request& r, const Strategy& s) {
       return "First stage " + n(s.firstStageLayers) + " and last stage " + n(s.lastStageLayers) + " do not fit " +
              n(r.model.layers) + " layers over pipeline " + n(s.pipeline) + ".";
     }},
    {{"strategy.dualPipe", Launcher::None, "/strategy/schedule",
      "DualPipe needs at least two micro-batches per pipeline rank (dualpipev.py of deepseek-ai/DualPipe)."},
     [](const Request& r, const Strategy& s) {
       return s.schedule == Schedule::DualPipe && s.pipeline > 1 && microBatchesPerReplica(r, s) < times(2, s.pipeline);
     },
     [](const Request& r, const Strategy& s) {
       return "DualPipe over pipeline " + n(s.pipeline) + " has " + n(microBatchesPerReplica(r, s)) +
              " micro-batches; it needs at least twice the pipeline degree.";
     }},
    {{"strategy.contextHeads", Launcher::None, "/strategy/contextKind",
      "All-to-all context parallelism splits the heads: heads divide by context x tensor (DeepSpeed-Ulysses, arXiv "
      "2309.14509)."},
     [](const Request& r, const Strategy& s) {
       if (s.context == 1 || s.contextKind != ContextKind::AllToAll) return false;
       return s.tensor > r.model.heads || !divides(times(s.context, s.tensor), r.model.heads);
     },
     [](const Request& r, const Strategy& s) {
       return n(r.model.heads) + " heads do not divide by context " + n(s.context) + " x tensor " + n(s.tensor) + ".";
     }},
    {{"strategy.sequenceParallel", Launcher::None, "/strategy/sequenceParallel",
      "Sequence parallelism needs tensor > 1 and splits the rank's tokens evenly."},
     [](const Request& r, const Strategy& s) {
       if (!s.sequenceParallel) return false;
       return s.tensor == 1 || !divides(s.tensor, r.job.sequenceLength / s.context);
     },
     [](const Request& r, const Strategy& s) {
       if (s.tensor == 1) return std::string("Sequence parallelism has nothing to split at tensor 1.");
       return n(r.job.sequenceLength / s.context) + " tokens of a context rank do not divide by tensor " + n(s.tensor) +
              "." + nearest(r.job.sequenceLength, times(s.context, s.tensor));
     }},
    {{"strategy.recomputeLayers", Launcher::None, "/strategy/recomputeLayers",
      "A count of recomputed layers needs full recomputation and is at most the layers of the fullest stage."},
     [](const Request& r, const Strategy& s) {
       if (s.recomputeLayers == 0) return false;
       if (s.recompute != Recompute::Full || s.recomputeLayers > r.model.layers) return true;
       const Int most = fullestStage(r, s);
       return most >= 0 && s.recomputeLayers > most;
     },
     [](const Request& r, const Strategy& s) {
       const Int most = fullestStage(r, s);
       return "recomputeLayers " + n(s.recomputeLayers) +
              " needs recompute \"full\" and at most the layers of a stage" + (most >= 0 ? ", " + n(most) : "") + ".";
     }},

    // Megatron-LM; MindSpeed runs these checks too.
    {{"megatron.layersPipeline", Launcher::MegatronLm, "/strategy/pipeline",
      "Megatron-LM (d98e8a64, arguments.py:968, transformer_config.py:2309): layers divide by pipeline unless the "
      "first or last stage is stated; then the middle stages share the rest evenly."},
     [](const Request& r, const Strategy& s) {
       if (s.pipeline == 1 || !endsFit(r, s)) return false;
       if (!uneven(s)) return r.model.layers % s.pipeline != 0;
       const Int rest = r.model.layers - (s.firstStageLayers >= 0 ? s.firstStageLayers : 0) -
                        (s.lastStageLayers >= 0 ? s.lastStageLayers : 0);
       const Int places = s.pipeline - (s.firstStageLayers >= 0 ? 1 : 0) - (s.lastStageLayers >= 0 ? 1 : 0);
       return places > 0 && rest % places != 0;
     },
     [](const Request& r, const Strategy& s) {
       std::string text =
           std::string(kMegatron) + n(r.model.layers) + " layers do not divide by pipeline " + n(s.pipeline);
       if (uneven(s)) return text + " past the stated first and last stage.";
       Strategy other = s;
       if (!stateUnevenStages(r.model.layers, other)) return text + ".";
       return text + "; state the ends, for example " + n(other.firstStageLayers) + " layers on the first and " +
              n(other.lastStageLayers) + " on the last stage.";
     }},
    {{"megatron.layersVirtual", Launcher::MegatronLm, "/strategy/virtualStages",
      "Megatron-LM (d98e8a64, arguments.py:972): the layers of a stage divide by its virtual stages."},
     [](const Request& r, const Strategy& s) {
       if (s.pipeline == 1 || s.virtualStages == 1 || !endsFit(r, s)) return false;
       if (!uneven(s)) return r.model.layers % times(s.pipeline, s.virtualStages) != 0;
       for (const Int rank : {Int{0}, Int{1}, s.pipeline - 1}) {
         if (rank < s.pipeline && layersOfStage(r.model.layers, s, rank) % s.virtualStages != 0) return true;
       }
       return false;
     },
     [](const Request& r, const Strategy& s) {
       return std::string(kMegatron) + n(r.model.layers) + " layers over pipeline " + n(s.pipeline) +
              " do not divide by virtual stages " + n(s.virtualStages) + ".";
     }},
    {{"megatron.interleavedPipeline", Launcher::MegatronLm, "/strategy/virtualStages",
      "Megatron-LM (d98e8a64, arguments.py:1001): interleaving needs pipeline > 2 without overlapped point-to-point."},
     [](const Request& r, const Strategy& s) {
       return s.schedule == Schedule::Interleaved && s.virtualStages > 1 && s.pipeline == 2 &&
              !r.software.overlapPipeline;
     },
     [](const Request&, const Strategy&) {
       return std::string(kMegatron) + "interleaving on pipeline 2 needs overlapped point-to-point.";
     }},
    {{"megatron.interleavedMicroBatches", Launcher::MegatronLm, "/strategy/microBatchSequences",
      "Megatron-LM (d98e8a64, schedules.py:1160): interleaving needs at least pipeline micro-batches, a multiple of "
      "pipeline."},
     [](const Request& r, const Strategy& s) {
       if (s.schedule != Schedule::Interleaved || s.virtualStages == 1 || s.pipeline == 1) return false;
       const Int m = microBatchesPerReplica(r, s);
       return m < s.pipeline || m % s.pipeline != 0;
     },
     [](const Request& r, const Strategy& s) {
       return std::string(kMegatron) + "interleaving over pipeline " + n(s.pipeline) + " with " +
              n(microBatchesPerReplica(r, s)) + " micro-batches; it needs a multiple of the pipeline degree.";
     }},
    {{"megatron.contextSequence", Launcher::MegatronLm, "/strategy/context",
      "Megatron-LM (d98e8a64, arguments.py:1336): with context > 1 the sequence divides by 2 x context."},
     [](const Request& r, const Strategy& s) {
       return s.context > 1 && r.job.sequenceLength % times(2, s.context) != 0;
     },
     [](const Request& r, const Strategy& s) {
       return std::string(kMegatron) + "sequence " + n(r.job.sequenceLength) + " does not divide by 2 x context " +
              n(s.context) + "." + nearest(r.job.sequenceLength, times(2, s.context));
     }},
    {{"megatron.moeSequenceParallel", Launcher::MegatronLm, "/strategy/sequenceParallel",
      "Megatron-LM (d98e8a64, moe_layer.py:636): experts with tensor > 1 need sequence parallelism."},
     [](const Request& r, const Strategy& s) { return r.model.isMoe() && s.tensor > 1 && !s.sequenceParallel; },
     [](const Request&, const Strategy& s) {
       return std::string(kMegatron) + "a mixture of experts at tensor " + n(s.tensor) + " needs --sequence-parallel.";
     }},
    {{"megatron.overlapTensor", Launcher::MegatronLm, "/strategy/sequenceParallel",
      "Megatron-LM (d98e8a64, arguments.py:1441): overlapped tensor-parallel communication needs sequence "
      "parallelism."},
     [](const Request& r, const Strategy& s) {
       return r.software.overlapTensor && s.tensor > 1 && !s.sequenceParallel;
     },
     [](const Request&, const Strategy& s) {
       return std::string(kMegatron) + "--tp-comm-overlap at tensor " + n(s.tensor) + " needs --sequence-parallel.";
     }},
    {{"megatron.fsdp", Launcher::MegatronLm, "/strategy/zeroStage",
      "Megatron-LM (d98e8a64, arguments.py:1031): gradients and parameters are sharded by FSDP, which runs without "
      "pipeline parallelism."},
     [](const Request&, const Strategy& s) { return s.zeroStage >= 2 && s.pipeline > 1; },
     [](const Request&, const Strategy& s) {
       return std::string(kMegatron) + "FSDP (ZeRO-" + n(s.zeroStage) + ") with pipeline " + n(s.pipeline) +
              " is refused.";
     }},
    {{"megatron.schedule", Launcher::MegatronLm, "/strategy/schedule", "Megatron-LM runs 1F1B and interleaved 1F1B."},
     [](const Request&, const Strategy& s) {
       return s.pipeline > 1 && s.schedule != Schedule::OneForwardOneBackward && s.schedule != Schedule::Interleaved;
     },
     [](const Request&, const Strategy&) { return std::string(kMegatron) + "pipelines are 1F1B or interleaved."; }},
    {{"megatron.offload", Launcher::MegatronLm, "/strategy/offloadActivations",
      "Megatron-LM (d98e8a64, transformer_config.py:1891): activation offload needs pipeline 1 and no recomputation."},
     [](const Request&, const Strategy& s) {
       return s.offloadActivations && (s.pipeline > 1 || s.recompute != Recompute::None);
     },
     [](const Request&, const Strategy&) {
       return std::string(kMegatron) + "activation offload runs at pipeline 1 without recomputation.";
     }},

    // torchtitan b5bcd76c (2026-08)
    {{"torchtitan.keyValueHeads", Launcher::Torchtitan, "/strategy/tensor",
      "torchtitan (b5bcd76c, models/common/decoder.py:195): key-value heads divide by tensor; they are not "
      "replicated."},
     [](const Request& r, const Strategy& s) { return !r.model.isMla() && !divides(s.tensor, r.model.kvHeads); },
     [](const Request& r, const Strategy& s) {
       return "torchtitan (b5bcd76c): " + n(r.model.kvHeads) + " key-value heads do not divide by tensor " +
              n(s.tensor) + ".";
     }},
    {{"torchtitan.sequence", Launcher::Torchtitan, "/strategy/context",
      "torchtitan (b5bcd76c, trainer.py:299): the sequence divides by tensor x 2 x context (tensor alone without "
      "context)."},
     [](const Request& r, const Strategy& s) {
       return r.job.sequenceLength % times(s.tensor, s.context > 1 ? times(2, s.context) : 1) != 0;
     },
     [](const Request& r, const Strategy& s) {
       return "torchtitan (b5bcd76c): sequence " + n(r.job.sequenceLength) + " does not divide by " +
              n(times(s.tensor, s.context > 1 ? times(2, s.context) : 1)) + "." +
              nearest(r.job.sequenceLength, times(s.tensor, s.context > 1 ? times(2, s.context) : 1));
     }},
    {{"torchtitan.expert", Launcher::Torchtitan, "/strategy/expert",
      "torchtitan (b5bcd76c, parallel_dims.py:188): expert divides shard x context x tensor ranks."},
     [](const Request& r, const Strategy& s) {
       if (!r.model.isMoe()) return false;
       const Int shard = s.shardGroup > 0 ? s.shardGroup : times(s.data, s.context);
       return !divides(s.expert, times(shard, s.tensor));
     },
     [](const Request&, const Strategy& s) {
       return "torchtitan (b5bcd76c): expert " + n(s.expert) + " does not divide the sharded ranks.";
     }},
    {{"torchtitan.tied", Launcher::Torchtitan, "/strategy/pipeline",
      "torchtitan (b5bcd76c, models/common/decoder.py:168): tied embeddings do not go with pipeline parallelism."},
     [](const Request& r, const Strategy& s) { return r.model.tiedEmbeddings && s.pipeline > 1; },
     [](const Request&, const Strategy& s) {
       return "torchtitan (b5bcd76c): tied embeddings with pipeline " + n(s.pipeline) + " are refused.";
     }},
    {{"torchtitan.schedule", Launcher::Torchtitan, "/strategy/schedule",
      "torchtitan (b5bcd76c) runs PyTorch's schedules; none of them is zero-bubble with one stage per rank."},
     [](const Request&, const Strategy& s) {
       return s.pipeline > 1 && (s.schedule == Schedule::ZeroBubbleH1 || s.schedule == Schedule::ZeroBubble2p);
     },
     [](const Request&, const Strategy&) {
       return std::string("torchtitan (b5bcd76c): zero-bubble schedules have two stages per rank (ZB-V, DualPipeV).");
     }},
    {{"torchtitan.stages", Launcher::Torchtitan, "/strategy/virtualStages",
      "torchtitan (b5bcd76c, distributed/pipeline_parallel.py:223): more than two stages per rank come from a number "
      "of "
      "layers per stage, rounded up over the layers, the input and the output."},
     [](const Request& r, const Strategy& s) {
       if (s.pipeline == 1 || s.virtualStages <= 2) return false;
       const Int stages = times(s.pipeline, s.virtualStages), units = r.model.layers + 2;
       if (stages > units) return true;
       const Int perStage = (units + stages - 1) / stages;
       return (units + perStage - 1) / perStage != stages;
     },
     [](const Request& r, const Strategy& s) {
       return "torchtitan (b5bcd76c): no number of layers per stage cuts " + n(r.model.layers) + " layers into " +
              n(times(s.pipeline, s.virtualStages)) + " stages.";
     }},
    {{"torchtitan.sequenceParallel", Launcher::Torchtitan, "/strategy/sequenceParallel",
      "torchtitan always shards the sequence with tensor parallelism."},
     [](const Request&, const Strategy& s) { return s.tensor > 1 && !s.sequenceParallel; },
     [](const Request&, const Strategy& s) {
       return "torchtitan (b5bcd76c): tensor " + n(s.tensor) + " comes with sequence parallelism.";
     }},
    {{"torchtitan.zero", Launcher::Torchtitan, "/strategy/zeroStage",
      "torchtitan shards with FSDP (ZeRO-3) or replicates (ZeRO-0)."},
     [](const Request&, const Strategy& s) { return s.zeroStage == 1 || s.zeroStage == 2; },
     [](const Request&, const Strategy& s) {
       return "torchtitan (b5bcd76c): ZeRO-" + n(s.zeroStage) + " does not exist there; FSDP is stage 3.";
     }},

    // DeepSpeed edaa7221 (2026-08)
    {{"deepspeed.pipelineZero", Launcher::DeepSpeed, "/strategy/zeroStage",
      "DeepSpeed (edaa7221, runtime/pipe/engine.py:77): the pipeline engine needs a ZeRO stage below 2."},
     [](const Request&, const Strategy& s) { return s.pipeline > 1 && s.zeroStage >= 2; },
     [](const Request&, const Strategy& s) {
       return "DeepSpeed (edaa7221): ZeRO-" + n(s.zeroStage) + " does not go with pipeline " + n(s.pipeline) + ".";
     }},
    {{"deepspeed.schedule", Launcher::DeepSpeed, "/strategy/schedule",
      "DeepSpeed's pipeline engine runs 1F1B without virtual stages."},
     [](const Request&, const Strategy& s) { return s.pipeline > 1 && s.schedule != Schedule::OneForwardOneBackward; },
     [](const Request&, const Strategy&) {
       return std::string("DeepSpeed (edaa7221): the pipeline engine runs 1F1B only.");
     }},
    {{"deepspeed.ulysses", Launcher::DeepSpeed, "/strategy/context",
      "DeepSpeed (edaa7221, ulysses_sp.py:146): heads divide by context; key-value heads by it or it by them; the "
      "sequence divides by it; context is all-to-all."},
     [](const Request& r, const Strategy& s) {
       if (s.context == 1) return false;
       return s.contextKind != ContextKind::AllToAll || !divides(s.context, r.model.heads) ||
              (!divides(s.context, r.model.kvHeads) && !divides(r.model.kvHeads, s.context));
     },
     [](const Request& r, const Strategy& s) {
       return "DeepSpeed (edaa7221): context " + n(s.context) + " is Ulysses; " + n(r.model.heads) + " heads and " +
              n(r.model.kvHeads) + " key-value heads must go with it.";
     }},

    // MindSpeed 028de58c (2026-07), MindSpeed-LLM c77308a1 (2026-08)
    {{"mindspeed.alibi", Launcher::MindSpeed, "/strategy/context",
      "MindSpeed-LLM (c77308a1): context parallelism does not go with ALiBi."},
     [](const Request& r, const Strategy& s) { return s.context > 1 && r.model.position == Position::Alibi; },
     [](const Request&, const Strategy& s) {
       return "MindSpeed-LLM (c77308a1): context " + n(s.context) + " with ALiBi is refused.";
     }},
    {{"mindspeed.expertTensor", Launcher::MindSpeed, "/strategy/expert",
      "MindSpeed (028de58c, arguments.py:503): with expert tensor folded away, experts divide by tensor x expert."},
     [](const Request& r, const Strategy& s) {
       return r.model.isMoe() && s.expertTensor == 1 && s.tensor > 1 &&
              r.model.moe.experts % times(s.tensor, s.expert) != 0;
     },
     [](const Request& r, const Strategy& s) {
       return "MindSpeed (028de58c): " + n(r.model.moe.experts) + " experts do not divide by tensor " + n(s.tensor) +
              " x expert " + n(s.expert) + ".";
     }},
    {{"mindspeed.virtual", Launcher::MindSpeed, "/strategy/virtualStages",
      "MindSpeed (028de58c): uneven stages exclude virtual stages."},
     [](const Request&, const Strategy& s) { return uneven(s) && s.virtualStages > 1; },
     [](const Request&, const Strategy&) {
       return std::string("MindSpeed (028de58c): a list of layers per stage excludes virtual stages.");
     }},

    // nanotron 2411b022 (2026-04)
    {{"nanotron.keyValueHeads", Launcher::Nanotron, "/strategy/tensor",
      "nanotron (2411b022, models/llama.py:349): key-value heads are at least tensor and divide by it."},
     [](const Request& r, const Strategy& s) { return !divides(s.tensor, r.model.kvHeads); },
     [](const Request& r, const Strategy& s) {
       return "nanotron (2411b022): " + n(r.model.kvHeads) + " key-value heads do not divide by tensor " + n(s.tensor) +
              ".";
     }},
    {{"nanotron.sequence", Launcher::Nanotron, "/strategy/context",
      "nanotron (2411b022, models/qwen.py:777): with context > 1 the sequence divides by 2 x context."},
     [](const Request& r, const Strategy& s) {
       return s.context > 1 && r.job.sequenceLength % times(2, s.context) != 0;
     },
     [](const Request& r, const Strategy& s) {
       return "nanotron (2411b022): sequence " + n(r.job.sequenceLength) + " does not divide by 2 x context " +
              n(s.context) + ".";
     }},
    {{"nanotron.schedule", Launcher::Nanotron, "/strategy/schedule",
      "nanotron (2411b022, parallel/pipeline_parallel/engine.py) runs 1F1B or all forwards before all backwards."},
     [](const Request&, const Strategy& s) {
       return s.pipeline > 1 && s.schedule != Schedule::OneForwardOneBackward && s.schedule != Schedule::GPipe;
     },
     [](const Request&, const Strategy&) {
       return std::string("nanotron (2411b022): its pipeline engines are 1F1B and all-forward-all-backward.");
     }},
    {{"nanotron.zero", Launcher::Nanotron, "/strategy/zeroStage",
      "nanotron shards optimizer states only (ZeRO-0 or 1)."},
     [](const Request&, const Strategy& s) { return s.zeroStage > 1; },
     [](const Request&, const Strategy& s) {
       return "nanotron (2411b022): ZeRO-" + n(s.zeroStage) + " does not exist there.";
     }},

    // Colossal-AI 4f9953be (2026-04)
    {{"colossalai.schedule", Launcher::ColossalAi, "/strategy/schedule",
      "Colossal-AI (4f9953be, hybrid_parallel_plugin.py:1041): pipelines are 1F1B, interleaved or zero-bubble with two "
      "chunks (ZB-V)."},
     [](const Request&, const Strategy& s) {
       return s.pipeline > 1 && s.schedule != Schedule::OneForwardOneBackward && s.schedule != Schedule::Interleaved &&
              s.schedule != Schedule::ZeroBubbleV;
     },
     [](const Request&, const Strategy&) {
       return std::string("Colossal-AI (4f9953be): pipelines are 1F1B, interleaved or ZB-V.");
     }},
    {{"colossalai.pipelineZero", Launcher::ColossalAi, "/strategy/zeroStage",
      "Colossal-AI (4f9953be, hybrid_parallel_plugin.py:1041): pipeline > 1 needs a ZeRO stage of at most 1."},
     [](const Request&, const Strategy& s) { return s.pipeline > 1 && s.zeroStage > 1; },
     [](const Request&, const Strategy& s) {
       return "Colossal-AI (4f9953be): ZeRO-" + n(s.zeroStage) + " does not go with pipeline " + n(s.pipeline) + ".";
     }},
    {{"colossalai.expertData", Launcher::ColossalAi, "/strategy/expert",
      "Colossal-AI (4f9953be, moe_hybrid_parallel_plugin.py:268): data divides by expert."},
     [](const Request&, const Strategy& s) { return s.expert > 1 && s.data % s.expert != 0; },
     [](const Request&, const Strategy& s) {
       return "Colossal-AI (4f9953be): data " + n(s.data) + " does not divide by expert " + n(s.expert) + ".";
     }},

    // FSDP stacks without pipelines
    {{"fsdp.pipeline", Launcher::LlmFoundry, "/strategy/pipeline",
      "LLM Foundry runs FSDP alone: no tensor, pipeline or context parallelism."},
     [](const Request&, const Strategy& s) { return s.pipeline > 1 || s.tensor > 1 || s.context > 1; },
     [](const Request&, const Strategy& s) {
       return "LLM Foundry: tensor " + n(s.tensor) + ", pipeline " + n(s.pipeline) + ", context " + n(s.context) +
              "; it has data parallelism only.";
     }},
};

constexpr std::size_t kCount = sizeof kRules / sizeof kRules[0];

const std::array<Rule, kCount>& catalogue() {
  static const std::array<Rule, kCount> rules = [] {
    std::array<Rule, kCount> all{};
    for (std::size_t i = 0; i < kCount; ++i) all[i] = kRules[i].rule;
    return all;
  }();
  return rules;
}

}  // namespace

std::span<const Rule> allRules() { return catalogue(); }

bool ruleApplies(const Request& request, const Rule& rule) {
  if (rule.launcher == Launcher::None) return true;
  if (!request.limits.launcherRules) return false;
  if (rule.launcher == request.software.launcher) return true;
  return rule.launcher == Launcher::MegatronLm && request.software.launcher == Launcher::MindSpeed;
}

bool breaksRule(const Request& request, const Strategy& strategy, int rule) {
  if (rule < 0 || static_cast<std::size_t>(rule) >= kCount) return false;
  const Checked& checked = kRules[static_cast<std::size_t>(rule)];
  if (!ruleApplies(request, checked.rule)) return false;
  // every later rule divides by the degrees
  if (rule > 0 && !positive(strategy)) return false;
  return checked.breaks(request, strategy);
}

int firstBrokenRule(const Request& request, const Strategy& strategy) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (breaksRule(request, strategy, static_cast<int>(i))) return static_cast<int>(i);
  }
  return -1;
}

Issues checkStrategy(const Request& request, const Strategy& strategy) {
  Issues issues;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (!breaksRule(request, strategy, static_cast<int>(i))) continue;
    const Checked& checked = kRules[i];
    issues.push_back({std::string(checked.rule.code), std::string(checked.rule.path), checked.why(request, strategy),
                      Severity::Error});
  }
  return issues;
}

}  // namespace meshwise
