# SLIP as a library for programs outside this tree: one archive that holds every room, the public
# headers, and a package by which find_package(slip) gives the target slip::slip.
#   cmake --install build/release --prefix P --component library
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(objects "")
foreach(room api engines net graph protocol split artifact import kernels base)
  list(APPEND objects $<TARGET_OBJECTS:slip_${room}>)
endforeach()
add_library(slip_library STATIC ${objects})
set_target_properties(slip_library PROPERTIES
  OUTPUT_NAME slip EXPORT_NAME slip LINKER_LANGUAGE CXX)
target_compile_features(slip_library INTERFACE cxx_std_20)
target_include_directories(slip_library INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# What the archive's users link; slip-config.cmake finds it. The warnings of this project stay here.
target_link_libraries(slip_library INTERFACE
  $<INSTALL_INTERFACE:OpenSSL::SSL;OpenSSL::Crypto;Threads::Threads;slip::sentencepiece;slip::pcre2>)
if(SLIP_SANITIZE)
  target_link_options(slip_library INTERFACE -fsanitize=${SLIP_SANITIZE})
endif()

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/slip)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/slip-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(TARGETS slip_library EXPORT slip-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(EXPORT slip-targets NAMESPACE slip:: DESTINATION ${package_folder} COMPONENT library)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/slip-config.cmake
  ${CMAKE_BINARY_DIR}/slip-config-version.cmake
  DESTINATION ${package_folder} COMPONENT library)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/slip
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
