# Writes OUT, which defines slip::gpu::NAME as the text of the file PTX, or as "" without PTX.
set(text "")
if(PTX)
  file(READ ${PTX} text)
endif()
file(WRITE ${OUT} "#include \"optimized/gpu/products.hpp\"\n
namespace slip::gpu {
extern const char* const ${NAME};
const char* const ${NAME} = R\"ptx(${text})ptx\";
}  // namespace slip::gpu\n")
