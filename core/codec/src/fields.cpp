#include "fields.h"

#include <algorithm>
#include <cmath>

namespace meshwise {
namespace {

constexpr std::int64_t kMaxExactInteger = std::int64_t{1} << 53;

std::string foldName(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '_' || c == '-' || c == ' ' || c == '.') continue;
    out += (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

// Edit distance with swaps of neighbours (optimal string alignment).
std::size_t editDistance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

// Shortest exact text of a bound, so that a message says 8192 and not 8192.0.
std::string boundText(double bound) {
  if (std::abs(bound) < 1e15 && bound == std::floor(bound)) return std::to_string(static_cast<std::int64_t>(bound));
  return writeJson(JsonValue::of(bound));
}

constexpr std::size_t kLongestComparedName = 64;

}  // namespace

std::string nearestName(std::string_view name, const std::vector<std::string>& known) {
  if (name.size() > kLongestComparedName) return "";
  const std::string folded = foldName(name);
  std::string best;
  std::size_t bestDistance = std::max<std::size_t>(1, folded.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const std::size_t distance = editDistance(folded, foldName(candidate));
    if (distance < bestDistance) {
      bestDistance = distance;
      best = candidate;
    }
  }
  return best;
}

std::vector<std::string> nearNames(std::string_view name, const std::vector<std::string>& known) {
  std::vector<std::string> out;
  if (name.empty() || name.size() > kLongestComparedName) return out;
  const std::string folded = foldName(name);
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const std::string& candidate : known) {
    const std::string other = foldName(candidate);
    const std::size_t distance = editDistance(folded, other);
    const bool isPart = folded.size() >= 3 && other.find(folded) != std::string::npos;
    const bool isExtension = other.size() >= 3 && folded.find(other) != std::string::npos;
    if (distance <= std::max<std::size_t>(1, folded.size() / 3) || isPart || isExtension) {
      ranked.emplace_back(distance, candidate);
    }
  }
  std::sort(ranked.begin(), ranked.end());
  for (std::size_t i = 0; i < ranked.size() && i < 3; ++i) out.push_back(ranked[i].second);
  return out;
}

ObjectReader::ObjectReader(const JsonValue* value, std::string path, IssueSink& sink)
    : value_(value), path_(std::move(path)), sink_(sink) {
  if (value_ == nullptr) return;
  if (value_->isNull()) {
    value_ = nullptr;
  } else if (!value_->isObject()) {
    sink_.refuse("field.type", path_, quoteForMessage(*value_), "must be an object");
    value_ = nullptr;
  }
}

bool ObjectReader::has(std::string_view key) const {
  if (value_ == nullptr) return false;
  const JsonValue* member = value_->find(key);
  return member != nullptr && !member->isNull();
}

const JsonValue* ObjectReader::get(const char* key) {
  known_.emplace_back(key);
  const JsonValue* member = value_ == nullptr ? nullptr : value_->find(key);
  if (member == nullptr || member->isNull()) {
    ++absent_;
    return nullptr;
  }
  return member;
}

bool ObjectReader::integer(const char* key, std::int64_t& out, std::int64_t min, std::int64_t max) {
  const JsonValue* value = get(key);
  return value != nullptr && readInteger(*value, joinPath(path_, key), out, min, max);
}

bool ObjectReader::readInteger(const JsonValue& value, const std::string& path, std::int64_t& out, std::int64_t min,
                               std::int64_t max) {
  const std::string allowed = "must be a whole number from " + std::to_string(min) + " to " + std::to_string(max);
  std::int64_t number = 0;
  if (value.kind == JsonValue::Kind::Integer) {
    number = value.integer;
  } else if (value.kind == JsonValue::Kind::Number && std::abs(value.number) <= static_cast<double>(kMaxExactInteger) &&
             value.number == std::floor(value.number)) {
    number = static_cast<std::int64_t>(value.number);
  } else {
    const bool isHuge = value.kind == JsonValue::Kind::Number && std::abs(value.number) > 1;
    const bool isOutside =
        isHuge && (value.number > static_cast<double>(max) || value.number < static_cast<double>(min));
    sink_.refuse(isOutside ? "field.range" : "field.type", path, quoteForMessage(value), allowed);
    return false;
  }
  if (number < min || number > max) {
    sink_.refuse("field.range", path, quoteForMessage(value), allowed);
    return false;
  }
  out = number;
  return true;
}

bool ObjectReader::number(const char* key, double& out, double min, double max) {
  const JsonValue* value = get(key);
  if (value == nullptr) return false;
  const std::string path = joinPath(path_, key);
  const std::string allowed = "must be a number from " + boundText(min) + " to " + boundText(max);
  double number = 0;
  if (value->kind == JsonValue::Kind::Integer) {
    number = static_cast<double>(value->integer);
  } else if (value->kind == JsonValue::Kind::Number) {
    number = value->number;
  } else {
    sink_.refuse("field.type", path, quoteForMessage(*value), allowed);
    return false;
  }
  if (!(number >= min && number <= max)) {
    sink_.refuse("field.range", path, quoteForMessage(*value), allowed);
    return false;
  }
  out = number == 0 ? 0.0 : number;  // no negative zero
  return true;
}

bool ObjectReader::boolean(const char* key, bool& out) {
  const JsonValue* value = get(key);
  if (value == nullptr) return false;
  if (value->kind != JsonValue::Kind::Boolean) {
    sink_.refuse("field.type", joinPath(path_, key), quoteForMessage(*value), "must be true or false");
    return false;
  }
  out = value->boolean;
  return true;
}

bool ObjectReader::text(const char* key, std::string& out) {
  constexpr std::size_t kMaxText = 200;
  const JsonValue* value = get(key);
  if (value == nullptr) return false;
  if (!value->isString() || value->text.size() > kMaxText) {
    const bool isLong = value->isString();
    sink_.refuse(isLong ? "field.range" : "field.type", joinPath(path_, key),
                 isLong ? std::to_string(value->text.size()) + " bytes long" : quoteForMessage(*value),
                 "must be a string of at most 200 bytes");
    return false;
  }
  out = value->text;
  return true;
}

void ObjectReader::reportChoice(const JsonValue& value, const std::string& path,
                                const std::vector<std::string>& names) {
  std::string rule = "must be one of ";
  for (std::size_t i = 0; i < names.size(); ++i) rule += (i == 0 ? "\"" : ", \"") + names[i] + "\"";
  if (value.isString()) {
    const std::string near = nearestName(value.text, names);
    if (!near.empty()) rule += ". Did you mean \"" + near + "\"?";
  }
  sink_.refuse(value.isString() ? "field.choice" : "field.type", path, quoteForMessage(value), rule);
}

void ObjectReader::missing(const char* key, const std::string& rule) { sink_.missing(joinPath(path_, key), rule); }

void ObjectReader::finish() {
  if (value_ == nullptr) return;
  for (const auto& [key, member] : value_->members) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    // The message of a fault that is only counted need not be worked out.
    const std::string near = sink_.full() ? "" : nearestName(key, known_);
    const std::string shortKey = key.substr(0, 80);
    sink_.add("field.unknown", joinPath(path_, shortKey),
              shortKey + " is not a field that Meshwise knows." +
                  (near.empty() ? std::string() : " Did you mean \"" + near + "\"?"));
  }
}

std::span<const RecomputeModuleName> recomputeModuleNames() {
  static constexpr RecomputeModuleName kNames[] = {
      {&RecomputeModules::coreAttention, "core_attn"},     {&RecomputeModules::mlp, "mlp"},
      {&RecomputeModules::layerNorm, "layernorm"},         {&RecomputeModules::moeActivation, "moe_act"},
      {&RecomputeModules::mlaUpProjection, "mla_up_proj"}, {&RecomputeModules::coreAttention, "coreAttention"},
      {&RecomputeModules::coreAttention, "coreAttn"},      {&RecomputeModules::layerNorm, "layerNorm"},
      {&RecomputeModules::moeActivation, "moeActivation"}, {&RecomputeModules::moeActivation, "moeAct"},
      {&RecomputeModules::mlaUpProjection, "mlaUpProj"},   {&RecomputeModules::mlaUpProjection, "mlaUpProjection"},
  };
  return kNames;
}

}  // namespace meshwise
