// The vectors of the chapter offline.
#pragma once

#include "reference/vectors/document.hpp"

namespace slip::reference::vectors {

/// The offline David, and Charlie with two Davids.
void offline(Document& document);

/// The part of Charlie.
void offline_charlie(Document& document, const Profile& profile);

}  // namespace slip::reference::vectors
