# The reference of the public API: `cmake --build BUILD --target docs` writes BUILD/reference/html.
find_program(DOXYGEN doxygen)
if(DOXYGEN)
  add_custom_target(docs
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/reference
    COMMAND ${CMAKE_COMMAND} -E env SLIP_REFERENCE_OUT=${PROJECT_BINARY_DIR}/reference
            ${DOXYGEN} tools/reference/Doxyfile
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    COMMENT "The reference of the public API: ${PROJECT_BINARY_DIR}/reference/html/index.html" VERBATIM)
endif()
