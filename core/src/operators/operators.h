// The operators of one layer, embedding or head for one micro-batch on one rank, with their real shapes after sharding.
// Compute times them, memory sums what they keep: one list serves both. Private to the core.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "meshwise/plan.h"

namespace meshwise {

enum class OperatorKind : std::uint8_t { Matrix, Attention, Vector };

// Part of a layer, the unit of selective recomputation.
enum class Part : std::uint8_t {
  Norm,
  AttentionInput,
  MlaUpProjection,
  CoreAttention,
  AttentionOutput,
  Mlp,
  MlpActivation,
  Router,
  Expert,
  ExpertActivation,
  Residual,
  Embedding,
  Head
};

struct Operator {
  OperatorKind kind = OperatorKind::Vector;
  Part part = Part::Norm;
  // Matrix: `count` independent products (m x k) * (k x n).
  double count = 0, m = 0, n = 0, k = 0;
  bool lowPrecision = false;  // runs in fp8 / fp4 under such a recipe
  bool sharedWeight = false;  // the weight belongs to another operator (tied head)
  double parameters = 0;      // held by this rank for this operator
  bool hasWeight = false;     // has a weight-gradient product
  // Attention: batch * heads on this rank; queries of this rank; keys a query sees on average and at most; head widths.
  double batchHeads = 0, queries = 0, visibleKeys = 0, keys = 0, queryKeyDim = 0, valueDim = 0;
  double passes = 1;  // ring attention: the keys arrive in this many parts, a kernel each
  // Vector: bytes moved through device memory and kernels launched.
  double forwardBytes = 0, backwardBytes = 0;
  double forwardKernels = 1, backwardKernels = 1;
  // Bytes that stay until backward when nothing is recomputed.
  double savedBytes = 0;
};

// Up to kCapacity operators in place. Lists are made for every setting that a search prices, so the unused tail is
// never written and a copy takes only what is there.
class OperatorList {
 public:
  static constexpr std::size_t kCapacity = 48;

  OperatorList() {}
  OperatorList(const OperatorList& other) { *this = other; }
  OperatorList& operator=(const OperatorList& other) {
    size_ = 0;
    for (const Operator& op : other) add(op);
    return *this;
  }

  void add(const Operator& op) {
    if (size_ < kCapacity) items_[size_++].op = op;
  }
  const Operator* begin() const { return &items_[0].op; }
  const Operator* end() const { return begin() + size_; }
  std::size_t size() const { return size_; }

 private:
  union Item {
    Item() {}
    Operator op;
  };
  static_assert(std::is_trivially_copyable_v<Operator> && sizeof(Item) == sizeof(Operator));

  std::array<Item, kCapacity> items_;
  std::size_t size_ = 0;
};

// What of the strategy shapes the operators of a layer.
struct Shard {
  double tensor = 1, context = 1, expert = 1, expertTensor = 1;
  double microBatch = 1;
  bool sequenceParallel = false;
  bool contextAllToAll = false;

  double tokens(const Job& job) const {  // of one micro-batch on one rank, before sequence parallelism
    return microBatch * static_cast<double>(job.sequenceLength) / context;
  }
  double normTokens(const Job& job) const { return sequenceParallel ? tokens(job) / tensor : tokens(job); }
};

struct LayerKind {
  bool moe = false;
  bool local = false;  // sliding window or chunk
};

OperatorList layerOperators(const Model& model, const Job& job, const Software& software, const Shard& shard,
                            LayerKind kind);
OperatorList embeddingOperators(const Model& model, const Job& job, const Software& software, const Shard& shard,
                                double paddedVocabulary);
// Final norm, vocabulary projection and loss. `ownsWeight` false: the tied table is counted with the embedding.
OperatorList headOperators(const Model& model, const Job& job, const Software& software, const Shard& shard,
                           double paddedVocabulary, bool ownsWeight);
// One multi-token-prediction module without its transformer layer and head: two norms and the 2h -> h projection.
OperatorList mtpOperators(const Model& model, const Job& job, const Software& software, const Shard& shard);

// Is global attention used by this layer? (AttentionShape::slidingWindow, localPeriod)
bool isLocalLayer(const Model& model, std::int64_t layer);

// Bytes of one stored element of a linear layer's input under the precision recipe.
double linearInputBytes(Precision precision);
// Bytes of one element of the compute type of activations: 4 with fp32, 2 otherwise.
double activationBytes(Precision precision);
bool isLowPrecision(Precision precision);

}  // namespace meshwise
