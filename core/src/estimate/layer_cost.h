// Cost of one layer (or embedding, head) for one micro-batch on one rank. Private to the core.
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/collectives.h"
#include "compute/compute.h"
#include "memory/memory.h"
#include "operators/operators.h"

namespace meshwise {

// Seconds of one direction. `hidden` is communication that runs beside compute; it is subtracted.
struct Phase {
  double compute = 0;
  double tensor = 0, tensorReduction = 0;
  double context = 0;
  double expert = 0;
  double hidden = 0;
  double host = 0;  // waiting for kernel launches beyond the device's own time

  double total() const { return compute + tensor + tensorReduction + context + expert - hidden + host; }
  Phase& operator+=(const Phase& other);
};
Phase operator*(double factor, const Phase& phase);

struct LayerCost {
  Phase forward, backwardInput, backwardWeight, recompute;
  ActivationBytes activations;
  double denseParameters = 0;   // on this rank
  double expertParameters = 0;  // on this rank
  double dispatchBytes = 0;     // routed tokens of one exchange
};

// What decides a layer's cost; the key of the memo.
struct LayerSetting {
  Shard shard;
  Recompute recompute = Recompute::None;
  RecomputeModules modules;
};

class LayerCostModel {
 public:
  LayerCostModel(const Request& request, const ComputeModel& compute, const Network& network)
      : request_(request), compute_(compute), network_(network), matrixTimes_(kMatrixTimes) {}

  LayerCost layer(const LayerSetting& setting, LayerKind kind) const;
  LayerCost embedding(const LayerSetting& setting, double paddedVocabulary) const;
  LayerCost head(const LayerSetting& setting, double paddedVocabulary, bool ownsWeight) const;
  LayerCost mtp(const LayerSetting& setting) const;

 private:
  struct Products;
  // Times of a matrix product by its shape: the same few shapes come back for many settings (tokens and micro-batch
  // matter only through their product). A later shape takes the place of an earlier one with the same hash.
  struct MatrixTime {
    double count = 0, m = 0, n = 0, k = 0;
    bool lowPrecision = false;
    OperatorTime time;
  };
  static constexpr std::size_t kMatrixTimes = 4096;

  OperatorTime timeOf(const Operator& op) const;
  LayerCost price(const OperatorList& list, const LayerSetting& setting, double layerInputBytes,
                  Products* products) const;
  void addTensorCollectives(LayerCost& cost, const LayerSetting& setting, const Products& products, bool attention,
                            bool mlp) const;
  void addContext(LayerCost& cost, const LayerSetting& setting, const Products& products) const;
  void addExpert(LayerCost& cost, const LayerSetting& setting) const;
  void finish(LayerCost& cost, const LayerSetting& setting, const Products& products) const;

  const Request& request_;
  const ComputeModel& compute_;
  const Network& network_;
  mutable std::vector<MatrixTime> matrixTimes_;
};

}  // namespace meshwise
