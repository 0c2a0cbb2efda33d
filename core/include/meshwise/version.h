#pragma once

namespace meshwise {

// Quoted by every answer. Raised whenever a number may change.
inline constexpr const char* kEngineVersion = "0.1.0";
// Version of the request and answer documents.
inline constexpr int kRequestVersion = 1;

}  // namespace meshwise
