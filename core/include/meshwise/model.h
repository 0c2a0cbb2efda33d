// A decoder-only transformer, described by its shapes alone.
#pragma once

#include <cstdint>
#include <string>

#include "meshwise/result.h"

namespace meshwise {

enum class AttentionType { Mha, Gqa, Mla };  // multi-query attention is Gqa with one key-value head
enum class Position { Rope, Learned, Alibi, None };
enum class Norm { Rms, Layer };
// Normalisation of queries and keys. PerHead: one weight vector of headDim shared by all heads (Qwen3). FullWidth: over
// the whole projection (OLMo 2). PerHeadDistinct: own weights for each head (Command R+). L2: without weights (Llama
// 4).
enum class QkNorm { None, PerHead, FullWidth, PerHeadDistinct, L2 };

struct AttentionShape {
  AttentionType type = AttentionType::Mha;
  // Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1); zero otherwise. qLoraRank 0 with Mla:
  // full query projection.
  std::int64_t qLoraRank = 0;
  std::int64_t kvLoraRank = 0;
  std::int64_t qkNopeHeadDim = 0;
  std::int64_t qkRopeHeadDim = 0;
  std::int64_t vHeadDim = 0;
  // Tokens a query can see in a local layer; 0 = all layers are global.
  std::int64_t slidingWindow = 0;
  // Of every `localPeriod` layers one is global and the others are local; 0 with a window = every layer is local.
  std::int64_t localPeriod = 0;
  // Local layers attend inside fixed chunks of slidingWindow tokens (Llama 4) instead of a sliding band.
  bool chunked = false;
};

struct MoeShape {
  std::int64_t experts = 0;  // routed experts; 0 = dense model
  std::int64_t topK = 0;     // routed experts per token
  std::int64_t expertFfn = 0;
  std::int64_t sharedExperts = 0;
  std::int64_t sharedExpertFfn = 0;   // total width of the shared experts; 0 = sharedExperts * expertFfn
  std::int64_t denseFirstLayers = 0;  // leading layers with an ordinary MLP of width `ffn`
  std::int64_t moeEvery = 1;          // after those, each moeEvery-th layer is MoE
  bool sharedExpertGate = false;      // one gate vector of `hidden` (Qwen2-MoE)
  bool expertBias = false;            // biases in the experts' products (gpt-oss)
  bool routerBias = false;            // one bias per expert (DeepSeek-V3 noaux_tc)
  // Load of the busiest expert-parallel rank over the mean load; >= 1.
  double imbalanceFactor = 1.0;
  // Tokens per expert are capped at capacityFactor times the mean and dropped above; 0 = dropless.
  double capacityFactor = 0.0;
};

struct Biases {
  bool qkv = false;
  bool attentionOutput = false;
  bool mlp = false;
  bool lmHead = false;
};

struct Model {
  std::string preset;  // id of the preset that it started from, "" = none; a label only
  std::string name;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kvHeads = 0;
  std::int64_t headDim = 0;
  std::int64_t ffn = 0;
  std::int64_t vocab = 0;
  bool gatedMlp = true;
  bool tiedEmbeddings = false;
  Position position = Position::Rope;
  std::int64_t positionRows = 0;  // rows of a learned position table (0 with Learned: the job's sequence length)
  Norm norm = Norm::Rms;
  bool normBias = false;
  std::int64_t normsPerLayer = 2;
  bool finalNorm = true;
  bool embeddingNorm = false;  // norm right after the embedding (BLOOM)
  QkNorm qkNorm = QkNorm::None;
  Biases biases;
  AttentionShape attention;
  bool parallelBlock = false;  // attention and MLP read the same normalised input (GPT-J, Falcon)
  MoeShape moe;
  std::int64_t mtpLayers = 0;        // multi-token-prediction modules (DeepSeek-V3)
  std::int64_t extraParameters = 0;  // parameters of parts that are not modelled as operators (stated by the preset)
  std::int64_t maxSequenceLength = 0;

  bool isMoe() const { return moe.experts > 0; }
  bool isMla() const { return attention.type == AttentionType::Mla; }
  // Width of one query/key head and of one value head.
  std::int64_t queryKeyHeadDim() const { return isMla() ? attention.qkNopeHeadDim + attention.qkRopeHeadDim : headDim; }
  std::int64_t valueHeadDim() const { return isMla() ? attention.vHeadDim : headDim; }
  bool isMoeLayer(std::int64_t layer) const {
    if (!isMoe() || layer < moe.denseFirstLayers) return false;
    return (layer - moe.denseFirstLayers + 1) % moe.moeEvery == 0;
  }
  std::int64_t sharedExpertWidth() const {
    return moe.sharedExpertFfn > 0 ? moe.sharedExpertFfn : moe.sharedExperts * moe.expertFfn;
  }
};

// Parameter counts, exact, in parameters (not bytes).
struct ParameterCount {
  std::int64_t total = 0;      // everything but the MTP modules
  std::int64_t active = 0;     // used for one token: routed experts count topK of them
  std::int64_t embedding = 0;  // token table and learned positions
  std::int64_t lmHead = 0;     // 0 when tied
  std::int64_t attentionPerLayer = 0;
  std::int64_t denseMlpPerLayer = 0;
  std::int64_t moeMlpPerLayer = 0;  // router, routed and shared experts of one MoE layer
  std::int64_t normsPerLayer = 0;
  std::int64_t mtp = 0;  // MTP modules, embedding and head shared with the main model
};

ParameterCount countParameters(const Model& model);

// Every fault of the description, with paths under `path` (for example "/model").
Issues validateModel(const Model& model, const std::string& path);

}  // namespace meshwise
