# How every target of this project is compiled and linked: slip_options.
include(CheckPIESupported)

# Every target of this project: many warnings, which the presets make errors, and floats are
# deterministic (MODEL-5): no contraction into fused multiply-adds, no instruction set beyond the
# baseline outside kernels.
add_library(slip_options INTERFACE)
target_compile_options(slip_options INTERFACE -ffp-contract=off)
if(SLIP_SANITIZE)  # the build without sanitizers has warned of the same files
  target_compile_options(slip_options INTERFACE -w)
else()
  target_compile_options(slip_options INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion)
endif()
if((SLIP_UNITY OR SLIP_UNSANITIZED_FROM) AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A build from nothing: up to half a gigabyte per process g++ need not look for memory to give back,
  # which takes a fifteenth of its time.
  target_compile_options(slip_options INTERFACE "SHELL:--param ggc-min-heapsize=524288")
endif()
target_include_directories(slip_options INTERFACE
  ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
# Programs as libraries are position-independent; their tables are read-only once they are linked.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
check_pie_supported(LANGUAGES CXX)
target_link_options(slip_options INTERFACE LINKER:-z,relro,-z,now)
if(NOT SLIP_SANITIZE)  # sanitizers see more
  target_compile_options(slip_options INTERFACE -fstack-protector-strong -U_FORTIFY_SOURCE
    $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-D_FORTIFY_SOURCE=3>)  # it needs optimisation
endif()
if(SLIP_SANITIZE MATCHES "address")
  target_compile_definitions(slip_options INTERFACE SLIP_ADDRESS_SANITIZER)
endif()
if(SLIP_UNSANITIZED_FROM)
  # Under AddressSanitizer Eigen would free in its own way what the reference has allocated.
  target_compile_definitions(slip_options INTERFACE EIGEN_MALLOC_ALREADY_ALIGNED=1)
endif()
if(SLIP_SANITIZE)
  target_compile_options(slip_options INTERFACE
    -fsanitize=${SLIP_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(SLIP_UNSANITIZED_FROM AND SLIP_SANITIZE MATCHES "address")
    # Everyday without the checks of every pointer, which take a third of the compiler's time:
    # AddressSanitizer sees most of what they would, and './test --full' has them.
    target_compile_options(slip_options INTERFACE -fno-sanitize=null,alignment,object-size,vptr)
  endif()
  target_link_options(slip_options INTERFACE -fsanitize=${SLIP_SANITIZE})
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # libstdc++ 12 calls, in std::stable_sort, what it marks as deprecated; clang does not excuse it.
  target_compile_options(slip_options INTERFACE -Wno-deprecated-declarations)
endif()
if(SLIP_FUZZ)
  target_compile_options(slip_options INTERFACE
    -fsanitize=fuzzer-no-link -fsanitize-address-use-after-return=never)
endif()
