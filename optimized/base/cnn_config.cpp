#include "optimized/base/cnn_config.hpp"

namespace slip::base {

std::size_t CnnLayer::inputs() const { return kind == Kind::linear ? n : window.inputs(); }

std::size_t CnnLayer::outputs() const {
    switch (kind) {
        case Kind::linear:
            return m;
        case Kind::relu:
            return window.inputs();
        case Kind::convolution:
        case Kind::max_pool:
        case Kind::average_pool:
            return window.outputs();
    }
    return 0;
}

}  // namespace slip::base
