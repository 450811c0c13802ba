// `slip eval --images`: what a convolutional network makes of labelled images.
#pragma once

#include "programs/slip/support/options.hpp"

namespace slip::tool {

/// Prints the accuracy, and returns the exit status. Throws BadInput for files that do not fit
/// together or the network.
int evaluate_images(const Options& options);

}  // namespace slip::tool
