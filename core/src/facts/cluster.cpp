#include "meshwise/cluster.h"

#include <algorithm>

#include "facts/checks.h"

namespace meshwise {

std::int64_t Cluster::domainDevices() const {
  return std::max<std::int64_t>(1, std::min(devices, accelerator.scaleUpDomain));
}

Issues validateCluster(const Cluster& c, const std::string& path) {
  constexpr double kRate = 1e18;
  Checks check(path);
  check.count("devices", c.devices, 1, 10'000'000);
  check.count("devicesPerNode", c.devicesPerNode, 1, 1'000'000);
  const bool several = c.devices > c.domainDevices();
  // one domain needs no network; between domains it must have a speed
  check.number("networkBytesPerSecondPerDevice", c.networkBytesPerSecondPerDevice, several ? 1e3 : 0, kRate, "bytes/s");
  check.number("networkOversubscription", c.networkOversubscription, 1, 1'000);
  check.count("devicesPerLeaf", c.devicesPerLeaf, 0, 10'000'000);
  check.number("usdPerDeviceHour", c.usdPerDeviceHour, 0, 1e6, "USD");
  const Accelerator& a = c.accelerator;
  const MatrixPeaks& p = a.matrixFlopsPerSecond;
  const std::string at = "accelerator/";
  check.number(at + "matrixFlopsPerSecond/fp32", p.fp32, 0, 1e21, "FLOP/s");
  check.number(at + "matrixFlopsPerSecond/tf32", p.tf32, 0, 1e21, "FLOP/s");
  check.number(at + "matrixFlopsPerSecond/fp16", p.fp16, 0, 1e21, "FLOP/s");
  check.number(at + "matrixFlopsPerSecond/bf16", p.bf16, 0, 1e21, "FLOP/s");
  check.number(at + "matrixFlopsPerSecond/fp8", p.fp8, 0, 1e21, "FLOP/s");
  check.number(at + "matrixFlopsPerSecond/fp4", p.fp4, 0, 1e21, "FLOP/s");
  if (!(std::max({p.fp32, p.tf32, p.fp16, p.bf16}) >= 1e6)) {
    check.fault("accelerator.noPeak", at + "matrixFlopsPerSecond",
                "The accelerator states no matrix peak of 16 bits or more; at least one must be 1e6 FLOP/s or more.");
  }
  check.number(at + "vectorFlopsPerSecond", a.vectorFlopsPerSecond, 0, 1e21, "FLOP/s");
  check.number(at + "memoryBytes", a.memoryBytes, 1e6, 1e16, "bytes");
  check.number(at + "memoryBytesPerSecond", a.memoryBytesPerSecond, 1e6, kRate, "bytes/s");
  check.number(at + "cacheBytes", a.cacheBytes, 0, 1e13, "bytes");
  check.count(at + "computeUnits", a.computeUnits, 0, 1'000'000);
  check.number(at + "powerWatts", a.powerWatts, 0, 1e7, "W");
  check.count(at + "scaleUpDomain", a.scaleUpDomain, 1, 10'000'000);
  const bool shared = std::min(a.scaleUpDomain, c.devices) > 1;
  check.number(at + "scaleUpBytesPerSecond", a.scaleUpBytesPerSecond, shared ? 1e3 : 0, kRate, "bytes/s");
  check.number(at + "hostBytesPerSecond", a.hostBytesPerSecond, 0, kRate, "bytes/s");
  const Efficiency& e = a.efficiency;
  const std::string ef = at + "efficiency/";
  const auto fraction = [&](const char* name, double value) { check.number(ef + name, value, 1e-3, 1); };
  fraction("matrixFraction", e.matrixFraction);
  fraction("matrixFractionFp8", e.matrixFractionFp8);
  fraction("matrixFractionFp4", e.matrixFractionFp4);
  check.number(ef + "matrixRampK", e.matrixRampK, 0, 1e6);
  fraction("attentionForward", e.attentionForward);
  fraction("attentionBackward", e.attentionBackward);
  fraction("memoryFraction", e.memoryFraction);
  fraction("scaleUpFraction", e.scaleUpFraction);
  fraction("scaleOutFraction", e.scaleOutFraction);
  const auto seconds = [&](const char* name, double value) { check.number(ef + name, value, 0, 60, "s"); };
  seconds("kernelSeconds", e.kernelSeconds);
  seconds("launchSeconds", e.launchSeconds);
  seconds("scaleUpLatencySeconds", e.scaleUpLatencySeconds);
  seconds("scaleOutLatencySeconds", e.scaleOutLatencySeconds);
  seconds("stepSeconds", e.stepSeconds);
  check.number(ef + "scaleOutGrowth", e.scaleOutGrowth, 0, 100);
  check.number(ef + "overlapContention", e.overlapContention, 0, 1);
  check.number(ef + "jitterFraction", e.jitterFraction, 0, 100);
  return check.take();
}

}  // namespace meshwise
