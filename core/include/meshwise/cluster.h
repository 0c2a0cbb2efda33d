// Accelerators and how they are wired.
#pragma once

#include <cstdint>
#include <string>

#include "meshwise/result.h"

namespace meshwise {

// How the devices of one scale-up domain are wired (estimator.md section 2).
enum class Topology {
  Switch,    // any member reaches any other at full bandwidth (NVSwitch, UB)
  FullMesh,  // one direct link to each peer (8 Ascend 910B, 8 MI300X, Gaudi)
  Ring,
  Torus2d,
  Torus3d,
  HostPcie,  // through the host's PCIe switches
};

// Dense matrix peaks, FLOP/s; 0 = the device has no such units.
struct MatrixPeaks {
  double fp32 = 0, tf32 = 0, fp16 = 0, bf16 = 0, fp8 = 0, fp4 = 0;
};

// What is achieved of the peaks, per accelerator generation. Every constant is physical and bounded; the preset says
// where each comes from. Fractions are in 0..1.
struct Efficiency {
  double matrixFraction = 0.80;           // of the matrix peak, on large well-shaped products in 16 bit
  double matrixFractionFp8 = 0.70;        // the same for fp8 operands, of the fp8 peak
  double matrixFractionFp4 = 0.60;        // the same for fp4 operands
  double matrixRampK = 300;               // K at which a product reaches half of its asymptote: K / (K + matrixRampK)
  double attentionForward = 0.50;         // fused (flash-2 class) attention, of the 16-bit peak, long sequences
  double attentionBackward = 0.40;        // the same in backward
  double memoryFraction = 0.80;           // of the memory bandwidth, streaming
  double kernelSeconds = 3e-6;            // start and drain of one kernel on the device
  double launchSeconds = 6e-6;            // host time to launch one kernel without CUDA graphs
  double scaleUpFraction = 0.80;          // of the scale-up bandwidth, large collectives
  double scaleUpLatencySeconds = 4e-6;    // per step of a collective inside the scale-up domain
  double scaleOutFraction = 0.80;         // of the network bandwidth, large collectives
  double scaleOutLatencySeconds = 12e-6;  // per step of a collective between domains
  double scaleOutGrowth = 0.0;            // slow-down per doubling of the number of nodes in a group (the paper's q)
  double overlapContention = 0.10;        // compute slows by this share while a collective runs beside it
  double stepSeconds = 5e-3;              // host work per step: data, logging, scalar reductions
  double jitterFraction = 0.0;            // slow-down per doubling of devices past one node: stragglers, OS noise
};

struct Accelerator {
  std::string preset;
  std::string name;
  std::string vendor;
  MatrixPeaks matrixFlopsPerSecond;
  double vectorFlopsPerSecond = 0;  // fp32 vector units
  double memoryBytes = 0;           // usable by a process
  double memoryBytesPerSecond = 0;
  double cacheBytes = 0;          // last-level cache
  std::int64_t computeUnits = 0;  // SMs, CUs, AI cores
  double powerWatts = 0;          // board power, for energy estimates
  Topology scaleUpTopology = Topology::Switch;
  double scaleUpBytesPerSecond = 0;  // per device and direction, all links
  std::int64_t scaleUpDomain = 8;    // devices that share it
  double hostBytesPerSecond = 0;     // per direction
  Efficiency efficiency;
};

struct Cluster {
  std::string preset;
  std::string name;
  Accelerator accelerator;
  std::int64_t devices = 0;
  std::int64_t devicesPerNode = 8;
  double networkBytesPerSecondPerDevice = 0;  // NIC rate of one device, one direction
  double networkOversubscription = 1.0;       // >= 1: uplink bandwidth is divided by this past one leaf
  std::int64_t devicesPerLeaf = 0;            // devices under one leaf or rail group at full rate; 0 = all
  bool inNetworkReduction = false;            // SHARP / NVLS: the switch adds
  double usdPerDeviceHour = 0;                // 0 = unknown

  // Devices that talk at scale-up speed: the domain, which may span nodes (NVL72).
  std::int64_t domainDevices() const;
};

Issues validateCluster(const Cluster& cluster, const std::string& path);

}  // namespace meshwise
