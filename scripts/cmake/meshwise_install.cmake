# cmake --install: headers, static libraries and a package config with meshwise::core and meshwise::codec.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/meshwise)
install(TARGETS meshwise_core meshwise_codec EXPORT meshwise)
install(DIRECTORY core/include/meshwise core/codec/include/meshwise_codec DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN *.h)
install(EXPORT meshwise NAMESPACE meshwise:: FILE meshwiseTargets.cmake DESTINATION ${package_dir})
configure_package_config_file(scripts/cmake/meshwiseConfig.cmake.in ${PROJECT_BINARY_DIR}/meshwiseConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/meshwiseConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/meshwiseConfig.cmake ${PROJECT_BINARY_DIR}/meshwiseConfigVersion.cmake
  DESTINATION ${package_dir})
