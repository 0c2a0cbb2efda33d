// A small catalogue and a request for tests of the codec, apart from the presets that ship.
#pragma once

#include <string>

#include "meshwise_codec/catalogue.h"

namespace meshwise::testing {

// Two models, one accelerator in a node of eight, one cluster without a number of devices, and profiles that differ.
inline const char* const kCatalogueText = R"json({
  "models": {
    "tiny": {"name": "Tiny", "layers": 4, "hidden": 256, "heads": 8, "kvHeads": 4, "ffn": 1024, "vocab": 1000},
    "tiny-moe": {"layers": 4, "hidden": 256, "heads": 8, "vocab": 1000,
                 "moe": {"experts": 8, "topK": 2, "expertFfn": 512}}
  },
  "accelerators": {
    "chip-80g": {"name": "Chip", "vendor": "Maker", "memoryBytes": 8e10, "memoryBytesPerSecond": 2e12,
                 "matrixFlopsPerSecond": {"bf16": 3e14}, "scaleUpBytesPerSecond": 3e11, "scaleUpDomain": 8}
  },
  "clusters": {
    "pod": {"name": "Pod", "accelerator": "chip-80g", "devicesPerNode": 8, "networkGbitPerDevice": 200}
  },
  "software": {
    "megatron-core-2025": {"name": "Megatron-Core", "launcher": "megatron-lm", "attentionKernel": "flash3",
      "frameworks": ["Megatron"],
      "defaults": {"zeroStage": 1, "sequenceParallel": true, "expertTensor": "tensor", "microBatchSequences": 2}},
    "old-megatron": {"launcher": "megatron-lm", "attentionKernel": "unfused-torch", "fusedNorm": false,
      "frameworks": ["Megatron-LM (2021)"], "defaults": {
  "zeroStage" : 0, "recompute" : "full"
}
}
, "fsdp" : {
  "launcher" : "none", "attentionKernel" : "flash2", "frameworks" : ["Titan"], "defaults" : {
    "zeroStage" : 3, "recompute" : "selective", "expertTensor" : 1
  }
}
}
})json";

inline const Catalogue& testCatalogue() {
  static const Catalogue catalogue = loadCatalogue(kCatalogueText).value;
  return catalogue;
}

}  // namespace meshwise::testing
