#include "collectives/collectives.h"

#include <algorithm>
#include <cmath>

namespace meshwise {

Network::Network(const Cluster& cluster)
    : cluster_(cluster),
      efficiency_(cluster.accelerator.efficiency),
      domain_(static_cast<double>(std::max<std::int64_t>(cluster.domainDevices(), 1))),
      // a reduction reads the local part from device memory once more than a copy does
      reductionRate_(cluster.accelerator.memoryBytesPerSecond * cluster.accelerator.efficiency.memoryFraction) {}

Group Network::group(double stride, double members) const {
  Group g;
  g.members = members;
  g.perDomain = std::clamp(std::floor(domain_ / stride), 1.0, members);
  g.domains = std::ceil(members / g.perDomain);
  const double leaf = static_cast<double>(cluster_.devicesPerLeaf);
  g.crossesLeaf = leaf > 0 && stride * members > leaf;
  return g;
}

double Network::scaleUpRate(double members) const {
  const Accelerator& a = cluster_.accelerator;
  double share = 1;
  switch (a.scaleUpTopology) {
    case Topology::Switch:
    case Topology::Ring:
    case Topology::HostPcie:
      break;
    case Topology::FullMesh:
      // one link to each peer: a group uses the links between its members only
      share = domain_ > 1 ? std::min(1.0, (members - 1) / (domain_ - 1)) : 1;
      break;
    case Topology::Torus2d: {
      // links of one dimension until the group is wider than a side
      const double side = std::sqrt(domain_);
      share = members <= side ? 0.5 : 1;
      break;
    }
    case Topology::Torus3d: {
      const double side = std::cbrt(domain_);
      share = members <= side ? 1.0 / 3 : (members <= side * side ? 2.0 / 3 : 1);
      break;
    }
  }
  return a.scaleUpBytesPerSecond * efficiency_.scaleUpFraction * share;
}

double Network::scaleOutRate(const Group& group) const {
  double rate = cluster_.networkBytesPerSecondPerDevice * efficiency_.scaleOutFraction;
  if (group.crossesLeaf) rate /= std::max(1.0, cluster_.networkOversubscription);
  // the paper's slow-down q: congestion grows with the number of domains in the group
  return rate / (1 + efficiency_.scaleOutGrowth * std::log2(std::max(1.0, group.domains)));
}

double Network::halfSeconds(const Group& group, double bytes) const {
  if (group.members <= 1 || bytes <= 0) return 0;
  const double p = group.members;
  const double k = group.perDomain;
  const double alphaIn = efficiency_.scaleUpLatencySeconds;
  const double alphaOut = efficiency_.scaleOutLatencySeconds;
  if (group.domains <= 1) {
    // Ring: p-1 steps; mesh: one step over p-1 links; halving-doubling: log2 p steps. The fastest latency wins, the
    // volume is the same (Thakur, Rabenseifner, Gropp 2005; HCCL algorithm documents).
    const double steps = cluster_.accelerator.scaleUpTopology == Topology::FullMesh ? 1 : std::ceil(std::log2(p));
    return std::min(p - 1, steps) * alphaIn + (p - 1) / p * bytes / scaleUpRate(p);
  }
  // A ring through all members: each domain's k members bring k network ports, and the slower tier sets the pace. The
  // hierarchical form moves (k-1)/k inside and (domains-1)/domains of 1/k between, one after the other.
  const double out = scaleOutRate(group);
  const double latency =
      (k > 1 ? std::ceil(std::log2(k)) : 0) * alphaIn + std::ceil(std::log2(group.domains)) * alphaOut;
  const double inside = k > 1 ? scaleUpRate(k) : 0;
  const double ring = (p - 1) / p * bytes / (k > 1 ? std::min(inside, k * out) : out);
  const double hierarchical =
      (k > 1 ? (k - 1) / k * bytes / inside : 0) + (group.domains - 1) / group.domains * bytes / k / out;
  return latency + std::min(ring, hierarchical);
}

CollectiveCost Network::reduceScatter(const Group& group, double bytes) const {
  CollectiveCost cost;
  cost.seconds = halfSeconds(group, bytes);
  if (group.members > 1) cost.reductionSeconds = (group.members - 1) / group.members * bytes / reductionRate_;
  return cost;
}

CollectiveCost Network::allGather(const Group& group, double bytes) const { return {halfSeconds(group, bytes), 0}; }

CollectiveCost Network::allReduce(const Group& group, double bytes) const {
  CollectiveCost cost = reduceScatter(group, bytes);
  cost.seconds += halfSeconds(group, bytes);
  if (cluster_.inNetworkReduction && group.members > 1) {
    // the switch adds: each member sends and receives the vector once instead of 2(p-1)/p times
    const double p = group.members;
    cost.seconds *= std::min(1.0, p / (2 * (p - 1)) * 1.15);
    cost.reductionSeconds = 0;
  }
  return cost;
}

CollectiveCost Network::allToAll(const Group& group, double bytes, double betweenShare) const {
  CollectiveCost cost;
  if (group.members <= 1 || bytes <= 0) return cost;
  const double p = group.members;
  const double k = group.perDomain;
  const double inside = k > 1 ? (k - 1) / p * bytes / scaleUpRate(k) : 0;
  const double between = group.domains > 1 ? (p - k) / p * bytes * betweenShare / scaleOutRate(group) : 0;
  // both tiers work at once; every peer costs a message, sent in parallel over the ports
  cost.seconds = std::max(inside, between) + efficiency_.scaleUpLatencySeconds +
                 (group.domains > 1 ? efficiency_.scaleOutLatencySeconds +
                                          0.1 * efficiency_.scaleOutLatencySeconds * (group.domains - 1)
                                    : 0);
  return cost;
}

double Network::pointToPoint(double stride, double bytes) const {
  const Accelerator& a = cluster_.accelerator;
  if (stride < domain_) {
    double rate = a.scaleUpBytesPerSecond * efficiency_.scaleUpFraction;
    if (a.scaleUpTopology == Topology::FullMesh) rate /= std::max(1.0, domain_ - 1);
    if (a.scaleUpTopology == Topology::Torus2d) rate /= 4;
    if (a.scaleUpTopology == Topology::Torus3d) rate /= 6;
    return efficiency_.scaleUpLatencySeconds + bytes / rate;
  }
  double rate = cluster_.networkBytesPerSecondPerDevice * efficiency_.scaleOutFraction;
  return efficiency_.scaleOutLatencySeconds + bytes / rate;
}

}  // namespace meshwise
