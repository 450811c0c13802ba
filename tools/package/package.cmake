# SLIP as a library for programs outside this tree: libslip.a and libslip.so from the same objects of
# every room, the public headers, and a package by which find_package(slip) gives the targets
# slip::static, slip::shared and slip::slip, which is the shared one if BUILD_SHARED_LIBS is on.
#   cmake --install build/release --prefix P --component library
# Inside another project add_subdirectory and FetchContent give the same targets.
include(GNUInstallDirs)

get_property(objects GLOBAL PROPERTY SLIP_LIBRARY_ROOMS)
list(TRANSFORM objects REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
set(needed OpenSSL::SSL OpenSSL::Crypto Threads::Threads)

add_library(slip_library STATIC ${objects})
# What the archive's users link; in an installed package, slip-config.cmake finds it.
target_link_libraries(slip_library INTERFACE ${needed}
  $<BUILD_INTERFACE:${SENTENCEPIECE_LIBRARY};${PCRE2_LIBRARY};${UTF8PROC_LIBRARY}>
  $<INSTALL_INTERFACE:slip::sentencepiece;slip::pcre2;slip::utf8proc>)

add_library(slip_shared SHARED ${objects})
set(exports ${CMAKE_CURRENT_LIST_DIR}/slip.map)
target_link_libraries(slip_shared
  PRIVATE slip_options ${needed} ${SENTENCEPIECE_LIBRARY} ${PCRE2_LIBRARY}
    ${UTF8PROC_LIBRARY})
target_link_options(slip_shared PRIVATE LINKER:--version-script=${exports})
if(NOT SLIP_SANITIZE)  # clang leaves the sanitizer's own functions to the program
  target_link_options(slip_shared PRIVATE LINKER:--no-undefined)
endif()
# Before 1.0 every minor version may change the ABI.
set_target_properties(slip_shared PROPERTIES LINK_DEPENDS ${exports} EXPORT_NAME shared
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

set_target_properties(slip_library PROPERTIES EXPORT_NAME static)
foreach(library slip_library slip_shared)
  set_target_properties(${library} PROPERTIES OUTPUT_NAME slip LINKER_LANGUAGE CXX)
  target_compile_features(${library} INTERFACE cxx_std_20)
  # The warnings of this project stay here.
  target_include_directories(${library} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  if(SLIP_SANITIZE)
    target_link_options(${library} INTERFACE -fsanitize=${SLIP_SANITIZE})
  endif()
endforeach()
add_library(slip::static ALIAS slip_library)
add_library(slip::shared ALIAS slip_shared)
if(BUILD_SHARED_LIBS)
  add_library(slip::slip ALIAS slip_shared)
else()
  add_library(slip::slip ALIAS slip_library)
endif()
if(NOT SLIP_INSTALL)
  return()
endif()

include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/slip)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/slip-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(TARGETS slip_library slip_shared EXPORT slip-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(EXPORT slip-targets NAMESPACE slip:: DESTINATION ${package_folder} COMPONENT library)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/slip-config.cmake
  ${PROJECT_BINARY_DIR}/slip-config-version.cmake
  DESTINATION ${package_folder} COMPONENT library)
file(RELATIVE_PATH slip_prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${CMAKE_CURRENT_LIST_DIR}/slip.pc.in ${PROJECT_BINARY_DIR}/slip.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/slip.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/slip
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
