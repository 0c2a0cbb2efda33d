// Uses the installed library as a stranger would: the core's types, and the codec.
#include <cstdio>

#include "meshwise/estimate.h"
#include "meshwise/version.h"
#include "meshwise_codec/decode.h"

int main() {
  const auto decoded = meshwise::decodeRequest(R"({
    "version": 1,
    "model": {"layers": 24, "hidden": 1024, "heads": 16, "ffn": 4096, "vocab": 50304, "gatedMlp": false},
    "cluster": {"devices": 8, "devicesPerNode": 8, "networkGbitPerDevice": 200, "accelerator": {
      "matrixFlopsPerSecond": {"bf16": 312e12}, "memoryBytes": 80e9, "memoryBytesPerSecond": 2e12, "computeUnits": 108,
      "scaleUpBytesPerSecond": 300e9, "scaleUpDomain": 8}},
    "job": {"sequenceLength": 1024, "globalBatchSequences": 64, "precision": "bf16"},
    "strategy": {"data": 8, "microBatchSequences": 2}})",
                                               meshwise::Catalogue{});
  for (const meshwise::Issue& issue : decoded.issues) std::printf("%s %s\n", issue.path.c_str(), issue.message.c_str());
  if (!decoded.ok() || !decoded.value.hasStrategy) return 1;
  const meshwise::Estimate estimate = meshwise::estimateStrategy(decoded.value.request, decoded.value.strategy);
  std::printf("meshwise %s: %.4f s a step\n", meshwise::kEngineVersion, estimate.stepSeconds);
  return estimate.stepSeconds > 0 && estimate.fits ? 0 : 1;
}
