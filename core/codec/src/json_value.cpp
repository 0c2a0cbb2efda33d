#include "json_value.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_set>

namespace meshwise {
namespace {

constexpr std::int64_t kMaxSafeInteger = std::int64_t{1} << 53;

// Line and column, both from 1, of a byte offset.
std::string describePosition(std::string_view text, std::size_t offset) {
  std::size_t line = 1;
  std::size_t lineStart = 0;
  for (std::size_t i = 0; i < offset && i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++line;
      lineStart = i + 1;
    }
  }
  return "line " + std::to_string(line) + ", column " + std::to_string(offset - lineStart + 1);
}

// Builds a JsonValue from the parser's events; finds what a plain tree would lose: duplicate keys and depth.
class TreeBuilder {
 public:
  TreeBuilder(std::string_view text, const JsonLimits& limits, JsonValue& root, IssueSink& sink)
      : text_(text), limits_(limits), root_(root), sink_(sink) {}

  bool null() { return put(JsonValue::null()); }
  bool boolean(bool value) { return put(JsonValue::of(value)); }
  bool number_integer(std::int64_t value) { return put(JsonValue::of(value)); }
  bool number_unsigned(std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(INT64_MAX)) return put(JsonValue::of(static_cast<double>(value)));
    return put(JsonValue::of(static_cast<std::int64_t>(value)));
  }
  bool number_float(double value, const std::string&) { return put(JsonValue::of(value)); }
  bool string(std::string& value) { return put(JsonValue::of(std::string_view(value))); }
  bool binary(nlohmann::json::binary_t&) { return false; }

  bool start_object(std::size_t) { return open(JsonValue::object()); }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(JsonValue::array()); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    Frame& frame = stack_.back();
    frame.key = name;
    frame.hasKey = true;
    if (!frame.keys.insert(name).second) {
      sink_.add("json.duplicateKey", currentPath(),
                "The key \"" + name.substr(0, 80) + "\" occurs more than once in this object.");
    }
    return true;
  }

  bool parse_error(std::size_t offset, const std::string&, const nlohmann::json::exception& error) {
    std::string detail = error.what();
    if (error.id == 406) {
      sink_.add("json.numberTooLarge", currentPath(), "A number is beyond the range of a double, about 1.8e308.");
      return false;
    }
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while parsing value - ..."
    const std::size_t start = detail.find(": ");
    if (start != std::string::npos) detail = detail.substr(start + 2);
    const std::size_t at = offset == 0 ? 0 : offset - 1;
    sink_.add("json.syntax", currentPath(),
              "This is not valid JSON at " + describePosition(text_, at) + ": " + detail.substr(0, 300) + ".");
    return false;
  }

 private:
  struct Frame {
    JsonValue* value;
    std::string key;
    std::unordered_set<std::string> keys;
    bool hasKey = false;
  };

  std::string currentPath() const {
    std::string path;
    for (std::size_t i = 0; i < stack_.size(); ++i) {
      const Frame& frame = stack_[i];
      if (frame.value->isArray()) {
        const bool isInside = i + 1 < stack_.size();  // in an element that is already placed
        path = joinPath(path, frame.value->items.size() - (isInside ? 1 : 0));
      } else if (frame.hasKey) {
        path = joinPath(path, frame.key);
      }
    }
    return path;
  }

  // The children of an open container never move while it is open: only its last child can itself be open.
  JsonValue* place(JsonValue value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    JsonValue& parent = *stack_.back().value;
    if (parent.isArray()) {
      parent.items.push_back(std::move(value));
      return &parent.items.back();
    }
    parent.members.push_back({stack_.back().key, std::move(value)});
    return &parent.members.back().second;
  }

  bool put(JsonValue value) {
    place(std::move(value));
    return true;
  }

  bool open(JsonValue value) {
    if (stack_.size() >= limits_.maxDepth) {
      sink_.add("json.tooDeep", "",
                "The document is nested deeper than " + std::to_string(limits_.maxDepth) + " levels.");
      return false;
    }
    JsonValue* placed = place(std::move(value));
    stack_.push_back({placed, {}, {}, false});
    return true;
  }

  bool close() {
    stack_.pop_back();
    return true;
  }

  std::string_view text_;
  const JsonLimits& limits_;
  JsonValue& root_;
  IssueSink& sink_;
  std::vector<Frame> stack_;
};

void writeString(const std::string& text, std::string& out) {
  out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void writeTo(const JsonValue& value, std::string& out) {
  switch (value.kind) {
    case JsonValue::Kind::Null:
      out += "null";
      return;
    case JsonValue::Kind::Boolean:
      out += value.boolean ? "true" : "false";
      return;
    case JsonValue::Kind::Integer:
      out += std::to_string(value.integer);
      return;
    case JsonValue::Kind::Number:
      out += nlohmann::json(value.number).dump();
      return;
    case JsonValue::Kind::String:
      writeString(value.text, out);
      return;
    case JsonValue::Kind::Array: {
      out += '[';
      bool first = true;
      for (const JsonValue& item : value.items) {
        if (!first) out += ',';
        first = false;
        writeTo(item, out);
      }
      out += ']';
      return;
    }
    case JsonValue::Kind::Object: {
      out += '{';
      bool first = true;
      for (const auto& [key, member] : value.members) {
        if (!first) out += ',';
        first = false;
        writeString(key, out);
        out += ':';
        writeTo(member, out);
      }
      out += '}';
      return;
    }
  }
}

void replaceUnsafe(JsonValue& value, const std::string& path, Issues& issues) {
  switch (value.kind) {
    case JsonValue::Kind::Number:
      if (!std::isfinite(value.number)) {
        issues.push_back({"internal.nonFinite", path,
                          "The engine produced a number that is not finite; please report it.", Severity::Error});
        value = JsonValue::null();
      }
      return;
    case JsonValue::Kind::Integer:
      if (value.integer > kMaxSafeInteger || value.integer < -kMaxSafeInteger) {
        issues.push_back({"internal.unsafeInteger", path,
                          "The engine produced an integer beyond 2^53, which JSON readers round.", Severity::Error});
        value = JsonValue::null();
      }
      return;
    case JsonValue::Kind::Array:
      for (std::size_t i = 0; i < value.items.size(); ++i) replaceUnsafe(value.items[i], joinPath(path, i), issues);
      return;
    case JsonValue::Kind::Object:
      for (auto& [key, member] : value.members) replaceUnsafe(member, joinPath(path, key), issues);
      return;
    default:
      return;
  }
}

}  // namespace

JsonValue JsonValue::of(bool value) {
  JsonValue out;
  out.kind = Kind::Boolean;
  out.boolean = value;
  return out;
}

JsonValue JsonValue::of(std::int64_t value) {
  JsonValue out;
  out.kind = Kind::Integer;
  out.integer = value;
  return out;
}

JsonValue JsonValue::of(double value) {
  JsonValue out;
  out.kind = Kind::Number;
  out.number = value;
  return out;
}

JsonValue JsonValue::of(std::string_view value) {
  JsonValue out;
  out.kind = Kind::String;
  out.text = std::string(value);
  return out;
}

JsonValue JsonValue::array() {
  JsonValue out;
  out.kind = Kind::Array;
  return out;
}

JsonValue JsonValue::object() {
  JsonValue out;
  out.kind = Kind::Object;
  return out;
}

const JsonValue* JsonValue::find(std::string_view key) const {
  for (const auto& [name, value] : members) {
    if (name == key) return &value;
  }
  return nullptr;
}

void IssueSink::add(std::string code, std::string path, std::string message, Severity severity) {
  if (severity == Severity::Error) ++errors_;
  if (full()) {
    ++dropped_;
    return;
  }
  issues_.push_back({std::move(code), std::move(path), std::move(message), severity});
}

void IssueSink::refuse(std::string code, const std::string& path, const std::string& got, const std::string& rule) {
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? "the document" : path.substr(slash + 1);
  add(std::move(code), path, name + " is " + got + "; it " + rule + (rule.back() == '?' ? "" : "."));
}

void IssueSink::addAll(const Issues& issues) {
  for (const Issue& issue : issues) add(issue.code, issue.path, issue.message, issue.severity);
}

Issues IssueSink::take() {
  if (dropped_ > 0) {
    issues_.push_back({"issues.truncated", "", std::to_string(dropped_) + " more issues are not listed.",
                       errors_ > 0 ? Severity::Error : Severity::Note});
  }
  Issues out = std::move(issues_);
  issues_.clear();
  errors_ = dropped_ = 0;
  return out;
}

bool parseJson(std::string_view text, const JsonLimits& limits, JsonValue& out, IssueSink& sink) {
  if (text.size() > limits.maxBytes) {
    sink.add("json.tooLarge", "",
             "The document has " + std::to_string(text.size()) + " bytes; at most " + std::to_string(limits.maxBytes) +
                 " are read.");
    return false;
  }
  TreeBuilder builder(text, limits, out, sink);
  return nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
}

std::string writeJson(const JsonValue& value) {
  std::string out;
  writeTo(value, out);
  return out;
}

std::string quoteForMessage(const JsonValue& value) {
  switch (value.kind) {
    case JsonValue::Kind::Array:
      return "an array";
    case JsonValue::Kind::Object:
      return "an object";
    case JsonValue::Kind::String: {
      JsonValue shortened = JsonValue::of(std::string_view(value.text).substr(0, 60));
      return writeJson(shortened);
    }
    default:
      return writeJson(value);
  }
}

Issues replaceUnsafeNumbers(JsonValue& value) {
  Issues issues;
  replaceUnsafe(value, "", issues);
  return issues;
}

std::string joinPath(const std::string& path, std::string_view key) {
  std::string out = path + "/";
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

std::string joinPath(const std::string& path, std::size_t index) { return path + "/" + std::to_string(index); }

}  // namespace meshwise
