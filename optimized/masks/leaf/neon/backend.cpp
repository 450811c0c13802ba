#include <arm_neon.h>

#include "optimized/masks/leaf/backend.hpp"

namespace slip::masks::neon {
namespace {

struct Lanes : PlainLanes<Lanes, 2> {
    [[gnu::always_inline]] static Doubles plus_product(Doubles a, Doubles b, Doubles c) {
        return vfmaq_f64(a, b, c);
    }
    [[gnu::always_inline]] static Doubles minus_product(Doubles a, Doubles b, Doubles c) {
        return vfmsq_f64(a, b, c);
    }
};

}  // namespace

const Backend backend = backend_of<Lanes>("neon");

}  // namespace slip::masks::neon
