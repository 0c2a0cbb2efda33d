// Parts of a document -> the core's types, presets resolved. Private to the codec.
#pragma once

#include <span>
#include <string>

#include "fields.h"
#include "meshwise_codec/catalogue.h"

namespace meshwise {

// Keys of a preset that carry no number of the engine: they are for people.
using Labels = std::span<const char* const>;

// Each function reads `value` (nullptr = the section is absent), reports every fault to the sink and returns whether it
// found none. What a document does not state keeps the preset's value, then the default.

bool resolveModel(const JsonValue* value, const std::string& path, const Catalogue& catalogue, Labels labels,
                  IssueSink& sink, Model& out);
bool resolveAccelerator(const JsonValue* value, const std::string& path, const Catalogue& catalogue, Labels labels,
                        IssueSink& sink, Accelerator& out);
// A cluster preset need not state its number of devices; a request must.
bool resolveCluster(const JsonValue* value, const std::string& path, const Catalogue& catalogue, Labels labels,
                    bool devicesRequired, IssueSink& sink, Cluster& out);
bool resolveJob(const JsonValue* value, const std::string& path, IssueSink& sink, Job& out, std::string& framework,
                std::string& precisionRaw);
// Also answers what the profile does with fields that a strategy leaves open.
bool resolveSoftware(const JsonValue* value, const std::string& path, const Catalogue& catalogue, Labels labels,
                     const std::string& framework, IssueSink& sink, SoftwareProfile& out);
bool resolveLimits(const JsonValue* value, const std::string& path, IssueSink& sink, Limits& out);
// `devices` of the cluster, 0 = unknown: the data degree follows from it when it is open.
bool resolveStrategy(const JsonValue* value, const std::string& path, const SoftwareProfile& profile, bool isMoe,
                     std::int64_t devices, IssueSink& sink, Strategy& out);
// The "defaults" of a profile: a strategy without degrees that depend on the cluster.
bool resolveStrategyDefaults(const JsonValue* value, const std::string& path, IssueSink& sink, SoftwareProfile& out);

template <class Map>
std::vector<std::string> idsOf(const Map& map) {
  std::vector<std::string> ids;
  for (const auto& entry : map) ids.push_back(entry.first);
  return ids;
}

}  // namespace meshwise
