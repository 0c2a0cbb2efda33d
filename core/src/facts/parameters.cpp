// Exact parameter counts from the shapes alone. Every term is an integer; the sum is what a checkpoint of the model
// stores, up to entries that are not parameters (rotary buffers, fp8 scales, a second copy of tied weights).
#include "meshwise/model.h"

namespace meshwise {
namespace {

// One norm over `width` values: a weight and, for LayerNorm with bias, a bias.
std::int64_t normParameters(const Model& model, std::int64_t width) { return width * (model.normBias ? 2 : 1); }

// Queries, keys, values and output of one layer, with their biases and the norms inside attention.
std::int64_t attentionParameters(const Model& model) {
  const std::int64_t hidden = model.hidden;
  const std::int64_t heads = model.heads;
  std::int64_t count = 0;
  if (model.isMla()) {
    // DeepSeek-V2 (arXiv 2405.04434) section 2.1: low-rank queries (optional) and a shared key-value latent, each with
    // an RMSNorm; the rotary part of the key is shared by all heads.
    const AttentionShape& mla = model.attention;
    const std::int64_t queryWidth = heads * (mla.qkNopeHeadDim + mla.qkRopeHeadDim);
    if (mla.qLoraRank > 0) {
      count += hidden * mla.qLoraRank + mla.qLoraRank + mla.qLoraRank * queryWidth;
    } else {
      count += hidden * queryWidth;
    }
    count += hidden * (mla.kvLoraRank + mla.qkRopeHeadDim) + mla.kvLoraRank;
    count += mla.kvLoraRank * heads * (mla.qkNopeHeadDim + mla.vHeadDim);
    count += heads * mla.vHeadDim * hidden;
    if (model.biases.attentionOutput) count += hidden;
    return count;
  }
  const std::int64_t queryWidth = heads * model.headDim;
  const std::int64_t keyWidth = model.kvHeads * model.headDim;
  count += hidden * (queryWidth + 2 * keyWidth) + queryWidth * hidden;
  if (model.biases.qkv) count += queryWidth + 2 * keyWidth;
  if (model.biases.attentionOutput) count += hidden;
  switch (model.qkNorm) {
    case QkNorm::None:
    case QkNorm::L2:
      break;
    case QkNorm::PerHead:
      count += 2 * model.headDim;
      break;
    case QkNorm::FullWidth:
    case QkNorm::PerHeadDistinct:
      count += queryWidth + keyWidth;
      break;
  }
  return count;
}

// One MLP of width `ffn`: up, optional gate, and down.
std::int64_t mlpParameters(const Model& model, std::int64_t ffn, bool bias) {
  const std::int64_t in = model.gatedMlp ? 2 : 1;
  std::int64_t count = (in + 1) * model.hidden * ffn;
  if (bias) count += in * ffn + model.hidden;
  return count;
}

// Everything of one MoE layer but its routed experts.
std::int64_t moeSharedParameters(const Model& model) {
  const MoeShape& moe = model.moe;
  std::int64_t count = model.hidden * moe.experts;
  if (moe.routerBias) count += moe.experts;
  const std::int64_t sharedWidth = model.sharedExpertWidth();
  if (sharedWidth > 0) count += mlpParameters(model, sharedWidth, false);
  if (moe.sharedExpertGate) count += model.hidden;
  return count;
}

}  // namespace

ParameterCount countParameters(const Model& model) {
  ParameterCount count;
  count.embedding = model.vocab * model.hidden;
  if (model.position == Position::Learned) count.embedding += model.positionRows * model.hidden;
  if (!model.tiedEmbeddings) count.lmHead = model.vocab * model.hidden;
  if (model.biases.lmHead) count.lmHead += model.vocab;
  count.attentionPerLayer = attentionParameters(model);
  count.denseMlpPerLayer = mlpParameters(model, model.ffn, model.biases.mlp);
  count.normsPerLayer = model.normsPerLayer * normParameters(model, model.hidden);

  std::int64_t expert = 0;
  if (model.isMoe()) {
    expert = mlpParameters(model, model.moe.expertFfn, model.moe.expertBias);
    count.moeMlpPerLayer = moeSharedParameters(model) + model.moe.experts * expert;
  }
  std::int64_t moeLayers = 0;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) moeLayers += model.isMoeLayer(layer) ? 1 : 0;

  count.total = count.embedding + count.lmHead + model.extraParameters;
  count.total += model.layers * (count.attentionPerLayer + count.normsPerLayer);
  count.total += (model.layers - moeLayers) * count.denseMlpPerLayer + moeLayers * count.moeMlpPerLayer;
  if (model.finalNorm) count.total += normParameters(model, model.hidden);
  if (model.embeddingNorm) count.total += normParameters(model, model.hidden);
  count.active = count.total - moeLayers * (model.moe.experts - model.moe.topK) * expert;

  // DeepSeek-V3 (arXiv 2412.19437) section 2.2: each module is one more layer, a projection from the concatenated
  // hidden state and embedding, norms of both and of the output. A mixture model's module is a mixture layer.
  if (model.mtpLayers > 0) {
    const std::int64_t mlp = model.isMoe() ? count.moeMlpPerLayer : count.denseMlpPerLayer;
    const std::int64_t layer = count.attentionPerLayer + count.normsPerLayer + mlp;
    const std::int64_t joint = 2 * model.hidden * model.hidden + 3 * normParameters(model, model.hidden);
    count.mtp = model.mtpLayers * (layer + joint);
  }
  return count;
}

}  // namespace meshwise
