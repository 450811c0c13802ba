# The kernels as PTX, which the driver translates for its GPU: compiled by clang, which needs no CUDA
# installation for it, and looks at none that is there. PTX 7.4 is what drivers from 470 on (2021) read.
find_program(SLIP_PTX_COMPILER clang++-19 DOC "Compiles the GPU's kernels; OFF: there are none")
if(NOT SLIP_PTX_COMPILER)
  message(STATUS "without clang++-19 there are no kernels for GPUs; `slip david --gpu` will say so")
endif()

# Adds to TARGET the string slip::gpu::NAME, the PTX of products.cu; "" without the compiler.
function(slip_embed_ptx target name)
  set(folder ${PROJECT_SOURCE_DIR}/optimized/gpu)
  set(source ${folder}/kernels/products.cu)
  set(ptx ${CMAKE_CURRENT_BINARY_DIR}/${name}.ptx)
  set(embedded ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  set(warnings -Wall -Wextra -Wconversion)
  if(CMAKE_COMPILE_WARNING_AS_ERROR)
    list(APPEND warnings -Werror)
  endif()
  set(embed ${CMAKE_COMMAND} -DNAME=${name} -DOUT=${embedded})
  if(SLIP_PTX_COMPILER)
    add_custom_command(OUTPUT ${embedded} BYPRODUCTS ${ptx}
      COMMAND ${SLIP_PTX_COMPILER} -x cuda --cuda-device-only --cuda-gpu-arch=sm_80
        --cuda-feature=+ptx74 --cuda-path=/none -nocudainc -nocudalib -std=c++20 -O3
        ${warnings} -I ${PROJECT_SOURCE_DIR} -S ${source} -o ${ptx}
      COMMAND ${embed} -DPTX=${ptx} -P ${folder}/kernels/embed.cmake
      DEPENDS ${source} ${folder}/work.hpp ${folder}/kernels/embed.cmake VERBATIM)
  else()
    add_custom_command(OUTPUT ${embedded} COMMAND ${embed} -P ${folder}/kernels/embed.cmake
      DEPENDS ${folder}/kernels/embed.cmake VERBATIM)
  endif()
  # Compilers need not support strings as long as this one; both that build SLIP do.
  set_source_files_properties(${embedded} PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
  target_sources(${target} PRIVATE ${embedded})
endfunction()
