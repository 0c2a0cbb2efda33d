#include "meshwise_codec/catalogue.h"

#include <exception>

#include "resolve.h"

namespace meshwise {
namespace {

// For people: where the numbers come from and how far they can be trusted.
constexpr const char* kModelLabels[] = {"family", "provenance", "sources", "notes", "published"};
constexpr const char* kAcceleratorLabels[] = {"provenance", "sources", "notes", "kind"};
constexpr const char* kClusterLabels[] = {"provenance", "sources", "notes", "vendor"};
constexpr const char* kSoftwareLabels[] = {"name", "provenance", "sources", "notes", "vendor"};

std::vector<std::string> readFrameworks(const JsonValue* list, const std::string& path, IssueSink& sink) {
  std::vector<std::string> out;
  if (list == nullptr || list->isNull()) return out;
  if (!list->isArray()) {
    sink.refuse("field.type", path, quoteForMessage(*list), "must be an array of strings");
    return out;
  }
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const JsonValue& item = list->items[i];
    if (item.isString() && !item.text.empty()) {
      out.push_back(item.text);
    } else {
      sink.refuse("field.type", joinPath(path, i), quoteForMessage(item), "must be a string that is not empty");
    }
  }
  return out;
}

template <class Read>
void readSection(ObjectReader& root, const char* key, IssueSink& sink, Read read) {
  const JsonValue* section = root.get(key);
  const std::string path = joinPath("", key);
  if (section == nullptr) {
    root.missing(key, "must be an object of presets by id");
    return;
  }
  if (!section->isObject()) {
    sink.refuse("field.type", path, quoteForMessage(*section), "must be an object of presets by id");
    return;
  }
  for (const auto& [id, value] : section->members) read(id, value, joinPath(path, id));
}

}  // namespace

std::string Catalogue::profileOfFramework(std::string_view framework) const {
  std::string best = kDefaultProfile;
  std::size_t bestLength = 0;
  for (const auto& [id, profile] : software) {
    for (const std::string& prefix : profile.frameworks) {
      if (prefix.size() > bestLength && framework.substr(0, prefix.size()) == prefix) {
        best = id;
        bestLength = prefix.size();
      }
    }
  }
  return best;
}

Result<Catalogue> loadCatalogue(std::string_view json) {
  IssueSink sink;
  Result<Catalogue> result;
  try {
    JsonValue document;
    constexpr JsonLimits kCatalogueLimits{std::size_t{1} << 24, 64};
    if (!parseJson(json, kCatalogueLimits, document, sink)) {
      result.issues = sink.take();
      return result;
    }
    Catalogue& catalogue = result.value;
    const Catalogue none;  // presets do not start from presets, except that a cluster names its accelerator
    ObjectReader root(&document, "", sink);
    for (const char* label : {"version", "engineVersion", "generated", "schema"}) root.label(label);
    readSection(root, "accelerators", sink,
                [&](const std::string& id, const JsonValue& value, const std::string& path) {
                  Accelerator accelerator;
                  resolveAccelerator(&value, path, none, kAcceleratorLabels, sink, accelerator);
                  accelerator.preset = id;
                  catalogue.accelerators.emplace(id, accelerator);
                });
    readSection(root, "models", sink, [&](const std::string& id, const JsonValue& value, const std::string& path) {
      Model model;
      if (resolveModel(&value, path, none, kModelLabels, sink, model)) sink.addAll(validateModel(model, path));
      model.preset = id;
      catalogue.models.emplace(id, model);
    });
    readSection(root, "clusters", sink, [&](const std::string& id, const JsonValue& value, const std::string& path) {
      Cluster cluster;
      resolveCluster(&value, path, catalogue, kClusterLabels, false, sink, cluster);
      cluster.preset = id;
      catalogue.clusters.emplace(id, cluster);
    });
    readSection(root, "software", sink, [&](const std::string& id, const JsonValue& value, const std::string& path) {
      SoftwareProfile profile;
      JsonValue plain = JsonValue::object();
      if (value.isObject()) {
        for (const auto& [key, member] : value.members) {
          if (key != "frameworks" && key != "defaults") plain.add(key, member);
        }
        resolveSoftware(&plain, path, none, kSoftwareLabels, "", sink, profile);
        profile.frameworks = readFrameworks(value.find("frameworks"), joinPath(path, "frameworks"), sink);
        resolveStrategyDefaults(value.find("defaults"), joinPath(path, "defaults"), sink, profile);
      } else {
        sink.refuse("field.type", path, quoteForMessage(value), "must be an object");
      }
      profile.software.profile = id;
      catalogue.software.emplace(id, profile);
    });
    root.finish();
    for (const auto& [id, cluster] : catalogue.clusters) {
      if (cluster.devices > 0) sink.addAll(validateCluster(cluster, joinPath("/clusters", id)));
    }
  } catch (const std::exception& error) {
    sink.add("internal.exception", "", std::string("The catalogue could not be read: ") + error.what());
  }
  result.issues = sink.take();
  return result;
}

}  // namespace meshwise
