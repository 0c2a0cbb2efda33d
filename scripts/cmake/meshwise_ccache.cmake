# Compiles through ccache where it is installed. Paths below the checkout are hashed relative to it, so that a second
# checkout of the same sources hits the same cache.
find_program(CCACHE_PROGRAM ccache NO_CMAKE_FIND_ROOT_PATH)
if(MESHWISE_CCACHE AND CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1)
  if(EMSCRIPTEN)
    # em++ is a wrapper whose name ccache does not know
    list(APPEND CMAKE_CXX_COMPILER_LAUNCHER CCACHE_COMPILERTYPE=clang)
  endif()
  list(APPEND CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
