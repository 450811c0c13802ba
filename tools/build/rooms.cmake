# slip_room() and what it builds with.

# Most of a compiler's time goes into headers that are not ours: those that are used most are compiled
# once for the rooms and once for the programs, whose code is position-independent in another way. What a
# file does not include itself tools/tidy sees, which reads each file without them and alone.
function(slip_headers name)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${source})
  target_link_libraries(${name} PRIVATE slip_options)
  target_precompile_headers(${name} PRIVATE
    <algorithm> <array> <chrono> <cmath> <condition_variable> <deque> <filesystem> <fstream> <functional>
    <iostream> <map> <memory> <mutex> <optional> <set> <span> <sstream> <string> <string_view> <thread>
    <utility> <vector> <nlohmann/json.hpp> ${ARGN})
endfunction()
slip_headers(room_headers)
set_target_properties(room_headers PROPERTIES
  CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)

# Compiles the files of a target `number` at a time: what they include is read once.
function(slip_unity name number)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${number}
    UNITY_BUILD_CODE_BEFORE_INCLUDE [[#pragma GCC diagnostic ignored "-Wshadow"  // of the file before
#pragma GCC diagnostic ignored "-Wsubobject-linkage"  // "anonymous", but of this file]])
endfunction()

# A room is a folder: every .cpp file in it belongs to its target. DEPENDS names the rooms that
# it is linked with, LIBRARIES what comes from Debian, WITHOUT files of other processors; a PLAIN
# room, whose files have options of their own, does without the compiled headers. A SERIAL room
# reads files for one thread: ThreadSanitizer takes it from the build without sanitizers. With
# SLIP_UNITY, and for sanitizers, the files of a UNITY room are compiled eight at a time, but for
# those that match ALONE, which share names. Its objects are compiled once, for the archive, the shared
# library and the programs alike: SLIP is the rooms of optimized/, which the global property
# SLIP_LIBRARY_ROOMS lists. With SLIP_DAVID_ONLY there are only rooms with DAVID, of which those files that
# match it.
function(slip_room name)
  cmake_parse_arguments(ROOM "PLAIN;SERIAL;UNITY" "FOLDER;WITHOUT;ALONE;DAVID" "DEPENDS;LIBRARIES" ${ARGN})
  if(SLIP_DAVID_ONLY)
    if(NOT ROOM_DAVID)
      return()
    endif()
    list(APPEND rooms_of_david ${name})
    set(rooms_of_david ${rooms_of_david} PARENT_SCOPE)
    foreach(room ${ROOM_DEPENDS})
      if(NOT room IN_LIST rooms_of_david)
        list(REMOVE_ITEM ROOM_DEPENDS ${room})
      endif()
    endforeach()
  endif()
  if(ROOM_FOLDER MATCHES "^optimized/")
    set_property(GLOBAL APPEND PROPERTY SLIP_LIBRARY_ROOMS ${name})
  endif()
  if(ROOM_SERIAL AND SLIP_UNSANITIZED_FROM AND SLIP_SANITIZE STREQUAL "thread")
    add_library(${name} STATIC IMPORTED GLOBAL)
    set_target_properties(${name} PROPERTIES
      IMPORTED_LOCATION ${SLIP_UNSANITIZED_FROM}/lib${name}.a)
    target_link_libraries(${name} INTERFACE slip_options ${ROOM_DEPENDS} ${ROOM_LIBRARIES})
    return()
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${ROOM_FOLDER}/*.cpp)
  if(ROOM_WITHOUT)
    list(FILTER sources EXCLUDE REGEX ${ROOM_WITHOUT})
  endif()
  if(SLIP_DAVID_ONLY)
    list(FILTER sources INCLUDE REGEX ${ROOM_DAVID})
  endif()
  add_library(${name} STATIC ${sources})
  set_target_properties(${name} PROPERTIES
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_link_libraries(${name} PUBLIC slip_options ${ROOM_DEPENDS} PRIVATE ${ROOM_LIBRARIES})
  if(NOT ROOM_PLAIN)
    target_precompile_headers(${name} REUSE_FROM room_headers)
  endif()
  if(ROOM_UNITY AND (SLIP_UNITY OR SLIP_SANITIZE) AND NOT SLIP_FUZZ)
    slip_unity(${name} 8)
    if(ROOM_ALONE)
      list(FILTER sources INCLUDE REGEX ${ROOM_ALONE})
      set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endif()
endfunction()
