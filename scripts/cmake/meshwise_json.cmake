# nlohmann/json from the distribution. Its CMake package exports the system's whole include folder, which em++ must never
# see (the C library's headers are for another machine), so a folder in the build tree holds a link to nlohmann/ alone.
find_path(MESHWISE_NLOHMANN_ROOT nlohmann/json.hpp
  PATHS /usr/include /usr/local/include NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH REQUIRED)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/thirdparty)
file(CREATE_LINK ${MESHWISE_NLOHMANN_ROOT}/nlohmann ${PROJECT_BINARY_DIR}/thirdparty/nlohmann SYMBOLIC)
add_library(meshwise_json INTERFACE)
target_include_directories(meshwise_json SYSTEM INTERFACE ${PROJECT_BINARY_DIR}/thirdparty)
target_compile_definitions(meshwise_json INTERFACE JSON_USE_IMPLICIT_CONVERSIONS=0)
