# Every em++ flag, with its reason. Included before any target is made.

# Exceptions of the WebAssembly kind, on every compile and every link: otherwise em++ drops the catch blocks, or links
# the other variant of the C++ library. SIMD: every browser of the last four years has it.
add_compile_options(-fwasm-exceptions -msimd128)
add_link_options(-fwasm-exceptions)

set(MESHWISE_MODULE_LINK_FLAGS
  --bind
  -O3                       # -Oz would swap in a C library whose log and pow are half as fast
  -sMODULARIZE              # a factory function, so that a page may hold several instances
  -sEXPORT_ES6
  -sENVIRONMENT=web,worker  # without node: that branch of the glue is CommonJS; under node pass wasmBinary
  -sDYNAMIC_EXECUTION=0     # no eval and no new Function, for the content security policy
  -sFILESYSTEM=0
  -sALLOW_MEMORY_GROWTH
  -sMAXIMUM_MEMORY=1GB
  -sMALLOC=emmalloc         # a third of the size of the default; the hot loop does not allocate
  -sWASM_BIGINT             # 64-bit integers cross as BigInt, without wrappers
  -sASSERTIONS=0)           # assertions would refuse to run outside of ENVIRONMENT, that is under node

# Test runners are ordinary node programs that read files. Synchronous: with asynchronous compilation the glue would
# fetch() a file path, which node refuses.
set(MESHWISE_RUNNER_LINK_FLAGS
  -O1 -sEXIT_RUNTIME=1 -sNODERAWFS=1 -sALLOW_MEMORY_GROWTH -sWASM_ASYNC_COMPILATION=0 -sENVIRONMENT=node)

# A package.json with "type": "module" in a folder above would make node read the runners as ES modules.
file(WRITE ${CMAKE_BINARY_DIR}/package.json "{\"type\":\"commonjs\"}\n")
