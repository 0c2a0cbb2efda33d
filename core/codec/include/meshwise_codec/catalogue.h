// The presets: models, accelerators, clusters and software profiles that a request can start from.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "meshwise/plan.h"
#include "meshwise/result.h"

namespace meshwise {

// A software profile: the switches, and what its stack does when a strategy leaves a field open.
struct SoftwareProfile {
  Software software;
  Strategy defaults;
  // Whether the profile's expert tensor degree follows the tensor degree unless it is stated (Megatron-Core).
  bool expertTensorFollowsTensor = false;
  // Beginnings of `job.framework` labels that mean this profile; the longest that matches any profile wins.
  std::vector<std::string> frameworks;
};

// Read-only after loading. Ids are the keys.
struct Catalogue {
  std::map<std::string, Model, std::less<>> models;
  std::map<std::string, Accelerator, std::less<>> accelerators;
  std::map<std::string, Cluster, std::less<>> clusters;  // `devices` is 0 where the preset states none
  std::map<std::string, SoftwareProfile, std::less<>> software;

  // Id of the profile that a framework label means; the default profile when none matches or the label is empty.
  std::string profileOfFramework(std::string_view framework) const;
};

inline constexpr const char* kDefaultProfile = "megatron-core-2025";

// Reads the catalogue document. Every preset is checked like a request; one bad preset refuses the whole catalogue.
Result<Catalogue> loadCatalogue(std::string_view json);

}  // namespace meshwise
