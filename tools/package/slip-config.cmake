# find_package(slip) -> the target slip::slip.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(OpenSSL 3)

# Libraries of Debian that come without a package for CMake.
foreach(name sentencepiece pcre2)
  if(NOT TARGET slip::${name})
    find_library(slip_${name}_LIBRARY NAMES ${name} ${name}-8)
    mark_as_advanced(slip_${name}_LIBRARY)
    if(NOT slip_${name}_LIBRARY)
      set(slip_FOUND FALSE)
      set(slip_NOT_FOUND_MESSAGE "slip needs the library ${name}")
      return()
    endif()
    add_library(slip::${name} UNKNOWN IMPORTED)
    set_target_properties(slip::${name} PROPERTIES IMPORTED_LOCATION "${slip_${name}_LIBRARY}")
  endif()
endforeach()

include(${CMAKE_CURRENT_LIST_DIR}/slip-targets.cmake)
