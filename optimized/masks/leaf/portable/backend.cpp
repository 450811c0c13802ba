#include "optimized/masks/leaf/backend.hpp"

namespace slip::masks::portable {
namespace {

struct Lanes : PlainLanes<Lanes, 2> {};

}  // namespace

const Backend backend = backend_of<Lanes>("portable");

}  // namespace slip::masks::portable
