// A JSON document in memory, in the order of its text. Private to the codec.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "meshwise/result.h"

namespace meshwise {

struct JsonMember;

struct JsonValue {
  enum class Kind { Null, Boolean, Integer, Number, String, Array, Object };

  Kind kind = Kind::Null;
  bool boolean = false;
  std::int64_t integer = 0;
  double number = 0;
  std::string text;
  std::vector<JsonValue> items;
  std::vector<JsonMember> members;

  // Defined where a member's type is complete.
  JsonValue();
  JsonValue(const JsonValue& other);
  JsonValue(JsonValue&& other) noexcept;
  JsonValue& operator=(const JsonValue& other);
  JsonValue& operator=(JsonValue&& other) noexcept;
  ~JsonValue();

  static JsonValue null();
  static JsonValue of(bool value);
  static JsonValue of(std::int64_t value);
  static JsonValue of(double value);
  static JsonValue of(std::string_view value);
  static JsonValue of(const char* value);
  static JsonValue array();
  static JsonValue object();

  bool isNull() const { return kind == Kind::Null; }
  bool isString() const { return kind == Kind::String; }
  bool isArray() const { return kind == Kind::Array; }
  bool isObject() const { return kind == Kind::Object; }

  // Member of an object, or nullptr.
  const JsonValue* find(std::string_view key) const;
  void add(std::string_view key, JsonValue value);
  void append(JsonValue value);
};

struct JsonMember {
  std::string first;
  JsonValue second;
};

inline JsonValue::JsonValue() = default;
inline JsonValue::JsonValue(const JsonValue& other) = default;
inline JsonValue::JsonValue(JsonValue&& other) noexcept = default;
inline JsonValue& JsonValue::operator=(const JsonValue& other) = default;
inline JsonValue& JsonValue::operator=(JsonValue&& other) noexcept = default;
inline JsonValue::~JsonValue() = default;
inline JsonValue JsonValue::null() { return {}; }
inline JsonValue JsonValue::of(const char* value) { return of(std::string_view(value)); }
inline void JsonValue::add(std::string_view key, JsonValue value) {
  members.push_back({std::string(key), std::move(value)});
}
inline void JsonValue::append(JsonValue value) { items.push_back(std::move(value)); }

// Collects issues up to a limit, so that a hostile document cannot make an answer of megabytes.
class IssueSink {
 public:
  void add(std::string code, std::string path, std::string message, Severity severity = Severity::Error);
  // "<field> is <got>; it <rule>." The rule says what is allowed: "must be ...".
  void refuse(std::string code, const std::string& path, const std::string& got, const std::string& rule);
  // "<field> is missing; it <rule>."
  void missing(const std::string& path, const std::string& rule) { refuse("field.missing", path, "missing", rule); }
  void addAll(const Issues& issues);
  bool full() const { return issues_.size() >= kMaxIssues; }
  std::size_t errorCount() const { return errors_; }
  Issues take();

  static constexpr std::size_t kMaxIssues = 200;

 private:
  Issues issues_;
  std::size_t errors_ = 0;
  std::size_t dropped_ = 0;
};

// Bounds of a document that comes from outside.
struct JsonLimits {
  std::size_t maxBytes = std::size_t{1} << 20;
  std::size_t maxDepth = 64;
};

// Parses a text; every fault goes to `sink`. False when there is no usable value.
bool parseJson(std::string_view text, const JsonLimits& limits, JsonValue& out, IssueSink& sink);

// The text of a value, without white space. Numbers are the shortest text that reads back to the same double.
std::string writeJson(const JsonValue& value);

// A short text of a value for messages.
std::string quoteForMessage(const JsonValue& value);

// Replaces what JSON cannot carry exactly (non-finite numbers, integers beyond 2^53) by null and reports each one.
Issues replaceUnsafeNumbers(JsonValue& value);

// Appends one reference token to a JSON pointer (RFC 6901).
std::string joinPath(const std::string& path, std::string_view key);
std::string joinPath(const std::string& path, std::size_t index);

}  // namespace meshwise
