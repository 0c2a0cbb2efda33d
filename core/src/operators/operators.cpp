#include "operators/operators.h"

#include <algorithm>
#include <cmath>

namespace meshwise {
namespace {

double d(std::int64_t value) { return static_cast<double>(value); }

struct Context {
  const Model& model;
  const Job& job;
  const Software& software;
  const Shard& shard;
  double tokens, normTokens, element, linearInput;
  bool low;
  OperatorList list;

  Context(const Model& m, const Job& j, const Software& s, const Shard& sh)
      : model(m),
        job(j),
        software(s),
        shard(sh),
        tokens(sh.tokens(j)),
        normTokens(sh.normTokens(j)),
        element(activationBytes(j.precision)),
        linearInput(linearInputBytes(j.precision)),
        low(isLowPrecision(j.precision)) {}

  void vector(Part part, double forwardBytes, double backwardBytes, double forwardKernels, double backwardKernels,
              double savedBytes, double parameters = 0) {
    Operator op;
    op.kind = OperatorKind::Vector;
    op.part = part;
    op.forwardBytes = forwardBytes * software.vectorFactor;
    op.backwardBytes = backwardBytes * software.vectorFactor;
    op.forwardKernels = forwardKernels;
    op.backwardKernels = backwardKernels;
    op.savedBytes = savedBytes;
    op.parameters = parameters;
    list.add(op);
  }

  // A weight product; `savedBytes` is what is kept of its input.
  void matrix(Part part, double count, double m, double n, double k, double savedBytes, double biasParameters,
              bool lowPrecision) {
    Operator op;
    op.kind = OperatorKind::Matrix;
    op.part = part;
    op.count = count;
    op.m = m;
    op.n = n;
    op.k = k;
    op.hasWeight = true;
    op.lowPrecision = low && lowPrecision;
    op.parameters = count * n * k + biasParameters;
    op.savedBytes = savedBytes;
    list.add(op);
    if (op.lowPrecision) {
      // The input is cast on the way in, and its gradient on the way out: read 16 bit, write 8 bit twice (as it is and
      // transposed for the weight gradient).
      vector(part, count * m * k * (element + 2), count * m * n * (element + 2), 1, 1, 0);
    }
  }

  // Fused: reads the input and writes the output; backward reads gradient, input and (in cache) statistics and writes
  // one gradient. Not fused, 16 bit: upcast (2 + 4), square (4 + 4), mean (4), scale (4 + 4), downcast (4 + 2), weight
  // (2 + 2): 34 bytes a value where the fused kernel moves 4; automatic differentiation runs about twice that backward.
  void norm(Part part, double rows, double width, double savedBytes) {
    const double values = rows * width;
    const double weight = width * (model.normBias ? 2.0 : 1.0);
    if (software.fusedNorm) {
      vector(part, 2 * element * values, 3 * element * values, 1, 2, savedBytes, weight);
    } else {
      vector(part, 34 * values, 68 * values, 7, 14, savedBytes + 4 * values, weight);
    }
  }

  void residual(Part part, bool withBias) {
    const double values = normTokens * d(model.hidden);
    const double dropout = software.dropout ? 1 : 0;
    // add (+ bias, dropout): fused in one pass, otherwise a kernel each
    const double forward =
        software.fusedMlp ? 3 * element + dropout : (3 + (withBias ? 2 : 0) + 2 * dropout) * element + dropout;
    // where the stream branches, backward adds the two gradients; dropout's own backward reads its mask
    const double backward = 3 * element + (software.dropout ? 2 * element + 1 : 0);
    vector(part, forward * values, backward * values, software.fusedMlp ? 1 : 1 + (withBias ? 1 : 0) + dropout,
           software.dropout ? 2 : 1, dropout * values);
  }

  void coreAttention(bool local) {
    const auto& a = model.attention;
    const double sequence = d(job.sequenceLength);
    const double heads = d(model.heads) / shard.tensor;
    Operator op;
    op.kind = OperatorKind::Attention;
    op.part = Part::CoreAttention;
    op.batchHeads = shard.microBatch * heads;
    op.queries = sequence / shard.context;
    op.keys = sequence;
    double visible = sequence / 2;
    const double window = d(a.slidingWindow);
    if (local && window > 0 && window < sequence) {
      visible = a.chunked ? window / 2 : window * (1 - window / (2 * sequence));
    }
    op.visibleKeys = visible;
    op.passes = shard.context > 1 && !shard.contextAllToAll ? shard.context : 1;
    op.queryKeyDim = d(model.queryKeyHeadDim());
    op.valueDim = d(model.valueHeadDim());
    const double scores = op.batchHeads * op.queries * op.keys;
    const bool flash = software.attentionKernel == AttentionKernel::Flash1 ||
                       software.attentionKernel == AttentionKernel::Flash2 ||
                       software.attentionKernel == AttentionKernel::Flash3;
    const double dropout = software.dropout ? 1 : 0;
    if (flash) {
      // log-sum-exp of each row in fp32 (flash-1 keeps it too); the output is the next product's input
      op.savedBytes = 4 * op.batchHeads * op.queries;
      list.add(op);
      if (shard.context > 1 && !shard.contextAllToAll) {
        // each further part's output is merged into the running one by its log-sum-exp, in fp32; backward adds the
        // gradients of queries, keys and values of each part
        const double merged = (shard.context - 1) * op.batchHeads * op.queries;
        vector(Part::CoreAttention, merged * op.valueDim * (4 + 4 + element),
               merged * (op.queryKeyDim * 3 * element + (op.queryKeyDim + op.valueDim) * 3 * element),
               shard.context - 1, 2 * (shard.context - 1), 0);
      }
      return;
    }
    // Korthikanti et al., arXiv 2205.05198, section 4.1: softmax output 2 bytes, mask 1, dropout output 2 per score.
    op.savedBytes = scores * (element + dropout * (1 + element));
    list.add(op);
    if (software.attentionKernel == AttentionKernel::UnfusedFusedSoftmax) {
      // scale, mask and softmax in one kernel: read and write each score once
      vector(Part::CoreAttention, 2 * element * scores, 3 * element * scores, 1, 1, 0);
    } else {
      // scale, masked fill, upcast, softmax in fp32, downcast: each its own pass over the scores
      vector(Part::CoreAttention, (2 * element + 2 * element + 1 + element + 4 + 8 + 4 + element) * scores,
             (3 * 4 + 2 * element + 2 * element + 4 + element) * scores, 5, 4, 4 * scores);
    }
    if (software.dropout) {
      vector(Part::CoreAttention, (2 * element + 1) * scores, (2 * element + 1) * scores, 1, 1, 0);
    }
  }

  void attention(bool local) {
    const double hidden = d(model.hidden);
    const double heads = d(model.heads) / shard.tensor;
    const double keyValueHeads = std::max(1.0, d(model.kvHeads) / shard.tensor);  // replicated past kvHeads
    const double normInput = normTokens * hidden;
    const double linearIn = linearInput * normInput;
    if (model.isMla()) {
      const auto& a = model.attention;
      const double qk = d(model.queryKeyHeadDim());
      const double value = d(a.vHeadDim);
      const double queryWidth = heads * qk;
      if (a.qLoraRank > 0) {
        matrix(Part::AttentionInput, 1, normTokens, d(a.qLoraRank), hidden, linearIn, 0, true);
        norm(Part::AttentionInput, normTokens, d(a.qLoraRank), element * normTokens * d(a.qLoraRank));
        matrix(Part::MlaUpProjection, 1, tokens, queryWidth, d(a.qLoraRank), linearInput * normTokens * d(a.qLoraRank),
               0, true);
      } else {
        matrix(Part::MlaUpProjection, 1, tokens, queryWidth, hidden, linearIn, 0, true);
      }
      const double latent = d(a.kvLoraRank + a.qkRopeHeadDim);
      matrix(Part::AttentionInput, 1, normTokens, latent, hidden, 0, 0, true);
      norm(Part::AttentionInput, normTokens, d(a.kvLoraRank), element * normTokens * latent);
      matrix(Part::MlaUpProjection, 1, tokens, heads * (d(a.qkNopeHeadDim) + value), d(a.kvLoraRank),
             linearInput * normTokens * d(a.kvLoraRank), 0, true);
      // rotary on part of the heads and assembly of full keys: read and write queries and keys
      const double assembled = tokens * heads * 2 * qk;
      vector(Part::MlaUpProjection, 2 * element * assembled, 2 * element * assembled, 3, 3,
             element * tokens * heads * (2 * qk + value));
      coreAttention(local);
      const double width = heads * value;
      matrix(Part::AttentionOutput, 1, tokens, hidden, width, element * tokens * width, 0, true);
    } else {
      const double headDim = d(model.headDim);
      const double width = (heads + 2 * keyValueHeads) * headDim;
      matrix(Part::AttentionInput, 1, tokens, width, hidden, linearIn, model.biases.qkv ? width : 0, true);
      if (model.qkNorm != QkNorm::None) {
        const double normed = tokens * (heads + keyValueHeads);
        norm(Part::AttentionInput, normed, headDim, element * normed * headDim);
      }
      if (model.position == Position::Rope) {
        const double rotated = tokens * (heads + keyValueHeads) * headDim;
        vector(Part::AttentionInput, 2 * element * rotated, 2 * element * rotated, 2, 2, 0);
      }
      // queries, keys and values stay for the attention's backward, which joins their gradients into one
      vector(Part::AttentionInput, 0, 2 * element * tokens * width, 0, 1, element * tokens * width);
      coreAttention(local);
      const double outputWidth = heads * headDim;
      matrix(Part::AttentionOutput, 1, tokens, hidden, outputWidth, element * tokens * outputWidth,
             model.biases.attentionOutput ? hidden : 0, true);
    }
  }

  void mlp(Part inner, Part activation, double rows, double width, double inputSaved) {
    const double hidden = d(model.hidden);
    const double up = model.gatedMlp ? 2 * width : width;
    matrix(inner, 1, rows, up, hidden, inputSaved, model.biases.mlp ? up : 0, true);
    const double kernels = software.fusedMlp ? 1 : (model.gatedMlp ? 2 : 1) + (model.biases.mlp ? 1 : 0);
    const double passes = software.fusedMlp ? 1 : 1.5;
    // The pre-activation stays for backward; the activation's output is the input of the next product.
    vector(activation, element * rows * (up + width) * passes, element * rows * (2 * up + width) * passes, kernels,
           kernels, 0);
    // Not fused, a gated unit also keeps the activated gate for the product's backward.
    const double gate = model.gatedMlp && !software.fusedMlp ? width : 0;
    vector(inner, 0, 0, 0, 0, element * rows * (up + gate));
    matrix(inner, 1, rows, hidden, width, 0, model.biases.mlp ? hidden : 0, true);
    vector(activation, 0, 0, 0, 0, linearInput * rows * width);
  }

  void moe() {
    const auto& e = model.moe;
    const double hidden = d(model.hidden);
    const double element16 = element;
    // Tokens are spread over the tensor ranks before they are routed (Megatron needs sequence parallelism there).
    const double local = tokens / shard.tensor;
    const double experts = d(e.experts);
    // router: fp32 product, softmax or sigmoid, top-k
    Operator router;
    router.kind = OperatorKind::Matrix;
    router.part = Part::Router;
    router.count = 1;
    router.m = local;
    router.n = experts;
    router.k = hidden;
    router.hasWeight = true;
    router.parameters = experts * hidden + (e.routerBias ? experts : 0);
    router.savedBytes = element16 * normTokens * hidden + 4 * local * experts;
    list.add(router);
    vector(Part::Router, 24 * local * experts, 24 * local * experts, 6, 6, 0);
    const double perToken = e.capacityFactor > 0 ? std::min(d(e.topK), d(e.topK) * e.capacityFactor) : d(e.topK);
    const double rows = local * perToken * shard.expertTensor * std::max(1.0, e.imbalanceFactor);
    // permutation before and after the exchange, each way
    const double permuted = rows * hidden * element16;
    vector(Part::Router, 4 * permuted, 4 * permuted, 4, 4, 0);
    const double localExperts = std::max(1.0, experts / shard.expert);
    const double width = d(e.expertFfn) / shard.expertTensor;
    const double up = model.gatedMlp ? 2 * width : width;
    const double each = rows / localExperts;
    matrix(Part::Expert, localExperts, each, up, hidden, linearInput * rows * hidden,
           e.expertBias ? localExperts * up : 0, true);
    vector(Part::ExpertActivation, element16 * rows * (up + width), element16 * rows * (2 * up + width), 1, 1, 0);
    vector(Part::Expert, 0, 0, 0, 0, element16 * rows * up);
    matrix(Part::Expert, localExperts, each, hidden, width, 0, e.expertBias ? localExperts * hidden : 0, true);
    vector(Part::ExpertActivation, 0, 0, 0, 0, linearInput * rows * width);
    const double shared = d(model.sharedExpertWidth());
    if (shared > 0) {
      mlp(Part::Mlp, Part::MlpActivation, tokens, shared / shard.tensor, linearInput * normTokens * hidden);
      if (e.sharedExpertGate)
        vector(Part::Mlp, 3 * element16 * normTokens * hidden, 3 * element16 * normTokens * hidden, 2, 2, 0, hidden);
    }
  }
};

}  // namespace

double linearInputBytes(Precision precision) {
  switch (precision) {
    case Precision::Fp32:
      return 4;
    case Precision::Fp16:
    case Precision::Bf16:
      return 2;
    case Precision::Fp8:
      return 1;
    case Precision::Mxfp8:
      return 1 + 1.0 / 32;  // one scale byte per 32 values
    case Precision::Nvfp4:
      return 0.5 + 1.0 / 16;  // one scale byte per 16 values
  }
  return 2;
}

double activationBytes(Precision precision) { return precision == Precision::Fp32 ? 4 : 2; }

bool isLowPrecision(Precision precision) {
  return precision == Precision::Fp8 || precision == Precision::Mxfp8 || precision == Precision::Nvfp4;
}

bool isLocalLayer(const Model& model, std::int64_t layer) {
  const auto& a = model.attention;
  if (a.slidingWindow <= 0) return false;
  if (a.localPeriod <= 1) return true;
  return (layer + 1) % a.localPeriod != 0;
}

OperatorList layerOperators(const Model& model, const Job& job, const Software& software, const Shard& shard,
                            LayerKind kind) {
  Context c(model, job, software, shard);
  const double hidden = d(model.hidden);
  const double kept = c.element * c.normTokens * hidden;  // a norm keeps its input
  c.norm(Part::Norm, c.normTokens, hidden, kept);
  c.attention(kind.local);
  c.residual(Part::Residual, model.biases.attentionOutput);
  const bool secondNorm = !(model.parallelBlock && model.normsPerLayer < 2);
  if (secondNorm) c.norm(Part::Norm, c.normTokens, hidden, kept);
  for (std::int64_t extra = 2; extra < model.normsPerLayer; ++extra) c.norm(Part::Norm, c.normTokens, hidden, kept);
  if (kind.moe) {
    c.moe();
  } else {
    const double inputSaved = secondNorm ? c.linearInput * c.normTokens * hidden : 0;  // a parallel block shares it
    c.mlp(Part::Mlp, Part::MlpActivation, c.tokens, d(model.ffn) / shard.tensor, inputSaved);
  }
  c.residual(Part::Residual, model.biases.mlp);
  return c.list;
}

OperatorList embeddingOperators(const Model& model, const Job& job, const Software& software, const Shard& shard,
                                double paddedVocabulary) {
  Context c(model, job, software, shard);
  const double hidden = d(model.hidden);
  const double values = c.tokens * hidden;
  double parameters = paddedVocabulary / shard.tensor * hidden;
  if (model.position == Position::Learned) {
    parameters += d(model.positionRows > 0 ? model.positionRows : job.sequenceLength) * hidden;
  }
  // gather rows; backward adds fp32 or 16-bit rows into the table's gradient
  c.vector(Part::Embedding, 2 * c.element * values, 3 * 4 * values, 2, 2, software.dropout ? c.normTokens * hidden : 0,
           parameters + d(model.extraParameters));
  if (model.embeddingNorm) c.norm(Part::Embedding, c.normTokens, hidden, c.element * c.normTokens * hidden);
  return c.list;
}

OperatorList headOperators(const Model& model, const Job& job, const Software& software, const Shard& shard,
                           double paddedVocabulary, bool ownsWeight) {
  Context c(model, job, software, shard);
  const double hidden = d(model.hidden);
  const double width = paddedVocabulary / shard.tensor;
  if (model.finalNorm) c.norm(Part::Head, c.normTokens, hidden, c.element * c.normTokens * hidden);
  c.matrix(Part::Head, 1, c.tokens, width, hidden, c.element * c.normTokens * hidden, model.biases.lmHead ? width : 0,
           false);
  OperatorList list;
  for (const Operator& op : c.list) {
    Operator copy = op;
    if (op.kind == OperatorKind::Matrix && !ownsWeight) {
      copy.parameters -= width * hidden;
      copy.sharedWeight = true;
    }
    list.add(copy);
  }
  c.list = list;
  const double logits = c.tokens * (software.parallelLogits ? width : paddedVocabulary);
  if (software.fusedCrossEntropy) {
    c.vector(Part::Head, (c.element + 4) * logits, 2 * c.element * logits, 3, 1, 0);
  } else {
    // cast to fp32, maximum, subtract and exp, sum, divide; backward scales and casts (Megatron's vocabulary-parallel
    // loss)
    c.vector(Part::Head, (c.element + 4 + 4 + 8 + 4 + 8) * logits, (8 + 4 + c.element) * logits, 8, 4, 0);
  }
  return c.list;
}

OperatorList mtpOperators(const Model& model, const Job& job, const Software& software, const Shard& shard) {
  Context c(model, job, software, shard);
  const double hidden = d(model.hidden);
  const double kept = c.element * c.normTokens * hidden;
  c.norm(Part::Norm, c.normTokens, hidden, kept);
  c.norm(Part::Norm, c.normTokens, hidden, kept);
  c.matrix(Part::Mlp, 1, c.tokens, hidden / shard.tensor, 2 * hidden, 2 * c.linearInput * c.normTokens * hidden, 0,
           true);
  return c.list;
}

}  // namespace meshwise
